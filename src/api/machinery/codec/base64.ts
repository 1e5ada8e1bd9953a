// Base64 as Go's standard encoding parses it: padded, line breaks ignored, other characters
// rejected with their position.

/**
 * The length, in UTF-16 units, up to which texts are encoded in a shared buffer: allocating one
 * takes longer than encoding a short text.
 */
const SHORT = 1024;
const shared = Buffer.allocUnsafe(3 * SHORT);

/** Returns the canonical base64 text of the UTF-8 bytes of `text`. */
export function encodeBase64(text: string): string {
  if (text.length > SHORT) return Buffer.from(text, 'utf8').toString('base64');
  return shared.toString('base64', 0, shared.write(text, 0, 'utf8'));
}

/** Returns the canonical text, or the index of the first invalid byte. */
export function decodeBase64(text: string): string | number {
  const canonical = Buffer.from(text, 'base64').toString('base64');
  if (canonical === text) return text;
  return decodeSlowly(text);
}

/**
 * Decodes text that is not canonical: it has line breaks, unused bits, or is not base64 (Node's
 * decoder accepts anything).
 */
function decodeSlowly(text: string): string | number {
  const digits = text.replace(/[\r\n]/g, '');
  const match = /^[A-Za-z0-9+/]*/.exec(digits)?.[0] ?? '';
  const padding = digits.slice(match.length);
  const paddingLength = (4 - (match.length % 4)) % 4;
  if (paddingLength !== 3 && padding === '='.repeat(paddingLength))
    return Buffer.from(digits, 'base64').toString('base64');
  // The text ends too early: the position of its last, incomplete group.
  if (padding === '') return text.length - (match.length % 4);
  return positionInOriginal(text, match.length);
}

/** Returns the index of the n-th character that is not a line break. */
function positionInOriginal(text: string, n: number): number {
  let seen = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\r' || text[i] === '\n') continue;
    if (seen++ === n) return i;
  }
  return text.length;
}
