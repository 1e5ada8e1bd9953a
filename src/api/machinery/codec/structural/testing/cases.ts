// Schemas and objects for the codec. Upstream's results are recorded in upstream.json (see
// test/differential/README.md).

import type { JSONSchemaProps } from '../json-schema-props.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface SchemaCase {
  readonly name: string;
  /** The schema of the field `spec`, or of the whole object if `ofSpec` is false. */
  readonly schema: JSONSchemaProps;
  readonly ofSpec?: boolean;
  readonly statusEnabled?: boolean;
  /**
   * Objects by name, without apiVersion and kind; values of `spec` if the schema is. Absent: the
   * schema is invalid.
   */
  readonly objects?: Readonly<Record<string, unknown>>;
  /**
   * Updates by name: from an object that was created without any rules, to one that must meet them.
   */
  readonly updates?: Readonly<Record<string, readonly [old: unknown, updated: unknown]>>;
  /** Updates of the status by name. */
  readonly statusUpdates?: Readonly<Record<string, readonly [old: unknown, updated: unknown]>>;
}

const text: JSONSchemaProps = { type: 'string' };
const whole: JSONSchemaProps = { type: 'integer' };
const object = (
  properties: Record<string, JSONSchemaProps>,
  more: JSONSchemaProps = {},
): JSONSchemaProps => ({
  type: 'object',
  properties,
  ...more,
});
const list = (items: JSONSchemaProps, more: JSONSchemaProps = {}): JSONSchemaProps => ({
  type: 'array',
  items,
  ...more,
});
const map = (values: JSONSchemaProps | boolean, more: JSONSchemaProps = {}): JSONSchemaProps => ({
  type: 'object',
  additionalProperties: values,
  ...more,
});
const preserve: JSONSchemaProps = { 'x-kubernetes-preserve-unknown-fields': true };
const embedded: JSONSchemaProps = { 'x-kubernetes-embedded-resource': true };
const intOrString: JSONSchemaProps = { 'x-kubernetes-int-or-string': true };

const formats: Readonly<Record<string, readonly string[]>> = {
  bsonobjectid: ['507f1f77bcf86cd799439011', '507f1f77bcf86cd79943901', 'zzzf1f77bcf86cd799439011'],
  uri: [
    'http://a.b/c?d',
    '/abs',
    'rel',
    '',
    'mailto:a@b',
    'http://[::1]:80/',
    'http://a b/',
    'http://a/%zz',
    '*',
    ':x',
    'http://a:b/',
  ],
  email: [
    'a@b.c',
    'a',
    'A B <a@b>',
    '"q q"@b.c',
    'a@[1.2.3.4]',
    'a@b (c)',
    'a..b@c',
    'a@b@c',
    '<a@b>',
    'é@ü.de',
    'a@b <c@d>',
  ],
  hostname: [
    'a.example.com',
    'a_b.com',
    '-a.com',
    'x',
    'ü.com',
    'a..b',
    '1.2.3.4',
    'a.b',
    `${'a'.repeat(64)}.com`,
    'a.',
  ],
  ipv4: ['1.2.3.4', '01.2.3.4', '1.2.3', '::1', '::ffff:1.2.3.4', '1.2.3.256', '1.2.3.4.5'],
  ipv6: ['::1', '1.2.3.4', 'fe80::1%eth0', '1::2::3', '::ffff:1.2.3.4', '2001:DB8::'],
  cidr: ['10.0.0.0/8', '10.0.0.0/33', '10.0.0.0', '::/0', '::1/129', '010.1.1.1/08', '1.2.3.4/a'],
  mac: [
    '00:00:5e:00:53:01',
    '0000.5e00.5301',
    '00-00-5e-00-53-01',
    '00:00:5e:00:53',
    '02:00:5e:10:00:00:00:01',
    '00:00-5e:00:53:01',
  ],
  uuid: [
    '123e4567-e89b-12d3-a456-426614174000',
    '123E4567E89B12D3A456426614174000',
    '123e4567',
    '123e4567-e89b-12d3-a456-42661417400g',
  ],
  uuid3: ['123e4567-e89b-32d3-a456-426614174000', '123e4567-e89b-42d3-a456-426614174000'],
  uuid4: [
    '123e4567-e89b-42d3-a456-426614174000',
    '123e4567-e89b-42d3-c456-426614174000',
    '123e4567-e89b-42d3-B456-426614174000',
  ],
  uuid5: ['123e4567-e89b-52d3-8456-426614174000', '123e4567-e89b-42d3-8456-426614174000'],
  isbn: ['3836221195', '978-4-87311-368-5', '3 401 01319 X', 'foo', '3836221196'],
  isbn10: ['3836221195', '9784873113685'],
  isbn13: ['9784873113685', '3836221195', '9784873113686'],
  creditcard: ['4220855426222389', '4220-8554-2622-2389', '4220855426213389', 'x'],
  ssn: ['111-11-1111', '111111111', '111 11 1111', '1111111111x'],
  hexcolor: ['#fff', 'CCccCC', '#ff', '#ffffffff'],
  rgbcolor: [
    'rgb(0,31,255)',
    'rgb(0,  31, 255)',
    'rgb(1,349,275)',
    'rgb(01,31,255)',
    'rgb(19,20,199)',
  ],
  byte: ['aGVsbG8=', 'aGVsbG8', '', '====', 'YQ==', 'a-_='],
  password: ['', 'x'],
  date: ['2020-02-29', '2021-02-29', '2020-2-9', '0000-01-01', '2020-12-31T'],
  duration: [
    '1h',
    '3 days',
    '22 ns',
    'x',
    '',
    '1.5h',
    '5',
    '1 week and 2 days',
    '99999999999999999999 s',
    '1y',
  ],
  datetime: [
    '2014-12-15T19:30:20.000Z',
    '2014-12-15t19:30:20z',
    '2014-12-15 19:30:20Z',
    '2014-12-15T24:30:20Z',
    '2014-12-15T19:30:20+01:00',
    '2014-12-15T19:30:20',
  ],
  'date-time': ['2014-12-15T19:30:20.000Z', 'x'],
  'k8s-short-name': ['abc', 'Abc', 'a.b', `a${'b'.repeat(63)}`],
  'k8s-long-name': ['abc.d', 'Abc', 'a..b', '-a'],
  unknown: ['anything'],
};

