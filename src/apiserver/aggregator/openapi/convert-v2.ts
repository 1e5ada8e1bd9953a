// Converts an OpenAPI v2 document into version 3, for API servers that serve only the older
// version. Like upstream's conversion, it loses some information.

import type { Steps } from '#machinery/turn.ts';
import { jsonDocument } from '../../openapi/made.ts';
import type { OpenApiDocument } from '../../openapi/served-document.ts';

type Values = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
/** Fields of a parameter that version 3 has in its schema. */
const IN_SCHEMA = [
  'type',
  'format',
  'items',
  'default',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'uniqueItems',
];

/** The number of paths or definitions that are converted in one step. */
const ENTRIES_PER_STEP = 50;

export function* convertV2ToV3(document: unknown): Steps<OpenApiDocument> {
  const { info, paths, definitions } = record(document);
  const converted = {
    openapi: '3.0.0',
    info,
    paths: yield* mapInSteps(record(paths), convertPath),
    components: { schemas: yield* mapInSteps(record(definitions), convertSchema) },
  };
  return yield* jsonDocument(converted, 'sha512');
}

function* mapInSteps(values: Values, convert: (value: unknown) => unknown): Steps<Values> {
  const converted: [string, unknown][] = [];
  for (const [key, value] of Object.entries(values)) {
    converted.push([key, convert(value)]);
    if (converted.length % ENTRIES_PER_STEP === 0) yield;
  }
  return Object.fromEntries(converted);
}

function convertPath(item: unknown): Values {
  const { parameters, ...rest } = record(item);
  const operations = METHODS.flatMap((method) =>
    rest[method] === undefined ? [] : [[method, convertOperation(record(rest[method]))] as const],
  );
  const extensions = Object.entries(rest).filter(([key]) => key.startsWith('x-'));
  return {
    ...Object.fromEntries(operations),
    ...(parameters !== undefined && { parameters: list(parameters).map(convertParameter) }),
    ...Object.fromEntries(extensions),
  };
}

function convertOperation({
  consumes,
  produces,
  parameters,
  responses,
  schemes: _schemes,
  ...rest
}: Values): Values {
  const all = list(parameters).map(record);
  const body = all.find((parameter) => parameter['in'] === 'body');
  const others = all.filter((parameter) => parameter !== body);
  const content = (schema: unknown, types: unknown): Values =>
    Object.fromEntries(
      list(types).map((type) => [String(type), { schema: convertSchema(schema) }]),
    );
  return {
    ...rest,
    ...(others.length > 0 && { parameters: others.map(convertParameter) }),
    ...(body !== undefined && {
      requestBody: {
        ...(body['description'] !== undefined && { description: body['description'] }),
        content: content(body['schema'], consumes),
        ...(body['required'] !== undefined && { required: body['required'] }),
      },
    }),
    responses: mapValues(record(responses), (response) => {
      const { schema, ...of } = record(response);
      // An operation without a media type has no content, as upstream.
      return {
        ...of,
        ...(schema !== undefined &&
          list(produces).length > 0 && { content: content(schema, produces) }),
      };
    }),
  };
}

function convertParameter(parameter: unknown): Values {
  const entries = Object.entries(record(parameter)).filter(([key]) => key !== 'collectionFormat');
  const ofSchema = entries.filter(([key]) => IN_SCHEMA.includes(key));
  const own = entries.filter(([key]) => !IN_SCHEMA.includes(key));
  return {
    ...Object.fromEntries(own),
    ...(ofSchema.length > 0 && { schema: convertSchema(Object.fromEntries(ofSchema)) }),
  };
}

/** Rewrites references; everything else in a schema is the same in both versions. */
function convertSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(convertSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string'
        ? value.replace(/^#\/definitions\//, '#/components/schemas/')
        : convertSchema(value),
    ]),
  );
}

function mapValues(values: Values, convert: (value: unknown) => unknown): Values {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, convert(value)]));
}

function record(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Values)
    : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
