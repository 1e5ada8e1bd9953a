// Deletes the Leases of API servers that ended without deleting them.

import { type Lease, leases } from '#api/groups/coordination/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { Logger } from '#machinery/log.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { parseTime } from '#machinery/text/time.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { Follower } from '../catalog/follow.ts';
import { Selection } from '../registry/selection.ts';
import { COMPONENT, IDENTITY_LABEL, IDENTITY_NAMESPACE } from './identity-lease.ts';

/** After this time a Lease that could not be deleted is tried again, in ms. */
const PERIOD_MS = 3_600_000;

interface KnownLease {
  readonly name: string;
  /** In ms since the epoch. */
  readonly expiry: number;
}

export interface LeaseCollectorConfig {
  readonly catalog: Catalog;
  /** A client of the group system:masters. */
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LeaseCollector {
  readonly #config: LeaseCollectorConfig;
  readonly #follower: Follower;
  /** The Leases, the one that expires first on top. */
  readonly #leases = new KeyedHeap<string, KnownLease>({
    keyOf: ({ name }) => name,
    less: (a, b) => a.expiry < b.expiry,
  });
  #timer: Timer | undefined;
  #stopped = false;

  constructor(config: LeaseCollectorConfig) {
    this.#config = config;
    this.#follower = new Follower(config);
  }

  /** Once. Resolves when the present Leases are known. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    const selector = labels.selectorFromSet({ [IDENTITY_LABEL]: COMPONENT });
    await this.#follower.follow(
      leases.group,
      leases.resource,
      {
        set: (object) => {
          const { name } = object.metadata;
          this.#leases.put({ name, expiry: expiryOf(object as Immutable<Lease>) });
          this.#schedule();
        },
        delete: (key) => this.#leases.delete(key.slice(IDENTITY_NAMESPACE.length + 1)),
      },
      { namespace: IDENTITY_NAMESPACE, selection: new Selection({ labels: selector }) },
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#follower.stop();
  }

  /** Waits until the next Lease expires. */
  #schedule(): void {
    this.#timer?.cancel();
    const next = this.#leases.peek();
    if (this.#stopped || next === undefined) return;
    const { clock } = this.#config;
    const leftMs = Math.max(0, next.expiry + 1 - clock.now());
    this.#timer = clock.setTimer(Math.min(leftMs, PERIOD_MS), () => void this.#collect());
  }

  async #collect(): Promise<void> {
    const now = this.#config.clock.now();
    for (
      let lease = this.#leases.peek();
      lease && lease.expiry < now;
      lease = this.#leases.peek()
    ) {
      const { name } = lease;
      const expiry = await this.#deleteExpired(name);
      if (this.#stopped) return;
      if (expiry === undefined) this.#leases.delete(name);
      else this.#leases.put({ name, expiry });
    }
    this.#schedule();
  }

  /**
   * Deletes the Lease unless its server has renewed it. Returns when to look at it again; undefined
   * if it is gone.
   */
  async #deleteExpired(name: string): Promise<number | undefined> {
    const { client, clock, logger } = this.#config;
    const access = client.resource(leases).namespace(IDENTITY_NAMESPACE);
    try {
      const lease = await apierrors.unlessMissing(access.get(name));
      if (lease === undefined) return undefined;
      if (expiryOf(lease) >= clock.now()) return expiryOf(lease);
      const { uid, resourceVersion } = lease.metadata;
      await access.delete(name, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      if (!apierrors.isConflict(error))
        logger.error('API server: deleting an expired Lease failed', { lease: name, err: error });
      return clock.now() + PERIOD_MS;
    }
    return undefined;
  }
}

/** Returns when the Lease expires, in ms since the epoch. An incomplete one has expired already. */
function expiryOf({ spec }: Immutable<Lease>): number {
  const renewed = parseTime(spec?.renewTime);
  const seconds = spec?.leaseDurationSeconds;
  return renewed === undefined || seconds === undefined ? 0 : renewed + seconds * 1000;
}
