// Compaction by one of all servers of the cluster. The first server to update a shared key in an
// interval compacts the revision that was current one interval ago. kube-apiserver uses the same
// key, so both kinds of servers take turns.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Revision } from '../interface.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf, failureKind } from './errors.ts';

export interface CompactorConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The interval in ms. Default: five minutes. History is kept for one to two intervals. */
  readonly intervalMs?: number;
}

const COMPACTION_INTERVAL_MS = 300_000;
const KEY = new TextEncoder().encode('compact_rev_key');

export class Compactor {
  readonly #config: CompactorConfig;
  readonly #timer: Timer;
  /**
   * The version of the key that this server saw last. The server that finds it unchanged increments
   * it.
   */
  #version = 0;
  /** The store's revision at that time; 0: none was recorded. */
  #revision: Revision = 0;
  #running = false;

  constructor(config: CompactorConfig) {
    this.#config = config;
    this.#timer = config.clock.setInterval(config.intervalMs ?? COMPACTION_INTERVAL_MS, () => {
      if (this.#running) return;
      this.#running = true;
      void this.tick()
        .catch((error: unknown) =>
          config.logger.warn('etcd: compaction failed', { cause: detailsOf(error) }),
        )
        .finally(() => {
          this.#running = false;
        });
    });
  }

  stop(): void {
    this.#timer.cancel();
  }

  /** Runs one interval's turn. Returns true if this server compacted. */
  async tick(): Promise<boolean> {
    const { connection, logger } = this.#config;
    // A lost response is harmless: the key then has a version that this server does not expect, and
    // the server waits for its next turn.
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
    logger.debug('etcd: compacted', { revision: before });
    return true;
  }
}
