// Values that show whether they are complete: a name, and bytes that follow from it.

import { createHash } from 'node:crypto';

export function makeValue(name: string, bytes: number): string {
  const digest = createHash('sha256').update(name).digest('hex');
  return `${name}|${bytes}|${digest.repeat(Math.ceil(bytes / digest.length)).slice(0, bytes)}`;
}

/** Returns the name in the value. Throws if the value differs from the one made for that name. */
export function nameOf(value: string): string {
  const [name = '', bytes = ''] = value.split('|', 2);
  if (makeValue(name, Number(bytes)) !== value)
    throw new Error(`a value that was not written: ${value.slice(0, 100)}`);
  return name;
}
