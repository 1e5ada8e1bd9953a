// The back-off of jobs before they replace failed pods: 10 seconds, doubled after each consecutive
// failure, at most ten minutes.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { endedAt, hasSucceeded } from './job-pods.ts';

const FIRST_MS = 10_000;
const LONGEST_MS = 600_000;

interface Record {
  failures: number;
  lastFailureMs: number;
  /** UIDs of counted pods: a retried reconcile reports the same pods again. */
  readonly seen: Set<string>;
}

/** The back-off of each job, by UID. It is kept in memory only: after a restart it begins anew. */
export class JobBackoff {
  readonly #records = new Map<string, Record>();

  /** Counts ended pods. `ended`: pods that have ended since the last call. */
  note(uid: string, ended: readonly Immutable<Pod>[]): void {
    if (ended.length === 0) return;
    const record = this.#records.get(uid) ?? {
      failures: 0,
      lastFailureMs: 0,
      seen: new Set<string>(),
    };
    const news = ended.filter(({ metadata }) => !record.seen.has(metadata.uid));
    for (const { metadata } of news) record.seen.add(metadata.uid);
    const inOrder = news.map((pod) => ({ pod, at: endedAt(pod) })).sort((a, b) => a.at - b.at);
    for (const { pod, at } of inOrder) {
      if (hasSucceeded(pod)) {
        record.failures = 0;
        continue;
      }
      record.failures++;
      record.lastFailureMs = Math.max(record.lastFailureMs, at);
    }
    this.#records.set(uid, record);
  }

  remainingMs(uid: string, nowMs: number): number {
    const record = this.#records.get(uid);
    if (record === undefined || record.failures === 0) return 0;
    return Math.max(0, record.lastFailureMs + delayAfter(record.failures) - nowMs);
  }

  forget(uid: string): void {
    this.#records.delete(uid);
  }
}

/** Returns the delay after this number of consecutive failures (at least one), in milliseconds. */
export function delayAfter(failures: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 16), LONGEST_MS);
}
