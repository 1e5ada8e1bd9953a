// Schemas with rules (x-kubernetes-validations), and objects for them. Upstream's results are
// recorded in upstream-rules.json (see test/differential/README.md).

import type { JSONSchemaProps, ValidationRule } from '../json-schema-props.ts';
import type { SchemaCase } from './cases.ts';

type Rules = string | ValidationRule | readonly (string | ValidationRule)[];

/** Returns rules from expressions. */
function rules(given: Rules): { 'x-kubernetes-validations': ValidationRule[] } {
  const list = Array.isArray(given)
    ? (given as readonly (string | ValidationRule)[])
    : [given as string | ValidationRule];
  return {
    'x-kubernetes-validations': list.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
  };
}

const text: JSONSchemaProps = { type: 'string' };
const short: JSONSchemaProps = { type: 'string', maxLength: 20 };
const whole: JSONSchemaProps = { type: 'integer' };
const bool: JSONSchemaProps = { type: 'boolean' };
const double: JSONSchemaProps = { type: 'number' };
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
const set = (items: JSONSchemaProps): JSONSchemaProps =>
  list(items, { 'x-kubernetes-list-type': 'set' });
const keyed = (
  keys: readonly string[],
  properties: Record<string, JSONSchemaProps>,
  more: JSONSchemaProps = {},
): JSONSchemaProps =>
  list(object(properties, { required: [...keys], ...more }), {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [...keys],
  });
const preserve: JSONSchemaProps = { 'x-kubernetes-preserve-unknown-fields': true };
const embedded: JSONSchemaProps = { 'x-kubernetes-embedded-resource': true };
const intOrString: JSONSchemaProps = { 'x-kubernetes-int-or-string': true };

/** Returns one definition with a property for each schema. */
const together = (
  name: string,
  properties: Readonly<Record<string, JSONSchemaProps>>,
): SchemaCase => ({
  name,
  schema: object({ ...properties }),
});
/** Returns one definition with a text property for each rule. */
const ofText = (name: string, given: readonly Rules[]): SchemaCase =>
  together(
    name,
    Object.fromEntries(
      given.map((rule, index) => [`p${index}`, { ...text, maxLength: 100, ...rules(rule) }]),
    ),
  );

