// `npm run golden -- DIR`: checks the objects of a folder as upstream encodes them
// (`<group>.<version>.<Kind>.json` and `.pb`). Each must be read from JSON and from protobuf as the
// same object, and written back byte for byte. Prints the differences and, last, the number of
// equal objects; fails if any differs.

import { realpathSync } from 'node:fs';

import { decodeObject } from '#api/machinery/codec/index.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  openEnvelope,
} from '#api/machinery/codec/protobuf/index.ts';
import { type GoldenFile, readGolden } from '#api/testing/golden.ts';

/** The number of characters to show around the place where two texts differ. */
const SHOWN = 60;

/**
 * Files of another release lack fields that this release always writes; no server reproduces them.
 */
const FROM_ANOTHER_RELEASE = '.after_roundtrip';

/** Returns the differences; empty if there are none. */
export function differences({ message, json, protobuf }: GoldenFile): string[] {
  if (message === undefined) return ['no such kind is known'];
  if (protobuf === undefined) return ['there is no .pb beside it'];
  const problems: string[] = [];
  let fromJson: object | undefined;
  let fromProtobuf: object | undefined;
  const attempt = (what: string, f: () => void): void => {
    try {
      f();
    } catch (error) {
      problems.push(`${what}: ${(error as Error).message}`);
    }
  };
  attempt('decoding JSON', () => {
    const { object, unknownFields } = decodeObject<object>(message, JSON.parse(json));
    fromJson = object;
    for (const path of unknownFields) problems.push(`JSON has an unknown field: ${path}`);
  });
  attempt('decoding protobuf', () => {
    fromProtobuf = decodeProtobuf<object>(message, openEnvelope(protobuf));
  });
  if (fromJson !== undefined && fromProtobuf !== undefined) {
    problems.push(...parting('the objects read', pretty(fromJson), pretty(fromProtobuf)));
  }
  for (const [from, object] of [
    ['JSON', fromJson],
    ['protobuf', fromProtobuf],
  ] as const) {
    if (object === undefined) continue;
    problems.push(...parting(`JSON written after reading ${from}`, json.trimEnd(), pretty(object)));
    attempt('encoding protobuf', () => {
      const written = Buffer.from(encodeProtobuf(message, object)).toString('hex');
      problems.push(
        ...parting(
          `protobuf written after reading ${from}`,
          Buffer.from(protobuf).toString('hex'),
          written,
        ),
      );
    });
  }
  return problems;
}

/** Formats as upstream does in JSON files, with escapes for characters that could end a script. */
function pretty(object: object): string {
  return JSON.stringify(object, null, 2).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function parting(what: string, wanted: string, got: string): string[] {
  if (wanted === got) return [];
  let at = 0;
  while (wanted[at] === got[at]) at++;
  const shown = (text: string): string =>
    JSON.stringify(text.slice(Math.max(at - SHOWN / 2, 0), at + SHOWN));
  return [`${what} differ(s) at ${at}: wanted ${shown(wanted)}, got ${shown(got)}`];
}

/** Returns the exit code. */
export function runGolden(directory: string, print: (line: string) => void): number {
  const all = readGolden(directory);
  const files = all.filter(({ name }) => !name.endsWith(FROM_ANOTHER_RELEASE));
  for (const { name } of all.filter((file) => !files.includes(file))) {
    print(
      `${name}: not compared: it is what another release, with other fields, made of the object`,
    );
  }
  let alike = 0;
  for (const file of files) {
    const problems = differences(file);
    if (problems.length === 0) alike++;
    for (const problem of problems) print(`${file.name}: ${problem}`);
  }
  print(`${alike} of ${files.length} alike`);
  return alike === files.length ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.filename === realpathSync(process.argv[1])) {
  const directory = process.argv[2];
  if (directory === undefined || directory.startsWith('-')) {
    const isHelp = directory === '--help';
    (isHelp ? process.stdout : process.stderr).write('usage: npm run golden -- DIR\n');
    process.exitCode = isHelp ? 0 : 2;
  } else {
    process.exitCode = runGolden(directory, (line) => process.stdout.write(`${line}\n`));
  }
}
