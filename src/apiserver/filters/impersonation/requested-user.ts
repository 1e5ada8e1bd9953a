// The user that a request's Impersonate-* headers name.

import * as apierrors from '#machinery/apierrors.ts';
import { getOwn, setOwn } from '#machinery/deep.ts';
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
  for (const [header, value] of headersOf(request)) {
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
    const { status } = apierrors.badRequest(
      'requested impersonation of groups, a uid or extra fields without impersonating a user',
    );
    throw new DeniedError(status);
  }
  return { name, groups, ...(uid !== undefined && { uid }), ...(hasExtra && { extra }) };
}

/**
 * Yields each value of each header. A comma does not separate values: the name of a group may
 * contain one.
 */
function* headersOf({
  headers,
  rawHeaders,
}: Pick<ApiRequest, 'headers' | 'rawHeaders'>): Generator<readonly [string, string]> {
  if (rawHeaders === undefined) {
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) yield [name, value];
    return;
  }
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    yield [rawHeaders[at]!.toLowerCase(), rawHeaders[at + 1]!];
  }
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
