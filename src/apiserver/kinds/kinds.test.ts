// Invariants of every kind in the list: its rules, its table and its subresources accept any object
// that a decoder accepts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Kind } from '../catalog/kind.ts';
import { exerciseKind } from '../testing/fuzz-kind.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { kinds } from './index.ts';

/** Kinds without validation of their fields. */
const WITHOUT_RULES: ReadonlySet<string> = new Set(['ServiceAccount']);

const types = kinds.flatMap((kind) => kind.types);
const keyOf = ({ group, version, resource }: (typeof types)[number]): string =>
  `${group}/${version}/${resource}`;

let t: TestServer;
let built: ReadonlyMap<string, Kind>;
beforeAll(async () => {
  t = await startTestServer({ start: false, runtimeConfig: { 'api/all': 'true' } });
  built = new Map([...t.server.catalog.snapshot()].map((kind) => [keyOf(kind.type), kind]));
});
afterAll(async () => {
  await t.stop();
});

test('each type is in the list once', () => {
  expect(new Set(types.map(keyOf)).size).toBe(types.length);
});

test('each definition builds the kinds of its declared types', () => {
  expect(types.map(keyOf).filter((key) => !built.has(key))).toEqual([]);
});

describe.each(types.map((type) => [keyOf(type), type] as const))('%s', (key, type) => {
  const kind = (): Kind => built.get(key)!;

  test('serves the subresources of its type', () => {
    expect(kind().type).toBe(type);
    const names = (kind().subresources ?? []).map(({ name }) => name);
    expect(names.toSorted()).toEqual((type.subresources ?? []).toSorted());
  });

  test('its rules, columns and selectable fields accept any object that can be decoded', () => {
    const errors = exerciseKind(kind());
    if (kind().strategy !== undefined && !WITHOUT_RULES.has(type.kind))
      expect(errors).toBeGreaterThan(0);
    else expect(errors).toBe(0);
  });
});
