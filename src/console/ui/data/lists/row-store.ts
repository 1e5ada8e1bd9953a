// The rows of a collection by UID. Reports what each batch of changes did, so that views follow
// without looking at all rows.

import type { Row } from './row.ts';

/** `before` is absent for a new row, `after` for one that is gone. */
export interface RowChange {
  readonly before?: Row;
  readonly after?: Row;
}

export class RowStore {
  readonly #rows = new Map<string, Row>();
  /** UIDs that the list under way has not contained yet; undefined outside of a list. */
  #unseen: Set<string> | undefined;

  get size(): number {
    return this.#rows.size;
  }

  values(): IterableIterator<Row> {
    return this.#rows.values();
  }

  get(uid: string): Row | undefined {
    return this.#rows.get(uid);
  }

  /** Rows that are not put before `endList` are gone. */
  beginList(): void {
    this.#unseen = new Set(this.#rows.keys());
  }

  endList(): readonly RowChange[] {
    const changes = [...(this.#unseen ?? [])].map((uid) => this.delete(uid));
    this.#unseen = undefined;
    return changes.filter((change) => change !== undefined);
  }

  put(row: Row): RowChange {
    const before = this.#rows.get(row.uid);
    this.#rows.set(row.uid, row);
    this.#unseen?.delete(row.uid);
    return { before, after: row };
  }

  delete(uid: string): RowChange | undefined {
    const before = this.#rows.get(uid);
    if (before === undefined) return undefined;
    this.#rows.delete(uid);
    this.#unseen?.delete(uid);
    return { before };
  }
}
