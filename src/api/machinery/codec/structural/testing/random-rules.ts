// Random schemas with random rules: those of random.ts, some of whose nodes get rules that fit their types more or less.

import type { JSONSchemaProps, ValidationRule } from '../json-schema-props.ts';
import type { SchemaCase } from './cases.ts';
import { randomCases } from './random.ts';

type Choose = (choices: number) => number;

const ANY: readonly ValidationRule[] = [
  { rule: 'self == oldSelf' },
  { rule: 'oldSelf.hasValue()', optionalOldSelf: true },
  { rule: 'oldSelf.orValue(self) == self', optionalOldSelf: true, messageExpression: '"changed"' },
  { rule: 'true' },
  { rule: 'false', message: 'never' },
  { rule: 'self.a' },
  { rule: 'self' },
];

const OF_TYPE: Readonly<Record<string, readonly ValidationRule[]>> = {
  string: [
    { rule: "self != 'a'", reason: 'FieldValueForbidden' },
    { rule: 'self.size() > 1', messageExpression: "'is ' + self" },
    { rule: "self.startsWith('a')", message: 'no a' },
    { rule: 'self > "a"' },
  ],
  integer: [
    { rule: 'self > 0', messageExpression: 'string(self)' },
    { rule: '1 / self > 0' },
    { rule: 'self >= oldSelf', messageExpression: 'string(oldSelf)' },
  ],
  number: [
    { rule: 'self > 0.0', messageExpression: 'string(self)' },
    { rule: 'self < 1.5', reason: 'FieldValueDuplicate' },
  ],
  array: [{ rule: 'self.size() > 1' }, { rule: 'self.all(x, x == self[0])' }, { rule: 'self[1] == self[0]' }],
  object: [
    { rule: 'has(self.a)', fieldPath: '.a', reason: 'FieldValueRequired' },
    { rule: 'self.a == self.b' },
    { rule: 'has(self.b) || self.kind == "a"' },
    { rule: 'self.x__dot__y == self.a' },
    { rule: "!has(self.metadata) || self.metadata.name == 'a'" },
  ],
  map: [{ rule: 'size(self) > 1' }, { rule: "'a' in self" }, { rule: 'self.all(k, self[k] == self[k])' }],
  '': [{ rule: 'self == 1 || self == "a"' }, { rule: 'self > 0' }],
};

/** Returns random schemas with rules, with random objects or updates. The same seed gives the same cases. */
export function randomRuleCases(seed: number, count: number): SchemaCase[] {
  return randomCases(seed, count).map((given, index) => {
    const choose = chooser(seed + index);
    return { ...given, name: `random rules ${index}`, schema: withRules(given.schema, choose) };
  });
}

/** A node has rules in two of five cases; lists, maps and texts are limited, so that rules cost little enough. */
function withRules(schema: JSONSchemaProps, choose: Choose): JSONSchemaProps {
  const { items, properties, additionalProperties } = schema;
  const type = schema.type ?? '';
  const inside: JSONSchemaProps = {
    ...(items !== undefined && !Array.isArray(items) && { items: withRules(items, choose), maxItems: 4 }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: withRules(additionalProperties, choose),
      maxProperties: 5,
    }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, withRules(property, choose)])),
    }),
    ...(type === 'string' && { maxLength: schema.maxLength ?? 10 }),
  };
  const pool = [...(OF_TYPE[typeof additionalProperties === 'object' ? 'map' : type] ?? []), ...ANY];
  // Rules that are wrong for all types keep the others from being evaluated: they are rare.
  const rule = choose(5) < 2 ? pool[choose(choose(6) === 0 ? pool.length : pool.length - 2)] : undefined;
  return { ...schema, ...inside, ...(rule !== undefined && { 'x-kubernetes-validations': [rule] }) };
}

function chooser(seed: number): Choose {
  let state = (seed % 2_147_483_646) + 1;
  return (choices) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % choices;
  };
}
