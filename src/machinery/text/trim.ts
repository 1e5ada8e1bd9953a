/**
 * Returns the text without the characters at its end that are `character`. An expression such as
 * /\/+$/ takes quadratic time on a text that contains many of them elsewhere.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
