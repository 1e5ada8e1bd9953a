import { describe, expect, test } from 'vitest';
import { MAX_FIELD_ERRORS } from '#machinery/validation/field.ts';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { DecodeError } from '../decode-error.ts';
import { StructuralCodec } from './structural-codec.ts';

const codecOf = (schema?: JSONSchemaProps): StructuralCodec =>
  new StructuralCodec({
    group: 'example.com',
    version: 'v1',
    kind: 'Thing',
    listKind: 'ThingList',
    plural: 'things',
    selectableFields: [],
    schema,
  });

const ofSpec = (spec: JSONSchemaProps): StructuralCodec =>
  codecOf({ type: 'object', properties: { spec, status: { type: 'object' } } });

const textField = (keywords: JSONSchemaProps = {}): JSONSchemaProps => ({
  type: 'object',
  properties: { a: { type: 'string', ...keywords } },
});

const messages = (codec: StructuralCodec, object: Record<string, unknown>): string[] =>
  codec.validate(codec.decode(object).object).map((error) => error.message);

describe('decode', () => {
  test('keys of every object are sorted, lists keep their order', () => {
    const codec = codecOf();
    const json =
      '{"z":[{"b":1,"a":2},3,1],"kind":"Thing","apiVersion":"example.com/v1","metadata":' +
      '{"name":"x","labels":{"b":"1","a":"2"}}}';
    expect(JSON.stringify(codec.decode(JSON.parse(json)).object)).toBe(
      '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"labels":{"a":"2","b":' +
        '"1"},"name":"x"},"z":[{"a":2,"b":1},3,1]}',
    );
  });

  describe('of a stored object with malformed metadata', () => {
    const codec = codecOf({
      type: 'object',
      properties: {
        embedded: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    });
    const metadata = {
      name: 'a',
      annotations: { foo: 42, bar: 'abc' },
      labels: { invalid: 'x y' },
      unknown: 1,
    };
    const malformed = {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { ...metadata, generation: null },
      embedded: { apiVersion: 7, kind: 'Foo', metadata },
    };

    test('drops what has a wrong type, and keeps the rest', () => {
      expect(codec.decode(malformed, { isStored: true }).object).toEqual({
        apiVersion: 'example.com/v1',
        kind: 'Thing',
        metadata: { generation: 1, labels: { invalid: 'x y' }, name: 'a' },
        embedded: { kind: 'Foo', metadata: { labels: { invalid: 'x y' }, name: 'a' } },
      });
      const other = codec.decode({ ...malformed, metadata: 'x' }, { isStored: true });
      expect(other.object['metadata']).toEqual({ generation: 1 });
    });

    test('rejects it in a request', () => {
      expect(() => codec.decode(malformed)).toThrow(DecodeError);
    });
  });

  test('keys are sorted by code point', () => {
    const { object } = codecOf().decode({ '\u{1F600}': 1, '\uFFFD': 2, a: 3 });
    expect(Object.keys(object)).toEqual(['a', '\uFFFD', '\u{1F600}']);
  });

  test('empty values and nulls without a schema are kept', () => {
    const given = { spec: { list: [], map: {}, null: null, text: '', zero: 0, false: false } };
    expect(codecOf().decode(given).object).toEqual(given);
  });

  test('__proto__ is an ordinary key', () => {
    const given = JSON.parse('{"__proto__":{"a":1},"spec":{"__proto__":{"b":2}}}') as unknown;
    const { object } = codecOf().decode(given);
    expect(JSON.stringify(object)).toBe('{"__proto__":{"a":1},"spec":{"__proto__":{"b":2}}}');
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });

  test('a property may have the name of an inherited member', () => {
    const codec = ofSpec({ type: 'object', properties: { constructor: { type: 'string' } } });
    const { object, unknownFields } = codec.decode({ spec: { constructor: 'x', toString: 1 } });
    expect(object).toEqual({ spec: { constructor: 'x' } });
    expect(unknownFields).toEqual(['spec.toString']);
  });

  test('undefined values of objects in memory are absent', () => {
    const codec = ofSpec(textField({ default: 'x' }));
    const { object, unknownFields } = codec.decode({
      spec: { a: undefined, b: undefined },
      other: undefined,
    });
    codec.applyDefaults(object);
    expect(object).toEqual({ spec: { a: 'x' } });
    expect(unknownFields).toEqual([]);
  });

  test('reports at most 100 unknown fields', () => {
    const spec = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1]));
    expect(ofSpec(textField()).decode({ spec }).unknownFields).toHaveLength(100);
  });

  test.each([
    [[], '', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['x', '', 'json: cannot unmarshal string into Go value of type map[string]interface {}'],
    [
      { kind: 5 },
      'kind',
      'json: cannot unmarshal number into Go struct field .kind of type string',
    ],
    [
      { metadata: [] },
      'metadata',
      'json: cannot unmarshal array into Go value of type v1.ObjectMeta',
    ],
    [
      { metadata: { labels: { a: 1 } } },
      'metadata.labels.a',
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
  ])('%j cannot be read', (json, path, message) => {
    expect(() => codecOf().decode(json)).toThrow(new DecodeError(message, path));
  });

  test('shares nothing with the schema or the input', () => {
    const codec = ofSpec({
      type: 'object',
      properties: {
        o: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: { a: [] } },
      },
    });
    const given = { spec: {} };
    const first = codec.decode(given).object;
    codec.applyDefaults(first);
    (first['spec'] as { o: { a: unknown[] } }).o.a.push(1);
    const second = codec.decode(given).object;
    codec.applyDefaults(second);
    expect(second).toEqual({ spec: { o: { a: [] } } });
    expect(given).toEqual({ spec: {} });
  });
});

