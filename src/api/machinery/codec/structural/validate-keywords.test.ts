import { expect, test } from 'vitest';
import * as field from '#machinery/validation/field.ts';
import { validateKeywords } from './validate-keywords.ts';

test('rules are validated where they are, by who knows them', () => {
  const rule = [{ rule: 'self' }];
  const schema = {
    type: 'object',
    'x-kubernetes-validations': rule,
    properties: {
      a: { type: 'string', 'x-kubernetes-validations': rule },
      b: { type: 'string', 'x-kubernetes-validations': [] },
    },
  };
  const errors = validateKeywords(schema, field.path('schema'), {
    validateRules: (_, at) => [field.invalid(at.child('x-kubernetes-validations'), 'self', 'is wrong')],
  });
  expect(errors.map((error) => error.field)).toEqual([
    'schema.properties[a].x-kubernetes-validations',
    'schema.x-kubernetes-validations',
  ]);
  expect(validateKeywords(schema, field.path('schema'))).toEqual([]);
});