const registrations: readonly SchemaCase[] = [
  ofText('rules: texts', [
    '',
    '  \t',
    { rule: 'true', message: '' },
    { rule: 'true', message: ' ' },
    { rule: 'true', message: 'a\nb' },
    { rule: 'true', message: '\n a \n' },
    { rule: 'true', message: 'a\rb' },
    { rule: 'true\n || false' },
    { rule: 'true\r || false' },
    { rule: '\n true \n' },
    { rule: 'true ||\n false', message: 'x' },
    { rule: '', message: ' ' },
    { rule: 'true', messageExpression: '' },
    { rule: 'true', messageExpression: ' ' },
    { rule: 'true', messageExpression: "'a' +\n 'b'" },
    { rule: 'true', message: 'x'.repeat(3000) },
  ]),
  ofText('rules: reasons', [
    { rule: 'true', reason: 'FieldValueInvalid' },
    { rule: 'true', reason: 'FieldValueForbidden' },
    { rule: 'true', reason: 'FieldValueRequired' },
    { rule: 'true', reason: 'FieldValueDuplicate' },
    { rule: 'true', reason: 'FieldValueTooLong' },
    { rule: 'true', reason: 'invalid' },
    { rule: 'true', reason: '' },
  ]),
  together(
    'rules: field paths',
    Object.fromEntries(
      [
        '.a',
        'a',
        '.a.b',
        '.a.c',
        '.',
        '..a',
        '.a.',
        "['a']",
        "['a'].b",
        "['a']['b']",
        "['x-y']",
        '.x-y',
        "['x.y']",
        '.x.y',
        "['a",
        "['a'",
        "['a]",
        '[a]',
        '["a"]',
        "['it\\'s']",
        "['\\q']",
        "['tab\\there']",
        '.m.key',
        "['m']['any.key']",
        '.m.key.v',
        '.m.key.w',
        '.l',
        '.l[0]',
        '.l.v',
        '.p.q',
        '.p',
        '.t.x',
        ' ',
        '.a\n.b',
        ' .a',
        '.a ',
        "['']",
        "[']']",
        '.i.j',
        '.metadata',
      ].map((fieldPath, index) => [
        `p${index}`,
        object(
          {
            a: object({ b: text }),
            'x-y': text,
            'x.y': text,
            "it's": text,
            'tab\there': text,
            m: map(object({ v: text })),
            l: list(object({ v: text })),
            p: object({}, preserve),
            t: map(true),
            i: whole,
          },
          rules({ rule: 'true', fieldPath }),
        ),
      ]),
    ),
  ),
  together('rules: field paths of scalars and maps', {
    s: { ...text, maxLength: 10, ...rules({ rule: 'true', fieldPath: '.a' }) },
    l: list(text, rules({ rule: 'true', fieldPath: '.a' })),
    m: map(text, rules({ rule: 'true', fieldPath: '.a' })),
    n: map(
      map(text),
      rules([
        { rule: 'true', fieldPath: ".a['b.c']" },
        { rule: 'true', fieldPath: '.a.b.c' },
      ]),
    ),
    e: { type: 'object', ...rules({ rule: 'true', fieldPath: '.a' }) },
  }),
  ofText('rules: expressions that do not compile', [
    'self',
    '1',
    'dyn(true)',
    "self == 'a' &&",
    'self.a',
    'other',
    'self > 1',
    "self.startsWith('a', 'b')",
    "self.nothing('a')",
    'size(self) > "a"',
    '[1, "a"].size() > 0',
    "self.matches('[')",
    "duration('x') == duration('1s')",
    "timestamp('x') == timestamp('y')",
    'self == null',
    'has(self)',
    'has(self.a)',
    'self.all(c, c == "a")',
    'oldSelf.hasValue()',
    "{'a': 1}['a']",
    'optional.of(self)',
    "self == 'ä' && unknown == 'ö'",
    'self ==\t"x" && y',
    'true ? 1 : 2',
    'quantity(self) > 1',
    'authorizer.path("/x").check("get").allowed()',
    "request.name == 'x'",
    'now() > timestamp("2020-01-01T00:00:00Z")',
    'self in ["a", 1]',
    '#',
    "self == 'unfinished",
    '0x == 1',
    '99999999999999999999 == 1',
    'self[0] == "a"',
    'selfType == self',
    'type(self) == string',
    'type(self) == int',
    'type(self) == type(1)',
    'self.size',
    '-self == ""',
    '!self',
    'self && true',
    'self ? true : false',
    "cel.bind(x, self, x == 'a')",
    'math.greatest(1, 2) == 2',
    "base64.encode(b'a') == self",
    'sets.contains([self], ["a"])',
    "[self].map(x, x.size() > 1, x) == ['aa']",
    'self.charAt(0) == "a" && self.reverse() == "b"',
    '"%s".format([self]) == "a" && strings.quote(self) == "a"',
    'self.split(",").join(";") == self',
    'ip(self).family() == 4 && cidr("10.0.0.0/8").containsIP(self)',
    '!format.dns1123Label().validate(self).hasValue()',
    "semver(self).isGreaterThan(semver('1.0.0'))",
    'url(self).getHost() == "a"',
    '[1, 2].sum() == 3 && [3, 1].sort() == [1, 3] && [1].distinct() == [1]',
    '[[1]].flatten() == [1] && lists.range(3) == [0, 1, 2] && [1, 2].first().value() == 1',
    "{'a': 1}.all(k, v, v > 0)",
    "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "regex.replace(self, 'a', 'b') == self",
    'self.find("[0-9]+") != ""',
    'string(self) == 1',
    'self.contains(1)',
    "self.lowerAscii() == 'a' && self.upperAscii() == 'A' && self.trim() == '' && self.replace('a', 'b') == self",
    'self.substring(1, 2, 3) == ""',
    'selfType{} == self',
    'self.namespace == "x"',
    'true // yes',
    "'%s-%d'.format([self, 1]) == 'a'",
    "'%d-%d'.format([1]) == 'a'",
    "'%d'.format([1, 2]) == 'a'",
    "'%q'.format([1]) == 'a'",
    "'%'.format([1]) == 'a'",
    "'%s %s'.format([[1, optional.of(self)], {'a': self}]) == 'a'",
    "'%f %e %b %x %o'.format([1, self, self, 1.5, 'a']) == 'a'",
    "'100%% %.2f'.format([1.5]) == 'a'",
    "true && 1 || 'a' || self.x",
    "[self].sort() == ['a'] && [3, 1].sortBy(x, -x) == [3, 1] && [[1], [2]].flatten() == [1, 2]",
    '[1, 2, 3].slice(0, 2) == [1, 2] && [1].reverse() == [1] && [1].distinct() == [1] && lists.range(2) == [0, 1]',
    '[[self]].sort() == []',
    '[1].slice(1) == []',
    "'a'.sortBy(x, x) == []",
    '[1].sortBy(x, [x]) == []',
    '[1].first().value() == 1 && [1].last().orValue(2) == 1',
    "['a'].flatten() == []",
    '[[[1]]].flatten(2) == [1]',
  ]),
  together('rules: over objects', {
    o: object(
      {
        a: text,
        'x-y': text,
        'x.y/z': text,
        __a__b: text,
        namespace: text,
        '1st': text,
        ünï: text,
        $ref: text,
        i: whole,
        d: double,
        b: bool,
        ios: intOrString,
        any: preserve,
        e: { type: 'object', ...preserve },
        l: list(text),
        m: map(whole),
        t: map(true),
        f: map(false),
        by: { ...text, format: 'byte' },
        da: { ...text, format: 'date' },
        dt: { ...text, format: 'date-time' },
        du: { ...text, format: 'duration' },
        r: { type: 'object', ...embedded, ...preserve },
        s: set(text),
        k: keyed(['n'], { n: text, v: whole }),
      },
      rules([
        'self.a == self.b',
        'self.x__dash__y == "a"',
        'self.x-y == "a"',
        'self.x__dot__y__slash__z == "a"',
        'self.__underscores__a__underscores__b == "a"',
        'self.__namespace__ == "a"',
        'self.1st == "a"',
        'self["1st"] == "a"',
        'self.ünï == "a"',
        'self.__dollar__ref == "a"',
        'self.i == "a"',
        'self.i == 1.0',
        'self.i < 1.5',
        'self.i < self.d',
        'self.i + self.d > 1.0',
        'self.d == 1',
        'self.b == 1',
        'self.ios == 1',
        'self.ios.size() == 1',
        'self.any == 1',
        'has(self.any)',
        'self.e.x == 1',
        'has(self.e)',
        'self.l == ["a"]',
        'self.l == [1]',
        'self.m.a == 1',
        'self.m["a"] == "b"',
        'self.m[1] == 1',
        'self.t.a == 1',
        'has(self.t)',
        'has(self.f)',
        'self.f.a == 1',
        'self.by == b"a"',
        'self.by == "a"',
        'self.da < timestamp("2020-01-01T00:00:00Z")',
        'self.da == "2020-01-01"',
        'self.dt.getFullYear() == 2020',
        'self.du > duration("1h")',
        'self.du == "1h"',
        'self.r.kind == "a" && self.r.metadata.name == "b"',
        'self.r.metadata.labels == {}',
        'self.r.spec == 1',
        'self.s == ["a"] && self.s + ["b"] == ["a", "b"]',
        'self.k == self.k && self.k[0].v == "a"',
        'self.k.all(x, x.w == 1)',
        'self.all(x, true)',
        'size(self) == 1',
        'self == 1',
        'self == self.r',
        'self.kind == "a"',
        'self.metadata.name == "a"',
        'self.?a.orValue("") == ""',
        'self.?zz.orValue("") == ""',
        'self.l[?0].orValue(1) == "a"',
        'dyn(self).anything == 1',
        'self.o.p',
        "'a' in self",
        'self["a"] == "b"',
        '{"a": self.i, "b": self.a} == {}',
        '[self.i, self.a] == []',
        'self == {"a": "b"}',
      ]),
    ),
  }),
  {
    name: 'rules: at the root',
    ofSpec: false,
    schema: object(
      { spec: object({ a: text }), status: object({ b: text }) },
      rules([
        'self.kind == "Thing" && self.apiVersion != ""',
        'self.metadata.name.size() < 10',
        'self.metadata.generateName != ""',
        'self.metadata.labels.a == "b"',
        'self.metadata.namespace == ""',
        'has(self.status) && self.status.b == self.spec.a',
        'self.spec.c == 1',
        'self.other',
      ]),
    ),
  },
  {
    name: 'rules: at a root with metadata',
    ofSpec: false,
    schema: object(
      {
        metadata: object({ name: { ...text, maxLength: 5, ...rules('self.size() < 3') } }),
        kind: { ...text, ...rules('self == 1') },
        spec: object({ a: text }),
      },
      rules([
        'self.metadata.name.size() < 10',
        'self.metadata.generateName != ""',
        'self.kind == "x"',
      ]),
    ),
  },
  ofText('rules: messages', [
    { rule: 'true', messageExpression: "'a' + self" },
    { rule: 'true', messageExpression: 'self' },
    { rule: 'true', messageExpression: '1' },
    { rule: 'true', messageExpression: 'self +' },
    { rule: 'true', messageExpression: 'dyn(self)' },
    { rule: 'true', messageExpression: 'self.a' },
    { rule: 'true', messageExpression: 'oldSelf' },
    { rule: 'true', messageExpression: 'oldSelf.orValue("")' },
    {
      rule: 'oldSelf.orValue("") == self',
      optionalOldSelf: true,
      messageExpression: 'oldSelf.orValue("")',
    },
    { rule: 'oldSelf.orValue("") == self', optionalOldSelf: true, messageExpression: 'oldSelf' },
    { rule: 'self', messageExpression: '1' },
    { rule: 'true', message: 'a', messageExpression: '"b"' },
    { rule: 'true', messageExpression: 'true ? "a" : "b"' },
    { rule: 'true', messageExpression: 'string(self.size())' },
    { rule: 'true', messageExpression: '"" ', reason: 'x' },
  ]),
  ofText('rules: old values', [
    'oldSelf == self',
    'oldSelf.size() > 1',
    { rule: 'true', optionalOldSelf: true },
    { rule: 'true', optionalOldSelf: false },
    { rule: 'oldSelf == self', optionalOldSelf: false },
    { rule: 'oldSelf == self', optionalOldSelf: true },
    { rule: 'oldSelf.hasValue()', optionalOldSelf: true },
    { rule: 'oldSelf.orValue("x") == self', optionalOldSelf: true },
    { rule: 'oldSelf.orValue(1) == self', optionalOldSelf: true },
    { rule: 'oldSelf.value() == self', optionalOldSelf: true },
    { rule: 'self.size', optionalOldSelf: true },
  ]),
  together('rules: old values in lists and maps', {
    atomic: list({ ...text, maxLength: 5, ...rules('oldSelf == self') }, { maxItems: 5 }),
    explicit: list(
      { ...text, maxLength: 5, ...rules('oldSelf == self') },
      { maxItems: 5, 'x-kubernetes-list-type': 'atomic' },
    ),
    set: { ...set({ ...text, maxLength: 5, ...rules('oldSelf == self') }), maxItems: 5 },
    keyed: {
      ...keyed(
        ['n'],
        { n: text, v: { ...whole, ...rules('oldSelf <= self') } },
        rules('oldSelf.n == self.n'),
      ),
      maxItems: 5,
    },
    nested: list(object({ a: object({ b: { ...whole, ...rules('oldSelf <= self') } }) }), {
      maxItems: 5,
    }),
    both: {
      ...keyed(['n'], {
        n: text,
        l: list({ ...whole, ...rules('oldSelf <= self') }, { maxItems: 3 }),
      }),
      maxItems: 5,
    },
    outer: list(
      { ...keyed(['n'], { n: text, v: { ...whole, ...rules('oldSelf <= self') } }), maxItems: 3 },
      { maxItems: 3 },
    ),
    map: map({ ...text, maxLength: 5, ...rules('oldSelf == self') }, { maxProperties: 5 }),
    whole: list({ ...text, maxLength: 5 }, { maxItems: 5, ...rules('oldSelf == self') }),
    optional: list(
      {
        ...text,
        maxLength: 5,
        ...rules({ rule: 'oldSelf.orValue("") == self', optionalOldSelf: true }),
      },
      { maxItems: 5 },
    ),
    atomicMap: object(
      { a: { ...text, maxLength: 5, ...rules('oldSelf == self') } },
      { 'x-kubernetes-map-type': 'atomic' },
    ),
  }),
  together('rules: types that cannot be seen', {
    any: { ...preserve, ...rules('true') },
    list: list(preserve, rules('true')),
    items: list({ ...preserve, ...rules('true') }),
    map: map({ ...preserve }, rules('true')),
    values: map({ ...preserve, ...rules('true') }),
    e: { type: 'object', ...preserve, ...rules('true') },
    inside: { ...preserve, properties: { a: { ...text, maxLength: 5, ...rules('self == ""') } } },
    within: object(
      { x: { ...preserve, properties: { a: { ...text, maxLength: 5, ...rules('self == ""') } } } },
      rules('true'),
    ),
    '1st': { ...text, maxLength: 5, ...rules('self == 1') },
    ios: { ...intOrString, ...rules('self == 1 || self == "a"') },
    t: map(true, rules('self == {}')),
  }),
  {
    name: 'rules: below allOf and others',
    schema: object(
      { a: text, b: text },
      {
        allOf: [{ ...rules('true') }, { properties: { a: rules('self.x') } }],
        anyOf: [{ ...rules('true') }],
        oneOf: [{ properties: { b: rules('') } }],
        not: { properties: { b: { minLength: 5, ...rules({ rule: 'true', reason: 'x' }) } } },
      },
    ),
  },
  {
    name: 'rules: of a schema that is wrong',
    schema: object(
      {
        good: { ...text, maxLength: 5, ...rules('self.x') },
        bad: { ...text, uniqueItems: true, ...rules('self.x') },
        parent: object(
          { bad: { ...text, uniqueItems: true }, good: { ...whole, ...rules('self.x') } },
          rules('self.x'),
        ),
      },
      rules('self.x'),
    ),
  },
  {
    name: 'rules: of a schema that is not structural',
    schema: object({
      a: { ...rules('self.x') },
      b: { ...text, ...rules(['self.x', '', { rule: 'true', reason: 'x' }]) },
    }),
  },
  {
    name: 'rules: of a schema with a wrong default',
    schema: object({
      a: { ...text, default: 5 },
      b: { ...text, maxLength: 5, ...rules(['self.x', ' ']) },
    }),
  },
  together('rules: costs of one expression', {
    text: { ...text, ...rules('self.contains(self)') },
    short: { ...text, maxLength: 10, ...rules('self.contains(self)') },
    regex: { ...text, ...rules("self.matches('^[a-z]+[0-9]*(foo|bar)$')") },
    l: list(text, rules('self.all(x, x == "a")')),
    ll: list(list(text), rules('self.all(x, x.all(y, y == "a"))')),
    lll: list(list(list(whole)), rules('self.all(x, x.all(y, y.all(z, z == 1)))')),
    limited: list(list(text, { maxItems: 5 }), {
      maxItems: 10,
      ...rules('self.all(x, x.all(y, y == "a"))'),
    }),
    pairs: list(text, { maxItems: 1000, ...rules('self.all(x, self.exists_one(y, x == y))') }),
    ints: list(whole, { maxItems: 1000, ...rules('self.all(x, self.exists_one(y, x == y))') }),
    each: list({ ...text, ...rules('self.size() > 1') }),
    eachLimited: list({ ...text, maxLength: 10, ...rules('self.size() > 1') }, { maxItems: 100 }),
    eachOfMap: map({ ...text, ...rules('self.size() > 1') }),
    eachOfMapLimited: map(
      { ...text, maxLength: 10, ...rules('self.startsWith("a")') },
      { maxProperties: 10 },
    ),
    inner: list(list({ ...whole, ...rules('self > 1') }, { maxItems: 10 })),
    innerLimited: list(list({ ...whole, ...rules('self > 1') }, { maxItems: 10 }), {
      maxItems: 10,
    }),
    negative: list({ ...text, ...rules('self.contains(self)') }, { maxItems: 0 }),
    enum: { ...text, enum: ['aa', 'b'], ...rules('self.contains(self)') },
    sum: list(whole, rules('self.sum() > 1')),
    sorted: list(text, { maxItems: 10, ...rules('self.isSorted()') }),
    m: map(text, rules('self.all(k, self[k] == k)')),
    byte: { ...text, format: 'byte', ...rules('self == self') },
    quantity: { ...text, ...rules('quantity(self).isGreaterThan(quantity("1"))') },
    unlimited: {
      ...text,
      ...rules('(self + self + self + self + self).matches("[a-z]+[a-z]+[a-z]+[a-z]+")'),
    },
    sets: list(text, rules('sets.contains(self, self)')),
    map2: list(text, {
      maxItems: 500,
      ...rules('self.map(x, x + x).all(x, x.contains("aaaaaaaaaaaaa"))'),
    }),
    message: {
      ...text,
      ...rules({ rule: 'true', messageExpression: 'self.replace("a", self).replace("b", self)' }),
    },
    messages: list({ ...text, ...rules({ rule: 'true', messageExpression: 'self + self' }) }),
    required: list(
      object(
        { a: text, bbbb: text, c: whole },
        { required: ['a', 'bbbb'], ...rules('self.a == self.bbbb') },
      ),
    ),
    format: list({ ...text, format: 'date-time', ...rules('self == self') }),
    ios: list({ ...intOrString, ...rules('self == self') }),
    keyed: keyed(['n'], { n: { ...text, maxLength: 10 } }, rules('self.n == self.n')),
    embedded: list(
      { type: 'object', ...embedded, ...preserve, ...rules('self.kind == self.apiVersion') },
      { maxItems: 100 },
    ),
    numbers: list({ ...double, ...rules('self > 0.5 && self < 100.5 && self != 7.5') }),
    bools: list({ ...bool, ...rules('self || !self') }),
    defaulted: list(
      object({ a: { ...text, default: 'x' } }, { required: ['a'], ...rules('has(self.a)') }),
    ),
    joined: list(
      { ...text, maxLength: 20 },
      { maxItems: 100, ...rules('self.join(",").contains("abcdefghijklmnopqrstuvwxyz")') },
    ),
    split: { ...text, maxLength: 10000, ...rules('self.split(",").all(x, x.contains("aa"))') },
    sort: list(whole, { maxItems: 1000, ...rules('self.sort() == [1]') }),
    sortText: list(text, { maxItems: 3000, ...rules('self.sort() == ["a"]') }),
    sortBy: list(text, { maxItems: 3000, ...rules('self.sortBy(x, x.size()) == ["a"]') }),
    distinct: list(text, { maxItems: 3000, ...rules('self.distinct().size() == self.size()') }),
    reverse: list(text, rules('self.reverse() == self')),
    slice: list(
      text,
      rules(
        'self.slice(1, 3) == self && self.slice(2, self.size()) == self && self.slice(3, 1) == self',
      ),
    ),
    range: list(text, rules('lists.range(self.size()).all(x, x < 5)')),
    rangeOf: list(text, rules('lists.range(10).all(x, x < 5)')),
    flatten: list(list(text, { maxItems: 10 }), rules('self.flatten().all(x, x != "a")')),
    flattenDeep: list(list(text, { maxItems: 10 }), {
      maxItems: 10,
      ...rules('self.flatten(2).size() == 1'),
    }),
    fields: object(
      { l: list(text), m: map(list(text)) },
      rules('self.l.map(x, x + x).all(y, y.contains("aaaaaaaaaaaaaaaaaaa"))'),
    ),
    entries: object(
      { m: map(list(text)) },
      rules('self.m.all(k, self.m[k].map(x, x + k).exists(y, y.contains("aaaaaaaaaaaaa")))'),
    ),
    optionals: object(
      { a: text, b: list(text) },
      rules(
        'self.?a.orValue("").contains("aaaaaaaaaaaaa") && self.?b[?0].orValue("").contains("a")',
      ),
    ),
    oldText: {
      ...text,
      ...rules({ rule: 'oldSelf.orValue("").contains("aaaaaaaaaaaaa")', optionalOldSelf: true }),
    },
    oldList: list(text, { maxItems: 20, ...rules('oldSelf.all(x, self.exists(y, x == y))') }),
    bound: list(text, {
      maxItems: 20,
      ...rules('self.map(x, {"k": x}).all(y, y.k.contains("aaaaaaaaaaaaa"))'),
    }),
    two: list(text, rules('self.all(i, x, x.contains("aaaaaaaaaaaa") && i < 5)')),
    url: { ...text, ...rules('url(self).getHost() == "x"') },
    ip: { ...text, ...rules('isIP(self) && ip(self).family() == 4') },
    bind: {
      ...text,
      maxLength: 1000,
      ...rules('self.split("").map(x, x + self).all(y, y.contains("aaa"))'),
    },
  }),
  together(
    'rules: costs of all expressions',
    Object.fromEntries(
      [400, 300, 200, 150, 120, 90].map((maxItems, index) => [
        `p${index}`,
        list(
          { ...text, maxLength: 100 },
          {
            maxItems,
            ...rules(Array.from({ length: 8 }, () => 'self.all(x, self.exists(y, x.contains(y)))')),
          },
        ),
      ]),
    ),
  ),
  together('rules: costs of all expressions, one too large', {
    a: list(text, { ...rules('self.all(x, self.all(y, x == y))') }),
    b: list(text, { maxItems: 1000, ...rules('self.all(x, x == "a")') }),
  }),
  {
    name: 'rules: defaults',
    schema: object({
      ok: { ...whole, default: 5, ...rules('self > 1') },
      bad: { ...whole, default: 1, ...rules('self > 1') },
      message: {
        ...whole,
        default: 1,
        ...rules({ rule: 'self > 1', message: 'too small', reason: 'FieldValueForbidden' }),
      },
      o: object(
        {
          a: { ...whole, ...rules('self > 1') },
          b: { ...whole, default: 0, ...rules('self > 0') },
        },
        { default: { a: 1 }, ...rules('has(self.b)') },
      ),
      old: { ...whole, default: 1, ...rules('oldSelf != self') },
      optional: {
        ...whole,
        default: 1,
        ...rules({ rule: 'oldSelf.hasValue()', optionalOldSelf: true }),
      },
      optional2: {
        ...whole,
        default: 1,
        ...rules({ rule: '!oldSelf.hasValue()', optionalOldSelf: true }),
      },
      error: { ...whole, default: 1, ...rules('1 / (self - 1) == 1') },
      broken: { ...whole, default: 1, ...rules('self.x') },
      wrong: { ...whole, default: 'x', ...rules('self > 1') },
      l: list({ ...whole, default: 1, ...rules('self > 1') }, { maxItems: 3 }),
      any: { ...preserve, default: 1, ...rules('true') },
      e: object(
        { kind: text, x: whole },
        { ...embedded, default: { kind: 'K', apiVersion: 'v1', x: 1 }, ...rules('self.x > 1') },
      ),
      path: object(
        { a: whole },
        { default: { a: 1 }, ...rules({ rule: 'self.a > 1', fieldPath: '.a' }) },
      ),
    }),
  },
  {
    name: 'rules: with status at the root',
    ofSpec: false,
    statusEnabled: true,
    schema: object(
      { spec: object({ a: whole }), status: object({ a: whole }) },
      rules('self.spec.a > 1 && self.status.b'),
    ),
  },
  {
    name: 'rules: many of one node',
    schema: object(
      { a: whole },
      rules(Array.from({ length: 30 }, (_, index) => `self.a > ${index} && self.a${index}`)),
    ),
  },
];

