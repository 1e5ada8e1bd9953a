/**
 * Returns the text without the characters at its end that are `character`. An expression such as /\/+$/ takes time with the square of the
 * length of a text that has many of them elsewhere.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
