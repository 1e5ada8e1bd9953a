// The most expensive definitions of custom resources.

import type { RawRequest } from '#apiserver/testing/requests.ts';

interface HostileDefinition {
  readonly name: string;
  request(): RawRequest;
  readonly before?: readonly (() => RawRequest)[];
}

type Json = Record<string, unknown>;

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const headers = { 'content-type': 'application/json' };
const NAME = 'things.hostile.example.com';
const text = { type: 'string' };

const named = (count: number, value: (index: number) => unknown): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, value(index)]));

const items = (count: number, item: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => item(i));

const version = (schema: unknown, more: Json = {}): Json => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...more,
});

const definition = (versions: unknown[], names: Json = {}): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: NAME },
  spec: {
    group: 'hostile.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing', ...names },
    versions,
  },
});

const whole = (schema: unknown, more: Json = {}): Json => definition([version(schema, more)]);
const fields = (properties: Json): Json =>
  whole({ type: 'object', properties: { spec: { type: 'object', properties } } });

/** Returns `depth` schemas, one inside the other. */
function nested(depth: number, wrap: (inner: Json) => Json): Json {
  let schema: Json = text;
  for (let level = 0; level < depth; level++) schema = wrap(schema);
  return schema;
}

function creation(name: string, body: () => Json): HostileDefinition {
  return {
    name,
    request: () => ({
      method: 'POST',
      path: `${DEFINITIONS}?dryRun=All`,
      headers,
      body: JSON.stringify(body()),
    }),
  };
}

function update(name: string, old: () => Json, body: () => Json): HostileDefinition {
  return {
    name,
    before: [
      () => ({ method: 'DELETE', path: `${DEFINITIONS}/${NAME}` }),
      () => ({ method: 'POST', path: DEFINITIONS, headers, body: JSON.stringify(old()) }),
    ],
    request: () => ({
      method: 'PATCH',
      path: `${DEFINITIONS}/${NAME}?dryRun=All`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: body()['spec'] }),
    }),
  };
}

const wide = (): Json => fields(named(12_000, () => text));

export const definitionCases: readonly HostileDefinition[] = [
  creation('definition: many fields', wide),
  creation('definition: a long description', () =>
    fields({ a: { type: 'string', description: 'x'.repeat(3_000_000) } }),
  ),
  creation('definition: deep', () =>
    fields({ a: nested(1000, (inner) => ({ type: 'object', properties: { a: inner } })) }),
  ),
  creation('definition: deep lists', () =>
    fields({ a: nested(1000, (inner) => ({ type: 'array', items: inner })) }),
  ),
  creation('definition: deep junctors', () =>
    fields({ a: { type: 'string', ...nested(1000, (inner) => ({ allOf: [inner] })) } }),
  ),
  creation('definition: fields without types', () => fields(named(20_000, () => ({})))),
  creation('definition: fields of unknown types', () =>
    fields(named(12_000, () => ({ type: 'x' }))),
  ),
  creation('definition: many patterns', () =>
    fields(named(8000, (i) => ({ type: 'string', pattern: `^(a+)+${i}${'(b|c)*'.repeat(40)}$` }))),
  ),
  creation('definition: large patterns', () =>
    fields(named(4000, () => ({ type: 'string', pattern: '(a{1,100}){1,9}' }))),
  ),
  creation('definition: long patterns', () =>
    fields(named(4, () => ({ type: 'string', pattern: '(a|b)*c?'.repeat(50_000) }))),
  ),
  creation('definition: many enums', () =>
    fields(named(10, (i) => ({ type: 'string', enum: items(4000, (j) => `${i} ${j}`) }))),
  ),
  creation('definition: many defaults', () =>
    fields(
      named(6000, () => ({
        type: 'object',
        default: { a: 'b' },
        properties: { a: { type: 'string' } },
      })),
    ),
  ),
  creation('definition: a large default', () =>
    fields({
      a: {
        type: 'array',
        items: { type: 'integer', minimum: 3 },
        default: items(40_000, (i) => i),
      },
    }),
  ),
  creation('definition: many rules', () =>
    fields(
      named(2000, (i) => ({
        type: 'string',
        maxLength: 5,
        'x-kubernetes-validations': [{ rule: `self != "${i}"` }],
      })),
    ),
  ),
  creation('definition: long rules', () =>
    fields({
      a: {
        type: 'string',
        'x-kubernetes-validations': items(300, () => ({
          rule: `self != "${'x'.repeat(9000)}" && self.size() > 1`,
        })),
      },
    }),
  ),
  creation('definition: rules over their budget', () =>
    fields(
      named(300, () => ({
        type: 'array',
        items: { type: 'array', items: { type: 'array', items: text } },
        'x-kubernetes-validations': [{ rule: 'self.all(a, a.all(b, b.all(c, c.contains("x"))))' }],
      })),
    ),
  ),
  creation('definition: many versions', () =>
    definition(
      items(300, (i) =>
        version(
          { type: 'object', properties: named(20, () => text) },
          { name: `v${i}`, storage: i === 0 },
        ),
      ),
    ),
  ),
  creation('definition: the same version again and again', () =>
    definition(items(9000, () => version({ type: 'object' }))),
  ),
  creation('definition: many columns', () =>
    whole(
      { type: 'object' },
      { additionalPrinterColumns: items(9000, () => ({ name: '', type: 'x', jsonPath: 'a' })) },
    ),
  ),
  creation('definition: many selectable fields', () =>
    whole(
      { type: 'object', properties: named(9000, () => text) },
      { selectableFields: items(9000, (i) => ({ jsonPath: `.f${i}` })) },
    ),
  ),
  creation('definition: many names', () =>
    definition([version({ type: 'object' })], {
      shortNames: items(40_000, () => '-'),
      categories: items(9000, () => 'x'),
    }),
  ),
  creation('definition: required fields', () =>
    whole({ type: 'object', required: items(40_000, (i) => `f${i}`), properties: { a: text } }),
  ),
  creation('definition: keys of a list', () =>
    fields({
      a: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': items(9000, (i) => `f${i}`),
        items: { type: 'object', properties: named(9000, () => text) },
      },
    }),
  ),
  update('definition: an update of many fields', wide, () =>
    fields(named(12_000, () => ({ type: 'integer' }))),
  ),
  update('definition: a bad update of many fields', wide, () =>
    fields(named(12_000, () => ({ type: 'x' }))),
  ),
];
