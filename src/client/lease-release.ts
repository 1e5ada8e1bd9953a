// Watches a Lease while a candidate waits for it, so that the candidate notices at once when its
// holder gives it back. Without the watch, which a server may forbid, candidates only poll.

import { leases, type Lease } from '#api/groups/coordination/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Logger } from '#machinery/log.ts';
import type { Client } from './client.ts';

export interface ReleaseWatchConfig {
  readonly client: Client;
  readonly logger: Logger;
  readonly namespace: string;
  readonly name: string;
  /** Called when the lease has no holder, or was deleted. Must not throw. */
  readonly onReleased: () => void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

export class ReleaseWatch {
  readonly #config: ReleaseWatchConfig;
  #isRunning = false;
  #isForbidden = false;

  constructor(config: ReleaseWatchConfig) {
    this.#config = config;
  }

  /** Starts the watch behind this state of the lease, unless it runs, or is forbidden. */
  ensure(lease: Immutable<Lease>): void {
    if (this.#isRunning || this.#isForbidden || this.#config.signal.aborted) return;
    this.#isRunning = true;
    void this.#watch(lease.metadata.resourceVersion).finally(() => (this.#isRunning = false));
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, logger, namespace, name, onReleased, signal } = this.#config;
    const fieldSelector = `metadata.name=${name}`;
    try {
      const events = await client
        .resource(leases)
        .namespace(namespace)
        .watch({ fieldSelector, resourceVersion, signal });
      for await (const { type, object } of events) {
        if (type === 'ERROR') return;
        const isReleased = (object.spec?.holderIdentity ?? '') === '';
        if (type === 'DELETED' || (type !== 'BOOKMARK' && isReleased)) onReleased();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#isForbidden = apierrors.isForbidden(error);
      logger.debug('the lease cannot be watched', { lease: name, err: error });
    }
  }
}
