// resourceVersions: opaque to clients, revisions of the storage inside the server.

import * as apierrors from '#machinery/apierrors.ts';

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
  const value = JSON.stringify(text);
  throw apierrors.badRequest(
    `${prefix}resourceVersion: Invalid value: ${value}: strconv.ParseUint: parsing ${value}: invalid syntax`,
  );
}
