// JSON with integers beyond 2^53. JavaScript's numbers do not keep those, so they are bigints in memory: reading makes bigints of them
// where a caller can work with them, and writing takes bigints. Everything else is JSON.parse and JSON.stringify.

/** The integers of Go's int64. Larger ones are floating-point numbers for Go, too. */
const [MIN_INT64, MAX_INT64] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Reports whether the text of an integer is one that a number would not keep, but an int64 does. */
export function isLargeInt64(text: string): boolean {
  if (Number.isSafeInteger(Number(text))) return false;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** Where the text of an integer begins and ends, in bytes. */
export type Span = readonly [start: number, end: number];

/** Parses JSON whose integers at the spans become bigints. Throws SyntaxError. */
export function parseWithBigints(bytes: Buffer, spans: readonly Span[]): unknown {
  const mark = markFor(bytes.toString('utf8'));
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of spans) {
    parts.push(
      bytes.toString('utf8', from, start),
      `"${mark}${bytes.toString('latin1', start, end)}"`,
    );
    from = end;
  }
  parts.push(bytes.toString('utf8', from));
  return JSON.parse(parts.join(''), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Returns what JSON.stringify returns; bigints are written as integers. */
export function stringifyJson(value: unknown, space?: number): string {
  return encodeJson(value, space).text;
}

/** As stringifyJson. `bigints`: whether the value has any. */
export function encodeJson(
  value: unknown,
  space?: number,
): { readonly text: string; readonly bigints: boolean } {
  try {
    return { text: JSON.stringify(value, null, space), bigints: false };
  } catch (error) {
    // Hardly any value has a bigint: finding out before would cost all others.
    if (!(error instanceof TypeError) || !error.message.includes('BigInt')) throw error;
    return { text: stringifyWithBigints(value, space), bigints: true };
  }
}

function stringifyWithBigints(value: unknown, space: number | undefined): string {
  const withoutThem = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? 0 : each,
  );
  const mark = markFor(withoutThem);
  const marked = JSON.stringify(
    value,
    (_key, each: unknown) => (typeof each === 'bigint' ? `${mark}${each}` : each),
    space,
  );
  return marked.replaceAll(new RegExp(`"${mark}(-?[0-9]+)"`, 'g'), '$1');
}

/** Returns a text that does not occur in the JSON, and that JSON and regular expressions write as it is. */
function markFor(json: string): string {
  let mark = '@int64:';
  while (json.includes(mark)) mark += '@';
  return mark;
}
