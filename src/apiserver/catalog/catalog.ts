// The installed kinds of the server, which change while it runs. Consumers take a snapshot for each
// piece of work, and cache derived values under the snapshot's values. They subscribe with
// `onChange` only if they have to act when a kind is installed or removed.

import type { Rest } from '../registry/rest.ts';
import type { Kind } from './kind.ts';
import { CatalogSnapshot } from './snapshot.ts';

export interface CatalogChange {
  readonly added: readonly Kind[];
  readonly removed: readonly Kind[];
  /** The snapshot after the change. */
  readonly snapshot: CatalogSnapshot;
}

/** Called for each change, in order, after the snapshot has changed. Must not throw. */
export type CatalogListener = (change: CatalogChange) => void;

/** Kinds that were installed together. */
export interface Installation {
  readonly kinds: readonly Kind[];
  /**
   * Installs these kinds instead, in one change: no snapshot has both sets or neither. A kind that
   * is in both lists is not affected. Throws the errors of `install`; then nothing changes.
   */
  replace(kinds: readonly Kind[]): void;
  /**
   * Removes the kinds: requests in flight finish, watches end, new requests get 404. Idempotent.
   */
  uninstall(): void;
}

export class Catalog {
  #snapshot = new CatalogSnapshot();
  /**
   * The array is replaced, not modified: a listener that is added during a change is not called for
   * that change.
   */
  #listeners: readonly CatalogListener[] = [];
  /**
   * The number of installed kinds and subresources that use each Rest. Versions of a kind may share
   * one.
   */
  readonly #uses = new Map<Rest, number>();

  /** Returns the installed kinds as an immutable snapshot. */
  snapshot(): CatalogSnapshot {
    return this.#snapshot;
  }

  /**
   * Installs kinds, in one change. Throws an Error that names the resource if one is already
   * installed; then nothing changes.
   */
  install(kinds: readonly Kind[]): Installation {
    let installed: readonly Kind[] = [];
    const replace = (next: readonly Kind[]): void => {
      this.#change(installed, next);
      installed = [...next];
    };
    replace(kinds);
    return {
      get kinds() {
        return installed;
      },
      replace,
      uninstall: () => replace([]),
    };
  }

  /** Subscribes to changes. Returns a function that ends the subscription. */
  onChange(listener: CatalogListener): () => void {
    const subscribed: CatalogListener = (change) => listener(change);
    this.#listeners = [...this.#listeners, subscribed];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== subscribed);
    };
  }

  /** Ends the watches of all kinds normally. The kinds stay installed. */
  close(): void {
    for (const rest of this.#uses.keys()) rest.close?.();
  }

  #change(before: readonly Kind[], after: readonly Kind[]): void {
    const [old, wanted] = [new Set(before), new Set(after)];
    const removed = before.filter((kind) => !wanted.has(kind));
    const added = after.filter((kind) => !old.has(kind));
    if (removed.length === 0 && added.length === 0) return;
    this.#snapshot = this.#snapshot.next(removed, added);
    for (const rest of added.flatMap(restsOf))
      this.#uses.set(rest, (this.#uses.get(rest) ?? 0) + 1);
    const change = { added, removed, snapshot: this.#snapshot };
    for (const listener of this.#listeners) listener(change);
    for (const rest of removed.flatMap(restsOf)) this.#release(rest);
  }

  #release(rest: Rest): void {
    const uses = this.#uses.get(rest)! - 1;
    if (uses > 0) {
      this.#uses.set(rest, uses);
      return;
    }
    this.#uses.delete(rest);
    rest.close?.();
  }
}

function restsOf({ rest, subresources = [] }: Kind): readonly Rest[] {
  return [rest, ...subresources.map((subresource) => subresource.rest)];
}
