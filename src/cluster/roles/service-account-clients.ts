// Clients that work as ServiceAccounts of kube-system: each with a token of its own, which is renewed before it ends.

import { namespaces, serviceAccounts } from '#api/groups/core/v1/index.ts';
import type { TokenRequest } from '#api/groups/authentication/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { ServerAccess } from '#client/http/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { clientFor, type RoleConfig } from './role.ts';

const NAMESPACE = 'kube-system';
const LIFETIME_SECONDS = 3600;
/** A token is asked for again when this part of its life is over. */
const RENEW_AT = 0.8;

interface Token {
  readonly text: string;
  /** The expiry time on the wall clock. */
  readonly renewAtMs: number;
}

/**
 * Returns clients for service accounts. `client` may create accounts of kube-system and tokens for
 * them. `component` owns all of them.
 */
export function serviceAccountClients(
  client: Client,
  access: ServerAccess,
  component: string,
  config: RoleConfig,
): (account: string) => Client {
  const {
    clientCertificate: _cert,
    clientKey: _key,
    token: _token,
    basic: _basic,
    ...server
  } = access;
  const clients = new Map<string, Client>();
  return (account) => {
    let made = clients.get(account);
    if (made === undefined) {
      const token = accountTokens(client, account, config.clock);
      made = clientFor({ ...server, token }, `${component}/${account}`, config);
      clients.set(account, made);
    }
    return made;
  };
}

/** Returns a token of the account that is valid for some time longer. */
export function accountTokens(
  client: Client,
  account: string,
  clock: Clock,
): () => Promise<string> {
  const accounts = () => client.resource(serviceAccounts).namespace(NAMESPACE);
  let current: Token | undefined;
  let asking: Promise<Token> | undefined;

  const request = async (): Promise<Token> => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: LIFETIME_SECONDS },
    };
    const { status } = await accounts().subresource<TokenRequest>(account, 'token', body);
    const now = clock.now();
    const endsAt = parseTime(status.expirationTimestamp) ?? now;
    return { text: status.token, renewAtMs: now + (endsAt - now) * RENEW_AT };
  };
  const ask = async (): Promise<Token> => {
    try {
      return await request();
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
    // In a new cluster the account and its namespace may not exist yet.
    await unlessExists(client.resource(namespaces).create({ metadata: { name: NAMESPACE } }));
    await unlessExists(accounts().create({ metadata: { name: account, namespace: NAMESPACE } }));
    return request();
  };
  return async () => {
    if (current === undefined || clock.now() >= current.renewAtMs) {
      asking ??= ask().finally(() => (asking = undefined));
      current = await asking;
    }
    return current.text;
  };
}

async function unlessExists(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!apierrors.isAlreadyExists(error) && !apierrors.isForbidden(error)) throw error;
  }
}
