// Variables in a file of a volume: lines of NAME='value'. What is between the quotes is taken as it
// is, over several lines if need be. The syntax and its errors are upstream's.

import { pathOf } from '#machinery/files/directory.ts';
import { openInside } from '#machinery/files/open-inside.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';

/** Upstream bounds each line by this size, and the file not at all. */
const MAX_LINE = 64 * 1024;
const MAX_BYTES = 1024 * 1024;

/** Reads the file in a volume. Links lead to files of the volume only. Rejects with the reason. */
export async function readEnvFile(volumePath: string, path: string): Promise<string> {
  const place = await openInside(volumePath, path);
  try {
    const bytes = await readUntrusted(pathOf(place), MAX_BYTES, { followLinks: true });
    return bytes.toString('utf8');
  } finally {
    await place.handle.close();
  }
}

/**
 * Returns the value of the variable; '' if it is empty or there is none. Throws for a line before it
 * that is not valid.
 */
export function parseEnvFile(text: string, key: string): string {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  let index = 0;
  const next = (): string | undefined => {
    const line = lines[index++];
    if (line !== undefined && line.length >= MAX_LINE) throw new Error('a line is too long');
    return line?.replace(/\r$/, '');
  };
  for (let line = next(); line !== undefined; line = next()) {
    const found = /^[ \t]*(.*)$/s.exec(line)?.[1] ?? '';
    if (found === '' || found.startsWith('#')) continue;
    const start = index;
    const invalid = (why: string): Error =>
      new Error(`invalid environment variable format at line ${index}: ${why}`);
    const at = found.indexOf('=');
    if (at === -1) throw invalid(`missing '='`);
    const name = found.slice(0, at);
    if (/^[ \t]*$/.test(name)) throw invalid('empty variable name');
    if (/[ \t]$/.test(name)) throw invalid(`whitespace before '=' is not allowed`);
    const value = found.slice(at + 1);
    if (/^[ \t]/.test(value)) {
      // As in a shell: NAME= 'value' is an empty assignment.
      if (name === key) return '';
      continue;
    }
    if (!value.startsWith(`'`)) throw invalid('value must be enclosed in single quotes');
    const parts: string[] = [];
    let rest = value.slice(1);
    while (!rest.includes(`'`)) {
      parts.push(rest);
      const more = next();
      if (more === undefined)
        throw new Error(
          `invalid environment variable format starting at line ${start}: unclosed single quote`,
        );
      rest = more;
    }
    const end = rest.indexOf(`'`);
    if (!/^[ \t]*(#.*)?$/s.test(rest.slice(end + 1)))
      throw invalid('unexpected content after closing quote');
    if (name === key) return [...parts, rest.slice(0, end)].join('\n');
  }
  return '';
}