describe('applyDefaults', () => {
  test('defaults are in the order of their keys', () => {
    const codec = ofSpec({
      type: 'object',
      properties: { b: { type: 'string', default: 'x' }, a: { type: 'string', default: 'y' } },
    });
    const { object } = codec.decode({ spec: { b: 'z' } });
    codec.applyDefaults(object);
    expect(JSON.stringify(object)).toBe('{"spec":{"a":"y","b":"z"}}');
  });

  test('defaults lose unknown fields', () => {
    const codec = ofSpec({ ...textField(), default: { a: 'x', unknown: 1 } });
    const { object } = codec.decode({});
    codec.applyDefaults(object);
    expect(object).toEqual({ spec: { a: 'x' } });
  });

  test('have no fields in the metadata of embedded resources that it does not have', () => {
    const text = (value: string): JSONSchemaProps => ({ type: 'string', default: value });
    const codec = ofSpec({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      properties: {
        kind: text('Foo'),
        metadata: {
          type: 'object',
          properties: {
            name: text('bar'),
            unknown: text('x'),
            labels: { type: 'object', default: {}, properties: { a: text('b') } },
          },
        },
      },
    });
    const { object } = codec.decode({ spec: { metadata: { labels: { c: 'd' } } } });
    codec.applyDefaults(object);
    expect(object).toEqual({
      spec: { kind: 'Foo', metadata: { name: 'bar', labels: { a: 'b', c: 'd' } } },
    });
  });
});

describe('validate', () => {
  test('the status alone, at its path', () => {
    const codec = codecOf({
      type: 'object',
      properties: {
        spec: textField({ maxLength: 1 }),
        status: { type: 'object', required: ['b'], properties: { b: { type: 'string' } } },
      },
    });
    const object = { spec: { a: 'long' }, status: {} };
    expect(codec.validateStatusUpdate(object, {}).map((error) => error.message)).toEqual([
      'status.b: Required value',
    ]);
    expect(codec.validateStatusUpdate(object, object)).toEqual([]);
  });

  test('an update of the status does not check embedded resources', () => {
    const resource: JSONSchemaProps = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    };
    const codec = codecOf({
      type: 'object',
      properties: { status: { type: 'object', properties: { e: resource } } },
    });
    const object = { status: { e: { kind: '_', apiVersion: 'v1' } } };
    expect(codec.validateUpdate(object, {}).map((error) => error.field)).toEqual(['status.e.kind']);
    expect(codec.validateStatusUpdate(object, {})).toEqual([]);
  });

  test('a pattern takes linear time', () => {
    const codec = ofSpec(textField({ pattern: '^(a|aa)+$' }));
    expect(messages(codec, { spec: { a: `${'a'.repeat(5000)}b` } })).toHaveLength(1);
  });

  test('too expensive validations are rejected', () => {
    const alternatives = Array.from({ length: 500 }, (_, index) => ({ required: [`f${index}`] }));
    const item: JSONSchemaProps = { type: 'object', properties: {}, anyOf: alternatives };
    const codec = ofSpec({ type: 'array', items: item });
    // The last alternative fits.
    const spec = Array.from({ length: 50_000 }, () => ({ f499: '' }));
    expect(codec.validate({ spec }).map((error) => error.message)).toEqual([
      '<nil>: Forbidden: validating the object by its schema takes too long',
    ]);
  });

  test('no more errors are looked for than are reported', () => {
    const codec = ofSpec({ type: 'array', items: { type: 'string', pattern: '^a$' } });
    const spec = Array.from({ length: 50_000 }, () => 'b');
    expect(codec.validate({ spec })).toHaveLength(MAX_FIELD_ERRORS + 1);
  });

  test('deep objects are read and validated', () => {
    let schema: JSONSchemaProps = { type: 'string' };
    let value: unknown = 5;
    for (let i = 0; i < 120; i++) {
      schema = { type: 'object', properties: { a: schema } };
      value = { a: value };
    }
    const [message = ''] = messages(ofSpec(schema), { spec: value });
    expect(message).toMatch(/^spec(\.a){120}: Invalid value: "integer": /);
  });
});

test('a kind has no strategic merge patches and no protobuf', () => {
  const codec = codecOf();
  expect('patchSchema' in codec).toBe(false);
  expect('protobuf' in codec).toBe(false);
  expect(codec.kind).toEqual({ group: 'example.com', version: 'v1', kind: 'Thing' });
  expect(codec.emptyObject()).toEqual({ metadata: {} });
});

test('a schema is compiled on first use', () => {
  const codec = codecOf({ type: 'object', $ref: 'unsupported' });
  expect(codec.kind.kind).toBe('Thing');
  expect(() => codec.decode({})).toThrow("OpenAPIV3Schema '$ref' is not supported");
});

test('the list of the kind refers to the kind and to the metadata of lists', () => {
  const codec = codecOf({ type: 'object' });
  expect([codec.openApi.name, codec.openApiList.name]).toEqual([
    'com.example.v1.Thing',
    'com.example.v1.ThingList',
  ]);
});
