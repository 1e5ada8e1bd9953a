import { describe, expect, test } from 'vitest';

import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { parseYamlBody } from './yaml-bodies.ts';

const LIMIT = 50_000;
const parse = (text: string, maxValues = LIMIT, bigints = false) =>
  parseYamlBody(text, { maxValues, bigints }, systemClock);
/** Makes a text long enough for the thread. */
const FILLER = `# ${'x'.repeat(5000)}\n`;

describe.each([
  ['at once', ''],
  ['in the thread', FILLER],
])('a body in YAML that is read %s', (_where, filler) => {
  test('has its value', async () => {
    expect(
      await parse(
        `${filler}a: [1, "x", null, {b: 0x10}]\nc: &c {d: e}\nf: {<<: *c, g: *c}\n__proto__: {h: i}`,
      ),
    ).toEqual({
      value: JSON.parse(
        '{"a":[1,"x",null,{"b":16}],"c":{"d":"e"},"f":{"d":"e","g":{"d":"e"}},"__proto__":{"h":"i"}}',
      ) as unknown,
    });
  });

  test('keeps integers of 64 bits, or rejects those that would lose precision', async () => {
    const text =
      `${filler}a: 9223372036854775807\nb: [-9007199254740993, 1.5]\nc: ` +
      `9007199254740991\nd: "9223372036854775807"`;
    expect(await parse(text, LIMIT, true)).toEqual({
      value: {
        a: 9_223_372_036_854_775_807n,
        b: [-9_007_199_254_740_993n, 1.5],
        c: 9_007_199_254_740_991,
        d: '9223372036854775807',
      },
    });
    await expect(parse(text)).rejects.toThrow(
      'yaml: number "9223372036854775807" is out of range: integers up to 9007199254740991 are kept exactly',
    );
  });

  test('reports duplicate keys', async () => {
    expect(await parse(`${filler}a: 1\na: 2`)).toEqual({
      value: { a: 2 },
      duplicates: `yaml: unmarshal errors:\n  line ${filler === '' ? 2 : 3}: key "a" already set in map`,
    });
  });

  test.each([
    ['a: *b', "yaml: unknown anchor 'b' referenced"],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['a: &a {b: {<<: *a}}', "yaml: anchor 'a' value contains itself"],
    ['{[a]: b}', 'error converting YAML to JSON: unsupported map key: a list or map'],
    ['a: {<<: b}', 'yaml: map merge requires map or sequence of maps as the value'],
    ['a: .inf', 'error converting YAML to JSON: json: unsupported value: +Inf'],
    [`a0: &a0 [x, x]\n${aliasesOfAliases(30)}`, 'yaml: document contains excessive aliasing'],
    [`a: &a [${'x,'.repeat(1000)}]\nb: [${'*a,'.repeat(49)}]`, 'yaml: limit is 50000 values'],
    [
      `a: &a ${'x'.repeat(3000)}\nb: [${'*a,'.repeat(1500)}]`,
      'yaml: document contains excessive aliasing',
    ],
    [chain(600), 'yaml: exceeded max depth of 500'],
  ])('is rejected, case %#', async (text, message) => {
    await expect(parse(filler + text)).rejects.toMatchObject({ name: 'YamlError', message });
  });
});

function aliasesOfAliases(levels: number): string {
  return Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join(
    '',
  );
}

/** Returns a document of nested lists: each one contains the one before. */
function chain(length: number): string {
  return `a0: &a0 []\n${Array.from({ length }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}]\n`).join('')}`;
}

describe('large bodies in YAML', () => {
  test('a manifest of a megabyte is read', async () => {
    const entries = Array.from(
      { length: 25_000 },
      (_, i) => `  key-${i}: the value of key ${i}, which is text\n`,
    );
    const { value } = await parse(`kind: ConfigMap\ndata:\n${entries.join('')}`);
    expect(Object.keys((value as { data: object }).data)).toHaveLength(25_000);
  });

  test('three megabytes, the most that a body has, are read', async () => {
    const text = 'x'.repeat(3_000_000);
    expect(await parse(`data: {text: ${text}}`)).toEqual({ value: { data: { text } } });
    await expect(parse(`data: ${'['.repeat(1_500_000)}${']'.repeat(1_500_000)}`)).rejects.toThrow(
      'exceeded max depth',
    );
  });

  test('a text that takes too much time or memory is aborted, and the next one is read', async () => {
    const clock = new VirtualClock();
    const slow = parseYamlBody(
      `a:${'\n'.repeat(1_500_000)} b`,
      { maxValues: LIMIT, bigints: false },
      clock,
    );
    const refused = expect(slow).rejects.toMatchObject({ code: 413 });
    const next = parseYamlBody(`${FILLER}a: b`, { maxValues: LIMIT, bigints: false }, clock);
    await clock.advance('15s');
    await refused;
    expect(await next).toEqual({ value: { a: 'b' } });
  });

  test('the number of waiting texts is limited', async () => {
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => parse(`${FILLER}a: b`)));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(16);
    expect(all.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 429 });
    expect(await parse(`${FILLER}a: b`)).toEqual({ value: { a: 'b' } });
  });
});
