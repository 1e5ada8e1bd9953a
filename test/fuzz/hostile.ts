// Invalid bodies: valid ones with random changes of their structure or their bytes.

import type { SeededRandom } from '#machinery/random.ts';

type Path = readonly (string | number)[];

/** Texts of values that do not fit the fields that get them. All but the last ones are JSON. */
const VALUES = [
  'null',
  'true',
  '-1',
  '0.5',
  '9223372036854775808',
  '1e400',
  '-0',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '"2026-13-45T99:99:99Z"',
  '"1e999999999Ki"',
  '"%d%s${x}"',
  `"${'x'.repeat(5000)}"`,
  '[]',
  '{}',
  '[null]',
  '[[],{}]',
  '{"__proto__":{"polluted":"yes"}}',
  '{"constructor":{"prototype":{"polluted":"yes"}}}',
  '{"hasOwnProperty":1,"toString":null,"valueOf":[]}',
  '{"a":1,"a":2}',
  '{"$patch":"delete"}',
  '{"$patch":"replace","$retainKeys":[1]}',
  '{"$setElementOrder/x":[{}]}',
  `${'['.repeat(300)}${']'.repeat(300)}`,
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  'NaN',
  'undefined',
  "'x'",
] as const;

/** Pieces that have a meaning in JSON, YAML or JavaScript. */
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\n',
  '\n  ',
  '- ',
  '&a ',
  '*a',
  '<<: ',
  '!!js/function ',
  '|',
  '%',
  '\u0000',
  '\ufeff',
  '\u2028',
];

export function pick<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.int(values.length)]!;
}

/** Returns the object as JSON, with one to three of its values replaced. */
export function wrongValues(random: SeededRandom, object: unknown): string {
  // A unique string stands for the value at first, since some values are no JSON.
  const marks: string[] = [];
  const paths = pathsOf(object);
  let changed = object;
  for (let changes = 1 + random.int(3); changes > 0; changes--) {
    const mark = `mark-${marks.length}-of-a-value`;
    marks.push(mark);
    changed = replaced(changed, pick(random, paths), mark);
  }
  let text = JSON.stringify(changed);
  for (const mark of marks) text = text.replace(`"${mark}"`, () => pick(random, VALUES));
  return text;
}

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [
    at,
    ...Object.entries(value).flatMap(([key, child]) =>
      pathsOf(child, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function replaced(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.map((item, index) =>
      index === first ? replaced(item, rest, by) : (item as unknown),
    );
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      key === first ? replaced(child, rest, by) : (child as unknown),
    ]),
  );
}

/**
 * Returns the bytes with some of them changed, left out, doubled or inserted. Bytes before `from`
 * (the envelope of protobuf) stay.
 */
export function wrongBytes(random: SeededRandom, bytes: Uint8Array, from = 0): Buffer {
  let body = Buffer.from(bytes);
  for (let changes = 1 + random.int(4); changes > 0 && body.length > from; changes--) {
    const at = from + random.int(body.length - from);
    const length = random.int(Math.min(40, body.length - at) + 1);
    const [before, piece, after] = [
      body.subarray(0, at),
      body.subarray(at, at + length),
      body.subarray(at + length),
    ];
    const choice = random.int(5);
    if (choice === 0) body[at] = random.int(256);
    else if (choice === 1) body = Buffer.concat([before, after]);
    else if (choice === 2) body = Buffer.concat([before, piece, piece, after]);
    else if (choice === 3)
      body = Buffer.concat([before, Buffer.from(pick(random, PIECES)), body.subarray(at)]);
    else body = before;
  }
  return body;
}

/** Returns a JSON patch with arbitrary operations, paths and values. */
export function jsonPatch(random: SeededRandom, object: unknown): string {
  const paths = pathsOf(object);
  const pointer = (): string =>
    random.int(4) === 0
      ? pick(random, [
          '',
          '/',
          '//',
          '/-',
          '/__proto__/polluted',
          '/constructor/prototype/polluted',
          '/metadata/labels/-',
          '/metadata/~2',
          'x',
          '/a'.repeat(2000),
        ])
      : `${pick(random, paths)
          .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
          .join(
            '',
          )}${pick(random, ['', '', '/-', '/0', '/-1', '/00', '/99999999999', '/1e3', '/x', '/__proto__'])}`;
  const operations = Array.from({ length: 1 + random.int(4) }, () => {
    const op = JSON.stringify(
      pick(random, ['add', 'remove', 'replace', 'move', 'copy', 'test', 'test', 'spam']),
    );
    const from = random.int(2) === 0 ? `,"from":${JSON.stringify(pointer())}` : '';
    const value = random.int(4) > 0 ? `,"value":${pick(random, VALUES)}` : '';
    return `{"op":${op},"path":${JSON.stringify(pointer())}${from}${value}}`;
  });
  return `[${operations.join(',')}]`;
}
