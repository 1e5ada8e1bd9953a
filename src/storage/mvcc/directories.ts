// The directories that have keys, for fast lists of an empty directory: each create asks whether
// its namespace has quotas, and most namespaces have none. Without this set, such a list would
// compare keys in many places of the tree.
//
// Each directory also has the last forgotten event of its keys. So the past of a quiet directory
// stays readable however much of the history others fill.

import type { Revision } from '../interface.ts';
import { ForkableMap } from '#machinery/collections/forkable-map.ts';

/** The content of a directory: keys, and subdirectories that are not empty. */
interface Directory {
  /** The Directories that may change this one; others replace it by a copy. */
  readonly owner: object;
  /** Ends in '/'. */
  readonly path: string;
  members: number;
  /** No later event of a key in the directory is forgotten. */
  forgotten: Revision;
}

/** The set of directories that contain a key. The key '/a/b/c' is in '/', '/a/' and '/a/b/'. */
export class Directories {
  /** None without members. */
  #byPath = new ForkableMap<Directory>();
  #owner = {};
  /** The directory of the last key. The next key is often in the same directory. */
  #last: Directory | undefined;
  /** No later event is forgotten. */
  #forgotten: Revision = 0;

  /** Returns the same directories, independent of these. O(1). */
  fork(): Directories {
    const fork = new Directories();
    fork.#byPath = this.#byPath.fork();
    fork.#forgotten = this.#forgotten;
    this.#owner = {};
    this.#last = undefined;
    return fork;
  }

  /** False only if no key begins with the prefix, which ends in '/'. */
  has(prefix: string): boolean {
    return this.#byPath.has(prefix);
  }

  /** Adds a key, which must not exist yet. */
  add(key: string): void {
    const last = this.#last;
    const length = key.lastIndexOf('/') + 1;
    if (last !== undefined && length === last.path.length && key.startsWith(last.path))
      last.members++;
    else this.#last = length === 0 ? undefined : this.#enter(key.slice(0, length));
  }

  /** Removes a key, which must exist. */
  delete(key: string): void {
    for (let path = directoryOf(key); path !== ''; path = parentOf(path)) {
      const directory = this.#owned(path);
      if (directory === undefined) throw new Error(`mvcc: ${key} is not in its directory`);
      if (--directory.members > 0) return;
      this.#byPath.delete(path);
      if (this.#last === directory) this.#last = undefined;
    }
  }

  /**
   * Records that the history up to these revisions is forgotten. `last`: by the path of a directory,
   * the last event of a key in it, but not in its subdirectories.
   */
  forget(last: ReadonlyMap<string, Revision>): void {
    for (const [directory, revision] of last) {
      this.#forgotten = Math.max(this.#forgotten, revision);
      for (let path = directory; path !== ''; path = parentOf(path)) {
        const present = this.#owned(path);
        if (present !== undefined) present.forgotten = Math.max(present.forgotten, revision);
      }
    }
  }

  /** Returns a revision after which no event under the prefix, which ends in '/', is forgotten. */
  lastForgotten(prefix: string): Revision {
    for (let path = prefix; path !== ''; path = parentOf(path)) {
      const directory = this.#byPath.get(path);
      if (directory !== undefined) return directory.forgotten;
    }
    return this.#forgotten;
  }

  /** Returns the directory, or a copy of it, which may be changed. */
  #owned(path: string): Directory | undefined {
    const directory = this.#byPath.get(path);
    if (directory === undefined || directory.owner === this.#owner) return directory;
    const own = { ...directory, owner: this.#owner };
    this.#byPath.set(own.path, own);
    return own;
  }

  /** Counts one more key in the directory. */
  #enter(path: string): Directory {
    let directory = this.#owned(path);
    if (directory === undefined) {
      // A copy: what is cut out of a key would keep it.
      directory = {
        owner: this.#owner,
        path: Buffer.from(path, 'utf8').toString('utf8'),
        members: 0,
        // It may have existed before.
        forgotten: this.lastForgotten(path),
      };
      this.#byPath.set(directory.path, directory);
      const parent = parentOf(directory.path);
      if (parent !== '') this.#enter(parent);
    }
    directory.members++;
    return directory;
  }
}

/** Returns the directory of a key; '' if it has none. */
export function directoryOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}

/** Returns the parent of a directory; '' if it has none. */
function parentOf(path: string): string {
  return path.length < 2 ? '' : path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
}
