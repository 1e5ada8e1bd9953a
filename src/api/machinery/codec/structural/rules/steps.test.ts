import { expect, test } from 'vitest';
import type { JSONSchemaProps } from '../json-schema-props.ts';
import { StructuralCodec } from '../structural-codec.ts';

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

const body = (spec: unknown): Record<string, unknown> => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  spec,
});

test('rules that take long are evaluated in steps, with the same result', () => {
  // Each rule costs about 280,000, which are seven steps.
  const rules = Array.from({ length: 5 }, () => ({ rule: 'self.all(x, self.all(y, x * y >= 0))' }));
  const codec = codecOf({
    type: 'array',
    items: { type: 'integer' },
    'x-kubernetes-validations': [...rules, { rule: 'false' }],
  });
  const object = body(Array.from({ length: 200 }, () => 1));
  const steps = codec.validateInSteps(object);
  let count = 1;
  let result = steps.next();
  for (; result.done !== true; result = steps.next()) count++;
  expect(count).toBeGreaterThan(5 * 6);
  expect(count).toBeLessThan(5 * 12);
  expect(result.value.map(({ message }) => message)).toEqual([
    'spec: Invalid value: failed rule: false',
  ]);
  expect(codec.validate(object)).toEqual(result.value);
});

test('the rules of one object share a cost limit', () => {
  const rules = Array.from({ length: 50 }, () => ({
    rule: 'self.all(x, self.all(y, x * y >= 0))',
  }));
  const codec = codecOf({
    type: 'array',
    items: { type: 'integer' },
    'x-kubernetes-validations': rules,
  });
  const errors = codec.validate(body(Array.from({ length: 200 }, () => 1)));
  expect(errors.map(({ detail }) => detail)).toEqual([
    'validation failed due to running out of cost budget, no further validation rules will be run',
  ]);
});

test('earlier errors prevent the evaluation of rules', () => {
  const codec = codecOf({
    type: 'integer',
    minimum: 3,
    'x-kubernetes-validations': [{ rule: 'self > 2' }],
  });
  expect(codec.validate(body(1)).map(({ detail }) => detail)).toEqual([
    'spec in body should be greater than or equal to 3',
    'failed rule: self > 2',
  ]);
  const [, checked] = codec.validate(body(1), { prior: codec.validate(body('x')).slice(0, 1) });
  expect(checked?.message).toContain(
    'some validation rules were not checked because the object was invalid',
  );
});

test('a rule that an unchanged value violates is a warning', () => {
  const codec = codecOf({
    type: 'object',
    properties: { a: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 2' }] } },
  });
  const warnings: string[] = [];
  const warn = (message: string): number => warnings.push(message);
  expect(codec.validateUpdate(body({ a: 1 }), body({ a: 1 }), { warn })).toEqual([]);
  expect(warnings).toEqual(['spec.a: Invalid value: 1: failed rule: self > 2']);
  expect(codec.validateUpdate(body({ a: 1 }), body({ a: 0 }), { warn })).toHaveLength(1);
});
