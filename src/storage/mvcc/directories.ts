// The directories that have keys, for fast lists of an empty directory: each create asks whether
// its namespace has quotas, and most namespaces have none. Without this set, such a list would
// compare keys in many places of the tree.

/** A directory. Its members are its keys and its non-empty subdirectories. */
interface Directory {
  /** The path, which ends in '/'. */
  readonly path: string;
  members: number;
}

/** The set of directories that contain a key. The key '/a/b/c' is in '/', '/a/' and '/a/b/'. */
export class Directories {
  /** The directories by path; each has at least one member. */
  readonly #byPath = new Map<string, Directory>();
  /** The directory of the last added key, because the next key is often in it, too. */
  #last: Directory | undefined;

  /** Reports whether any key begins with the prefix, which ends in '/'. */
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
    for (let path = key.slice(0, key.lastIndexOf('/') + 1); path !== ''; path = parentOf(path)) {
      const directory = this.#byPath.get(path);
      if (directory === undefined) throw new Error(`mvcc: ${key} is not in its directory`);
      if (--directory.members > 0) return;
      this.#byPath.delete(path);
      if (this.#last === directory) this.#last = undefined;
    }
  }

  /** Adds a member to the directory, and creates the directory if needed. */
  #enter(path: string): Directory {
    let directory = this.#byPath.get(path);
    if (directory === undefined) {
      // Copies the path, because a substring would keep the whole key in memory.
      directory = { path: Buffer.from(path, 'utf8').toString('utf8'), members: 0 };
      this.#byPath.set(directory.path, directory);
      const parent = parentOf(directory.path);
      if (parent !== '') this.#enter(parent);
    }
    directory.members++;
    return directory;
  }
}

/** Returns the parent of a directory; '' if it has none. */
function parentOf(path: string): string {
  return path.length < 2 ? '' : path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
}
