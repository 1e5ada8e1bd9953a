// Parses JSON of many megabytes in steps. The text is cut between the members of its large objects
// and lists, and JSON.parse parses the pieces.

import type { Steps } from '../turn.ts';

/** In bytes. Members are parsed together up to this size, and cut up if they are larger. */
const LEAF_BYTES = 64 * 1024;
/** The number of bytes that one step scans. */
const SCANNED_BYTES = 256 * 1024;
/** The maximum depth of large values inside large values: each level is scanned once more. */
const MAX_LARGE_DEPTH = 16;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Called for each value that is cut up. `path`: its keys. `bytes`: its size. An error ends the
 * parsing.
 */
export type OnLargeValue = (path: readonly string[], bytes: number) => void;

/**
 * Returns the result of JSON.parse for the UTF-8 bytes. Throws SyntaxError for text that is no
 * JSON, or is nested too deeply.
 */
export function* parseJsonInSteps(
  bytes: Uint8Array,
  onLargeValue: OnLargeValue = () => undefined,
): Steps<unknown> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return yield* new Parser(buffer, onLargeValue).parse({ start: 0, end: buffer.length }, []);
}

class Parser {
  readonly #bytes: Buffer;
  readonly #onLargeValue: OnLargeValue;

  constructor(bytes: Buffer, onLargeValue: OnLargeValue) {
    this.#bytes = bytes;
    this.#onLargeValue = onLargeValue;
  }

  *parse(span: Span, path: readonly string[]): Steps<unknown> {
    const bytes = this.#bytes;
    const { start, end } = trimmed(bytes, span);
    if (end - start > LEAF_BYTES) this.#onLargeValue(path, end - start);
    const open = bytes[start];
    if (end - start <= LEAF_BYTES || (open !== OPEN_BRACE && open !== OPEN_BRACKET))
      return this.#leaf('', { start, end }, '');
    if (path.length >= MAX_LARGE_DEPTH) throw new SyntaxError('JSON is nested too deeply');
    const isObject = open === OPEN_BRACE;
    if (bytes[end - 1] !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) throw endsWithin();
    const members = yield* membersOf(bytes, { start: start + 1, end: end - 1 });
    return isObject ? yield* this.#object(members, path) : yield* this.#list(members, path);
  }

  *#object(members: readonly Span[], path: readonly string[]): Steps<object> {
    const bytes = this.#bytes;
    const entries: [string, unknown][] = [];
    for (const run of runsOf(members)) {
      yield;
      if (isLeaf(run)) {
        for (const entry of Object.entries(this.#leaf('{', run, '}') as object))
          entries.push(entry);
        continue;
      }
      const { start, end } = trimmed(bytes, run);
      const keyEnd = bytes[start] === QUOTE ? endOfString(bytes, start, end) : start;
      const colon = trimmed(bytes, { start: keyEnd, end }).start;
      if (bytes[colon] !== COLON)
        throw new SyntaxError('Expected a property name and a colon in JSON');
      const key = this.#leaf('', { start, end: keyEnd }, '') as string;
      entries.push([key, yield* this.parse({ start: colon + 1, end }, [...path, key])]);
    }
    // Creates own properties, also for '__proto__'.
    return Object.fromEntries(entries);
  }

  *#list(members: readonly Span[], path: readonly string[]): Steps<unknown[]> {
    const items: unknown[] = [];
    for (const run of runsOf(members)) {
      yield;
      if (!isLeaf(run)) items.push(yield* this.parse(run, [...path, '']));
      else for (const item of this.#leaf('[', run, ']') as unknown[]) items.push(item);
    }
    return items;
  }

  #leaf(open: string, { start, end }: Span, close: string): unknown {
    return JSON.parse(`${open}${this.#bytes.toString('utf8', start, end)}${close}`) as unknown;
  }
}

const endsWithin = (): SyntaxError => new SyntaxError('JSON ends within an object or list');

const isLeaf = ({ start, end }: Span): boolean => end - start <= LEAF_BYTES;

/** Joins small members. */
function* runsOf(members: readonly Span[]): Generator<Span> {
  let run: Span | undefined;
  for (const member of members) {
    if (run !== undefined && member.end - run.start <= LEAF_BYTES) {
      run = { start: run.start, end: member.end };
      continue;
    }
    if (run !== undefined) yield run;
    run = member;
  }
  if (run !== undefined) yield run;
}

/** Splits the inside of an object or list at its commas. */
function* membersOf(bytes: Buffer, { start, end }: Span): Steps<readonly Span[]> {
  const members: Span[] = [];
  let [from, depth, paused] = [start, 0, start];
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at, end) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (--depth < 0) throw new SyntaxError('Unexpected end of an object or list in JSON');
    } else if (byte === COMMA && depth === 0) {
      members.push({ start: from, end: at });
      from = at + 1;
    }
    if (at - paused < SCANNED_BYTES) continue;
    paused = at;
    yield;
  }
  if (depth !== 0) throw endsWithin();
  members.push({ start: from, end });
  return members;
}

/** Returns the index after the closing quote of the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number, end: number): number {
  for (
    let quote = bytes.indexOf(QUOTE, start + 1);
    quote >= 0 && quote < end;
    quote = bytes.indexOf(QUOTE, quote + 1)
  ) {
    let backslashes = 0;
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  throw new SyntaxError('Unterminated string in JSON');
}

function trimmed(bytes: Buffer, { start, end }: Span): Span {
  const isSpace = (byte: number | undefined): boolean =>
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
  let [from, to] = [start, end];
  while (from < to && isSpace(bytes[from])) from++;
  while (to > from && isSpace(bytes[to - 1])) to--;
  return { start: from, end: to };
}
