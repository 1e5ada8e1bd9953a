// The credentials for admission webhooks, from kubeconfigs that the operator names: the user whose
// name is the webhook's server, as upstream.

import type { ServerAccess } from '#client/http/index.ts';
import { type KubeconfigUsers, loadKubeconfigUsers } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { joinHostPort } from '#machinery/net/peer/index.ts';
import { WebhookCallError, type WebhookClientConfig } from '#apiserver/webhooks/client/index.ts';
import type { WebhookType } from './metrics.ts';

/** The kubeconfigs for the webhooks of each type. */
export type WebhookKubeconfigs = Readonly<Partial<Record<WebhookType, string>>>;

export type WebhookAccess = (
  type: WebhookType,
  config: WebhookClientConfig,
) => Promise<ServerAccess | undefined>;

const HTTPS_PORT = 443;

/** Returns a function that reads each file once; again, if it could not be read. */
export function webhookAccess(files: WebhookKubeconfigs, clock: Clock): WebhookAccess {
  const loaded = new Map<string, Promise<Loaded>>();
  const load = (file: string): Promise<Loaded> => {
    let users = loaded.get(file);
    if (users === undefined) {
      users = loadKubeconfigUsers(file, clock).then(accessesOf);
      loaded.set(file, users);
      users.catch(() => loaded.delete(file));
    }
    return users;
  };
  return async (type, config) => {
    const file = files[type];
    if (file === undefined) return undefined;
    try {
      return accessFor(await load(file), config);
    } catch (error) {
      throw new WebhookCallError(errorMessage(error), { misconfigured: true, cause: error });
    }
  };
}

interface Loaded {
  readonly accesses: ReadonlyMap<string, ServerAccess>;
  readonly current: string | undefined;
}

function accessesOf({ users, current }: KubeconfigUsers): Loaded {
  const accesses = new Map<string, ServerAccess>();
  for (const [name, user] of users) accesses.set(name, { ...user, server: '' });
  return { accesses, current };
}

function accessFor(
  { accesses, current }: Loaded,
  config: WebhookClientConfig,
): ServerAccess | undefined {
  for (const name of namesOf(config)) {
    const access = accesses.get(name);
    if (access !== undefined) return access;
  }
  return current === undefined ? undefined : accesses.get(current);
}

/** Returns the names of users for a webhook, the most specific first. */
function namesOf({ url, service }: WebhookClientConfig): readonly string[] {
  const [host, port] = serverOf(url, service);
  const withPort = joinHostPort(host, port);
  return [...withWildcards(withPort), ...(port === HTTPS_PORT ? withWildcards(host) : []), '*'];
}

/** A malformed URL is reported by the call. */
function serverOf(
  url: string | undefined,
  service: WebhookClientConfig['service'],
): readonly [host: string, port: number] {
  if (service !== undefined)
    return [`${service.name}.${service.namespace}.svc`, service.port ?? HTTPS_PORT];
  if (url === undefined || !URL.canParse(url)) return ['', HTTPS_PORT];
  const { hostname, port } = new URL(url);
  return [hostname.replaceAll(/[[\]]/g, ''), port === '' ? HTTPS_PORT : Number(port)];
}

function withWildcards(server: string): readonly string[] {
  const labels = server.split('.');
  return [server, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
}
