// Makes characters visible that would act on their surroundings: terminal sequences, and marks that
// turn the direction of text. React escapes HTML; these it passes on.

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Returns text of users for one line: control characters as their symbols or code points. */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
