// PEM text as Go's encoding/pem parses it: blocks between BEGIN and END lines. Text around the
// blocks is ignored.

export interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const BEGIN = '-----BEGIN ';
const END = '\n-----END ';
const DASHES = '-----';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Yields the blocks of the text. A block is the text between the first END line and the last BEGIN
 * line before it. Malformed blocks (different types, contents that are not base64) are ignored.
 * Takes linear time.
 */
export function* pemBlocks(text: string): Generator<PemBlock> {
  for (let from = 0; ;) {
    const end = text.indexOf(END, from);
    if (end < 0) return;
    const block = blockBefore(text.slice(from, end + 1), text, end + END.length);
    if (block !== undefined) yield block;
    from = end + END.length;
  }
}

/**
 * Returns a block. `before`: the text up to the END line. `trailer`: the position in `text` after
 * "-----END ".
 */
function blockBefore(before: string, text: string, trailer: number): PemBlock | undefined {
  const begin = before.lastIndexOf(BEGIN);
  if (begin < 0 || (begin > 0 && before[begin - 1] !== '\n')) return undefined;
  const lineEnd = before.indexOf('\n', begin);
  const typeLine = trimLine(before.slice(begin + BEGIN.length, lineEnd));
  if (!typeLine.endsWith(DASHES)) return undefined;
  const type = typeLine.slice(0, -DASHES.length);
  const endLine = `${type}${DASHES}`;
  if (!text.startsWith(endLine, trailer)) return undefined;
  // Only white space may follow on the END line.
  const nextLine = text.indexOf('\n', trailer);
  if (trimLine(text.slice(trailer + endLine.length, nextLine < 0 ? undefined : nextLine)) !== '')
    return undefined;
  let at = lineEnd + 1;
  let hasHeaders = false;
  for (let next = before.indexOf('\n', at); next >= 0; next = before.indexOf('\n', at)) {
    const colon = before.indexOf(':', at);
    if (colon < 0 || colon > next) break;
    hasHeaders = true;
    at = next + 1;
  }
  // A line must separate headers from the END line.
  if (hasHeaders && at >= before.length) return undefined;
  const base64 = before.slice(at).replace(/[ \t\r\n]/g, '');
  return BASE64.test(base64)
    ? { type, hasHeaders, bytes: Buffer.from(base64, 'base64') }
    : undefined;
}

/**
 * Returns the line without white space at its end. (An expression would take quadratic time for
 * long white space.)
 */
function trimLine(line: string): string {
  let end = line.length;
  while (end > 0 && WHITE_SPACE.has(line[end - 1]!)) end--;
  return line.slice(0, end);
}

const WHITE_SPACE: ReadonlySet<string> = new Set([' ', '\t', '\r']);
