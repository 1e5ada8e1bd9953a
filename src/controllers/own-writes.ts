// The versions of objects that a controller has written, until its cache shows them: a decision on
// an older version would repeat the write. For controllers that change objects; controllers that
// only create and delete use client/expectations.ts.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Counter, Family, Instruments } from '#machinery/metrics/instruments.ts';

export interface OwnWritesConfig {
  readonly clock: Clock;
  /**
   * After this time the cache counts as up to date: the deletion of the object may have been
   * missed. Default: 30 seconds.
   */
  readonly timeoutMs?: number;
  /** Counts each delayed reconcile, see `staleSyncSkips`. Default: none are counted. */
  readonly skips?: Family<Counter>;
}

interface Written {
  readonly revision: number;
  /** The time of the write, on the clock's monotonic scale. */
  readonly at: number;
  /** The type of the object. */
  readonly type: readonly [group: string, resource: string];
}

export class OwnWrites {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #skips: Family<Counter> | undefined;
  /** Owner's key → the UID of a written object → its version. It has no empty inner maps. */
  readonly #written = new Map<string, Map<string, Written>>();

  constructor(config: OwnWritesConfig) {
    this.#clock = config.clock;
    this.#timeoutMs = config.timeoutMs ?? 30_000;
    this.#skips = config.skips;
  }

  /**
   * Notes a write. `object`: from the server's response. `cached`: from the cache now; the event
   * may come before the response.
   */
  wrote(key: string, object: KubeObject, cached: KubeObject | undefined): void {
    const { metadata } = object;
    if (cached?.metadata.uid === metadata.uid && versionOf(cached) >= versionOf(object)) return;
    const own = this.#written.get(key) ?? new Map<string, Written>();
    own.set(metadata.uid, {
      revision: versionOf(object),
      at: this.#clock.monotonic(),
      type: typeOf(object),
    });
    this.#written.set(key, own);
  }

  /** Notes that the cache has this version of an object of the owner with that key. */
  seen(key: string, object: KubeObject): void {
    const { uid } = object.metadata;
    const own = this.#written.get(key);
    const written = own?.get(uid);
    if (own === undefined || written === undefined || versionOf(object) < written.revision) return;
    this.#drop(key, own, uid);
  }

  /** Notes that the object is gone. */
  gone(key: string, { metadata }: KubeObject): void {
    const own = this.#written.get(key);
    if (own !== undefined) this.#drop(key, own, metadata.uid);
  }

  /**
   * Returns in how many milliseconds the key may be reconciled if the cache shows nothing until
   * then; 0: now.
   */
  remainingMs(key: string): number {
    const own = this.#written.get(key);
    if (own === undefined) return 0;
    const now = this.#clock.monotonic();
    let longest = 0;
    let missing: Written | undefined;
    for (const [uid, written] of own) {
      const left = written.at + this.#timeoutMs - now;
      if (left <= 0) this.#drop(key, own, uid);
      else {
        missing ??= written;
        longest = Math.max(longest, left);
      }
    }
    if (missing !== undefined && this.#skips !== undefined)
      this.#skips.with(...missing.type).value++;
    return longest;
  }

  /** Drops the writes of a deleted owner. */
  forget(key: string): void {
    this.#written.delete(key);
  }

  #drop(key: string, own: Map<string, Written>, uid: string): void {
    own.delete(uid);
    if (own.size === 0) this.#written.delete(key);
  }
}

/** Returns the version as a number. Versions of one resource grow with every change. */
function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}

/**
 * Returns the group, and the resource that upstream derives from the kind by rule: right for the
 * kinds that controllers write.
 */
function typeOf({ apiVersion = '', kind = '' }: KubeObject): Written['type'] {
  return [
    apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
    `${kind.toLowerCase()}s`,
  ];
}

/**
 * Returns the counter of reconciles that were delayed because the cache lacked own writes, by the
 * type that it lacked.
 */
export function staleSyncSkips(instruments: Instruments, subsystem: string): Family<Counter> {
  const help = 'Looks put off because the cache lacked what was written here.';
  return instruments.counter({
    name: `${subsystem}_stale_sync_skips_total`,
    help,
    labels: ['group', 'resource'],
  });
}
