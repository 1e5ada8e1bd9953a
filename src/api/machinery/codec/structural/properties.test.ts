// Properties of every schema and every object.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { deepCopy } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { DecodeError } from '../decode-error.ts';
import { StructuralCodec } from './structural-codec.ts';
import { schemas, values } from './testing/random.ts';
import { validateSchema } from './validate-schema.ts';

const RUNS = { numRuns: 400, seed: 7 };

const codecOf = (spec: JSONSchemaProps): StructuralCodec =>
  new StructuralCodec({
    group: 'example.com',
    version: 'v1',
    kind: 'Thing',
    listKind: 'ThingList',
    plural: 'things',
    selectableFields: [],
    schema: { type: 'object', properties: { spec } },
  });

const objectOf = (spec: unknown): Record<string, unknown> => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  spec,
});

/** Decodes an object; returns undefined if that fails. */
function decode(
  codec: StructuralCodec,
  json: unknown,
): ReturnType<StructuralCodec['decode']> | undefined {
  try {
    return codec.decode(json);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return undefined;
  }
}

describe('every schema and object', () => {
  test('decoding a decoded object changes nothing, and reports nothing', () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const codec = codecOf(schema);
        const once = decode(codec, objectOf(value));
        if (once === undefined) return;
        const twice = codec.decode(once.object);
        expect(JSON.stringify(twice.object)).toBe(JSON.stringify(once.object));
        expect(twice.unknownFields).toEqual([]);
      }),
      RUNS,
    );
  });

  test('the input is neither modified nor shared', () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const codec = codecOf(schema);
        const before = deepCopy(value);
        const read = decode(codec, objectOf(value));
        if (read !== undefined) codec.applyDefaults(read.object);
        expect(value).toEqual(before);
      }),
      RUNS,
    );
  });

  test('defaults are idempotent, and fit the schema', () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const codec = codecOf(schema);
        const { object } = decode(codec, objectOf(value)) ?? { object: objectOf({}) };
        codec.applyDefaults(object);
        const defaulted = JSON.stringify(object);
        codec.applyDefaults(object);
        expect(JSON.stringify(object)).toBe(defaulted);
      }),
      RUNS,
    );
  });

  test('an unchanged object is always a valid update, except for fields without a schema', () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        // Upstream treats objects with fields without a schema as changed.
        fc.pre(!/preserve-unknown-fields|embedded-resource/.test(JSON.stringify(schema)));
        const codec = codecOf(schema);
        const read = decode(codec, objectOf(value));
        if (read === undefined) return;
        expect(codec.validateUpdate(read.object, deepCopy(read.object))).toEqual([]);
      }),
      RUNS,
    );
  });

  test('validation, and everything else derived from a schema, never throws', () => {
    fc.assert(
      fc.property(schemas, values, values, (schema, value, old) => {
        const codec = codecOf(schema);
        validateSchema({ type: 'object', properties: { spec: schema } }, field.path('schema'));
        expect(codec.mergeType.map).toBeDefined();
        expect(codec.celType.kind).toBe('object');
        const [read, before] = [decode(codec, objectOf(value)), decode(codec, objectOf(old))];
        if (read === undefined || before === undefined) return;
        const errors = [
          ...codec.validate(read.object),
          ...codec.validateUpdate(read.object, before.object),
        ];
        for (const error of errors) expect(error.message).not.toContain('undefined');
      }),
      RUNS,
    );
  });
});
