import { describe, expect, test } from 'vitest';
import { parseYaml, parseYamlDocuments } from './yaml.ts';

describe('parseYaml', () => {
  test.each<[text: string, expected: unknown]>([
    ['e-1', 'e-1'],
    ['.', '.'],
    ['-.', '-.'],
    ['._', '._'],
    ['1.', 1],
    ['.5', 0.5],
    ['.: a', { '.': 'a' }],
    ['E+5', 'E+5'],
    ['-e1', '-e1'],
    ['.e1', '.e1'],
    ['1e3', 1000],
    ['1.e3', 1000],
    ['-.5E+1', -5],
    ['1_0.5e1', 105],
  ])('takes numbers with an exponent as kubectl does: %s', (text, expected) =>
    expect(parseYaml(text)).toEqual(expected),
  );

  test.each<[text: string, expected: unknown]>([
    ['9223372036854775807', 9_223_372_036_854_775_807n],
    ['-9223372036854775808', -9_223_372_036_854_775_808n],
    ['+9_223_372_036_854_775_807', 9_223_372_036_854_775_807n],
    ['0x7fffffffffffffff', 9_223_372_036_854_775_807n],
    ['0777777777777777777777', 9_223_372_036_854_775_807n],
    ['0o777777777777777777777', 9_223_372_036_854_775_807n],
    [`0b${'1'.repeat(63)}`, 9_223_372_036_854_775_807n],
    ['9007199254740991', 9_007_199_254_740_991],
    // Beyond int64: floating-point numbers, as in Go.
    ['9223372036854775808', 2 ** 63],
    ['1e20', 1e20],
    ['12345678901234567890.5', Number('12345678901234567890.5')],
    ['9'.repeat(200), 1e200],
    ['"9223372036854775807"', '9223372036854775807'],
  ])('keeps integers of 64 bits if it is asked to: %s', (text, expected) => {
    expect(parseYaml(text, { largeIntegers: 'bigint' })).toBe(expected);
    expect(parseYaml(text)).toBe(typeof expected === 'bigint' ? Number(expected) : expected);
    const isRefused = typeof expected === 'bigint' || expected === 2 ** 63;
    const read = () => parseYaml(text, { largeIntegers: 'error' });
    if (isRefused)
      expect(read).toThrow('is out of range: integers up to 9007199254740991 are kept exactly');
    else expect(read()).toBe(expected);
  });

  test('parses YAML 1.1 as kubectl does', () => {
    expect(
      parseYaml(
        [
          'yes: yes',
          'no: off',
          'octal: 0644',
          'new: 0o644',
          'below: -0o7',
          'letter: y',
          'hex: 0x1F',
          'float: 1e3',
          'big: 1_000',
          'nine: 08',
          'none: ~',
          'text: "no"',
        ].join('\n'),
      ),
    ).toEqual({
      true: true,
      false: false,
      octal: 420,
      new: 420,
      below: -7,
      letter: true,
      hex: 31,
      float: 1000,
      big: 1000,
      nine: 8,
      none: null,
      text: 'no',
    });
  });

  test('keeps times and dates as text', () => {
    expect(parseYaml('a: 22:22\nb: 2001-01-01\nc: 2001-12-14T21:59:43Z\nd: 1:30:00.5')).toEqual({
      a: '22:22',
      b: '2001-01-01',
      c: '2001-12-14T21:59:43Z',
      d: '1:30:00.5',
    });
  });

  test('resolves merge keys and aliases', () => {
    expect(parseYaml('base: &b {x: 1, z: 2}\nother: {<<: *b, z: 3}\nsame: *b')).toEqual({
      base: { x: 1, z: 2 },
      other: { x: 1, z: 3 },
      same: { x: 1, z: 2 },
    });
  });

  test('rejects invalid text with its line', () => {
    expect(() => parseYaml('a: 1\nb: 2\na: 3')).toThrow(
      'yaml: unmarshal errors:\n  line 3: key "a" already set in map',
    );
    expect(() => parseYaml('a: 1\na:\n  b: 2\n  b: 3\n1: x\n1: y')).toThrow(
      'yaml: unmarshal errors:\n  line 4: key "b" already set in map\n' +
        '  line 3: key "a" already set in map\n  line 6: key 1 already set in map',
    );
    expect(parseYaml('a: 1\nb: 2\na: 3', { allowDuplicateKeys: true })).toEqual({ a: 3, b: 2 });
    expect(() => parseYaml('a: [1')).toThrow(/^yaml: line/);
    expect(() => parseYaml('a: .inf')).toThrow('unsupported value: +Inf');
    expect(() => parseYaml('a: *nothing')).toThrow(/^yaml: /);
    expect(() => parseYaml('a: 1\n---\nb: 2')).toThrow('more than one document');
  });

  test.each([
    ['brackets', '['.repeat(1_000_000), 1],
    ['braces', '{"a":'.repeat(500_000), 1],
    ['anchors', '&a ['.repeat(300_000), 1],
    ['sequences in a line', '- '.repeat(500_000), 1],
    ['keys that are maps', '? '.repeat(500_000), 1],
    [
      'indentation',
      Array.from({ length: 2000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      501,
    ],
  ])('is not nested too deeply: %s', (_, text, line) => {
    expect(() => parseYaml(text)).toThrow(`yaml: line ${line}: exceeded max depth of 500`);
  });

  test('accepts any text, and the depth of objects', () => {
    const script = `${' '.repeat(600)}${'['.repeat(600)}\n  x: ${'- '.repeat(600)}\n`;
    expect(
      parseYaml(`data:\n  a: |2\n${script.replaceAll(/^/gm, '    ')}\n  b: "${'{'.repeat(600)}"`),
    ).toMatchObject({
      data: { b: '{'.repeat(600) },
    });
    const wide = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]));
    expect(parseYaml(`${JSON.stringify(wide)}\n`)).toEqual(wide);
    const deep = `${'['.repeat(500)}${']'.repeat(500)}`;
    expect(JSON.stringify(parseYaml(deep))).toBe(deep);
  });

  test('rejects aliases that grow exponentially', () => {
    const levels = Array.from(
      { length: 9 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    );
    expect(() => parseYaml(`l0: &l0 [x]\n${levels.join('\n')}`)).toThrow(/alias/i);
  });

  test('stops parsing at the limit of values', () => {
    const texts = ['a: b\n', '- a\n', '- *a\n', '- []\n', '? a\n'].map((line) =>
      line.repeat(20_000),
    );
    for (const text of texts) {
      const broken = `${text}\n]`;
      // The rest of the text is not examined.
      expect(() => parseYaml(broken, { maxValues: 5000 })).toThrow('yaml: limit is 5000 values');
      expect(() => parseYaml(broken)).toThrow(/^yaml: (?!limit)/);
    }
  });

  test('treats __proto__ as an ordinary key', () => {
    const value = parseYaml('__proto__: {a: 1}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

describe('characters', () => {
  test.each(['\0', 'a: "\x07"', 'a: \x7f', 'a: \uFEFF', 'a: \uFFFF', 'a: \uD800'])(
    '%j is rejected',
    (text) => {
      expect(() => parseYaml(text)).toThrow('yaml: control characters are not allowed');
    },
  );

  test('others are kept', () => {
    expect(parseYaml('\uFEFFa: "\t\x85 é 😀"\r\n')).toEqual({ a: '\t\x85 é 😀' });
  });

  test('binary data is decoded to a text', () => {
    expect(parseYaml('a: !!binary aGVsbG8=\n')).toEqual({ a: 'hello' });
  });
});

describe('parseYamlDocuments', () => {
  test('leaves empty documents out', () => {
    expect(parseYamlDocuments('---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n')).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
    expect(parseYamlDocuments('')).toEqual([]);
    expect(parseYamlDocuments('{"kind":"x"}')).toEqual([{ kind: 'x' }]);
  });
});
