// Makes text from elsewhere (names, messages, log lines) safe to print at a terminal: it can neither move the cursor,
// nor change colours, the title or the order of characters.

/**
 * Control characters of ASCII and of Latin-1 (U+009B begins a sequence as ESC [ does), line and paragraph separators,
 * and the characters that reorder text. Lone surrogates are invalid in UTF-8.
 */
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/** Returns the text as one line: control characters in caret notation (`^[` for ESC), others as `\u202e`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, visible);
}

/**
 * Returns the text with its newlines and tabs; all else as `printable`. A carriage return before a newline is
 * dropped.
 */
export function printableLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(UNSAFE, (character) =>
      character === '\n' || character === '\t' ? character : visible(character),
    );
}

/** Returns the value as JSON, which a parser reads as the same value, and which is safe to print. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE, (character) =>
    character === '\n' ? character : escaped(character),
  );
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code === 0x7f) return '^?';
  return code < 0x20 ? `^${String.fromCharCode(code + 0x40)}` : escaped(character);
}

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
