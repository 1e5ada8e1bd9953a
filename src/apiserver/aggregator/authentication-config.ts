// Maintains the ConfigMap kube-system/extension-apiserver-authentication. It describes to extension
// API servers how this server authenticates clients: the authority of clients, the authority of
// front proxies, and the headers in which front proxies name users. Servers that share a store may
// have different authorities, so each adds its own. Only expired certificates are removed.

import { X509Certificate } from 'node:crypto';

import { configMaps } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import * as fields from '#machinery/selectors/fields.ts';
import type { RequestHeaderConfig } from '../authentication/request-header.ts';
import type { Follower } from '../catalog/follow.ts';
import { Selection } from '../registry/selection.ts';
import type { PeerAuthorities } from '../request.ts';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g;

type Data = Readonly<Record<string, string>>;

export interface AuthenticationConfigConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The authority of client certificates, in PEM. */
  readonly clientCa?: string;
  readonly requestHeader?: RequestHeaderConfig;
}

/**
 * The number of attempts of a write that conflicts with other servers' writes. Each failed attempt
 * means that another server succeeded.
 */
const ATTEMPTS = 10;

export class AuthenticationConfig {
  #config: AuthenticationConfigConfig;
  readonly #queue: RateLimitingQueue;

  constructor(config: AuthenticationConfigConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock });
  }

  /**
   * Writes the ConfigMap, and watches it for changes. A server without authorities does neither.
   */
  async start(follower: Follower): Promise<void> {
    const { clientCa, requestHeader } = this.#config;
    if (clientCa === undefined && requestHeader === undefined) return;
    await this.#sync();
    const again = (): void => this.#queue.add(NAME);
    const selection = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', NAME) });
    await follower.follow(
      '',
      'configmaps',
      { set: again, delete: again },
      { namespace: NAMESPACE, selection },
    );
  }

  /** Publishes other authorities, beside those that are published. */
  setAuthorities({ clientCa, requestHeaderCa }: PeerAuthorities): void {
    const { clientCa: _, requestHeader, ...config } = this.#config;
    this.#config = {
      ...config,
      ...(clientCa !== undefined && { clientCa }),
      ...(requestHeader !== undefined && {
        requestHeader: { ...requestHeader, ca: requestHeaderCa ?? requestHeader.ca },
      }),
    };
    this.#queue.add(NAME);
  }

  /** Maintains the ConfigMap until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    const work = async (): Promise<typeof reconciled> => {
      await this.#sync();
      return reconciled;
    };
    const logger = this.#config.logger.with({ controller: 'cluster-authentication-trust' });
    return runWorkers(this.#queue, 1, work, signal, { logger });
  }

  /**
   * Updates the ConfigMap if needed. Other servers on the same storage may write it concurrently.
   */
  async #sync(): Promise<void> {
    const access = this.#config.client.resource(configMaps).namespace(NAMESPACE);
    for (let attempt = 1; ; attempt++) {
      try {
        const current = await orNone(access.get(NAME));
        if (current === undefined) {
          await access.create({
            metadata: { name: NAME, namespace: NAMESPACE },
            data: this.#combined({}),
          });
          return;
        }
        const data = this.#combined(current.data ?? {});
        if (!deepEqual(data, current.data ?? {})) await access.update({ ...current, data });
        return;
      } catch (error) {
        const isOthersWrite =
          apierrors.isAlreadyExists(error) ||
          apierrors.isConflict(error) ||
          apierrors.isNotFound(error);
        if (!isOthersWrite || attempt === ATTEMPTS) throw error;
      }
    }
  }

  #combined(existing: Data): Data {
    const { clientCa, requestHeader } = this.#config;
    const clients = this.#certificates(existing['client-ca-file'], clientCa);
    const frontProxies = this.#certificates(
      existing['requestheader-client-ca-file'],
      requestHeader?.ca,
    );
    const list = (key: string, own: readonly string[] = []): string =>
      JSON.stringify([...new Set([...stringsOf(existing[key]), ...own])]);
    const uidHeaders = list('requestheader-uid-headers', requestHeader?.uidHeaders);
    return {
      ...(clients !== '' && { 'client-ca-file': clients }),
      ...(frontProxies !== '' && {
        'requestheader-allowed-names': list(
          'requestheader-allowed-names',
          requestHeader?.allowedNames,
        ),
        'requestheader-client-ca-file': frontProxies,
        'requestheader-extra-headers-prefix': list(
          'requestheader-extra-headers-prefix',
          requestHeader?.extraHeaderPrefixes,
        ),
        'requestheader-group-headers': list(
          'requestheader-group-headers',
          requestHeader?.groupHeaders,
        ),
        ...(uidHeaders !== '[]' && { 'requestheader-uid-headers': uidHeaders }),
        'requestheader-username-headers': list(
          'requestheader-username-headers',
          requestHeader?.usernameHeaders,
        ),
      }),
    };
  }

  /** Returns the certificates of both bundles, without duplicates and expired ones. */
  #certificates(existing = '', own = ''): string {
    const all = [...(existing.match(PEM) ?? []), ...(own.match(PEM) ?? [])].map(
      (pem) => `${pem.trim()}\n`,
    );
    return [...new Set(all)].filter((pem) => !this.#hasExpired(pem)).join('');
  }

  #hasExpired(pem: string): boolean {
    try {
      return Date.parse(new X509Certificate(pem).validTo) < this.#config.clock.now();
    } catch (error) {
      this.#config.logger.warn('aggregator: a certificate in a ConfigMap cannot be read', {
        configMap: NAME,
        err: error,
      });
      return true;
    }
  }
}

/** Parses a JSON list of strings. Any other text counts as an empty list, and is replaced. */
function stringsOf(text = ''): readonly string[] {
  if (text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** Resolves with undefined if the object does not exist. */
async function orNone<T>(object: Promise<T>): Promise<T | undefined> {
  try {
    return await object;
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}
