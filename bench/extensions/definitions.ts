// The definitions that the benchmark creates: one whose objects have 30 fields and three rules, and
// many of average size.

export const GROUP = 'bench.example.com';

const text = { type: 'string', maxLength: 50 };
const count = { type: 'integer', minimum: 0 };

const many = (prefix: string, length: number, schema: object): [string, object][] =>
  Array.from({ length }, (_, index) => [`${prefix}${index}`, schema]);

/** Returns the definition of a namespaced kind with 30 fields and three rules. */
export function thingDefinition(): object {
  const properties = Object.fromEntries([
    ...many('text', 10, text),
    ...many('count', 10, count),
    ...many('flag', 4, { type: 'boolean' }),
    ['tags', { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 20 } }],
    [
      'labels',
      {
        type: 'object',
        maxProperties: 10,
        additionalProperties: { type: 'string', maxLength: 20 },
      },
    ],
    ['mode', { type: 'string', enum: ['fast', 'slow'] }],
    ['ratio', { type: 'number' }],
    ['word', { type: 'string', maxLength: 20, pattern: '^[a-z]+$' }],
    ['filler', { type: 'string', maxLength: 1000 }],
  ]);
  const rules = [
    { rule: 'self.count1 <= self.count2' },
    { rule: "self.mode != 'slow' || self.tags.all(tag, tag.startsWith('a'))" },
    {
      rule: '!has(self.labels) || size(self.labels) <= self.count9 + 5',
      message: 'too many labels',
    },
  ];
  const spec = {
    type: 'object',
    required: ['mode', 'count1', 'count2'],
    properties,
    'x-kubernetes-validations': rules,
  };
  return definition(GROUP, 'things', 'Thing', { type: 'object', properties: { spec } });
}

/** Returns a custom object of about 1 KiB. */
export function thing(name: string): object {
  const spec = Object.fromEntries([
    ...Array.from({ length: 10 }, (_, index) => [`text${index}`, `value-${index}`]),
    ...Array.from({ length: 10 }, (_, index) => [`count${index}`, index]),
    ...Array.from({ length: 4 }, (_, index) => [`flag${index}`, index % 2 === 0]),
    ['tags', ['alpha', 'beta', 'gamma']],
    ['labels', { tier: 'front', stage: 'test' }],
    ['mode', 'fast'],
    ['ratio', 0.5],
    ['word', 'custom'],
    ['filler', 'abcdefghij'.repeat(40)],
  ]) as object;
  return { apiVersion: `${GROUP}/v1`, kind: 'Thing', metadata: { name }, spec };
}

export const KINDS_PER_GROUP = 20;

/** Returns the group of a definition of average size. */
export const groupOf = (index: number): string =>
  `group-${Math.floor(index / KINDS_PER_GROUP)}.example.com`;

/**
 * Returns a definition of 20 to 60 KB, depending on its index. Schemas have descriptions, as
 * generated definitions do.
 */
export function averageDefinition(index: number): {
  readonly plural: string;
  readonly group: string;
  readonly body: object;
} {
  const [plural, group] = [`kind${index}s`, groupOf(index)];
  const sections = 10 + (index % 5) * 5;
  const properties = Object.fromEntries(
    Array.from({ length: sections }, (_, at) => [`section${at}`, sectionOf(index, at)]),
  );
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties }, status: sectionOf(index, sections) },
  };
  return { plural, group, body: definition(group, plural, `Kind${index}`, schema) };
}

/** Returns a part of a schema, of about 2 KB. */
function sectionOf(index: number, at: number): object {
  const describe = (field: string): string =>
    `${field} of section ${at} of kind ${index}: what it means, which values it may have, ` +
    'and what happens where it is not given.';
  const fields = Object.fromEntries(
    Array.from({ length: 9 }, (_, field) => [
      `field${field}`,
      {
        type: field % 3 === 0 ? 'integer' : 'string',
        description: describe(`field${field}`),
        ...(field === 1 && { maxLength: 63 }),
      },
    ]),
  );
  return {
    type: 'object',
    description: describe('The section'),
    required: ['field0'],
    properties: fields,
  };
}

function definition(group: string, plural: string, kind: string, openAPIV3Schema: object): object {
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  };
}
