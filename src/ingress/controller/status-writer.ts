// Writes the statuses of the latest decision. An object that has changed since then is left to the
// next decision.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { DecidedStatus } from '../decide/statuses.ts';

/** The number of writes in flight. */
const CONCURRENCY = 8;

export interface StatusWriterConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a status could not be written, so that another decision follows. */
  readonly onFailure: () => void;
}

type WithStatus = KubeObject & { readonly status?: unknown };

export class StatusWriter {
  readonly #config: StatusWriterConfig;
  #latest: readonly DecidedStatus[] | undefined;
  #running: Promise<void> | undefined;
  /**
   * By UID: the version of the object whose status was written. The cache may not show the result
   * yet.
   */
  readonly #written = new Map<string, string>();

  constructor(config: StatusWriterConfig) {
    this.#config = config;
  }

  /** Replaces the statuses to write. Returns at once. */
  write(statuses: readonly DecidedStatus[]): void {
    this.#latest = statuses;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  /** Resolves when no write is in flight. */
  async idle(): Promise<void> {
    await this.#running;
  }

  stop(): Promise<void> {
    this.#latest = undefined;
    return this.idle();
  }

  async #run(): Promise<void> {
    while (this.#latest !== undefined) {
      const statuses = this.#latest;
      this.#latest = undefined;
      const now = formatTime(this.#config.clock.now());
      const uids = new Set(statuses.map(({ object }) => object.metadata.uid));
      for (const uid of this.#written.keys()) if (!uids.has(uid)) this.#written.delete(uid);
      const changed = statuses.filter((decided) => this.#differs(decided, now));
      for (let at = 0; at < changed.length && this.#latest === undefined; at += CONCURRENCY) {
        await Promise.all(
          changed.slice(at, at + CONCURRENCY).map((decided) => this.#writeOne(decided, now)),
        );
      }
    }
  }

  #differs({ object, statusAt }: DecidedStatus, now: string): boolean {
    const { uid = '', resourceVersion = '' } = object.metadata;
    if (this.#written.get(uid) === resourceVersion) return false;
    return !deepEqual((object as WithStatus).status ?? {}, statusAt(now));
  }

  async #writeOne({ type, object, statusAt }: DecidedStatus, now: string): Promise<void> {
    const { client, logger, onFailure } = this.#config;
    const { namespace = '', uid = '', resourceVersion = '' } = object.metadata;
    const all = client.resource(type);
    const resource = type.namespaced ? all.namespace(namespace) : all;
    const next: WithStatus = {
      ...object,
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      status: statusAt(now),
    };
    try {
      await resource.updateStatus(next);
      this.#written.set(uid, resourceVersion);
    } catch (error) {
      // The object has changed or is gone: its event leads to the next decision.
      if (apierrors.isConflict(error) || apierrors.isNotFound(error)) return;
      logger.warn('status cannot be written, retrying', {
        kind: type.kind,
        object: `${namespace}/${object.metadata.name}`,
        reason: errorMessage(error),
      });
      onFailure();
    }
  }
}
