// Keywords that definitions must not have, and upstream.test.ts therefore cannot test.

import { expect, test } from 'vitest';
import { validateValue } from './validate-value.ts';

test('items must be unique', () => {
  expect(
    validateValue({ uniqueItems: true }, [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]).map((error) => error.message),
  ).toEqual(['<nil>: Invalid value: "":  in body shouldn\'t contain duplicates']);
  expect(validateValue({ uniqueItems: true }, [1, '1', [1]])).toEqual([]);
});

test('a pattern that cannot be compiled matches nothing', () => {
  const [error] = validateValue(
    { type: 'object', properties: { a: { type: 'string', pattern: '[' } } },
    { a: 'x' },
  );
  expect(error?.message).toMatch(
    /^a: Invalid value: "x": a in body should match '\[, but pattern is invalid: error parsing regexp/,
  );
});

test('a whole number is a multiple of the whole part of a factor', () => {
  const messageOf = (multipleOf: number, value: number): string | undefined => {
    return validateValue({ type: 'number', multipleOf }, value)[0]?.message;
  };
  expect(messageOf(2.5, 4)).toBeUndefined();
  expect(messageOf(0.5, 4)).toBe(
    '<nil>: Invalid value: 0: factor MultipleOf declared for  must be positive: 0',
  );
  expect(messageOf(0.5, 4.5)).toBeUndefined();
});
