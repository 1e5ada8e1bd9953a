// Compares parsing in steps with JSON.parse: equal values, equal errors, and no long step.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runSteps } from '../turn.ts';
import { parseJsonInSteps } from './json-steps.ts';

const parsed = (text: string): unknown => runSteps(parseJsonInSteps(Buffer.from(text)));
const FILLER = 'a "quoted" \\ filler, with } and ] in it '.repeat(500);

test('random values, some of them large', () => {
  const large = fc.constantFrom(
    FILLER,
    Array.from({ length: 9000 }, (_, n) => n),
    { [FILLER]: FILLER.repeat(5) },
  );
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 5 },
      fc.jsonValue(),
      large,
      fc.array(tie('node')),
      fc.dictionary(fc.string(), tie('node')),
    ),
  })).node;
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 1), (each, indent) => {
      const text = JSON.stringify(each, undefined, indent);
      expect(parsed(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 200 },
  );
});

test('names of inherited members are ordinary keys', () => {
  const text = `{"__proto__":${JSON.stringify({ filler: FILLER.repeat(5) })},"a":1}`;
  expect(Object.keys(parsed(text) as object)).toEqual(['__proto__', 'a']);
});

describe('texts that are no JSON', () => {
  const items = `${JSON.stringify(FILLER)},`.repeat(8);
  test.each<[what: string, text: string]>([
    ['nothing', ''],
    ['space', ' '.repeat(100_000)],
    ['an object that does not end', `{"a":[${items}1]`],
    ['a list that ends as an object', `[${items}1}`],
    ['a list that ends twice', `[${items}1]]`],
    ['two values', `[${items}1] [${items}1]`],
    ['a comma at the end', `[${items}]`],
    ['two commas', `[${items},1]`],
    ['an object without keys', `{${items}1}`],
    ['an object without a colon', `{"a" [${items}1]}`],
    ['a string that does not end', `["${FILLER.repeat(5).replaceAll('"', '')}]`],
    ['a wrong word', `[${items}nul]`],
  ])('%s', (_what, text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(() => parsed(text)).toThrow(SyntaxError);
  });

  test('texts that are nested too deeply', () => {
    expect(() => parsed('['.repeat(200_000) + ']'.repeat(200_000))).toThrow('nested too deeply');
  });
});

test('large values are reported, by their paths', () => {
  const large: string[] = [];
  const text = JSON.stringify({ a: { b: FILLER.repeat(5), c: 1 }, d: [FILLER.repeat(5)], e: 2 });
  runSteps(parseJsonInSteps(Buffer.from(text), (path) => large.push(path.join('.'))));
  expect(large).toEqual(['', 'a', 'a.b', 'd', 'd.']);
  const refuse = (): never => {
    throw new Error('too large');
  };
  expect(() => runSteps(parseJsonInSteps(Buffer.from(text), refuse))).toThrow('too large');
});

test('many megabytes are parsed in steps that are short', () => {
  const definitions = Object.fromEntries(
    Array.from({ length: 4000 }, (_, n) => [
      `io.example.v1.Kind${n}`,
      { type: 'object', description: FILLER.slice(0, 3000) },
    ]),
  );
  const bytes = Buffer.from(JSON.stringify({ swagger: '2.0', definitions }));
  const steps = parseJsonInSteps(bytes);
  let count = 0;
  let result = steps.next();
  for (; result.done !== true; count++) result = steps.next();
  expect(result.value).toEqual({ swagger: '2.0', definitions });
  // A step scans 256 KiB, or parses 64 KiB.
  expect(count).toBeGreaterThan(bytes.length / (256 * 1024));
});
