// Who may ask a role for more than its health: the API server is asked who shows a token, and whether he may.

import { tokenReviews } from '../../api/authentication/v1/index.ts';
import { subjectAccessReviews } from '../../api/authorization/v1/index.ts';
import type { Client } from '../../client/client.ts';

/** What the asker is told, if not what he asked for. */
export interface Refusal {
  readonly code: 401 | 403;
  readonly text: string;
}

const UNKNOWN: Refusal = { code: 401, text: 'Unauthorized\n' };

/**
 * undefined: he may get the path. `client`: of somebody who may review tokens and access. `authorization`: the header. Rejects if
 * the API server cannot be asked.
 */
export async function refusalOf(client: Client, authorization: string | undefined, path: string): Promise<Refusal | undefined> {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return UNKNOWN;
  const { status } = await client.resource(tokenReviews).create({ metadata: {}, spec: { token } });
  if (status.authenticated !== true || status.user === undefined) return UNKNOWN;
  const { username = '', groups = [], uid, extra } = status.user;
  const review = await client.resource(subjectAccessReviews).create({
    metadata: {},
    spec: { user: username, groups: [...groups], uid, extra, nonResourceAttributes: { path, verb: 'get' } },
  });
  if (review.status.allowed) return undefined;
  return { code: 403, text: `Forbidden: user ${JSON.stringify(username)} cannot get path ${JSON.stringify(path)}\n` };
}
