import { describe, expect, test } from 'vitest';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { MessageDescriptor, TypeRef } from '../descriptor.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { decodeObject } from './decode.ts';
import { storedForm, wireForm } from './wire-form.ts';

const formsOf = (key: string, json: unknown): { wire: unknown; stored: unknown } => {
  const message = allSchemas.message(key);
  const { object } = decodeObject(message, json);
  return { wire: wireForm(message, object), stored: storedForm(message, object) };
};

describe('optional lists and maps that are empty', () => {
  test.each([
    [
      'of the object',
      'core/v1.ConfigMap',
      { metadata: { labels: {}, finalizers: [] }, data: {} },
      { metadata: {} },
    ],
    [
      'inside of messages, lists and maps',
      'core/v1.Pod',
      {
        spec: {
          containers: [{ name: 'a', env: [], resources: { limits: {}, requests: { cpu: '1' } } }],
          tolerations: [],
        },
      },
      {
        metadata: {},
        spec: { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }] },
        status: {},
      },
    ],
    [
      'in map values',
      'authorization/v1.SubjectAccessReview',
      { spec: { extra: { a: ['b'], ['__proto__']: [] }, groups: [] } },
      {
        metadata: {},
        spec: { extra: JSON.parse('{"__proto__":[],"a":["b"]}') as unknown },
        status: { allowed: false },
      },
    ],
  ])('%s are left out', (_, key, json, expected) => {
    const { wire, stored } = formsOf(key, json);
    expect(wire).toStrictEqual(expected);
    expect(stored).toStrictEqual(expected);
  });

  test('stay if the value is an empty message', () => {
    const given = { metadata: {}, spec: { podSelector: {}, ingress: [{}] } };
    expect(
      formsOf('networking/v1.NetworkPolicy', { ...given, spec: { ...given.spec, egress: [] } })
        .stored,
    ).toStrictEqual(given);
  });
});

test('an empty list that is always written is stored as null', () => {
  const { wire, stored } = formsOf('rbac/v1.Role', { rules: [] });
  expect(wire).toStrictEqual({ metadata: {}, rules: [] });
  expect(stored).toStrictEqual({ metadata: {}, rules: null });
  expect(formsOf('core/v1.LimitRange', { spec: { limits: [] } }).stored).toStrictEqual({
    metadata: {},
    spec: { limits: null },
  });
});

test('an object without empty parts is returned itself; another one is not modified', () => {
  const message = allSchemas.message('core/v1.Pod');
  const { object } = decodeObject(message, {
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'a', args: ['b'] }] },
  });
  expect(storedForm(message, object)).toBe(object);
  const { object: other } = decodeObject(message, {
    spec: { containers: [{ name: 'a', args: [] }] },
  });
  const before = JSON.stringify(other);
  expect(storedForm(message, other)).not.toBe(other);
  expect(JSON.stringify(other)).toBe(before);
});

describe('every kind, filled at random and with everything else empty', () => {
  test.each(allSchemas.schemas.map((schema) => schema.key))('%s', (key) => {
    const schema = allSchemas.schemas.find((candidate) => candidate.key === key)!;
    for (const message of allSchemas.messagesOf(schema)) {
      if (message.gvk === undefined) continue;
      for (let seed = 1; seed <= 3; seed++) {
        const object = fuzzObject(message, new SeededRandom(seed));
        expect(storedForm(message, object)).toBe(object);
        const emptied = withEmpties(message, object);
        const { object: decoded } = decodeObject(message, emptied);
        expect(JSON.stringify(storedForm(message, decoded))).toBe(JSON.stringify(object));
      }
    }
  });
});

/** Returns a copy in which every missing list and map is present and empty. */
function withEmpties(
  message: MessageDescriptor,
  object: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const { name, type } of message.fields) {
    const value = object[name];
    if (value !== undefined && value !== null) copy[name] = emptied(type, value);
    else if (type.kind === 'list') copy[name] = [];
    else if (type.kind === 'map') copy[name] = {};
    else if (value !== undefined) copy[name] = value;
  }
  return copy;
}

function emptied(type: TypeRef, value: unknown): unknown {
  if (type.kind === 'message') return withEmpties(type.message, value as Record<string, unknown>);
  if (type.kind === 'list') return (value as unknown[]).map((item) => emptied(type.items, item));
  return value;
}
