// Removes metadata.managedFields from lists and watches between threads. It is as long as the rest of many objects, and the components that
// cache objects do not read it. A write without managed fields keeps those of the stored object.

const KEY = Buffer.from('"managedFields":[');
const METADATA = Buffer.from('"metadata":{');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * `json`, which is an object's, without its managedFields: moved together in its own memory. As it is if it has none, or not where the
 * API server writes them: in the first field `metadata`, before any other field of that name.
 */
export function withoutManagedFields(json: Buffer): Buffer {
  const at = json.indexOf(KEY);
  if (at === -1) return json;
  const metadata = json.indexOf(METADATA);
  if (metadata === -1 || metadata > at || !isAtDepth(1, json, 0, metadata)) return json;
  if (!isAtDepth(0, json, metadata + METADATA.length, at)) return json;
  let end = endOfValue(json, at + KEY.length - 1);
  let start = at;
  // The comma after it goes too; the one before it if it is the last.
  if (json[end] === COMMA) end++;
  else if (json[at - 1] === COMMA) start--;
  json.copyWithin(start, end);
  return json.subarray(0, json.length - (end - start));
}

/** Whether, at `to`, so many of the objects and lists that begin from `from` on are open, and none has ended that had begun before. */
function isAtDepth(depth: number, json: Buffer, from: number, to: number): boolean {
  let open = 0;
  for (let i = from; i < to; i++) {
    const byte = json[i];
    if (byte === QUOTE) i = endOfString(json, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --open < 0) return false;
  }
  return open === depth;
}

/** Behind the object or list that begins at `from`. */
function endOfValue(json: Buffer, from: number): number {
  let open = 0;
  for (let i = from; i < json.length; i++) {
    const byte = json[i];
    if (byte === QUOTE) i = endOfString(json, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --open === 0) return i + 1;
  }
  throw new Error('JSON that does not end');
}

/** Behind the text that begins with the quote at `from`. */
function endOfString(json: Buffer, from: number): number {
  let i = from + 1;
  while (i < json.length && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1;
  return i + 1;
}
