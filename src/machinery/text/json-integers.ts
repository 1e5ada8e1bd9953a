// JSON with integers beyond 2^53, which JavaScript's numbers cannot hold. They are bigints in
// memory: parsing creates bigints where the caller supports them, and encoding accepts bigints.
// Everything else is JSON.parse and JSON.stringify.

/** The range of Go's int64. Go, too, parses larger integers as floating-point numbers. */
const [MIN_INT64, MAX_INT64] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Reports whether the text is an integer that an int64 can hold, but a number cannot. */
export function isLargeInt64(text: string): boolean {
  if (Number.isSafeInteger(Number(text))) return false;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** The first byte of an integer's text, and the byte after the last. */
export type Span = readonly [start: number, end: number];

/** Parses JSON. The integers at the spans become bigints. Throws SyntaxError. */
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

/** Does the same as JSON.stringify, and writes bigints as integers. */
export function stringifyJson(value: unknown, space?: number): string {
  return encodeJson(value, space).text;
}

/** Does the same as stringifyJson. `bigints`: whether the value contains any. */
export function encodeJson(
  value: unknown,
  space?: number,
): { readonly text: string; readonly bigints: boolean } {
  try {
    return { text: JSON.stringify(value, null, space), bigints: false };
  } catch (error) {
    // Bigints are rare; a check in advance would cost all other values.
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

/**
 * Returns a text that does not occur in the JSON and needs no escapes in JSON and regular
 * expressions.
 */
function markFor(json: string): string {
  let mark = '@int64:';
  while (json.includes(mark)) mark += '@';
  return mark;
}
