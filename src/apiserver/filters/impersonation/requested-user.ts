// The user that a request's Impersonate-* headers name.

import * as apierrors from '#machinery/apierrors.ts';
import { getOwn, setOwn } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { headerTexts } from '../../header-values.ts';
import type { ApiRequest, UserInfo } from '../../request.ts';
import { DeniedError } from '../authorization.ts';

const PREFIX = 'impersonate-';
const USER = 'impersonate-user';
const GROUP = 'impersonate-group';
const UID = 'impersonate-uid';
const EXTRA_PREFIX = 'impersonate-extra-';

/**
 * Returns the user in the headers; undefined if there is none. Throws a DeniedError (400) for
 * groups or extra fields without a user.
 */
export function requestedUser(
  request: Pick<ApiRequest, 'headers' | 'rawHeaders'>,
): UserInfo | undefined {
  let name: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra: Record<string, string[]> = {};
  let hasExtra = false;
  for (const [header, value] of headerTexts(request, (name) => name.startsWith(PREFIX))) {
    // The first value of a repeated header counts, as in Go.
    if (header === USER) name ??= value;
    else if (header === UID) uid ??= value;
    else if (header === GROUP) groups.push(value);
    else if (header.startsWith(EXTRA_PREFIX)) {
      hasExtra = true;
      const key = unescapeExtraKey(header.slice(EXTRA_PREFIX.length));
      const values = getOwn(extra, key) as string[] | undefined;
      if (values === undefined) setOwn(extra, key, [value]);
      else values.push(value);
    }
  }
  if (uid === '') uid = undefined;
  if (name === undefined || name === '') {
    if (uid === undefined && groups.length === 0 && !hasExtra) return undefined;
    const shown = goUser(uid ?? '', groups, hasExtra ? extra : undefined);
    const { status } = apierrors.badRequest(`requested ${shown} without impersonating a user name`);
    throw new DeniedError(status);
  }
  return { name, groups, ...(uid !== undefined && { uid }), ...(hasExtra && { extra }) };
}

/** Decodes a key. A key with invalid percent-encoding stays unchanged, as upstream. */
function unescapeExtraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (error) {
    if (error instanceof URIError) return encoded;
    throw error;
  }
}

/** Reports whether the request impersonates. Few requests do, so this check has to be fast. */
export function mentionsImpersonation(headers: ApiRequest['headers']): boolean {
  for (const header in headers) if (header.startsWith(PREFIX)) return true;
  return false;
}

/** Returns the user in the form of upstream's message: Go syntax. */
function goUser(
  uid: string,
  groups: readonly string[],
  extra: Readonly<Record<string, readonly string[]>> | undefined,
): string {
  const list = (texts: readonly string[]): string => `[]string{${texts.map(quote).join(', ')}}`;
  const entries = Object.entries(extra ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const map = entries.map(([key, values]) => `${quote(key)}:${list(values)}`).join(', ');
  return (
    `&user.DefaultInfo{Name:"", UID:${quote(uid)}, ` +
    `Groups:${groups.length === 0 ? '[]string(nil)' : list(groups)}, ` +
    `Extra:map[string][]string${extra === undefined ? '(nil)' : `{${map}}`}}`
  );
}
