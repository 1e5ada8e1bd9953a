// resourceVersions: opaque to clients, revisions of the storage to us.

import * as apierrors from '../../machinery/apierrors.ts';

/** 0 for '' and '0'. Throws BadRequest for what no server has answered. */
export function parseResourceVersion(text: string): number {
  if (text === '' || text === '0') return 0;
  if (/^[1-9][0-9]{0,15}$/.test(text)) {
    const revision = Number(text);
    if (Number.isSafeInteger(revision)) return revision;
  }
  throw apierrors.badRequest(`Invalid value: ${JSON.stringify(text)}: invalid resource version`);
}
