// resourceVersions: opaque to clients, revisions of the storage inside the server.

import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';

/**
 * Parses a resourceVersion; 0 for '' and '0'. Throws BadRequest for a text that cannot come from a
 * server. `prefix`: the beginning of the message.
 */
export function parseResourceVersion(text: string, prefix = ''): number {
  if (text === '' || text === '0') return 0;
  if (/^[1-9][0-9]{0,15}$/.test(text)) {
    const revision = Number(text);
    if (Number.isSafeInteger(revision)) return revision;
  }
  throw apierrors.badRequest(
    `${prefix}resourceVersion: Invalid value: ${quote(text)}: ${notANumber(text)}`,
  );
}

/** Returns Go's message for a resourceVersion that is no number. */
export function notANumber(text: string): string {
  return `strconv.ParseUint: parsing ${quote(text)}: invalid syntax`;
}
