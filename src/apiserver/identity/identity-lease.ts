// The Lease of this API server, by which clients and other servers know that it is alive.

import { type Lease, leases } from '#api/groups/coordination/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { formatMicroTime } from '#machinery/text/time.ts';
import * as wait from '#machinery/wait.ts';
import { serverId } from './server-id.ts';

export const IDENTITY_NAMESPACE = 'kube-system';
/** The label of identity Leases, with the component as its value. */
export const IDENTITY_LABEL = 'apiserver.kubernetes.io/identity';
export const COMPONENT = 'kube-apiserver';
/** The annotation with the address, 'HOST:PORT', at which other servers reach this one. */
const PEER_ADDRESS = 'kubernetes.io/peer-advertise-address';

const RENEW_MS = 10_000;
const RENEW_JITTER = 0.04;
const DURATION_SECONDS = 3600;
/** The number of attempts of one renewal. */
const ATTEMPTS = 5;

export interface IdentityLeaseConfig {
  /** A client of the group system:masters. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The name of the machine. */
  readonly hostname: string;
  /** 'HOST:PORT', at which other servers reach this one. Absent: they do not. */
  readonly address?: string;
}

export class IdentityLease {
  readonly #config: IdentityLeaseConfig;
  readonly #name: string;
  readonly #holder: string;
  readonly #end = new AbortController();
  /** The state that this server has written last. */
  #latest: Immutable<Lease> | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(config: IdentityLeaseConfig) {
    this.#config = config;
    this.#name = serverId(config.hostname);
    this.#holder = `${this.#name}_${config.random.uuid()}`;
  }

  /**
   * Once. Replaces the Lease of an earlier server of this machine, and renews it until the signal
   * aborts or `leave` is called. Does not reject: a write that fails is repeated.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#config;
    const either = AbortSignal.any([signal, this.#end.signal]);
    await this.#remove();
    await wait.until(
      { clock, random, signal: either, periodMs: RENEW_MS, jitterFactor: RENEW_JITTER },
      () => (this.#renewing = this.#keep()),
    );
  }

  /** Ends `run`, and deletes the Lease. Does not reject. */
  async leave(): Promise<void> {
    this.#end.abort(new Error('the API server is shutting down'));
    await this.#renewing;
    await this.#remove();
  }

  async #keep(): Promise<void> {
    try {
      await this.#createOrRenew();
    } catch (error) {
      this.#latest = undefined;
      this.#config.logger.warn(
        'API server: renewing the Lease of its identity failed, will retry',
        {
          lease: this.#name,
          err: error,
        },
      );
    }
  }

  async #createOrRenew(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const base = this.#latest ?? (await apierrors.unlessMissing(this.#leases.get(this.#name)));
      try {
        this.#latest =
          base === undefined
            ? await this.#leases.create(this.#lease())
            : await this.#leases.update(this.#renewed(base));
        return;
      } catch (error) {
        // Another client has written, created or deleted it.
        this.#latest = undefined;
        const isRace =
          apierrors.isConflict(error) ||
          apierrors.isAlreadyExists(error) ||
          apierrors.isNotFound(error);
        if (!isRace || attempt === ATTEMPTS) throw error;
      }
    }
  }

  #lease(): Lease {
    const { name, namespace } = { name: this.#name, namespace: IDENTITY_NAMESPACE };
    const spec = { holderIdentity: this.#holder };
    return this.#renewed({ metadata: { name, namespace }, spec } as Immutable<Lease>) as Lease;
  }

  /** The holder stays, as upstream. */
  #renewed(base: Immutable<Lease>): Immutable<Lease> {
    const { clock, hostname, address } = this.#config;
    const { labels, annotations } = base.metadata;
    return {
      ...base,
      metadata: {
        ...base.metadata,
        labels: { ...labels, [IDENTITY_LABEL]: COMPONENT, 'kubernetes.io/hostname': hostname },
        ...(address !== undefined && { annotations: { ...annotations, [PEER_ADDRESS]: address } }),
      },
      spec: {
        ...base.spec,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: formatMicroTime(clock.now()),
      },
    };
  }

  async #remove(): Promise<void> {
    try {
      await apierrors.unlessMissing(this.#leases.delete(this.#name));
    } catch (error) {
      this.#config.logger.warn('API server: deleting the Lease of its identity failed', {
        lease: this.#name,
        err: error,
      });
    }
  }

  get #leases(): ResourceClient<Lease> {
    return this.#config.client.resource(leases).namespace(IDENTITY_NAMESPACE);
  }
}
