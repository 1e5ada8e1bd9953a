// Impersonation by the Impersonate-* headers. The user needs the permission `impersonate` for the
// requested user, each of its groups, its uid and each of its extra fields. The request then
// continues as the requested user.

import * as apierrors from '#machinery/apierrors.ts';
import { getOwn, setOwn } from '#machinery/deep.ts';
import { isDNS1123Label, isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import {
  ANONYMOUS,
  AUTHENTICATED_GROUP,
  UNAUTHENTICATED_GROUP,
} from '../authentication/authenticator.ts';
import type { Attributes, Authorizer } from '../authorization/authorizer.ts';
import type { ApiRequest, Filter, Handler, UserInfo } from '../request.ts';
import { forbiddenError } from './authorization.ts';

const PREFIX = 'impersonate-';
const USER = 'impersonate-user';
const GROUP = 'impersonate-group';
const UID = 'impersonate-uid';
const EXTRA_PREFIX = 'impersonate-extra-';
const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

export function impersonation(authorizer: Authorizer): Filter {
  return (next) => {
    const impersonated = impersonating(authorizer, next);
    return (request) =>
      mentionsImpersonation(request.headers) ? impersonated(request) : next(request);
  };
}

function impersonating(authorizer: Authorizer, next: Handler): Handler {
  return async (request) => {
    const requested = requestedUser(request);
    if (requested === undefined) return next(request);
    for (const attributes of neededPermissions(request.user!, requested)) {
      const { decision, reason } = await authorizer.authorize(attributes);
      if (decision !== 'allow') throw forbiddenError(attributes, reason);
    }
    request.user = complete(requested);
    request.audit?.impersonated(request.user);
    return next(request);
  };
}

/**
 * Returns the user in the headers; undefined if there is none. Throws BadRequest for groups or
 * extra fields without a user.
 */
function requestedUser(request: Pick<ApiRequest, 'headers' | 'rawHeaders'>): UserInfo | undefined {
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
    throw apierrors.badRequest(
      'requested impersonation of groups, a uid or extra fields without impersonating a user',
    );
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
function mentionsImpersonation(headers: ApiRequest['headers']): boolean {
  for (const header in headers) if (header.startsWith(PREFIX)) return true;
  return false;
}

function neededPermissions(user: UserInfo, wanted: UserInfo): Attributes[] {
  const base: Attributes = {
    user,
    isResourceRequest: true,
    path: '',
    verb: 'impersonate',
    apiGroup: '',
    apiVersion: 'v1',
    namespace: '',
    resource: 'users',
    subresource: '',
    name: wanted.name,
  };
  const needed: Attributes[] = [];
  const account = serviceAccountOf(wanted.name);
  if (account !== undefined) needed.push({ ...base, resource: 'serviceaccounts', ...account });
  else needed.push(base);
  for (const group of wanted.groups) needed.push({ ...base, resource: 'groups', name: group });
  const authentication = { ...base, apiGroup: 'authentication.k8s.io' };
  if (wanted.uid !== undefined)
    needed.push({ ...authentication, resource: 'uids', name: wanted.uid });
  for (const [key, values] of Object.entries(wanted.extra ?? {})) {
    for (const value of values)
      needed.push({ ...authentication, resource: 'userextras', subresource: key, name: value });
  }
  return needed;
}

/**
 * Returns the ServiceAccount of a user name; undefined for ordinary users, also if the name only
 * begins like a ServiceAccount's.
 */
function serviceAccountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...others] = user
    .slice(SERVICE_ACCOUNT_PREFIX.length)
    .split(':');
  if (
    others.length > 0 ||
    isDNS1123Label(namespace).length > 0 ||
    isDNS1123Subdomain(name).length > 0
  )
    return undefined;
  return { namespace, name };
}

/** Adds the groups that the user name implies. */
function complete(user: UserInfo): UserInfo {
  const groups = [...user.groups];
  const account = serviceAccountOf(user.name);
  if (account !== undefined && groups.length === 0) {
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`);
  }
  if (user.name === ANONYMOUS.name) {
    if (!groups.includes(UNAUTHENTICATED_GROUP)) groups.push(UNAUTHENTICATED_GROUP);
  } else if (!groups.includes(AUTHENTICATED_GROUP) && !groups.includes(UNAUTHENTICATED_GROUP))
    groups.push(AUTHENTICATED_GROUP);
  return { ...user, groups };
}
