// Makes characters visible that would act on their surroundings: terminal sequences, and marks that
// turn the direction of text. React escapes HTML; these it passes on.

/** Joiners are part of words in some scripts, and of emoji. */
const CONTROL = /(?![\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** Nearly all texts. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Returns text of users for one line: control characters as their symbols or code points. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(CONTROL, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
