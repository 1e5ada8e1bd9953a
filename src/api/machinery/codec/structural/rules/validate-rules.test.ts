import { expect, test } from 'vitest';
import * as field from '#machinery/validation/field.ts';
import { runSteps } from '#machinery/turn.ts';
import type { JSONSchemaProps } from '../json-schema-props.ts';
import { validateSchema } from '../validate-schema.ts';
import { compileRulesOf } from './precompiled.ts';

const messages = (schema: JSONSchemaProps, compiled = runSteps(compileRulesOf(schema))): string[] =>
  validateSchema(schema, field.path('schema'), { compiledRules: compiled }).map(
    ({ message }) => message,
  );

test('rules that were compiled before are validated with the same result', () => {
  const schema: JSONSchemaProps = {
    type: 'object',
    'x-kubernetes-validations': [{ rule: 'self.spec.a > 1' }, { rule: 'self.x' }],
    properties: {
      spec: {
        type: 'object',
        properties: { a: { type: 'string', 'x-kubernetes-validations': [{ rule: '1' }] } },
      },
    },
  };
  const found = messages(schema);
  expect(found).toHaveLength(3);
  expect(validateSchema(schema, field.path('schema')).map(({ message }) => message)).toEqual(found);
});

test('many rules are compiled in steps', () => {
  const rules = Array.from({ length: 200 }, (_, index) => ({
    rule: `self.a > ${index} && self.a < 1000 && self.a != 77`,
  }));
  const schema: JSONSchemaProps = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { a: { type: 'integer' } },
        'x-kubernetes-validations': rules,
      },
    },
  };
  const steps = compileRulesOf(schema);
  let count = 1;
  while (steps.next().done !== true) count++;
  expect(count).toBeGreaterThan(10);
  expect(
    field.bounded(() =>
      validateSchema(schema, field.path('schema'), {
        compiledRules: runSteps(compileRulesOf(schema)),
      }),
    ),
  ).toEqual([]);
});

test('expressions that are too long in all are rejected unless they were compiled before', () => {
  const rules = Array.from({ length: 10 }, () => ({ rule: `'${'x'.repeat(6000)}' != ''` }));
  const schema: JSONSchemaProps = { type: 'object', 'x-kubernetes-validations': rules };
  const [error] = field.bounded(() => validateSchema(schema, field.path('schema')));
  expect(error?.detail).toContain('must have at most 50000 characters');
});
