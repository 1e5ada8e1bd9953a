// Delegated authentication and authorization: a role asks the API server whose a token is, and what that user may do.

import { tokenReviews } from '#api/groups/authentication/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

interface Asker {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/**
 * As upstream, a request without a token is not rejected: RBAC decides, and allows nothing unless a
 * role is bound to this user.
 */
const ANONYMOUS: Asker = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/**
 * Resolves if the asker may get the path; rejects with StatusError (401, 403) otherwise, and with
 * other errors if the API server cannot be asked. `client`: of a user who may review tokens and
 * access. `authorization`: the header of that name.
 */
export async function checkAccess(
  client: Client,
  authorization: string | undefined,
  path: string,
): Promise<void> {
  const { username = '', groups = [], uid, extra } = await askerOf(client, authorization);
  const review = await client.resource(subjectAccessReviews).create({
    metadata: {},
    spec: {
      user: username,
      groups: [...groups],
      uid,
      extra,
      nonResourceAttributes: { path, verb: 'get' },
    },
  });
  if (review.status.allowed) return;
  const why = `User ${JSON.stringify(username)} cannot get path ${JSON.stringify(path)}`;
  throw apierrors.forbidden({ group: '', resource: '' }, '', why);
}

async function askerOf(client: Client, authorization: string | undefined): Promise<Asker> {
  if (authorization === undefined) return ANONYMOUS;
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (token === undefined) throw apierrors.unauthorized('Unauthorized');
  const { status } = await client.resource(tokenReviews).create({ metadata: {}, spec: { token } });
  if (status.authenticated !== true || status.user === undefined)
    throw apierrors.unauthorized('Unauthorized');
  return status.user;
}
