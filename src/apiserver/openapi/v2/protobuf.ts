// The protobuf format of an OpenAPI v2 document, which kubectl requests: gnostic's
// openapi.v2.Document (field numbers from google/gnostic, openapiv2/OpenAPIv2.proto). Only the
// fields that the server's documents contain are written.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import {
  boolField,
  bytesField,
  bytesFieldStart,
  doubleField,
  integerField,
  message,
  stringField,
  stringsField,
} from '#machinery/protobuf-writer.ts';
import { blockYaml } from './block-yaml.ts';

/** The total length of all entries, in bytes. */
export interface EntryLengths {
  readonly paths: number;
  readonly definitions: number;
}

type Json = OpenApiSchema;
type Encoder = (value: Json) => Uint8Array;

const NONE = message();
const text = (value: unknown): string | undefined => value as string | undefined;
const texts = (value: unknown): readonly string[] | undefined =>
  value as readonly string[] | undefined;
const list = (value: unknown): readonly Json[] => (value ?? []) as readonly Json[];
const entries = (value: unknown): [string, Json][] =>
  Object.entries((value ?? {}) as Record<string, Json>);

const nested = (number: number, value: unknown, encode: Encoder): Uint8Array =>
  value === undefined ? NONE : bytesField(number, encode(value as Json));

/** Encodes a map as gnostic does: repeated pairs of name and value. */
const named = (
  number: number,
  map: readonly (readonly [string, unknown])[],
  encode: (value: never) => Uint8Array,
): Uint8Array =>
  message(
    ...map.map(([name, value]) =>
      bytesField(number, message(stringField(1, name), bytesField(2, encode(value as never)))),
    ),
  );

/** Encodes any value as YAML text. */
const anyValue = (value: unknown): Uint8Array => stringField(2, blockYaml(value));

const extensions = (number: number, value: Json): Uint8Array =>
  named(
    number,
    Object.entries(value).filter(([key]) => key.startsWith('x-')),
    anyValue,
  );

const flag = (value: unknown): boolean | undefined => value as boolean | undefined;
const amount = (value: unknown): number | undefined => value as number | undefined;

/** Encodes AdditionalPropertiesItem { schema | boolean }. */
const additionalProperties = (value: unknown): Uint8Array =>
  typeof value === 'boolean'
    ? Buffer.from([2 * 8, value ? 1 : 0])
    : bytesField(1, schema(value as Json));

const schema: Encoder = (value) =>
  message(
    stringField(1, text(value['$ref'])),
    stringField(2, text(value['format'])),
    stringField(3, text(value['title'])),
    stringField(4, text(value['description'])),
    value['default'] === undefined ? NONE : bytesField(5, anyValue(value['default'])),
    doubleField(6, amount(value['multipleOf'])),
    doubleField(7, amount(value['maximum'])),
    boolField(8, flag(value['exclusiveMaximum'])),
    doubleField(9, amount(value['minimum'])),
    boolField(10, flag(value['exclusiveMinimum'])),
    integerField(11, amount(value['maxLength'])),
    integerField(12, amount(value['minLength'])),
    stringField(13, text(value['pattern'])),
    integerField(14, amount(value['maxItems'])),
    integerField(15, amount(value['minItems'])),
    boolField(16, flag(value['uniqueItems'])),
    integerField(17, amount(value['maxProperties'])),
    integerField(18, amount(value['minProperties'])),
    stringsField(19, texts(value['required'])),
    message(...list(value['enum']).map((item) => bytesField(20, anyValue(item)))),
    value['additionalProperties'] === undefined
      ? NONE
      : bytesField(21, additionalProperties(value['additionalProperties'])),
    value['type'] === undefined
      ? NONE
      : bytesField(22, stringsField(1, [value['type']].flat() as string[])),
    nested(23, value['items'], (items) => bytesField(1, schema(items))),
    message(...list(value['allOf']).map((item) => bytesField(24, schema(item)))),
    value['properties'] === undefined
      ? NONE
      : bytesField(25, named(1, entries(value['properties']), schema)),
    value['example'] === undefined ? NONE : bytesField(30, anyValue(value['example'])),
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

/** Encodes Parameter { body | non-body { query | path } }. */
const parameter: Encoder = (value) => {
  if (value['in'] === 'body') return bytesField(1, bodyParameter(value));
  return bytesField(
    2,
    value['in'] === 'path'
      ? bytesField(4, pathParameter(value))
      : bytesField(3, queryParameter(value)),
  );
};

/** Encodes ParametersItem { parameter | reference }. */
const parameterItem: Encoder = (value) =>
  value['$ref'] === undefined
    ? bytesField(1, parameter(value))
    : bytesField(2, stringField(1, text(value['$ref'])));

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
    message(...list(value['parameters']).map((item) => bytesField(8, parameterItem(item)))),
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
    message(...list(value['parameters']).map((item) => bytesField(9, parameterItem(item)))),
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

const requirement: Encoder = (value) =>
  named(1, Object.entries(value), (scopes: readonly string[]) => stringsField(1, scopes));

const info: Encoder = (value) =>
  message(stringField(1, text(value['title'])), stringField(2, text(value['version'])));

/** Returns one entry of Paths { name and item … }. */
export function pathEntry(path: string, item: Json): Uint8Array {
  return named(2, [[path, item]], pathItem);
}

/** Returns one entry of Definitions { name and schema … }. */
export function definitionEntry(name: string, definition: Json): Uint8Array {
  return named(1, [[name, definition]], schema);
}

/**
 * Returns the bytes before all paths, between paths and definitions, and after all definitions.
 * `lengths`: the total lengths of the entries in bytes.
 */
export function protobufFrame(
  document: Json,
  { paths, definitions }: EntryLengths,
): readonly [Uint8Array, Uint8Array, Uint8Array] {
  return [
    message(
      stringField(1, text(document['swagger'])),
      nested(2, document['info'], info),
      bytesFieldStart(8, paths),
    ),
    bytesFieldStart(9, definitions),
    message(
      document['parameters'] === undefined
        ? NONE
        : bytesField(10, named(1, entries(document['parameters']), parameter)),
      message(...list(document['security']).map((item) => bytesField(12, requirement(item)))),
      bytesField(13, named(1, entries(document['securityDefinitions']), apiKey)),
    ),
  ];
}
