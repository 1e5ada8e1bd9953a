// Random structural schemas, and values that partly fit them.

import fc from 'fast-check';
import type { JSONSchemaProps } from '../json-schema-props.ts';
import type { SchemaCase } from './cases.ts';

const names = fc.constantFrom(
  'a',
  'b',
  'kind',
  'metadata',
  'apiVersion',
  'x.y',
  '10',
  '__proto__',
  'constructor',
);
const maybe = (keywords: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JSONSchemaProps> =>
  fc.record(keywords, { requiredKeys: [] });

const text = maybe({
  nullable: fc.boolean(),
  default: fc.constantFrom('d', 'a'),
  format: fc.constantFrom('date', 'ipv4', 'duration', 'uri', 'email', 'unknown'),
  minLength: fc.nat(3),
  maxLength: fc.nat(5),
  pattern: fc.constantFrom('^a+$', '(a|aa)+$', '[', '.*b'),
  enum: fc.constantFrom(['a', 'd'], [null], [1]),
}).map((keywords): JSONSchemaProps => ({ type: 'string', ...keywords }));

const number = maybe({
  type: fc.constantFrom('integer', 'number'),
  default: fc.integer(),
  minimum: fc.integer({ min: -5, max: 5 }),
  maximum: fc.double({ noNaN: true, min: -5, max: 5 }),
  multipleOf: fc.constantFrom(0.1, 2, 3),
}).map((keywords): JSONSchemaProps => ({ type: 'integer', ...keywords }));

const intOrString = fc.constant<JSONSchemaProps>({ 'x-kubernetes-int-or-string': true });
const anything = fc.constant<JSONSchemaProps>({ 'x-kubernetes-preserve-unknown-fields': true });

const { schema } = fc.letrec<{ schema: JSONSchemaProps }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    intOrString,
    anything,
    fc
      .tuple(
        tie('schema'),
        maybe({
          nullable: fc.boolean(),
          minItems: fc.nat(1),
          maxItems: fc.nat(3),
          default: fc.constantFrom([], [null]),
          'x-kubernetes-list-type': fc.constantFrom('set', 'atomic'),
        }),
      )
      .map(([items, keywords]): JSONSchemaProps => ({ type: 'array', items, ...keywords })),
    fc
      .tuple(tie('schema'), maybe({ nullable: fc.boolean(), maxProperties: fc.nat(3) }))
      .map(([additionalProperties, keywords]): JSONSchemaProps => ({
        type: 'object',
        additionalProperties,
        ...keywords,
      })),
    fc
      .tuple(
        fc.dictionary(names, tie('schema'), { maxKeys: 4 }),
        maybe({
          nullable: fc.boolean(),
          required: fc.array(names, { maxLength: 2 }),
          default: fc.constantFrom({}, { a: null }, { a: 'a', b: {} }),
          'x-kubernetes-preserve-unknown-fields': fc.constant(true),
          'x-kubernetes-embedded-resource': fc.constant(true),
          anyOf: fc.constantFrom([{ required: ['a'] }, { minProperties: 1 }]),
          not: fc.constantFrom({ required: ['b'] }),
        }),
      )
      .map(([properties, keywords]): JSONSchemaProps => ({
        type: 'object',
        properties,
        ...keywords,
      })),
  ),
}));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 0, 1, -1, 1.5, 1e300, '', 'a', 'aaa', '2020-01-01', '1.2.3.4'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 5 }),
  ),
}));

/** The schema of `spec`. */
export const schemas: fc.Arbitrary<JSONSchemaProps> = schema;
/** Any JSON. */
export const values: fc.Arbitrary<unknown> = value;

const PER_SCHEMA = 10;

/**
 * Returns random schemas with random objects or random updates. The same seed gives the same cases.
 */
export function randomCases(seed: number, count: number): SchemaCase[] {
  const given = fc.sample(values, { seed: seed + 1, numRuns: 2 * PER_SCHEMA * count });
  return fc.sample(schemas, { seed, numRuns: count }).map((sampled, index) => {
    const own = given.slice(2 * PER_SCHEMA * index, 2 * PER_SCHEMA * (index + 1));
    const name = `random ${index}`;
    if (index % 2 === 0)
      return {
        name,
        schema: sampled,
        objects: Object.fromEntries(own.map((json, at) => [`object ${at}`, json])),
      };
    // Half of the updates change nothing.
    const updates = own.slice(0, PER_SCHEMA).map((json, at) => {
      return [`update ${at}`, [json, at % 2 === 0 ? json : own[at + PER_SCHEMA]]] as const;
    });
    return { name, schema: sampled, updates: Object.fromEntries(updates) };
  });
}
