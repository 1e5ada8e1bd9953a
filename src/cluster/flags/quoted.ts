/** Returns a text of a user for a message, shortened. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 80)}…`);
