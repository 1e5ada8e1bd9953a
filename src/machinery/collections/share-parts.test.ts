import { expect, test } from 'vitest';
import { shareParts } from './share-parts.ts';

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

test('equal values become one', () => {
  const model = { a: [1, { b: 'text' }], c: null };
  expect(shareParts(model, copy(model))).toBe(model);
  expect(shareParts(undefined, model)).toBe(model);
});

test('a value that differs keeps what differs, and shares the rest', () => {
  const model = { id: 'one', labels: { app: 'web' }, ports: [{ port: 80 }, { port: 81 }] };
  const value = { ...copy(model), id: 'two', ports: [{ port: 80 }, { port: 82 }] };
  const expected = copy(value);
  const shared = shareParts(model, value);
  expect(shared).toBe(value);
  expect(shared).toEqual(expected);
  expect(shared.labels).toBe(model.labels);
  expect(shared.ports[0]).toBe(model.ports[0]);
  expect(shared.ports).not.toBe(model.ports);
});

test('a value with fewer members is not its model', () => {
  const model = { a: { x: 1, y: 2 }, list: [1, 2] };
  const value = { a: { x: 1 }, list: [1] };
  expect(shareParts(model, copy(value))).toEqual(value);
  expect(shareParts([1], { 0: 1 })).toEqual({ 0: 1 });
});
