// Passes the pod CIDRs of the Node to the runtime: runtimes with their own network need them.

import type { RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';

export interface PodCidrUpdaterConfig {
  readonly runtime: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Called after the runtime has accepted new ranges. */
  readonly onUpdate: () => void;
}

/** The fields of a Node's spec with its ranges. */
export interface NodeRanges {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
}

const RETRY = { durationMs: 500, factor: 2, capMs: 30_000 } as const;

export class PodCidrUpdater {
  readonly #config: PodCidrUpdaterConfig;
  #wanted = '';
  #isUpdating = false;

  constructor(config: PodCidrUpdaterConfig) {
    this.#config = config;
  }

  /**
   * Updates the runtime after an observation of the Node. Does nothing if the runtime has these
   * ranges already, or the Node has none.
   */
  nodeSeen({ podCIDR, podCIDRs }: NodeRanges): void {
    const cidrs = podCIDRs ?? (podCIDR === undefined ? [] : [podCIDR]);
    const wanted = cidrs.join(',');
    if (wanted === '' || wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (this.#isUpdating) return;
    this.#isUpdating = true;
    void this.#update().finally(() => (this.#isUpdating = false));
  }

  async #update(): Promise<void> {
    const { runtime, clock, logger, signal, onUpdate } = this.#config;
    const backoff = new wait.Backoff(RETRY);
    let known = '';
    while (known !== this.#wanted && !signal.aborted) {
      const podCidr = this.#wanted;
      try {
        await runtime.updateRuntimeConfig({ networkConfig: { podCidr } }, { signal });
        known = podCidr;
        logger.info('updated pod CIDR', { podCidr });
        onUpdate();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('failed to update pod CIDR', { podCidr, err: error });
        await clock.sleep(backoff.next(), signal).catch(() => undefined);
      }
    }
  }
}
