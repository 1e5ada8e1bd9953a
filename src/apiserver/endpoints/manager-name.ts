// The name by which a writer owns fields.

import type { ApiRequest } from '../request.ts';

const MAX_BYTES = 128;
const PLAIN = /^[ -~]{0,128}$/;

/**
 * Returns the field manager's name: the one in the request, or the client program's (the user agent
 * up to the slash). '' if it has neither.
 */
export function managerOf(
  request: Pick<ApiRequest, 'headers'>,
  { fieldManager }: { readonly fieldManager: string },
): string {
  if (fieldManager !== '') return fieldManager;
  const agent = request.headers['user-agent'] ?? '';
  const slash = agent.indexOf('/');
  const name = slash < 0 ? agent : agent.slice(0, slash);
  return PLAIN.test(name) ? name : printable(name);
}

function printable(text: string): string {
  let result = '';
  let bytes = 0;
  for (const character of text) {
    if (character !== ' ' && !/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_BYTES) break;
    result += character;
  }
  return result;
}