const formatCases: readonly SchemaCase[] = Object.entries(formats).map(([format, values]) => ({
  name: `format ${format}`,
  schema: object({ x: { type: 'string', format } }),
  objects: Object.fromEntries([
    ...values.map((value) => [value === '' ? 'empty' : value, { x: value }]),
    ['number', { x: 5 }],
    ['list', { x: [] }],
  ]),
}));

const decodeCases: readonly SchemaCase[] = [
  {
    name: 'pruning',
    schema: object({
      a: text,
      o: object({ b: text }),
      l: list(object({ c: text })),
      m: map(object({ d: text })),
      t: map(true),
      f: map(false),
      e: { type: 'object' },
      ll: list(list(object({ c: text }))),
    }),
    objects: {
      empty: {},
      'unknown fields': {
        z: 1,
        a: 'x',
        o: { z: 1, b: 'x' },
        l: [{ z: 1, c: 'x' }, { z: 2 }],
        m: { k: { z: 1, d: 'x' } },
        ll: [[{ z: 1 }]],
      },
      'empty values': { o: {}, l: [], m: {}, t: {}, e: {} },
      'additionalProperties: true': { t: { x: { y: 1 }, z: [{ w: 1 }], s: 1 } },
      'additionalProperties: false': { f: { x: { y: 1 } } },
      'object without properties': { e: { x: 1, y: { z: 1 } } },
      'wrong types': { a: { z: 1 }, o: [{ z: 1 }], l: { z: 1 }, m: [{ z: 1 }] },
      'order of keys': {
        m: { b: {}, a: {}, '10': {}, '9': {}, B: {}, ä: {} },
        l: [{ c: '2' }, { c: '1' }],
        a: 'x',
      },
      'strange names': {
        constructor: 1,
        toString: { a: 1 },
        m: { constructor: { d: 'x', valueOf: 1 } },
      },
      'names with dots': { 'a.b': 1, m: { 'a.b/c': { 'x.y': 1 } } },
    },
  },
  {
    name: 'preserving unknown fields',
    schema: object({
      p: object({ q: object({ r: text }), l: list(object({ c: text })) }, preserve),
      any: preserve,
      lp: list(object({ a: text }), preserve),
      pm: { type: 'object', ...preserve, additionalProperties: object({ x: text }) },
      inner: object({ deep: object({ p: { type: 'object', ...preserve } }) }),
    }),
    objects: {
      nested: { p: { z: { y: [1, { x: null }] }, q: { r: 'x', s: 1 }, l: [{ c: 'x', d: 1 }] } },
      anything: { any: { a: { b: [] } } },
      'any text': { any: 'x' },
      'any null': { any: null },
      'any list': { any: [{ b: 1, a: null }, null] },
      lists: { lp: [{ a: 'x', b: { c: 1 } }] },
      'map values': { pm: { a: { x: 'y', z: 1 } } },
      deep: { inner: { deep: { p: { a: 1 }, x: 1 }, y: 1 } },
      nulls: { p: { z: null, q: null, l: [null] } },
    },
  },
  {
    name: 'preserving unknown fields at the root',
    ofSpec: false,
    schema: object({ spec: object({ a: text }) }, preserve),
    objects: { unknown: { spec: { a: 'x', b: 1 }, more: { z: 1, a: [] } } },
  },
  {
    name: 'no schema of the root but its type',
    ofSpec: false,
    schema: { type: 'object' },
    objects: { pruned: { spec: { a: 'x', b: 1 }, more: 1 } },
  },
  {
    name: 'nulls',
    schema: object({
      s: text,
      n: { ...text, nullable: true },
      d: { ...text, default: 'x' },
      nd: { ...text, nullable: true, default: 'x' },
      o: object({ s: text }, { nullable: true }),
      l: list(text),
      ln: list({ ...text, nullable: true }),
      ld: list({ ...text, default: 'y' }),
      m: map(text),
      mn: map({ ...text, nullable: true }),
      md: map({ ...text, default: 'z' }),
      e: { ...text, nullable: true, enum: ['a'] },
    }),
    objects: {
      'of fields': { s: null, n: null, d: null, nd: null, o: null, l: null },
      'of items': { l: [null] },
      'of nullable items': { ln: [null, 'x'] },
      'of items with a default': { ld: [null, 'x'] },
      'of values': { m: { a: null, b: 'x' }, mn: { a: null }, md: { a: null, b: 'x' } },
      'not in an enum': { e: null },
    },
  },
  {
    name: 'numbers',
    schema: object({
      i: whole,
      n: { type: 'number' },
      i32: { type: 'integer', format: 'int32' },
      i64: { type: 'integer', format: 'int64' },
      f: { type: 'number', format: 'float' },
      s: text,
      b: { type: 'boolean' },
    }),
    objects: {
      whole: { i: 1, n: 1, i32: -5, i64: 9007199254740991 },
      fractions: { i: 1.5, n: 1.5 },
      'nearly whole': { i: 1.0000000001 },
      large: { n: 1e21, i: 1e17 },
      small: { n: 1e-7 },
      'beyond 32 bits': { i32: 2147483648 },
      'beyond float': { f: 1e39 },
      'as text': { i: '1', n: 'x' },
      'for text': { s: 1 },
      'a fraction for text': { s: 1.5 },
      booleans: { b: 'true', i: true },
    },
  },
  {
    name: 'int-or-string',
    schema: object({
      a: intOrString,
      b: { ...intOrString, anyOf: [whole, text], pattern: '^a' },
      c: { ...intOrString, allOf: [{ anyOf: [whole, text] }, { maximum: 5 }] },
      d: { ...intOrString, enum: [1, 'x'] },
    }),
    objects: {
      numbers: { a: 5, b: 6, c: 4 },
      texts: { a: 'x', b: 'ab', c: 'y' },
      'other types': { a: true, b: [], c: {} },
      fractions: { a: 1.5 },
      rules: { b: 'x', c: 6, d: 2 },
    },
  },
  {
    name: 'embedded resources',
    schema: object({
      e: { type: 'object', ...embedded, ...preserve },
      p: object({ data: text }, embedded),
      l: list({ type: 'object', ...embedded, ...preserve }),
      m: map({ type: 'object', ...embedded, ...preserve }),
    }),
    objects: {
      whole: {
        e: {
          kind: 'Pod',
          apiVersion: 'v1',
          metadata: { name: 'x', labels: { b: '1', a: '2' } },
          spec: { z: 1, a: 2 },
        },
      },
      'unknown metadata': {
        e: {
          kind: 'Pod',
          apiVersion: 'v1',
          metadata: {
            name: 'x',
            foo: 1,
            ownerReferences: [{ bar: 1, apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' }],
          },
        },
      },
      'missing type': { e: { metadata: {} } },
      'pruned fields': {
        p: { kind: 'K', apiVersion: 'v1', data: 'x', more: 1, metadata: { name: 'n' } },
      },
      'wrong kind': { e: { kind: 5, apiVersion: 'v1' } },
      'null kind': { e: { kind: null, apiVersion: 'v1' } },
      'wrong metadata': { e: { kind: 'K', apiVersion: 'v1', metadata: { name: 5 } } },
      'metadata as text': { l: [{ kind: 'K', apiVersion: 'v1', metadata: 'x' }] },
      'null metadata': { e: { kind: 'K', apiVersion: 'v1', metadata: null } },
      'empty metadata': {
        e: {
          kind: 'K',
          apiVersion: 'v1',
          metadata: { labels: {}, name: '', finalizers: [], creationTimestamp: null },
        },
      },
      'invalid type': { e: { kind: 'k_', apiVersion: 'a/b/c' }, l: [{ kind: '', apiVersion: '' }] },
      'invalid metadata': {
        l: [
          {
            kind: 'K',
            apiVersion: 'v1',
            metadata: { name: 'a/b', labels: { 'a b': 'x' }, namespace: 'X_', generateName: '%' },
          },
        ],
      },
      finalizers: { e: { kind: 'K', apiVersion: 'v1', metadata: { finalizers: ['foo', 'a b'] } } },
      'in maps': {
        m: { 'a.b': { kind: 'K', apiVersion: 'v1', metadata: { foo: 1 } }, c: { kind: '1' } },
      },
      'not an object': { e: 'x', l: ['y'] },
    },
  },
  {
    name: 'metadata of the object',
    ofSpec: false,
    schema: object({ spec: object({ a: text }) }),
    objects: {
      'unknown fields': {
        metadata: {
          name: 'x',
          foo: 1,
          labels: { b: '1', a: '2' },
          ownerReferences: [{ x: 1, apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' }],
        },
      },
      'wrong type': { metadata: { name: 'x', labels: { a: 5 } } },
      'wrong list': { metadata: { name: 'x', finalizers: 'a' } },
      'empty values': { metadata: { name: 'x', labels: {}, annotations: {}, finalizers: [] } },
    },
  },
  {
    name: 'defaults',
    schema: object({
      s: { ...text, default: 'd' },
      o: object({ a: { ...text, default: 'x' }, b: object({ c: { ...whole, default: 1 } }) }),
      od: object(
        {
          a: { ...text, default: 'x' },
          b: object({ c: { ...whole, default: 1 } }, { default: {} }),
        },
        { default: { a: 'own' } },
      ),
      l: list(object({ a: { ...text, default: 'x' }, k: text })),
      m: map(object({ a: { ...text, default: 'x' } })),
      n: object({ a: { ...text, default: 'x' } }, { nullable: true }),
      f: { type: 'boolean', default: false },
      z: { ...whole, default: 0 },
      el: list(text, { default: [] }),
      ml: map(list(object({ a: { ...text, default: 'deep' } }))),
      p: { type: 'object', ...preserve, default: { b: [1, null], a: {} } },
      any: { ...preserve, default: 5 },
    }),
    objects: {
      nothing: {},
      given: { s: 'x', f: true, z: 5, el: ['a'], p: {}, any: 'x' },
      objects: { o: {}, od: {}, n: {} },
      'items and values': {
        l: [{}, { a: 'y' }, { k: 'z' }],
        m: { a: {}, b: { a: 'y' } },
        ml: { a: [{}] },
      },
      nulls: { s: null, od: null, n: null, f: null, el: null },
      'wrong types': { o: 'x', l: {}, m: [] },
    },
  },
  {
    name: 'defaults of embedded resources',
    schema: object({
      e: object(
        {
          apiVersion: { ...text, default: 'v1' },
          kind: { ...text, default: 'K' },
          metadata: { type: 'object', default: { labels: { a: 'b' } } },
        },
        { ...embedded, ...preserve },
      ),
      d: {
        type: 'object',
        ...embedded,
        ...preserve,
        default: { apiVersion: 'v1', kind: 'K', metadata: { name: 'x' }, data: { z: 1 } },
      },
    }),
    objects: { empty: { e: {} }, 'some fields': { e: { kind: 'Other', metadata: {} } } },
  },
  {
    name: 'defaults of a field that is not there',
    ofSpec: false,
    schema: object({
      spec: object({ a: { ...text, default: 'x' } }, { default: {} }),
      other: object({ a: { ...text, default: 'x' } }),
    }),
    objects: { nothing: {}, null: { spec: null, other: null } },
  },
];

const valueCases: readonly SchemaCase[] = [
  {
    name: 'limits of numbers',
    schema: object({
      min: { ...whole, minimum: 1 },
      max: { type: 'number', maximum: 1000000 },
      exclusive: {
        type: 'number',
        minimum: 0,
        exclusiveMinimum: true,
        maximum: 1.5,
        exclusiveMaximum: true,
      },
      multiple: { ...whole, multipleOf: 3 },
      part: { type: 'number', multipleOf: 0.1 },
      half: { ...whole, multipleOf: 0.5 },
      fraction: { ...whole, maximum: 2.5 },
      i32: { type: 'integer', format: 'int32', minimum: 0, maximum: 3000000000 },
    }),
    objects: {
      valid: { min: 1, max: 1000000, exclusive: 1, multiple: 9, part: 0.3, fraction: 2 },
      'too small': { min: 0, exclusive: 0 },
      'too large': { max: 1000000.5, exclusive: 1.5, fraction: 3 },
      'too large and whole': { max: 1000001 },
      multiples: { multiple: 4, part: 0.35 },
      'a whole number of parts': { part: 1 },
      halves: { half: 1 },
      'bounds that do not fit': { i32: 5 },
    },
  },
  {
    name: 'limits of texts',
    schema: object({
      min: { ...text, minLength: 2 },
      max: { ...text, maxLength: 3 },
      pattern: { ...text, pattern: '^[a-z]+$' },
      all: { ...text, minLength: 2, maxLength: 3, pattern: '^a' },
      enum: { ...text, enum: ['a', 'b c', ''] },
    }),
    objects: {
      valid: { min: 'ab', max: 'abc', pattern: 'x', all: 'ab', enum: '' },
      'too short': { min: 'a', all: 'a' },
      'too long': { max: 'abcd', all: 'abcd' },
      'code points': { min: '😀', max: '😀😀😀' },
      pattern: { pattern: 'A', all: 'bb' },
      'quotes in a text': { pattern: 'a"b\n<' },
      enum: { enum: 'c' },
      'enum and type': { enum: 5 },
    },
  },
  {
    name: 'limits of lists and objects',
    schema: object(
      {
        l: list(text, { minItems: 1, maxItems: 2 }),
        m: map(whole, { minProperties: 1, maxProperties: 2 }),
        o: object({ a: text, b: text }, { required: ['b', 'a'] }),
      },
      { required: ['r'] },
    ),
    objects: {
      valid: { r: 1, l: ['a'], m: { a: 1 }, o: { a: 'x', b: 'y' } },
      'too few': { l: [], m: {}, o: {} },
      'too many': { l: ['a', 'b', 'c'], m: { a: 1, b: 2, c: 3 } },
      'wrong items': { l: [1, 'a'], m: { a: 'x', 'b.c': null } },
      'required and null': { o: { a: null, b: 'x' } },
    },
  },
  {
    name: 'required at the root',
    ofSpec: false,
    schema: object({ spec: object({ a: text }) }, { required: ['spec'] }),
    objects: {
      missing: {},
      there: { spec: {} },
      'wrong type': { spec: 'x' },
      null: { spec: null },
    },
  },
  {
    name: 'junctors',
    schema: object(
      {
        any: { ...text, anyOf: [{ pattern: '^a' }, { maxLength: 2 }] },
        one: { ...text, oneOf: [{ pattern: '^a' }, { maxLength: 2 }] },
        all: { ...text, allOf: [{ pattern: '^a' }, { maxLength: 2 }] },
        not: { ...text, not: { pattern: '^a' } },
        a: text,
        b: object({ c: whole, d: list(object({ e: text })) }),
      },
      {
        oneOf: [{ required: ['a'] }, { required: ['b'] }],
        anyOf: [
          { properties: { b: { properties: { c: { minimum: 1 } } } } },
          { required: ['one'] },
        ],
      },
    ),
    objects: {
      valid: { a: 'x', any: 'ax', one: 'x', all: 'a', not: 'b' },
      'anyOf fails': { a: 'x', any: 'bbb' },
      'oneOf fails': { a: 'x', one: 'bbb' },
      'oneOf twice': { a: 'x', one: 'a' },
      'allOf fails once': { a: 'x', all: 'abc' },
      'allOf fails': { a: 'x', all: 'bbb' },
      'not fails': { a: 'x', not: 'ab' },
      'none of the root': {},
      'both of the root': { a: 'x', b: {} },
      'deep in anyOf': { b: { c: 0 } },
    },
  },
  {
    name: 'deep junctors',
    schema: object(
      { kind: text, a: object({ x: whole, y: text }), l: list(object({ n: text, v: whole })) },
      {
        oneOf: [
          {
            properties: {
              kind: { enum: ['a'] },
              a: { required: ['x'], properties: { x: { minimum: 10 } } },
            },
            required: ['kind', 'a'],
          },
          {
            properties: { kind: { enum: ['l'] }, l: { minItems: 1, items: { required: ['n'] } } },
            required: ['kind', 'l'],
          },
        ],
      },
    ),
    objects: {
      a: { kind: 'a', a: { x: 10 } },
      'a is too small': { kind: 'a', a: { x: 1 } },
      'a is missing': { kind: 'a' },
      l: { kind: 'l', l: [{ n: 'x' }] },
      'l lacks n': { kind: 'l', l: [{ v: 1 }] },
      other: { kind: 'z', l: [] },
    },
  },
  {
    name: 'enums',
    schema: object({
      n: { ...whole, enum: [1, 2] },
      f: { type: 'number', enum: [1, 2.5] },
      o: object({ a: whole }, { enum: [{ a: 1 }] }),
      l: list(text, { enum: [['a'], []] }),
      any: { ...preserve, enum: [null, 'x', 1] },
    }),
    objects: {
      valid: { n: 1, f: 2.5, o: { a: 1 }, l: [], any: 'x' },
      invalid: { n: 3, f: 2, o: { a: 2 }, l: ['b'], any: 'y' },
      'null in an enum': { any: null },
      'a fraction of an enum': { f: 1.7 },
    },
  },
  {
    name: 'sets and lists with keys',
    schema: object({
      s: list(text, { 'x-kubernetes-list-type': 'set' }),
      sl: list(list(text, { 'x-kubernetes-list-type': 'atomic' }), {
        'x-kubernetes-list-type': 'set',
      }),
      so: list(object({ a: text }, { 'x-kubernetes-map-type': 'atomic' }), {
        'x-kubernetes-list-type': 'set',
      }),
      k: list(object({ a: text, b: text }, { required: ['a'] }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a'],
      }),
      kk: list(object({ a: text, b: { ...whole, default: 1 } }, { required: ['a'] }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a', 'b'],
      }),
      m: map(list(text, { 'x-kubernetes-list-type': 'set' })),
    }),
    objects: {
      valid: {
        s: ['a', 'b'],
        sl: [['a'], ['b']],
        k: [{ a: '1' }, { a: '2' }],
        kk: [{ a: '1' }, { a: '1', b: 2 }],
      },
      'twice in a set': { s: ['a', 'b', 'a', 'a', 'b'] },
      'lists twice': { sl: [['a'], ['a']], so: [{ a: 'x' }, { a: 'x' }] },
      'keys twice': { k: [{ a: '1', b: 'x' }, { a: '1' }], kk: [{ a: '1' }, { a: '1', b: 1 }] },
      'missing keys': { k: [{}, {}, { b: 'x' }] },
      'not objects': { k: ['a', 'b'] },
      'in maps': { m: { 'a.b': ['x', 'x'] } },
    },
  },
  {
    name: 'ratcheting',
    schema: object({
      s: { ...text, maxLength: 2 },
      o: object(
        { a: { ...text, maxLength: 2 }, b: { ...text, maxLength: 2 } },
        { maxProperties: 1 },
      ),
      l: list({ ...text, maxLength: 2 }),
      k: list(object({ n: text, v: { ...text, maxLength: 2 } }, { required: ['n'] }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['n'],
      }),
      m: map({ ...text, maxLength: 2 }),
      all: { ...text, allOf: [{ maxLength: 2 }] },
      set: list(text, { 'x-kubernetes-list-type': 'set' }),
      other: text,
      r: object({ a: text }, { required: ['a'] }),
    }),
    updates: {
      'nothing changed there': [{ s: 'long' }, { s: 'long', other: 'x' }],
      'changed there': [{ s: 'long' }, { s: 'longer' }],
      added: [{}, { s: 'long' }],
      'one field of an object': [
        { o: { a: 'long', b: 'long' } },
        { o: { a: 'long', b: 'longer' } },
      ],
      'object as it was': [
        { o: { a: 'long', b: 'long' } },
        { o: { a: 'long', b: 'long' }, other: 'x' },
      ],
      'list as it was': [{ l: ['long'] }, { l: ['long'], other: 'x' }],
      'list with one more': [{ l: ['long'] }, { l: ['long', 'b'] }],
      'list with keys, one more': [
        { k: [{ n: 'a', v: 'long' }] },
        {
          k: [
            { n: 'b', v: 'x' },
            { n: 'a', v: 'long' },
          ],
        },
      ],
      'list with keys, changed': [{ k: [{ n: 'a', v: 'long' }] }, { k: [{ n: 'a', v: 'longer' }] }],
      'map value': [{ m: { a: 'long' } }, { m: { a: 'long', b: 'x' } }],
      'map value changed': [{ m: { a: 'long' } }, { m: { a: 'longer' } }],
      'allOf as it was': [{ all: 'long' }, { all: 'long', other: 'x' }],
      'set as it was': [{ set: ['a', 'a'] }, { set: ['a', 'a'], other: 'x' }],
      'set that gets worse': [{ set: ['a', 'a'] }, { set: ['a', 'a', 'b', 'b'] }],
      'set that becomes wrong': [{ set: ['a'] }, { set: ['a', 'a'] }],
      'required as it was': [{ r: {} }, { r: {}, other: 'x' }],
      'required, moved': [{ r: { a: 'x' } }, { r: {} }],
    },
  },
];

const wrong = (
  name: string,
  schema: JSONSchemaProps,
  more: Partial<SchemaCase> = {},
): SchemaCase => ({
  name,
  schema,
  ...more,
});

const schemaCases: readonly SchemaCase[] = [
  wrong('no type of a field', object({ a: {} })),
  wrong('no type of items', object({ a: list({}) })),
  wrong('no items', object({ a: { type: 'array' } })),
  wrong('no type at the root', {}, { ofSpec: false }),
  wrong('another type at the root', { type: 'string' }, { ofSpec: false }),
  wrong('additionalProperties at the root', map(text), { ofSpec: false }),
  wrong('nullable at the root', { type: 'object', nullable: true }, { ofSpec: false }),
  wrong('unknown type', object({ a: { type: 'foo' } })),
  wrong('null as a type', object({ a: { type: 'null' } })),
  wrong(
    'types in junctors',
    object({
      a: {
        ...text,
        allOf: [text],
        anyOf: [{ description: 'x', title: 'y' }],
        oneOf: [{ nullable: true }],
        not: { default: 'x' },
      },
    }),
  ),
  wrong(
    'extensions in junctors',
    object({
      a: {
        type: 'array',
        items: text,
        anyOf: [
          { 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['a'] },
          preserve,
          embedded,
          intOrString,
          { 'x-kubernetes-map-type': 'atomic' },
          { additionalProperties: text },
        ],
      },
    }),
  ),
  wrong(
    'undefined in the structure',
    object({
      a: object(
        {},
        {
          anyOf: [{ properties: { b: { minLength: 1 } } }, { items: { minLength: 1 } }],
          not: { properties: { c: {} } },
        },
      ),
    }),
  ),
  wrong(
    'metadata in junctors',
    object(
      { spec: text },
      { anyOf: [{ properties: { metadata: { properties: { name: { maxLength: 5 } } } } }] },
    ),
    { ofSpec: false },
  ),
  wrong(
    'metadata with more than names',
    object({ metadata: object({ name: text, labels: map(text) }) }),
    {
      ofSpec: false,
    },
  ),
  wrong('metadata with a description', object({ metadata: { type: 'object', description: 'x' } }), {
    ofSpec: false,
  }),
  wrong('metadata of another type', object({ metadata: text, kind: whole, apiVersion: whole }), {
    ofSpec: false,
  }),
  wrong('a default of metadata', object({ metadata: { type: 'object', default: {} } }), {
    ofSpec: false,
  }),
  wrong(
    'a pattern that is none',
    object({ a: { ...text, pattern: '[a' }, b: { ...text, pattern: '(?=x)' } }),
  ),
  wrong(
    'int-or-string with others',
    object({
      a: { ...intOrString, ...preserve },
      b: { ...intOrString, ...embedded, type: 'object' },
    }),
  ),
  wrong('int-or-string in another order', object({ a: { ...intOrString, anyOf: [text, whole] } })),
  wrong(
    'embedded without a type',
    object({ a: { ...embedded, ...preserve }, b: { ...embedded, ...preserve, type: 'string' } }),
  ),
  wrong('embedded without properties', object({ a: { ...embedded, type: 'object' } })),
  wrong(
    'embedded with additionalProperties',
    object({ a: { ...embedded, ...preserve, ...map(text) } }),
  ),
  wrong(
    'embedded in metadata',
    object({
      e: object(
        { metadata: object({ x: { ...embedded, ...preserve, type: 'object' } }) },
        { ...embedded, ...preserve },
      ),
    }),
  ),
  wrong(
    'embedded with wrong types',
    object({
      e: object({ kind: whole, apiVersion: whole, metadata: text }, { ...embedded, ...preserve }),
    }),
  ),
  wrong(
    'properties and additionalProperties',
    object({ a: { ...object({ b: text }), additionalProperties: text } }),
  ),
  wrong('uniqueItems', object({ a: list(text, { uniqueItems: true }) })),
  wrong(
    'list type of an object',
    object({
      a: { type: 'object', 'x-kubernetes-list-type': 'set' },
      b: { ...preserve, 'x-kubernetes-list-type': 'atomic' },
    }),
  ),
  wrong('unknown list type', object({ a: list(text, { 'x-kubernetes-list-type': 'bag' }) })),
  wrong(
    'map type of a list',
    object({
      a: list(text, { 'x-kubernetes-map-type': 'atomic' }),
      b: { ...preserve, 'x-kubernetes-map-type': 'granular' },
    }),
  ),
  wrong('unknown map type', object({ a: { type: 'object', 'x-kubernetes-map-type': 'bag' } })),
  wrong(
    'set of objects',
    object({
      a: list(object({ b: text }), { 'x-kubernetes-list-type': 'set' }),
      c: list(list(text, { 'x-kubernetes-list-type': 'set' }), { 'x-kubernetes-list-type': 'set' }),
    }),
  ),
  wrong(
    'set of nullable items',
    object({ a: list({ ...text, nullable: true }, { 'x-kubernetes-list-type': 'set' }) }),
  ),
  wrong(
    'list with keys, without keys',
    object({ a: list(object({ b: text }), { 'x-kubernetes-list-type': 'map' }) }),
  ),
  wrong(
    'keys without a list with keys',
    object({
      a: list(text, { 'x-kubernetes-list-map-keys': ['x'] }),
      b: list(text, { 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['x'] }),
    }),
  ),
  wrong(
    'list with keys of texts',
    object({
      a: list(text, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['x'] }),
    }),
  ),
  wrong(
    'list with wrong keys',
    object({
      a: list(
        object({ b: list(text), c: { ...text, nullable: true }, d: text }, { required: ['c'] }),
        {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['b', 'c', 'd', 'd', 'e'],
        },
      ),
    }),
  ),
  wrong(
    'unsupported keywords',
    object({
      a: {
        ...text,
        id: 'x',
        $ref: '#/x',
        patternProperties: { a: text },
        definitions: { a: text },
        dependencies: { a: ['b'] },
        additionalItems: true,
      },
    }),
  ),
  wrong('items as a list', object({ a: { type: 'array', items: [text] } })),
  wrong(
    'a default of the wrong type',
    object({
      a: { ...text, default: 5 },
      b: { ...whole, default: 'x' },
      c: { ...whole, minimum: 5, default: 1 },
    }),
  ),
  wrong(
    'a default with unknown fields',
    object({ a: object({ b: text }, { default: { b: 'x', c: 1 } }) }),
  ),
  wrong(
    'defaults in metadata',
    object({
      e: object(
        { metadata: { type: 'object', default: { name: 5 } } },
        { ...embedded, ...preserve },
      ),
      f: object(
        { metadata: { type: 'object', default: { labels: { 'a b': 'x' } } } },
        { ...embedded, ...preserve },
      ),
    }),
  ),
  wrong(
    'an embedded default',
    object({
      e: { type: 'object', ...embedded, ...preserve, default: { kind: 5 } },
      f: { type: 'object', ...embedded, ...preserve, default: { metadata: { name: 'a/b' } } },
    }),
  ),
  wrong(
    'defaults of type fields',
    object({
      e: object(
        { kind: { ...text, default: '_' }, apiVersion: { ...text, default: 'a/b/c' } },
        { ...embedded, ...preserve },
      ),
    }),
  ),
  wrong(
    'defaults below metadata',
    object({
      e: object(
        { metadata: object({ labels: map({ ...text, default: 'x' }) }) },
        { ...embedded, ...preserve },
      ),
    }),
  ),
  wrong(
    'a required default',
    object({ a: object({ b: { ...text, default: 'x' } }, { required: ['b'], default: {} }) }),
  ),
  wrong(
    'several rules at the root with status',
    object({ spec: text }, { minProperties: 1, anyOf: [{ required: ['spec'] }] }),
    {
      ofSpec: false,
      statusEnabled: true,
    },
  ),
];

const mergeCases: readonly SchemaCase[] = [
  {
    name: 'owned fields',
    schema: object({
      o: object({ a: text, b: object({ c: text }) }),
      atomic: object({ a: object({ b: text }) }, { 'x-kubernetes-map-type': 'atomic' }),
      m: map(object({ a: text })),
      am: map(text, { 'x-kubernetes-map-type': 'atomic' }),
      l: list(object({ a: text })),
      set: list(text, { 'x-kubernetes-list-type': 'set' }),
      k: list(
        object(
          { n: text, p: { ...whole, default: 1 }, v: object({ x: text }) },
          { required: ['n'] },
        ),
        {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['n', 'p'],
        },
      ),
      p: object({ q: object({ r: text }), nested: { type: 'object' } }, preserve),
      any: preserve,
      e: { type: 'object', ...embedded, ...preserve },
      ios: intOrString,
      t: map(true),
      plain: { type: 'object' },
    }),
    objects: {
      objects: {
        o: { a: 'x', b: { c: 'y' } },
        atomic: { a: { b: 'x' } },
        m: { k: { a: 'x' } },
        am: { k: 'x' },
      },
      'empty values': { o: {}, atomic: {}, m: {}, l: [], set: [], k: [] },
      lists: {
        l: [{ a: 'x' }],
        set: ['a', 'b'],
        k: [
          { n: 'a', v: { x: 'y' } },
          { n: 'a', p: 2 },
        ],
      },
      'unknown fields': {
        p: { q: { r: 'x' }, nested: { z: { y: 1 } }, more: { w: [1, { v: 1 }] } },
        any: { a: { b: [1] } },
        t: { a: 'x' },
      },
      'anything as a list': { any: [{ a: 1 }], ios: 5 },
      embedded: {
        e: {
          kind: 'K',
          apiVersion: 'v1',
          metadata: { name: 'x', labels: { a: 'b' }, finalizers: ['a/b'] },
          data: { a: { b: 1 } },
        },
      },
      nulls: { any: null, p: { z: null } },
    },
  },
];

export const cases: readonly SchemaCase[] = [
  ...decodeCases,
  ...valueCases,
  ...mergeCases,
  ...formatCases,
  ...schemaCases,
];

/** Returns the schema of the whole object. */
export function wholeSchema({ schema, ofSpec = true }: SchemaCase): JSONSchemaProps {
  return ofSpec ? object({ spec: schema }) : schema;
}

/** Returns the whole object of a case, without its type. */
export function wholeBody({ ofSpec = true }: SchemaCase, given: unknown): Body {
  return ofSpec ? { spec: given } : (given as Body);
}
