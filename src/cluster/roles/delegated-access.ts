// Delegated authentication and authorization: a role asks the API server whose a token is, which authority signs
// certificates of clients, and what a user may do.

import { tokenReviews } from '#api/groups/authentication/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { AUTHENTICATED_GROUP } from '#apiserver/authentication/authenticator.ts';
import { ClientCertificateAuthenticator } from '#apiserver/authentication/client-certificate.ts';
import type { RequestHeaderAuthenticator } from '#apiserver/authentication/request-header.ts';
import type { PeerAuthorities } from '#apiserver/request.ts';
import type { Client } from '#client/client.ts';
import { deepEqual } from '#machinery/deep.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Credentials } from './component-server.ts';

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
 * access. `frontProxies`: finds the users that front proxies name. Default: there are no front
 * proxies.
 */
export async function checkAccess(
  client: Client,
  credentials: Credentials,
  path: string,
  frontProxies?: RequestHeaderAuthenticator,
): Promise<void> {
  const asker = await askerOf(client, credentials, frontProxies);
  const { username = '', groups = [], uid, extra } = asker;
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

const certificates = new ClientCertificateAuthenticator();

async function askerOf(
  client: Client,
  { authorization, certificate: peerCertificate, rawHeaders }: Credentials,
  frontProxies: RequestHeaderAuthenticator | undefined,
): Promise<Asker> {
  const proved =
    frontProxies?.authenticate({ headers: {}, peerCertificate, rawHeaders }) ??
    // Nothing can be changed here, so it does not matter which page asks.
    certificates.authenticate({ headers: {}, peerCertificate });
  if (proved !== undefined) {
    const { name: username, groups = [], ...more } = proved;
    return { ...more, username, groups: [...groups, AUTHENTICATED_GROUP] };
  }
  if (authorization === undefined) return ANONYMOUS;
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (token === undefined) throw apierrors.unauthorized('Unauthorized');
  const { status } = await client.resource(tokenReviews).create({ metadata: {}, spec: { token } });
  if (status.authenticated !== true || status.user === undefined)
    throw apierrors.unauthorized('Unauthorized');
  return status.user;
}

/** The ConfigMap in which API servers say how they authenticate clients. */
const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';

/**
 * Resolves to the authority of client certificates, as PEM, that API servers publish; undefined: they
 * know none, or have not published it yet. `client`: of a user with the role
 * extension-apiserver-authentication-reader.
 */
export async function publishedClientAuthority(
  client: Client,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const access = client.resource(configMaps).namespace(NAMESPACE);
    return (await access.get(NAME, { signal })).data?.['client-ca-file'];
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

/** The interval at which upstream's components read files of certificates again. */
const PERIOD_MS = 60_000;
const RETRY_MS = 1000;

interface AuthorityConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the authorities of clients and front proxies that there are. May reject. */
  readonly latest: (signal: AbortSignal) => Promise<PeerAuthorities>;
  /** Takes authorities into use; called when they have changed. */
  readonly use: (authorities: PeerAuthorities) => void;
}

/**
 * Asks for the authorities every second until that of clients is known, then every minute. An
 * authority that is no longer found stays in use. Resolves when the signal aborts.
 */
export async function followAuthorities(
  { clock, logger, latest, use }: AuthorityConfig,
  signal: AbortSignal,
): Promise<void> {
  let current: PeerAuthorities = {};
  let hasFailed = false;
  while (!signal.aborted) {
    try {
      const next = { ...current, ...(await latest(signal)) };
      if (!deepEqual(next, current)) use(next);
      current = next;
      hasFailed = false;
    } catch (error) {
      if (signal.aborted) return;
      // Once: the API server may start later.
      if (!hasFailed)
        logger.warn('the authority of client certificates cannot be used, will retry', {
          err: error,
        });
      hasFailed = true;
    }
    await clock
      .sleep(current.clientCa === undefined ? RETRY_MS : PERIOD_MS, signal)
      .catch((error) => {
        if (!signal.aborted) throw error;
      });
  }
}
