// The tables of docs/scale.md: one for each version of Node, under a line such as `Node 20.20:`.

const BEGIN = '<!-- table: begin -->';
const END = '<!-- table: end -->';
const TITLE = /^Node (\d+)\.\d+:$/m;

/**
 * Returns the document with this table for this version of Node (`20.20`). It replaces that of the
 * same major version, or follows the others. Throws if the document has no place for tables.
 */
export function withTable(text: string, version: string, table: string): string {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error('the document has no place for the table');
  const before = text.slice(0, from + BEGIN.length);
  const [, ...parts] = text.slice(before.length, to).split(/^(?=Node \d+\.\d+:$)/m);
  const section = `Node ${version}:\n\n${table}`;
  const at = parts.findIndex((part) => majorOf(part) === majorOf(section));
  const sections = parts.map((part) => part.trim());
  sections.splice(at < 0 ? sections.length : at, at < 0 ? 0 : 1, section);
  return `${before}\n${sections.join('\n\n')}\n${text.slice(to)}`;
}

const majorOf = (section: string): string | undefined => TITLE.exec(section)?.[1];
