// resourceVersions: opaque to clients, revisions of the storage to us.

import * as apierrors from '#machinery/apierrors.ts';

/** 0 for '' and '0'. Throws BadRequest for what no server has answered; `prefix` is what the message begins with. */
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
