// The protobuf form of an OpenAPI v2 document, which kubectl asks for: gnostic's openapi.v2.Document (field numbers from
// google/gnostic, openapiv2/OpenAPIv2.proto). Only what our documents contain is written.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import { boolField, bytesField, message, stringField, stringsField } from '#machinery/protobuf-writer.ts';

type Json = OpenApiSchema;
type Encoder = (value: Json) => Uint8Array;

const NONE = message();
const text = (value: unknown): string | undefined => value as string | undefined;
const texts = (value: unknown): readonly string[] | undefined => value as readonly string[] | undefined;
const list = (value: unknown): readonly Json[] => (value ?? []) as readonly Json[];
const entries = (value: unknown): [string, Json][] => Object.entries((value ?? {}) as Record<string, Json>);

const nested = (number: number, value: unknown, encode: Encoder): Uint8Array =>
  value === undefined ? NONE : bytesField(number, encode(value as Json));

/** A map as gnostic has it: repeated pairs of name and value. */
const named = (number: number, map: readonly (readonly [string, unknown])[], encode: (value: never) => Uint8Array): Uint8Array =>
  message(
    ...map.map(([name, value]) => bytesField(number, message(stringField(1, name), bytesField(2, encode(value as never))))),
  );

/** Any value, as YAML text: JSON is YAML. */
const anyValue = (value: unknown): Uint8Array => stringField(2, `${JSON.stringify(value)}\n`);

const extensions = (number: number, value: Json): Uint8Array =>
  named(
    number,
    Object.entries(value).filter(([key]) => key.startsWith('x-')),
    anyValue,
  );

const schema: Encoder = (value) =>
  message(
    stringField(1, text(value['$ref'])),
    stringField(2, text(value['format'])),
    stringField(4, text(value['description'])),
    value['default'] === undefined ? NONE : bytesField(5, anyValue(value['default'])),
    stringsField(19, texts(value['required'])),
    message(...list(value['enum']).map((item) => bytesField(20, anyValue(item)))),
    nested(21, value['additionalProperties'], (properties) => bytesField(1, schema(properties))),
    value['type'] === undefined ? NONE : bytesField(22, stringField(1, text(value['type']))),
    nested(23, value['items'], (items) => bytesField(1, schema(items))),
    value['properties'] === undefined ? NONE : bytesField(25, named(1, entries(value['properties']), schema)),
    extensions(31, value),
  );

const queryParameter: Encoder = (value) =>
  message(
    boolField(1, value['required'] as boolean | undefined),
    stringField(2, text(value['in'])),
    stringField(3, text(value['description'])),
    stringField(4, text(value['name'])),
    stringField(6, text(value['type'])),
    boolField(20, value['uniqueItems'] as boolean | undefined),
  );

const pathParameter: Encoder = (value) =>
  message(
    boolField(1, value['required'] as boolean | undefined),
    stringField(2, text(value['in'])),
    stringField(3, text(value['description'])),
    stringField(4, text(value['name'])),
    stringField(5, text(value['type'])),
    boolField(19, value['uniqueItems'] as boolean | undefined),
  );

const bodyParameter: Encoder = (value) =>
  message(
    stringField(1, text(value['description'])),
    stringField(2, text(value['name'])),
    stringField(3, text(value['in'])),
    boolField(4, value['required'] as boolean | undefined),
    nested(5, value['schema'], schema),
  );

/** ParametersItem { parameter: Parameter { body | non-body { query | path } } }. */
const parameter: Encoder = (value) => {
  if (value['in'] === 'body') return bytesField(1, bytesField(1, bodyParameter(value)));
  const nonBody = value['in'] === 'path' ? bytesField(4, pathParameter(value)) : bytesField(3, queryParameter(value));
  return bytesField(1, bytesField(2, nonBody));
};

const response: Encoder = (value) =>
  bytesField(
    1,
    message(
      stringField(1, text(value['description'])),
      nested(2, value['schema'], (item) => bytesField(1, schema(item))),
    ),
  );

const operation: Encoder = (value) =>
  message(
    stringsField(1, texts(value['tags'])),
    stringField(3, text(value['description'])),
    stringField(5, text(value['operationId'])),
    stringsField(6, texts(value['produces'])),
    stringsField(7, texts(value['consumes'])),
    message(...list(value['parameters']).map((item) => bytesField(8, parameter(item)))),
    bytesField(9, named(1, entries(value['responses']), response)),
    stringsField(10, texts(value['schemes'])),
    extensions(13, value),
  );

const pathItem: Encoder = (value) =>
  message(
    nested(2, value['get'], operation),
    nested(3, value['put'], operation),
    nested(4, value['post'], operation),
    nested(5, value['delete'], operation),
    nested(6, value['options'], operation),
    nested(7, value['head'], operation),
    nested(8, value['patch'], operation),
  );

const apiKey: Encoder = (value) =>
  bytesField(
    2,
    message(
      stringField(1, text(value['type'])),
      stringField(2, text(value['name'])),
      stringField(3, text(value['in'])),
      stringField(4, text(value['description'])),
    ),
  );

const requirement: Encoder = (value) => named(1, Object.entries(value), (scopes: readonly string[]) => stringsField(1, scopes));

const info: Encoder = (value) => message(stringField(1, text(value['title'])), stringField(2, text(value['version'])));

export function documentV2Protobuf(document: OpenApiSchema): Uint8Array {
  return message(
    stringField(1, text(document['swagger'])),
    nested(2, document['info'], info),
    bytesField(8, named(2, entries(document['paths']), pathItem)),
    bytesField(9, named(1, entries(document['definitions']), schema)),
    message(...list(document['security']).map((item) => bytesField(12, requirement(item)))),
    bytesField(13, named(1, entries(document['securityDefinitions']), apiKey)),
  );
}
