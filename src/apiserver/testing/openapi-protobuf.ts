// Decodes OpenAPI v2 documents in protobuf, for tests. The field numbers are those of gnostic's
// openapiv2/OpenAPIv2.proto.

import { parse } from 'yaml';

type Read = (bytes: Buffer) => unknown;
/** Adds a field to its message's object. */
type Field = (target: Record<string, unknown>, bytes: Buffer, number: number) => void;

interface Fields {
  readonly [number: number]: Field;
}

function varint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0;
  let scale = 1;
  for (let index = at; ; index++) {
    const byte = bytes[index];
    if (byte === undefined) throw new Error('the message ends within a number');
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return [value, index + 1];
    scale *= 0x80;
  }
}

/** Returns a decoder of a message. It throws for unknown fields, so that none is overlooked. */
function message(name: string, fields: () => Fields): Read {
  return (bytes) => {
    const target: Record<string, unknown> = {};
    for (let at = 0; at < bytes.length;) {
      const [tag, start] = varint(bytes, at);
      const number = Math.floor(tag / 8);
      const field = fields()[number];
      const isDouble = tag % 8 === 1;
      const [value, next] = isDouble ? [8, start] : varint(bytes, start);
      const [from, end] = tag % 8 === 2 || isDouble ? [next, next + value] : [start, next];
      if (field === undefined || end > bytes.length)
        throw new Error(`${name} has no field ${number}`);
      field(target, bytes.subarray(from, end), number);
      at = end;
    }
    return target;
  };
}

const double: Read = (bytes) => bytes.readDoubleLE();
const integer: Read = (bytes) => varint(bytes, 0)[0];
const utf8: Read = (bytes) => bytes.toString('utf8');
const one =
  (key: string, read: Read = utf8): Field =>
  (target, bytes) => {
    target[key] = read(bytes);
  };
const flag = (key: string): Field => one(key, (bytes) => bytes[0] === 1);
const many =
  (key: string, read: Read = utf8): Field =>
  (target, bytes) => {
    target[key] = [...((target[key] as unknown[] | undefined) ?? []), read(bytes)];
  };

/** Returns a decoder of a message that contains another one, or one of several. */
const inside = (name: string, fields: Readonly<Record<number, Read>>): Read => {
  const read = message(
    name,
    () =>
      Object.fromEntries(
        Object.entries(fields).map(([number, inner]) => [number, one('value', inner)]),
      ) as Fields,
  );
  return (bytes) => (read(bytes) as { value: unknown }).value;
};

/** Returns a decoder of pairs of name and value, each of which becomes a property. */
const pairs = (read: Read): Field => {
  const pair = message('a pair', () => ({ 1: one('name'), 2: one('value', read) }));
  return (target, bytes) => {
    const { name, value } = pair(bytes) as { name: string; value: unknown };
    target[name] = value;
  };
};
const map = (name: string, number: number, read: Read): Read =>
  message(name, () => ({ [number]: pairs(read) }));

/** Values by their YAML: most of them are in many definitions. */
const values = new Map<string, unknown>();

const any: Read = inside('Any', {
  2: (bytes) => {
    const yaml = bytes.toString('utf8');
    if (!values.has(yaml)) values.set(yaml, parse(yaml));
    return values.get(yaml);
  },
});
const extension = pairs(any);

const schema: Read = message('Schema', () => ({
  1: one('$ref'),
  2: one('format'),
  3: one('title'),
  4: one('description'),
  5: one('default', any),
  7: one('maximum', double),
  9: one('minimum', double),
  11: one('maxLength', integer),
  12: one('minLength', integer),
  13: one('pattern'),
  14: one('maxItems', integer),
  15: one('minItems', integer),
  17: one('maxProperties', integer),
  18: one('minProperties', integer),
  19: many('required'),
  20: many('enum', any),
  21: one(
    'additionalProperties',
    inside('AdditionalPropertiesItem', { 1: schema, 2: (bytes) => bytes[0] === 1 }),
  ),
  22: one('type', inside('TypeItem', { 1: utf8 })),
  23: one('items', inside('ItemsItem', { 1: schema })),
  24: many('allOf', schema),
  25: one('properties', map('Properties', 1, schema)),
  31: extension,
}));

const parameter = (name: string, typeNumber: number, uniqueNumber: number): Read =>
  message(name, () => ({
    1: flag('required'),
    2: one('in'),
    3: one('description'),
    4: one('name'),
    [typeNumber]: one('type'),
    [uniqueNumber]: flag('uniqueItems'),
  }));

const body = message('BodyParameter', () => ({
  1: one('description'),
  2: one('name'),
  3: one('in'),
  4: flag('required'),
  5: one('schema', schema),
}));

const nonBody = inside('NonBodyParameter', {
  3: parameter('QueryParameterSubSchema', 6, 20),
  4: parameter('PathParameterSubSchema', 5, 19),
});

const sharedParameter = inside('Parameter', { 1: body, 2: nonBody });
const parameterItem = inside('ParametersItem', {
  1: sharedParameter,
  2: message('JsonReference', () => ({ 1: one('$ref') })),
});

const response = message('Response', () => ({
  1: one('description'),
  2: one('schema', inside('SchemaItem', { 1: schema })),
}));

const operation = message('Operation', () => ({
  1: many('tags'),
  3: one('description'),
  5: one('operationId'),
  6: many('produces'),
  7: many('consumes'),
  8: many('parameters', parameterItem),
  9: one('responses', map('Responses', 1, inside('ResponseValue', { 1: response }))),
  10: many('schemes'),
  13: extension,
}));

const pathItem = message('PathItem', () => ({
  2: one('get', operation),
  3: one('put', operation),
  4: one('post', operation),
  5: one('delete', operation),
  6: one('options', operation),
  7: one('head', operation),
  8: one('patch', operation),
  9: many('parameters', parameterItem),
}));

const apiKey = message('ApiKeySecurity', () => ({
  1: one('type'),
  2: one('name'),
  3: one('in'),
  4: one('description'),
}));
const scopes: Read = (bytes) => {
  if (bytes.length > 0) throw new Error('an API key has no scopes');
  return [];
};

export const readDocument: Read = message('Document', () => ({
  1: one('swagger'),
  2: one(
    'info',
    message('Info', () => ({ 1: one('title'), 2: one('version') })),
  ),
  8: one('paths', map('Paths', 2, pathItem)),
  9: one('definitions', map('Definitions', 1, schema)),
  10: one('parameters', map('ParameterDefinitions', 1, sharedParameter)),
  12: many('security', map('SecurityRequirement', 1, scopes)),
  13: one(
    'securityDefinitions',
    map('SecurityDefinitions', 1, inside('SecurityDefinitionsItem', { 2: apiKey })),
  ),
}));
