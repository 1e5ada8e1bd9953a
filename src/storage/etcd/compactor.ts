// Compaction by one of all servers on the cluster: the first to update a common key does the work of an interval, and
// compacts what was current an interval ago. The key is the one that kube-apiservers use, so that they take turns with these.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Revision } from '../interface.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf, failureKind } from './errors.ts';

export interface CompactorConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: five minutes. History lasts for one to two intervals. */
  readonly intervalMs?: number;
}

const COMPACTION_INTERVAL_MS = 300_000;
const KEY = new TextEncoder().encode('compact_rev_key');

export class Compactor {
  readonly #config: CompactorConfig;
  readonly #timer: Timer;
  /** The version of the key that was last seen: who finds it unchanged moves it on. */
  #version = 0;
  /** The revision at that time; 0: there was none. */
  #revision: Revision = 0;
  #running = false;

  constructor(config: CompactorConfig) {
    this.#config = config;
    this.#timer = config.clock.setInterval(config.intervalMs ?? COMPACTION_INTERVAL_MS, () => {
      if (this.#running) return;
      this.#running = true;
      void this.tick()
        .catch((error: unknown) =>
          config.logger.warn('etcd could not be compacted', { cause: detailsOf(error) }),
        )
        .finally(() => {
          this.#running = false;
        });
    });
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** One interval's turn. True if this server compacted. */
  async tick(): Promise<boolean> {
    const { connection, logger } = this.#config;
    // Nothing depends on the outcome: if the answer is lost the key has a version that this server does not expect, and it waits.
    const response = await connection.send('KV.Txn', {
      compare: [{ result: 0, target: 0, key: KEY, version: this.#version }],
      success: [{ put: { key: KEY, value: new TextEncoder().encode(String(this.#revision)) } }],
      failure: [{ range: { key: KEY } }],
    });
    const before = this.#revision;
    this.#revision = response.header.revision;
    if (!response.succeeded) {
      this.#version = response.responses[0]?.range?.kvs[0]?.version ?? 0;
      return false;
    }
    this.#version++;
    if (before === 0) return false;
    try {
      await connection.read('KV.Compact', { revision: before });
    } catch (error) {
      if (failureKind(error) !== 'compacted') throw error;
    }
    logger.debug('etcd was compacted', { revision: before });
    return true;
  }
}
