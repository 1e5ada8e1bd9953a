// The warnings of a response: each text once, and not more than headers should contain.

/** The maximum number of characters of all texts together before each is truncated. */
const MAX_CHARACTERS = 4 * 1024;
/** The maximum length of a truncated text. */
const MAX_SHORT = 256;

/**
 * Returns the texts that a response sends, in order. Empty texts, duplicates, and texts that a
 * header cannot contain are left out. If all together are too long, each is truncated. If that is
 * still too long, the rest is left out.
 */
export function sentWarnings(texts: readonly string[]): readonly string[] {
  const unique = [...new Set(texts)].filter((text) => text !== '' && !/\p{Cc}/u.test(text));
  const lengths = unique.map(charactersOf);
  if (lengths.reduce((sum, length) => sum + length, 0) <= MAX_CHARACTERS) return unique;
  // The text that crosses the limit is still sent, and so are those before it.
  const crossing = firstBeyond(lengths);
  const sent: string[] = [];
  let written = 0;
  for (const [index, text] of unique.entries()) {
    if (index > crossing && written >= MAX_CHARACTERS) break;
    const short = lengths[index]! > MAX_SHORT ? [...text].slice(0, MAX_SHORT).join('') : text;
    written += Math.min(lengths[index]!, MAX_SHORT);
    sent.push(short);
  }
  return sent;
}

/** Returns the index of the length with which the sum exceeds the limit. */
function firstBeyond(lengths: readonly number[]): number {
  let sum = 0;
  return lengths.findIndex((length) => (sum += length) > MAX_CHARACTERS);
}

function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * Returns the header of a text: code 299 (miscellaneous, persistent), no agent, the quoted text.
 */
export function warningHeader(text: string): string {
  const latin = Buffer.from(text, 'utf8').toString('latin1');
  return `299 - "${latin.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
