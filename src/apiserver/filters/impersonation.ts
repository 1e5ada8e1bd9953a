// Acting as somebody else, by the Impersonate-* headers: whoever may `impersonate` that user, each of its groups and extra
// fields, is taken for it from here on.

import * as apierrors from '../../machinery/apierrors.ts';
import { AUTHENTICATED_GROUP } from '../authentication/authenticator.ts';
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
    return (request) => (mentionsImpersonation(request.headers) ? impersonated(request) : next(request));
  };
}

function impersonating(authorizer: Authorizer, next: Handler): Handler {
  return async (request) => {
    const wanted = requestedUser(request.headers);
    if (wanted === undefined) return next(request);
    for (const attributes of neededPermissions(request.user as UserInfo, wanted)) {
      const { decision, reason } = await authorizer.authorize(attributes);
      if (decision !== 'allow') throw forbiddenError(attributes, reason);
    }
    request.user = complete(wanted);
    return next(request);
  };
}

/** Throws BadRequest for groups or extra fields of nobody. */
function requestedUser(headers: ApiRequest['headers']): UserInfo | undefined {
  const name = headers[USER];
  const uid = headers[UID];
  // Several headers of one name arrive joined by commas; group names have none.
  const groups = (headers[GROUP] ?? '')
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
  const extra: Record<string, string[]> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(EXTRA_PREFIX) || value === undefined) continue;
    extra[decodeURIComponent(header.slice(EXTRA_PREFIX.length))] = value.split(',').map((part) => part.trim());
  }
  const hasExtra = Object.keys(extra).length > 0;
  if (name === undefined || name === '') {
    if (uid === undefined && groups.length === 0 && !hasExtra) return undefined;
    throw apierrors.badRequest('requested impersonation of groups, a uid or extra fields without impersonating a user');
  }
  return { name, groups, ...(uid !== undefined && { uid }), ...(hasExtra && { extra }) };
}

/** Hardly any request does, so that they are told apart quickly. */
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
  if (wanted.name.startsWith(SERVICE_ACCOUNT_PREFIX)) {
    const [namespace = '', name = ''] = wanted.name.slice(SERVICE_ACCOUNT_PREFIX.length).split(':', 2);
    needed.push({ ...base, resource: 'serviceaccounts', namespace, name });
  } else needed.push(base);
  for (const group of wanted.groups) needed.push({ ...base, resource: 'groups', name: group });
  const authentication = { ...base, apiGroup: 'authentication.k8s.io' };
  if (wanted.uid !== undefined) needed.push({ ...authentication, resource: 'uids', name: wanted.uid });
  for (const [key, values] of Object.entries(wanted.extra ?? {})) {
    for (const value of values) needed.push({ ...authentication, resource: 'userextras', subresource: key, name: value });
  }
  return needed;
}

/** The groups that come with the name. */
function complete(user: UserInfo): UserInfo {
  const groups = [...user.groups];
  if (user.name.startsWith(SERVICE_ACCOUNT_PREFIX) && groups.length === 0) {
    const namespace = user.name.slice(SERVICE_ACCOUNT_PREFIX.length).split(':', 1)[0] ?? '';
    groups.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`);
  }
  if (user.name !== 'system:anonymous' && !groups.includes(AUTHENTICATED_GROUP)) groups.push(AUTHENTICATED_GROUP);
  return { ...user, groups };
}
