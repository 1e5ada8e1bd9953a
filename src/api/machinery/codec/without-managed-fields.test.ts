import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeForStorage } from './storage-codec.ts';
import { storedText } from './stored-text.ts';
import {
  decodeOutline,
  decodeWithoutStatus,
  withoutManagedFields,
} from './without-managed-fields.ts';

const cut = (json: string): string => withoutManagedFields(Buffer.from(json)).toString();

describe('withoutManagedFields', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('"managedFields":[', '\\', '"metadata":{', ']}', '{"a":[', 'é…'),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.constantFrom(1, true, null),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(text, fc.constantFrom('managedFields', 'metadata')), tie('any'), {
        maxKeys: 3,
      }),
    ),
  })).any;
  const fields = fc.array(
    fc.tuple(fc.constantFrom('name', 'labels', 'uid', 'annotations'), value),
    { maxLength: 3 },
  );

  test('removes the list from metadata, at any position, and changes nothing else', () => {
    fc.assert(
      fc.property(
        fields,
        fc.array(value, { maxLength: 3 }),
        fields,
        value,
        (before, managedFields, after, spec) => {
          const metadata = {
            ...Object.fromEntries(before),
            managedFields,
            ...Object.fromEntries(after),
          };
          const whole = { kind: 'K', apiVersion: 'v1', metadata, spec };
          const { managedFields: _, ...rest } = metadata;
          const earlier = Object.entries(metadata).slice(
            0,
            Object.keys(metadata).indexOf('managedFields'),
          );
          const inside = JSON.stringify(Object.fromEntries(earlier)).includes('"managedFields":[');
          // A nested field of that name in an earlier field prevents the cut.
          expect(cut(JSON.stringify(whole))).toBe(
            JSON.stringify(inside ? whole : { ...whole, metadata: rest }),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('keeps fields of the same name elsewhere', () => {
    for (const object of [
      { kind: 'K', metadata: { name: 'a' } },
      { kind: 'K', metadata: { name: 'a' }, spec: { managedFields: [1] } },
      {
        kind: 'K',
        metadata: { name: 'a' },
        spec: { template: { metadata: { managedFields: [1] } } },
      },
      { kind: 'K', metadata: { name: 'a', annotations: { managedFields: [1] } } },
      { kind: 'K', metadata: { name: 'a', managedFields: null } },
      { spec: { metadata: { managedFields: [1] } }, metadata: { name: 'a' } },
      { kind: 'K', managedFields: [1], metadata: {} },
      { kind: 'K', metadata: { name: '"managedFields":[' } },
      {},
    ]) {
      const json = JSON.stringify(object);
      expect(cut(json)).toBe(json);
    }
  });
});

test('an outline is the stored object without managedFields and resourceVersion', () => {
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: 'a',
      namespace: 'ä',
      uid: 'u',
      managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }],
      labels: { managedFields: 'x' },
    },
    spec: { volumes: [{ configMap: { name: 'c' } }] },
  };
  const value = encodeForStorage(object);
  const before = Buffer.from(value);
  const { managedFields: _, ...metadata } = object.metadata;
  expect(decodeOutline(value)).toEqual({ ...object, metadata });
  // The stored value is unchanged.
  expect(Buffer.from(value).equals(before)).toBe(true);
});

describe('an object of a built-in kind', () => {
  const nasty = [']},"spec":{', ',"status":{', '"managedFields":[', ']}', '\\', '"', 'é…', 'a'];
  const text = fc.oneof(fc.string(), fc.constantFrom(...nasty));
  const fieldSet = fc.letrec((tie) => ({
    set: fc.oneof(
      { maxDepth: 3 },
      fc.constant({}),
      fc.dictionary(
        text.map((each) => `f:${each}`),
        tie('set'),
        { maxKeys: 3 },
      ),
    ),
  })).set;
  const entry = fc.record({ manager: text, operation: fc.constant('Update'), fieldsV1: fieldSet });
  const object = fc.record({
    labels: fc.dictionary(text, text, { maxKeys: 3 }),
    managedFields: fc.option(fc.array(entry, { maxLength: 3 }), { nil: undefined }),
    nodeName: fc.option(text, { nil: undefined }),
    containers: fc.array(fc.record({ name: text, args: fc.array(text, { maxLength: 2 }) }), {
      maxLength: 2,
    }),
    phase: text,
    claims: fc.boolean(),
  });
  const valueOf = ({ labels, managedFields, nodeName, containers, phase, claims }: Drawn) => {
    const stored = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'p',
        uid: 'u',
        labels,
        ...(managedFields !== undefined && { managedFields }),
      },
      spec: { containers, ...(nodeName !== undefined && { nodeName }) },
      status: { phase, ...(claims && { claimStatuses: [phase] }) },
    };
    return { stored, value: encodeForStorage(stored) };
  };
  type Drawn = typeof object extends fc.Arbitrary<infer T> ? T : never;

  test('is decoded without its status, unless that has a field that is asked for', () => {
    fc.assert(
      fc.property(object, (drawn) => {
        const { value } = valueOf(drawn);
        const outline = decodeOutline<{ status: object }>(value);
        const decoded = decodeWithoutStatus<{ status: object }>(value, ['claimStatuses']);
        const isWhole = drawn.claims || drawn.managedFields === undefined;
        expect(decoded).toEqual(isWhole ? outline : { ...outline, status: {} });
        expect(Object.keys(decoded)).toEqual(Object.keys(outline));
      }),
      { numRuns: 500 },
    );
  });

  test('has the texts that the decoded object has', () => {
    fc.assert(
      fc.property(object, (drawn) => {
        const { value } = valueOf(drawn);
        expect(storedText(value, ['spec', 'nodeName'])).toBe(drawn.nodeName);
        expect(storedText(value, ['status', 'phase'])).toBe(drawn.phase);
        expect(storedText(value, ['spec', 'other'])).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});
