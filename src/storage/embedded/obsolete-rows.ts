// Rows of compacted history that are not deleted yet.
//
// Rows are deleted in **sweeps**. A sweep has all rows that were waiting when it began, in order of
// revision, which is their order in the file. So the rows of one transaction are near each other,
// and its pages are few however large the file is: replaced values are anywhere in it. A sweep waits
// for many rows, unless there is nothing else to do.
//
// An older version of a key becomes obsolete before a newer one, and has a lower revision. So it is
// always deleted first, and a crash in between never leaves a replaced value without the one that
// replaced it.

import type { Revision, StorageError } from '../interface.ts';

/** The number of compacted revisions that begin a sweep, and of the bytes of their values. */
const SWEEP_REVISIONS = 8192;
const SWEEP_BYTES = 16 * 1024 * 1024;

export interface ObsoleteSlice {
  readonly compactedRevision: Revision;
  readonly obsolete: Float64Array<ArrayBuffer>;
}

interface Compaction {
  readonly obsolete: readonly Revision[];
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

interface Sweep {
  readonly compactedRevision: Revision;
  /** In order of revision. */
  readonly rows: Float64Array;
  readonly compactions: readonly Compaction[];
  /** How many of the rows are deleted so far, and how many are being deleted. */
  deleted: number;
  taken: number;
}

export class ObsoleteRows {
  /** Compactions that belong to the next sweep. */
  #waiting: Compaction[] = [];
  #waitingRows = 0;
  #waitingBytes = 0;
  /** The last compaction revision, and that of the last sweep. */
  #compactedRevision: Revision = 0;
  #sweptRevision: Revision = 0;
  #sweep: Sweep | undefined;
  /** Rows of sweeps that found no space. They belong to the next sweep. */
  #leftOver: Float64Array = new Float64Array();

  /** Adds rows. `bytes`: of their values. Resolves when they are deleted. */
  add(compactedRevision: Revision, obsolete: readonly Revision[], bytes: number): Promise<void> {
    this.#waitingRows += obsolete.length;
    this.#waitingBytes += bytes;
    this.#compactedRevision = compactedRevision;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ obsolete, resolve, reject });
    });
  }

  get isEmpty(): boolean {
    return this.#sweep === undefined && this.#waiting.length === 0;
  }

  /** Reports whether rows should be deleted although writes wait. */
  get isDue(): boolean {
    return (
      this.#sweep !== undefined ||
      this.#compactedRevision - this.#sweptRevision >= SWEEP_REVISIONS ||
      this.#waitingBytes >= SWEEP_BYTES
    );
  }

  /** Returns the next rows to delete. Call it only if there are compactions, and none are taken. */
  take(most: number): ObsoleteSlice {
    const sweep = (this.#sweep ??= this.#begin());
    sweep.taken = Math.min(most, sweep.rows.length - sweep.deleted);
    return {
      compactedRevision: sweep.compactedRevision,
      obsolete: sweep.rows.slice(sweep.deleted, sweep.deleted + sweep.taken),
    };
  }

  /** The rows that were taken are deleted. */
  deleted(): void {
    const sweep = this.#sweep!;
    sweep.deleted += sweep.taken;
    if (sweep.deleted < sweep.rows.length) return;
    this.#sweep = undefined;
    for (const { resolve } of sweep.compactions) resolve();
  }

  /** There was no space: every compaction fails, and its rows wait for the next one. */
  postpone(error: StorageError): void {
    const sweep = this.#sweep;
    const rest = sweep?.rows.subarray(sweep.deleted) ?? [];
    this.#leftOver = this.#joined(rest);
    this.failAll(error);
  }

  failAll(error: StorageError): void {
    const compactions = [...(this.#sweep?.compactions ?? []), ...this.#waiting];
    this.#sweep = undefined;
    this.#clearWaiting();
    for (const { reject } of compactions) reject(error);
  }

  #begin(): Sweep {
    const rows = this.#joined([]).sort();
    const compactions = this.#waiting;
    this.#leftOver = new Float64Array();
    this.#clearWaiting();
    const compactedRevision = this.#compactedRevision;
    this.#sweptRevision = compactedRevision;
    return { compactedRevision, rows, compactions, deleted: 0, taken: 0 };
  }

  #clearWaiting(): void {
    this.#waiting = [];
    this.#waitingRows = 0;
    this.#waitingBytes = 0;
  }

  /** Returns these rows with those that are left over, and those that wait. */
  #joined(rows: ArrayLike<Revision>): Float64Array {
    const joined = new Float64Array(rows.length + this.#leftOver.length + this.#waitingRows);
    joined.set(rows);
    joined.set(this.#leftOver, rows.length);
    let at = rows.length + this.#leftOver.length;
    for (const { obsolete } of this.#waiting) {
      joined.set(obsolete, at);
      at += obsolete.length;
    }
    return joined;
  }
}