const evaluations: readonly SchemaCase[] = [
  {
    name: 'rules: of scalars',
    schema: object({
      i: { ...whole, ...rules(['self > 1', { rule: 'self < 10', message: ' too large ' }]) },
      s: {
        ...text,
        maxLength: 20,
        ...rules([
          "self.startsWith('a')",
          { rule: 'self != "abc"', reason: 'FieldValueForbidden' },
        ]),
      },
      b: { ...bool, ...rules('self') },
      d: {
        ...double,
        ...rules(['self > 0.5', 'self == 1.0 || self != 1.0', 'double(int(self)) == self']),
      },
      n: { ...whole, nullable: true, ...rules('self > 1') },
      ios: {
        ...intOrString,
        maxLength: 10,
        ...rules([
          "type(self) == string ? self == '5%' : self == 5",
          'self > 1',
          'self == "5%" || self == 5',
        ]),
      },
    }),
    objects: {
      good: { i: 5, s: 'ab', b: true, d: 2, ios: 5 },
      small: { i: 1 },
      large: { i: 10 },
      text: { s: 'b' },
      forbidden: { s: 'abc' },
      false: { b: false },
      double: { d: 0.25 },
      fraction: { d: 1.5 },
      'whole double': { d: 7 },
      null: { n: null },
      'not null': { n: 1 },
      'int or string': { ios: '5%' },
      'int or string, wrong': { ios: '6%' },
      'int or string, number': { ios: 6 },
      'wrong type': { i: 'x', s: 'b' },
      several: { i: 11, s: 'b', b: false },
      empty: {},
      large2: { i: 9007199254740991 },
    },
  },
  {
    name: 'rules: reasons and paths of errors',
    schema: object(
      {
        a: object({ b: text, 'x-y': text, m: map(text) }),
        l: list(
          { ...whole, ...rules({ rule: 'self != 3', reason: 'FieldValueDuplicate' }) },
          { maxItems: 10 },
        ),
        m: map(
          object({
            v: {
              ...whole,
              ...rules({ rule: 'self > 0', reason: 'FieldValueRequired', message: 'gimme' }),
            },
          }),
          {
            maxProperties: 5,
          },
        ),
        x: text,
      },
      rules([
        { rule: "!has(self.x) || self.x != '1'", fieldPath: '.a.b' },
        {
          rule: "!has(self.x) || self.x != '2'",
          fieldPath: ".a['x-y']",
          reason: 'FieldValueRequired',
          message: 'must be',
        },
        {
          rule: "!has(self.x) || self.x != '3'",
          fieldPath: '.a.m.some',
          reason: 'FieldValueForbidden',
        },
        { rule: "!has(self.x) || self.x != '4'", fieldPath: '.x', reason: 'FieldValueDuplicate' },
        {
          rule: "!has(self.x) || self.x != '5'",
          reason: 'FieldValueInvalid',
          messageExpression: "'got ' + self.x",
        },
        {
          rule: "!has(self.x) || self.x != '6'",
          message: 'multi word',
          fieldPath: ".m['key.with.dots']",
        },
        {
          rule: "!has(self.x) || self.x != '7'",
          reason: 'FieldValueDuplicate',
          message: 'not shown',
        },
      ]),
    ),
    objects: {
      1: { x: '1' },
      2: { x: '2' },
      3: { x: '3' },
      4: { x: '4' },
      5: { x: '5' },
      6: { x: '6' },
      7: { x: '7' },
      items: { l: [1, 3, 3] },
      values: { m: { a: { v: 1 }, 'b.c/d': { v: 0 }, e: { v: -1 } } },
    },
  },
  {
    name: 'rules: at paths of maps and the root',
    ofSpec: false,
    schema: object(
      {
        spec: object({ a: whole }),
        m: map(whole, rules({ rule: 'size(self) < 2', fieldPath: '.x' })),
      },
      rules([
        '!has(self.spec) || self.spec.a > 1',
        { rule: '!has(self.spec) || self.spec.a > 2', fieldPath: '.spec.a' },
        {
          rule: '!has(self.spec) || self.spec.a > 3',
          messageExpression: 'self.kind.size() > 0 ? self.metadata.name : ""',
        },
        '!has(self.spec) || self.spec.a < 100 || self.metadata.generateName == "x"',
      ]),
    ),
    objects: {
      1: { spec: { a: 1 } },
      4: { spec: { a: 4 } },
      map: { m: { a: 1, b: 2 } },
      root: { spec: { a: 100 } },
    },
  },
  {
    name: 'rules: messages of errors',
    schema: object(
      { a: { ...text, maxLength: 50 }, o: object({ b: whole }) },
      rules([
        { rule: "self.a != '1'", messageExpression: "'the value ' + self.a" },
        {
          rule: "self.a != '2'",
          messageExpression: 'string(1 / (self.a.size() - 1))',
          message: 'fixed',
        },
        { rule: "self.a != '3'", messageExpression: 'string(1 / (self.a.size() - 1))' },
        { rule: "self.a != '4'", messageExpression: "'  '" },
        { rule: "self.a != '5'", messageExpression: "'a\\nb'", message: 'no breaks' },
        { rule: "self.a != '6'", messageExpression: "'  trimmed \\n '" },
        { rule: "self.a != '7'", messageExpression: 'string(self.o.b)', message: 'missing' },
        { rule: "self.a != '8'", messageExpression: "'a\\rb'" },
        { rule: "self.a != '9'", message: '  spaces  ' },
        { rule: "  self.a != '10'  " },
        { rule: "self.a !=\n '11'", message: 'lines' },
        { rule: "self.a != '12'", messageExpression: "''" },
        { rule: "self.a != '13'", messageExpression: "'ü€😀 %d'.format([1])" },
        { rule: "self.a != '14'", messageExpression: 'self.o.b > 1 ? "a" : "b"' },
        {
          rule: "self.a != '15' && self.a != '15'",
          message: 'x',
          messageExpression: '"y"',
          reason: 'FieldValueRequired',
        },
      ]),
    ),
    objects: Object.fromEntries(
      Array.from({ length: 15 }, (_, index) => [`m${index + 1}`, { a: String(index + 1) }]),
    ),
  },
  {
    name: 'rules: long messages',
    schema: object(
      { a: { ...text, maxLength: 6000 } },
      rules({ rule: "!self.a.startsWith('x')", messageExpression: 'self.a', message: 'too long' }),
    ),
    objects: {
      fits: { a: 'x'.repeat(5120) },
      long: { a: 'x'.repeat(5121) },
      bytes: { a: `x${'ü'.repeat(2560)}` },
    },
  },
  {
    name: 'rules: that fail',
    schema: object(
      {
        x: short,
        i: whole,
        l: list(whole, { maxItems: 5 }),
        m: map(whole, { maxProperties: 5 }),
        ios: intOrString,
        d: { ...text, format: 'duration' },
      },
      rules([
        { rule: "self.x != 'division' || 1 / (self.i - 1) > 0" },
        { rule: "self.x != 'modulo' || 1 % (self.i - 1) > 0" },
        { rule: "self.x != 'index' || self.l[7] > 0" },
        { rule: "self.x != 'negative' || self.l[-1] > 0" },
        { rule: "self.x != 'key' || self.m.missing > 0" },
        { rule: "self.x != 'key2' || self.m['a b'] > 0" },
        { rule: "self.x != 'field' || self.ios == 5" },
        { rule: "self.x != 'overflow' || self.i + 9223372036854775807 > 0" },
        { rule: "self.x != 'overload' || self.ios.startsWith('a')" },
        { rule: "self.x != 'overload2' || self.ios > 'a'", message: 'compares' },
        { rule: "self.x != 'convert' || int(self.x) > 0" },
        { rule: "self.x != 'convert2' || timestamp(self.x) > timestamp('2020-01-01T00:00:00Z')" },
        { rule: "self.x != 'convert3' || duration(self.x) > duration('1h')" },
        { rule: "self.x != 'quantity' || quantity(self.x).isGreaterThan(quantity('1'))" },
        { rule: "self.x != 'url' || url(self.x).getHost() == ''" },
        { rule: "self.x != 'ip' || ip(self.x).family() == 4" },
        { rule: "self.x != 'regex' || self.x.matches(self.x + '[')" },
        { rule: "self.x != 'optional' || optional.none().value() == 1" },
        { rule: "self.x != 'dyn' || dyn(self.x) + 1 == 2" },
        { rule: "self.x != 'dyn2' || dyn(self).nothing == 1" },
        { rule: "self.x != 'dyn4' || dyn(self.i).all(x, x == 1)" },
        { rule: "self.x != 'bool' || dyn(self.i) ? true : false" },
        { rule: "self.x != 'bool2' || dyn(self.i) && true" },
        { rule: "self.x != 'min' || self.l.min() == 1" },
        { rule: "self.x != 'substring' || self.x.substring(100) == ''" },
        { rule: "self.x != 'charAt' || self.x.charAt(100) == ''" },
        { rule: "self.x != 'semver' || semver(self.x).major() == 1" },
        { rule: "self.x != 'cidr' || cidr(self.x).prefixLength() == 1" },
        { rule: "self.x != 'format' || '%d'.format([dyn(self.x)]) == ''" },
        { rule: "self.x != 'slice' || self.l.slice(0, 7) == []" },
        { rule: "self.x != 'slice2' || self.l.slice(-1, 7) == []" },
        { rule: "self.x != 'slice3' || self.l.slice(self.i + 1, self.i) == []" },
        { rule: "self.x != 'sort' || [dyn(1), dyn('a')].sort() == []" },
        { rule: "self.x != 'sort2' || [dyn([1])].sort() == []" },
        { rule: "self.x != 'flatten' || [[1]].flatten(-1) == []" },
        { rule: "self.x != 'first' || self.l.first().value() == 1" },
        {
          rule: "self.x != 'lists' || [3, 1, 2].sort() == [] || ['a', 'bb'].sortBy(s, -s.size()) == ['a']",
        },
        { rule: "self.x != 'absorbed' || self.m.missing > 0 || true" },
      ]),
    ),
    objects: Object.fromEntries(
      [
        ...(
          'division modulo index negative key key2 field overflow overload overload2 convert ' +
          'convert2 convert3 quantity url ip'
        ).split(' '),
        ...(
          'regex optional dyn dyn2 dyn4 bool bool2 min substring charAt semver cidr format ' +
          'slice slice2 slice3 sort sort2 flatten first lists absorbed'
        ).split(' '),
      ].map((x) => [x, { x, i: 1, l: [], m: {}, ios: 5 }]),
    ),
  },
  {
    name: 'rules: fields that are missing or null',
    schema: object(
      {
        a: text,
        n: { ...text, nullable: true },
        o: object({ n: { ...whole, nullable: true }, m: whole }, { nullable: true }),
        l: list({ ...text, nullable: true }, { maxItems: 5 }),
        m: map({ ...text, nullable: true }, { maxProperties: 5 }),
        t: text,
      },
      rules([
        { rule: "self.t != 'has' || has(self.n)" },
        { rule: "self.t != 'select' || self.n == 'x'" },
        { rule: "self.t != 'object' || self.o.n == 1" },
        { rule: "self.t != 'hasObject' || has(self.o.n)" },
        { rule: "self.t != 'optional' || self.?n.hasValue()" },
        { rule: "self.t != 'item' || self.l[0] == 'x'" },
        { rule: "self.t != 'itemNull' || self.l.exists(x, dyn(x) == null)" },
        { rule: "self.t != 'value' || self.m.a == 'x'" },
        { rule: "self.t != 'hasValue' || has(self.m.a)" },
        { rule: "self.t != 'inValue' || 'a' in self.m" },
        { rule: "self.t != 'equal' || self.o == self.o" },
        { rule: "self.t != 'empty' || self.a == ''" },
        { rule: "self.t != 'size' || size(self.l) + size(self.m) == 0" },
      ]),
    ),
    objects: Object.fromEntries(
      'has select object hasObject optional item itemNull value hasValue inValue equal empty size'
        .split(' ')
        .flatMap((t) => [
          [`${t}, nulls`, { t, n: null, o: { n: null }, l: [null], m: { a: null } }],
          [`${t}, missing`, { t, o: {}, l: [], m: {} }],
          [`${t}, null object`, { t, o: null }],
        ]),
    ),
  },
  {
    name: 'rules: formats',
    schema: object(
      {
        t: text,
        by: { ...text, format: 'byte' },
        da: { ...text, format: 'date' },
        dt: { ...text, format: 'date-time' },
        dt2: { ...text, format: 'datetime' },
        du: { ...text, format: 'duration' },
        ip: { ...text, format: 'ipv4' },
        i32: { ...whole, format: 'int32' },
        f: { ...double, format: 'float' },
      },
      rules([
        {
          rule: "self.t != 'byte' || self.by == b'hello'",
          messageExpression: "'%s'.format([self.by])",
        },
        {
          rule: "self.t != 'byteSize' || size(self.by) == 99",
          messageExpression: 'string(size(self.by))',
        },
        {
          rule: "self.t != 'date' || self.da.getFullYear() == 1",
          messageExpression: 'string(self.da)',
        },
        {
          rule: "self.t != 'dt' || self.dt.getHours() == 99",
          messageExpression: 'string(self.dt)',
        },
        { rule: "self.t != 'dt2' || self.dt2 == ''", messageExpression: 'self.dt2' },
        {
          rule: "self.t != 'du' || self.du == duration('1h')",
          messageExpression: 'string(self.du)',
        },
        { rule: "self.t != 'ip' || self.ip == ''", messageExpression: 'self.ip' },
        {
          rule: "self.t != 'numbers' || double(self.i32) == self.f",
          messageExpression: 'string(self.f)',
        },
      ]),
    ),
    objects: {
      byte: { t: 'byte', by: 'aGVsbG8=' },
      'other byte': { t: 'byte', by: 'aGVsbA==' },
      'byte with plus': { t: 'byte', by: 'a+/b' },
      'size of bytes': { t: 'byteSize', by: 'aGVsbG8=' },
      date: { t: 'date', da: '2020-02-29' },
      'date-time': { t: 'dt', dt: '2014-12-15T19:30:20.5Z' },
      'date-time with zone': { t: 'dt', dt: '2014-12-15T19:30:20+01:00' },
      'small date-time': { t: 'dt', dt: '2014-12-15t19:30:20z' },
      'small zone': { t: 'dt', dt: '2014-12-15T19:30:20z' },
      datetime: { t: 'dt2', dt2: '2014-12-15T19:30:20Z' },
      hour: { t: 'du', du: '1h' },
      days: { t: 'du', du: '3 days' },
      sum: { t: 'du', du: '1 week and 2 hours' },
      'more digits': { t: 'du', du: '1.5h' },
      ip: { t: 'ip', ip: '1.2.3.4' },
      numbers: { t: 'numbers', i32: 5, f: 1.25 },
      'whole float': { t: 'numbers', i32: 5, f: 6 },
    },
  },
  {
    name: 'rules: of dates themselves',
    schema: object({
      da: { ...text, format: 'date', ...rules("self > timestamp('2020-01-01T00:00:00Z')") },
      dt: { ...text, format: 'date-time', ...rules("self > timestamp('2020-01-01T00:00:00Z')") },
      du: { ...text, format: 'duration', ...rules("self > duration('1h')") },
      by: { ...text, format: 'byte', ...rules('size(self) > 2') },
    }),
    objects: {
      early: { da: '2019-12-31', dt: '2019-12-31T00:00:00Z', du: '1 minute', by: 'YQ==' },
      late: { da: '2020-12-31', dt: '2020-12-31T00:00:00Z', du: '2 hours', by: 'YWFh' },
      small: { dt: '2020-12-31t00:00:00z', by: 'a+/b' },
    },
  },
  {
    name: 'rules: escaped names and unknown fields',
    schema: object(
      {
        t: text,
        'x-y': text,
        'a.b/c': whole,
        namespace: text,
        '1st': text,
        __x: text,
        p: object({ a: whole, 'b-c': whole }, preserve),
        q: object({ a: whole, 'b-c': whole }, preserve),
        k: keyed(['x-n'], { 'x-n': text, v: whole }),
        k2: keyed(['x-n'], { 'x-n': text, v: whole }),
      },
      rules([
        {
          rule: "self.t != 'dash' || self.x__dash__y == 'a'",
          messageExpression: 'self.x__dash__y',
        },
        { rule: "self.t != 'dots' || self.a__dot__b__slash__c == 1" },
        { rule: "self.t != 'reserved' || self.__namespace__ == 'a'" },
        { rule: "self.t != 'underscores' || self.__underscores__x == 'a'" },
        { rule: "self.t != 'equal' || dyn(self.p) == dyn(self.q)" },
        {
          rule: "self.t != 'size' || size(dyn(self.p)) == 99",
          messageExpression: 'string(size(dyn(self.p)))',
        },
        { rule: "self.t != 'unknown' || dyn(self.p).z == 1" },
        { rule: "self.t != 'hasUnknown' || has(dyn(self.p).z)" },
        { rule: "self.t != 'keyed' || dyn(self.k) == dyn(self.k2)" },
        { rule: "self.t != 'type' || type(dyn(self.p)) == map" },
      ]),
    ),
    objects: {
      dash: { t: 'dash', 'x-y': 'b' },
      dots: { t: 'dots', 'a.b/c': 2 },
      reserved: { t: 'reserved', namespace: 'b' },
      underscores: { t: 'underscores', __x: 'b' },
      equal: { t: 'equal', p: { a: 1, z: 1 }, q: { a: 1, z: 1 } },
      'other unknown': { t: 'equal', p: { a: 1, z: 1 }, q: { a: 1, z: 2 } },
      'other unknown name': { t: 'equal', p: { a: 1, z: 1 }, q: { a: 1, y: 1 } },
      'other known': { t: 'equal', p: { a: 1, z: 1 }, q: { a: 2, z: 1 } },
      'more unknown': { t: 'equal', p: { a: 1 }, q: { a: 1, z: 1 } },
      'escaped differs': { t: 'equal', p: { 'b-c': 1 }, q: { 'b-c': 2 } },
      'escaped equal': { t: 'equal', p: { 'b-c': 1 }, q: { 'b-c': 1 } },
      size: { t: 'size', p: { a: 1, z: 1 } },
      unknown: { t: 'unknown', p: { a: 1, z: 1 } },
      hasUnknown: { t: 'hasUnknown', p: { a: 1, z: 1 } },
      keyed: {
        t: 'keyed',
        k: [{ 'x-n': 'a', v: 1 }, { 'x-n': 'b' }],
        k2: [{ 'x-n': 'b' }, { 'x-n': 'a', v: 1 }],
      },
      type: { t: 'type', p: { a: 1 } },
    },
  },
  {
    name: 'rules: sets and lists with keys',
    schema: object(
      {
        t: text,
        s: { ...set(short), maxItems: 5 },
        s2: { ...set(short), maxItems: 5 },
        k: { ...keyed(['n', 'p'], { n: short, p: whole, v: whole }), maxItems: 5 },
        k2: { ...keyed(['n', 'p'], { n: short, p: whole, v: whole }), maxItems: 5 },
        m: map(
          { ...keyed(['n', 'p'], { n: short, p: whole, v: whole }), maxItems: 5 },
          { maxProperties: 3 },
        ),
        l: list(short, { maxItems: 5 }),
        l2: list(short, { maxItems: 5 }),
      },
      rules([
        { rule: "self.t != 'sets' || self.s == self.s2" },
        { rule: "self.t != 'lists' || self.l == self.l2" },
        { rule: "self.t != 'mixed' || self.s == self.l" },
        { rule: "self.t != 'mixed2' || self.l == self.s" },
        {
          rule: "self.t != 'union' || self.s + self.s2 == ['a', 'b', 'c']",
          messageExpression: '(self.s + self.s2)[2]',
        },
        {
          rule: "self.t != 'sum' || self.l + self.l2 == []",
          messageExpression: '(self.l + self.l2)[2]',
        },
        { rule: "self.t != 'keyed' || dyn(self.k) == dyn(self.k2)" },
        {
          rule: "self.t != 'merge' || (self.m['a'] + self.m['b']).all(x, x.v > 5)",
          messageExpression: "(self.m['a'] + self.m['b'])[0].v == 2 ? 'merged' : 'kept'",
        },
        { rule: "self.t != 'order' || self.m['a'] + self.m['b'] == self.m['c']" },
        { rule: "self.t != 'in' || 'c' in self.s" },
        { rule: "self.t != 'unique' || self.l.all(x, self.l.exists_one(y, x == y))" },
      ]),
    ),
    objects: {
      'equal sets': { t: 'sets', s: ['a', 'b'], s2: ['b', 'a'] },
      'other sets': { t: 'sets', s: ['a', 'b'], s2: ['b', 'c'] },
      lists: { t: 'lists', l: ['a', 'b'], l2: ['b', 'a'] },
      mixed: { t: 'mixed', s: ['a', 'b'], l: ['b', 'a'] },
      mixed2: { t: 'mixed2', s: ['a', 'b'], l: ['b', 'a'] },
      union: { t: 'union', s: ['a', 'b'], s2: ['b', 'd'] },
      sum: { t: 'sum', l: ['a', 'b'], l2: ['b', 'd'] },
      keyed: {
        t: 'keyed',
        k: [
          { n: 'a', p: 1 },
          { n: 'a', p: 2, v: 1 },
        ],
        k2: [
          { n: 'a', p: 2, v: 1 },
          { n: 'a', p: 1 },
        ],
      },
      'keyed, other': { t: 'keyed', k: [{ n: 'a', p: 1 }], k2: [{ n: 'a', p: 1, v: 1 }] },
      merge: {
        t: 'merge',
        m: {
          a: [
            { n: 'a', p: 1, v: 1 },
            { n: 'b', p: 1, v: 9 },
          ],
          b: [
            { n: 'c', p: 1, v: 9 },
            { n: 'a', p: 1, v: 2 },
          ],
        },
      },
      order: {
        t: 'order',
        m: {
          a: [
            { n: 'a', p: 1, v: 1 },
            { n: 'b', p: 1 },
          ],
          b: [
            { n: 'c', p: 1 },
            { n: 'a', p: 1, v: 2 },
          ],
          c: [
            { n: 'c', p: 1 },
            { n: 'b', p: 1 },
            { n: 'a', p: 1, v: 2 },
          ],
        },
      },
      in: { t: 'in', s: ['a'] },
      unique: { t: 'unique', l: ['a', 'b', 'a'] },
      duplicates: { t: 'in', s: ['a', 'a'] },
    },
  },
  {
    name: 'rules: of embedded resources',
    schema: object({
      e: {
        type: 'object',
        ...embedded,
        ...preserve,
        ...rules([
          {
            rule: "self.kind == 'Pod'",
            messageExpression: "self.apiVersion + '/' + self.metadata.name",
          },
          "self.metadata.name.startsWith('a')",
        ]),
      },
      f: object(
        { kind: { ...text, ...rules("self != 'X'") }, spec: object({ a: whole }) },
        { ...embedded, ...rules('self.spec.a > 1') },
      ),
    }),
    objects: {
      pod: { e: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'ab', labels: { x: 'y' } } } },
      other: { e: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'b' } } },
      nameless: { e: { apiVersion: 'v1', kind: 'Node' } },
      typeless: { e: { metadata: { name: 'x' } } },
      typed: { f: { apiVersion: 'v1', kind: 'X', spec: { a: 1 } } },
    },
  },
  {
    name: 'rules: beside errors of the schema',
    schema: object({
      a: { ...whole, minimum: 5, ...rules('self > 3') },
      e: { ...text, enum: ['x'], ...rules("self == 'x'") },
      s: { ...text, maxLength: 3, pattern: '^a', ...rules("self == 'abc'") },
      l: list(whole, { maxItems: 2, ...rules('self.size() < 2') }),
      r: object({ x: whole, y: whole }, { required: ['x'], ...rules('has(self.y)') }),
      m: map(whole, { maxProperties: 1, ...rules('size(self) < 1') }),
      f: { ...text, format: 'ipv4', ...rules("self == '1.2.3.4'") },
      any: { ...text, anyOf: [{ minLength: 3 }, { pattern: '^b' }], ...rules("self == 'z'") },
      u: { ...set(text), maxItems: 5, ...rules('self.size() < 1') },
      mul: { ...whole, multipleOf: 3, ...rules('self == 3') },
      min: { ...text, minLength: 3, ...rules("self == 'abc'") },
      mini: list(whole, { minItems: 2, ...rules('self.size() == 2') }),
      minp: map(whole, { minProperties: 2, ...rules('size(self) == 2') }),
    }),
    objects: {
      minimum: { a: 1 },
      enum: { e: 'y' },
      maxLength: { s: 'abcd' },
      pattern: { s: 'b' },
      maxItems: { l: [1, 2, 3] },
      required: { r: {} },
      maxProperties: { m: { a: 1, b: 2 } },
      format: { f: 'x' },
      anyOf: { any: 'a' },
      duplicate: { u: ['a', 'a'] },
      multipleOf: { mul: 4 },
      minLength: { min: 'a' },
      minItems: { mini: [1] },
      minProperties: { minp: {} },
      type: { a: 'x' },
      several: { a: 1, e: 'y' },
    },
  },
  {
    name: 'rules: budgets',
    schema: object({
      x: list(whole, {
        maxItems: 900,
        ...rules('self.all(x, self.all(y, x * y >= 0 || x * y < 0))'),
      }),
      many: list(
        object(
          { l: list(whole, { maxItems: 30 }) },
          rules(Array.from({ length: 5 }, () => 'self.l.all(x, self.l.all(y, x * y >= 0))')),
        ),
        {
          maxItems: 700,
        },
      ),
      msg: list(whole, {
        maxItems: 700,
        ...rules({
          rule: 'self.size() == 0',
          messageExpression: "self.all(x, self.all(y, x * y >= 0)) ? 'a' : 'b'",
        }),
      }),
      after: { ...whole, ...rules('self > 1') },
    }),
    objects: {
      small: { x: [1, 2, 3], after: 1 },
      // Upstream has no order of fields: a mistake in the other one is reported or not.
      call: { x: Array.from({ length: 500 }, () => 1), after: 5 },
      'under the limit': { x: Array.from({ length: 330 }, () => 1), after: 1 },
      object: {
        many: Array.from({ length: 700 }, () => ({ l: Array.from({ length: 30 }, () => 1) })),
        after: 5,
      },
      message: { msg: Array.from({ length: 600 }, () => 1), after: 5 },
    },
  },
  {
    name: 'rules: updates',
    schema: object(
      {
        imm: {
          ...text,
          maxLength: 20,
          ...rules({ rule: 'self == oldSelf', message: 'is immutable' }),
        },
        grow: { ...whole, ...rules('self >= oldSelf') },
        opt: {
          ...whole,
          ...rules({
            rule: 'oldSelf.hasValue() || self == 1',
            optionalOldSelf: true,
            message: 'must start at 1',
          }),
        },
        opt2: { ...whole, ...rules({ rule: 'self >= oldSelf.orValue(3)', optionalOldSelf: true }) },
        msg: {
          ...whole,
          ...rules({
            rule: 'self >= oldSelf',
            messageExpression: "'from %d to %d'.format([oldSelf, self])",
          }),
        },
        optMsg: {
          ...whole,
          ...rules({
            rule: 'self >= oldSelf.orValue(3)',
            optionalOldSelf: true,
            messageExpression: "'from %d'.format([oldSelf.orValue(0)])",
          }),
        },
        optMsg2: {
          ...whole,
          ...rules({
            rule: 'self >= oldSelf.orValue(3)',
            optionalOldSelf: true,
            messageExpression: 'string(oldSelf.hasValue())',
          }),
        },
        plain: { ...whole, ...rules('self > 5') },
        plain2: {
          ...whole,
          ...rules([{ rule: 'self > 5', messageExpression: 'string(oldSelf)' }, 'self > 6']),
        },
        o: object({ a: whole, b: { ...whole, ...rules('self > 5') } }, rules('self.a > 5')),
        old: object({ a: whole }, rules(['self.a > 5', 'self.a > oldSelf.a'])),
        k: {
          ...keyed(
            ['n'],
            { n: text, v: { ...whole, ...rules(['self >= oldSelf', 'self > 1']) } },
            rules('self.v > 1'),
          ),
          maxItems: 5,
        },
        k2: {
          ...keyed(['n', 'm'], { n: text, m: whole, v: { ...whole, ...rules('self >= oldSelf') } }),
          maxItems: 5,
        },
        l: list({ ...whole, ...rules('self > 5') }, { maxItems: 5, ...rules('self.size() > 2') }),
        lo: list(object({ a: { ...whole, ...rules('self > 5') } }), { maxItems: 5 }),
        s: { ...set({ ...whole, ...rules('self > 5') }), maxItems: 5 },
        m: map(
          { ...whole, ...rules(['self >= oldSelf', 'self > 5']) },
          { maxProperties: 5, ...rules('size(self) > 2') },
        ),
        n: { ...whole, nullable: true, ...rules(['self >= oldSelf', 'self > 1']) },
        e: { type: 'object', ...embedded, ...preserve, ...rules("self.metadata.name == 'x'") },
        p: object({ a: whole }, { ...preserve, ...rules('self.a > 5') }),
        err: { ...whole, ...rules('1 / (self - 1) > 0') },
        d: { ...whole, default: 7, ...rules(['self > 5', 'self == oldSelf']) },
        path: object(
          { a: whole },
          rules({
            rule: 'self.a > 5',
            fieldPath: '.a',
            reason: 'FieldValueRequired',
            message: 'more',
          }),
        ),
        fin: { ...text, maxLength: 10, ...rules("self == '' || oldSelf != ''") },
        date: { ...text, format: 'date', ...rules('self >= oldSelf') },
        other: whole,
      },
      rules('!has(self.other) || self.other < 100 || (has(oldSelf.other) && oldSelf.other == 100)'),
    ),
    updates: {
      'immutable, same': [{ imm: 'a' }, { imm: 'a' }],
      'immutable, other': [{ imm: 'a' }, { imm: 'b' }],
      'immutable, added': [{}, { imm: 'b' }],
      'immutable, removed': [{ imm: 'a' }, {}],
      grows: [{ grow: 1 }, { grow: 2 }],
      shrinks: [{ grow: 2 }, { grow: 1 }],
      'optional, added': [{}, { opt: 2 }],
      'optional, added right': [{}, { opt: 1 }],
      'optional, changed': [{ opt: 1 }, { opt: 2 }],
      'optional default': [{}, { opt2: 2 }],
      'optional default, old': [{ opt2: 4 }, { opt2: 3 }],
      'optional, kept': [{ opt2: 4 }, { opt2: 4 }],
      'old in a message': [{ msg: 4 }, { msg: 3 }],
      'optional old in a message': [{ optMsg: 4 }, { optMsg: 3 }],
      'no optional old in a message': [{}, { optMsg: 2 }],
      'optional old in a message 2': [{ optMsg2: 4 }, { optMsg2: 3 }],
      'no optional old in a message 2': [{}, { optMsg2: 2 }],
      'not changed': [{ plain: 1 }, { plain: 1, other: 1 }],
      changed: [{ plain: 1 }, { plain: 2 }],
      'changed to right': [{ plain: 1 }, { plain: 6 }],
      'two rules, not changed': [{ plain2: 1 }, { plain2: 1 }],
      'two rules, changed': [{ plain2: 1 }, { plain2: 2 }],
      'object, not changed': [{ o: { a: 1, b: 1 } }, { o: { a: 1, b: 1 }, other: 1 }],
      'object, part changed': [{ o: { a: 1, b: 1 } }, { o: { a: 1, b: 2 } }],
      'object, other part changed': [{ o: { a: 1, b: 1 } }, { o: { a: 2, b: 1 } }],
      'object, part added': [{ o: { a: 1 } }, { o: { a: 1, b: 1 } }],
      'transition rules do not ratchet': [{ old: { a: 1 } }, { old: { a: 1 } }],
      'transition rules, changed': [{ old: { a: 1 } }, { old: { a: 2 } }],
      'keyed, not changed': [{ k: [{ n: 'a', v: 1 }] }, { k: [{ n: 'a', v: 1 }] }],
      'keyed, moved': [
        {
          k: [
            { n: 'a', v: 1 },
            { n: 'b', v: 5 },
          ],
        },
        {
          k: [
            { n: 'b', v: 5 },
            { n: 'a', v: 1 },
          ],
        },
      ],
      'keyed, shrunk': [
        {
          k: [
            { n: 'a', v: 4 },
            { n: 'b', v: 5 },
          ],
        },
        {
          k: [
            { n: 'b', v: 4 },
            { n: 'a', v: 4 },
          ],
        },
      ],
      'keyed, one changed': [
        {
          k: [
            { n: 'a', v: 1 },
            { n: 'b', v: 1 },
          ],
        },
        {
          k: [
            { n: 'b', v: 1 },
            { n: 'a', v: 0 },
          ],
        },
      ],
      'keyed, added': [
        { k: [{ n: 'a', v: 1 }] },
        {
          k: [
            { n: 'a', v: 1 },
            { n: 'c', v: 1 },
          ],
        },
      ],
      'two keys, shrunk': [
        { k2: [{ n: 'a', m: 1, v: 4 }] },
        {
          k2: [
            { n: 'a', m: 2, v: 1 },
            { n: 'a', m: 1, v: 3 },
          ],
        },
      ],
      'list, not changed': [{ l: [1] }, { l: [1], other: 1 }],
      'list, changed': [{ l: [1] }, { l: [1, 2] }],
      'list, item changed': [{ l: [1, 7, 8] }, { l: [1, 7, 9] }],
      'list of objects, not changed': [{ lo: [{ a: 1 }] }, { lo: [{ a: 1 }] }],
      'list of objects, added': [{ lo: [{ a: 1 }] }, { lo: [{ a: 1 }, { a: 7 }] }],
      'set, not changed': [{ s: [1, 2] }, { s: [1, 2] }],
      'set, moved': [{ s: [1, 2] }, { s: [2, 1] }],
      'map, not changed': [{ m: { a: 1 } }, { m: { a: 1 } }],
      'map, added': [{ m: { a: 1 } }, { m: { a: 1, b: 7 } }],
      'map, changed': [{ m: { a: 2, b: 7, c: 8 } }, { m: { a: 1, b: 7, c: 8 } }],
      'null before': [{ n: null }, { n: 1 }],
      'null after': [{ n: 1 }, { n: null }],
      'embedded, not changed': [
        { e: { apiVersion: 'v1', kind: 'A', metadata: { name: 'y' } } },
        { e: { apiVersion: 'v1', kind: 'A', metadata: { name: 'y' } } },
      ],
      'embedded, changed': [
        { e: { apiVersion: 'v1', kind: 'A', metadata: { name: 'y' } } },
        { e: { apiVersion: 'v1', kind: 'B', metadata: { name: 'y' } } },
      ],
      'unknown fields, not changed': [{ p: { a: 1, z: 1 } }, { p: { a: 1, z: 1 } }],
      'no unknown fields, not changed': [{ p: { a: 1 } }, { p: { a: 1 } }],
      'errors do not ratchet': [{ err: 1 }, { err: 1 }],
      'default, added': [{}, {}],
      'default, changed': [{ d: 1 }, {}],
      'default, not changed': [{ d: 1 }, { d: 1 }],
      'path, not changed': [{ path: { a: 1 } }, { path: { a: 1 } }],
      'path, changed': [{ path: { a: 1 } }, { path: { a: 2 } }],
      'root of spec': [{ other: 5 }, { other: 100 }],
      'root of spec, kept': [{ other: 100 }, { other: 100 }],
      'date earlier': [{ date: '2020-02-02' }, { date: '2020-02-01' }],
      'wrong type before': [{ plain: 'x' }, { plain: 'x', other: 1 }],
      'wrong type before, object': [{ o: 'x' }, { o: { a: 1 } }],
      'wrong type after': [{ plain: 1 }, { plain: 'x' }],
      'wrong old type': [{ grow: 'x' }, { grow: 1 }],
      'wrong old list': [{ k: 'x' }, { k: [{ n: 'a', v: 1 }] }],
    },
  },
  {
    name: 'rules: updates at the root',
    ofSpec: false,
    schema: object(
      {
        spec: object({ a: { ...whole, ...rules('self > 5') } }, rules('self.a > 6')),
        other: whole,
      },
      rules([
        'self.spec.a > 7',
        {
          rule: 'self.metadata.name == oldSelf.metadata.name && self.spec.a >= oldSelf.spec.a',
          messageExpression: 'oldSelf.kind.size() > 3 ? "kind" : ""',
        },
        { rule: 'oldSelf.hasValue()', optionalOldSelf: true, message: 'only updates' },
      ]),
    ),
    updates: {
      same: [{ spec: { a: 1 } }, { spec: { a: 1 } }],
      'other part': [{ spec: { a: 1 } }, { spec: { a: 1 }, other: 1 }],
      less: [{ spec: { a: 5 } }, { spec: { a: 4 } }],
      more: [{ spec: { a: 5 } }, { spec: { a: 9 } }],
    },
  },
  {
    name: 'rules: creation at the root',
    ofSpec: false,
    schema: object(
      { spec: object({ a: whole }) },
      rules({ rule: 'oldSelf.hasValue()', optionalOldSelf: true, message: 'only updates' }),
    ),
    objects: { any: { spec: { a: 1 } } },
  },
  {
    name: 'rules: updates of metadata',
    ofSpec: false,
    schema: object(
      {
        metadata: object({ name: { ...text, maxLength: 63, ...rules("self == 'x'") } }),
        spec: object({ a: whole }, rules('self.a > 5')),
      },
      rules("self.metadata.name == 'y'"),
    ),
    updates: {
      same: [{ spec: { a: 1 } }, { spec: { a: 1 } }],
      changed: [{ spec: { a: 1 } }, { spec: { a: 2 } }],
    },
  },
  {
    name: 'rules: updates of the status',
    ofSpec: false,
    statusEnabled: true,
    schema: object(
      {
        spec: object({
          a: { ...whole, ...rules('self > 5') },
          b: { ...whole, ...rules('self == oldSelf') },
        }),
        status: object(
          {
            a: { ...whole, minimum: 0, ...rules('self > 5') },
            g: { ...whole, ...rules('self >= oldSelf') },
            e: { ...text, enum: ['x', 'y'] },
            l: { ...set(text), maxItems: 5 },
            o: {
              ...whole,
              ...rules({ rule: 'oldSelf.hasValue() || self == 1', optionalOldSelf: true }),
            },
          },
          rules('!has(self.a) || self.a < 100'),
        ),
      },
      rules([
        '!has(self.status) || !has(self.status.a) || self.status.a > self.spec.a',
        'self.spec.a > 3',
      ]),
    ),
    statusUpdates: {
      'spec is wrong': [{ spec: { a: 1 } }, { status: { a: 6 } }],
      'spec is right': [{ spec: { a: 7 } }, { status: { a: 6 } }],
      'all is right': [{ spec: { a: 7 } }, { status: { a: 8 } }],
      'not changed': [{ spec: { a: 7 }, status: { a: 1 } }, { status: { a: 1 } }],
      changed: [{ spec: { a: 7 }, status: { a: 1 } }, { status: { a: 2 } }],
      shrinks: [{ spec: { a: 7 }, status: { g: 5 } }, { status: { g: 4 } }],
      'too large': [{ spec: { a: 7 } }, { status: { a: 100 } }],
      minimum: [{ spec: { a: 7 } }, { status: { a: -1 } }],
      enum: [{ spec: { a: 7 } }, { status: { e: 'z', a: 1 } }],
      'enum, not changed': [{ spec: { a: 7 }, status: { e: 'z' } }, { status: { e: 'z', a: 1 } }],
      set: [{ spec: { a: 7 } }, { status: { l: ['a', 'a'] } }],
      type: [{ spec: { a: 7 } }, { status: { a: 'x' } }],
      optional: [{ spec: { a: 7 } }, { status: { o: 2 } }],
      'optional, changed': [{ spec: { a: 7 }, status: { o: 1 } }, { status: { o: 2 } }],
      removed: [{ spec: { a: 7 }, status: { a: 1 } }, {}],
      'no spec': [{}, { status: { a: 6 } }],
      'spec of another type': [{ spec: { a: 'x' } }, { status: { a: 6 } }],
      immutable: [{ spec: { a: 7, b: 1 } }, { spec: { a: 7, b: 2 }, status: { a: 8 } }],
    },
    updates: {
      'of the spec': [
        { spec: { a: 7 }, status: { a: 1 } },
        { spec: { a: 8 }, status: { a: 1 } },
      ],
      'of the spec, status ignored': [{ spec: { a: 7 } }, { spec: { a: 8 }, status: { a: 1 } }],
      'spec, not changed': [{ spec: { a: 1 } }, { spec: { a: 1 } }],
      'spec, changed': [{ spec: { a: 1 } }, { spec: { a: 2 } }],
    },
  },
  {
    name: 'rules: below fields that rules cannot see',
    schema: object({
      any: { ...preserve, properties: { a: { ...text, maxLength: 5, ...rules("self == 'x'") } } },
      '1st': { ...text, maxLength: 5, ...rules("self == 'x'") },
      ü: object({ a: { ...text, maxLength: 5, ...rules("self == 'x'") } }),
      l: list(
        map(list({ ...whole, ...rules('self > 1') }, { maxItems: 3 }), { maxProperties: 3 }),
        { maxItems: 3 },
      ),
      t: map(true),
    }),
    objects: {
      any: { any: { a: 'y' } },
      first: { '1st': 'y' },
      umlaut: { ü: { a: 'y' } },
      nested: { l: [{ a: [1, 2], 'b.c': [0] }, {}, { a: [] }] },
      others: { t: { a: 1 } },
    },
  },
  {
    name: 'rules: of integers and doubles',
    schema: object(
      { t: text, i: whole, d: double, ios: intOrString },
      rules([
        { rule: "self.t != 'a' || double(self.i) == 1.0" },
        { rule: "self.t != 'b' || self.d == 2.0" },
        { rule: "self.t != 'c' || self.i < 1.5" },
        { rule: "self.t != 'd' || string(self.d) == 'x'", messageExpression: 'string(self.d)' },
        { rule: "self.t != 'e' || string(self.i) == 'x'", messageExpression: 'string(self.i)' },
        { rule: "self.t != 'f' || self.ios == 1.0", messageExpression: 'string(self.ios)' },
        { rule: "self.t != 'g' || type(dyn(self.d)) == int" },
        { rule: "self.t != 'h' || self.d / 2.0 == 0.5", messageExpression: 'string(self.d / 2.0)' },
        { rule: "self.t != 'i' || self.i / 2 == 1", messageExpression: 'string(self.i / 2)' },
      ]),
    ),
    objects: Object.fromEntries(
      'abcdefghi'.split('').flatMap((t) => [
        [`${t} small`, { t, i: 3, d: 3, ios: 3 }],
        [`${t} large`, { t, i: 4503599627370497, d: 1e21, ios: 7 }],
        [`${t} fraction`, { t, i: -5, d: 0.1, ios: '3' }],
      ]),
    ),
  },
];

export const ruleCases: readonly SchemaCase[] = [...registrations, ...evaluations];
