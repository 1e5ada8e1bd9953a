// The files of a simulated container, in memory.

/** An error of the file system, with the message of strerror. */
export class FileError extends Error {}

export interface FileNode {
  readonly kind: 'file';
  content: Buffer;
  mode: number;
  modified: number;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  readonly entries: Map<string, FsNode>;
  mode: number;
  modified: number;
}

export interface LinkNode {
  readonly kind: 'link';
  readonly target: string;
}

/** A device: output to it goes to the stream, or is discarded. */
export interface DeviceNode {
  readonly kind: 'device';
  readonly device: 'null' | 'zero' | 'random' | 'stdin' | 'stdout' | 'stderr';
}

export type FsNode = FileNode | DirectoryNode | LinkNode | DeviceNode;

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_NODES = 10_000;
const MAX_LINKS = 20;
const DIRECTORIES: readonly string[] = [
  '/bin',
  '/dev',
  '/etc',
  '/home',
  '/mnt',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/srv',
  '/sys',
  '/tmp',
  '/usr/bin',
  '/usr/local/bin',
  '/var/lib',
  '/var/log',
  '/var/run',
  '/var/tmp',
];

export interface FileSystemConfig {
  /** Returns wall-clock milliseconds. */
  readonly now: () => number;
  readonly hostname: string;
  /** Shared directories, by path. */
  readonly mounts?: readonly { readonly path: string; readonly directory: DirectoryNode }[];
  /** The content to begin with, its mounts included. */
  readonly state?: FileSystemState;
  /** Called before each change. */
  readonly beforeChange?: () => void;
}

/** The content of a file system. */
export interface FileSystemState {
  readonly root: DirectoryNode;
  /**
   * Bytes that this container has written; shared directories count for each container that writes
   * to them.
   */
  bytes: number;
  nodes: number;
}

/** Makes copies of nodes: a directory that is mounted in several places is copied once. */
export class NodeCopier {
  readonly #copies = new Map<FsNode, FsNode>();

  copy<N extends FsNode>(node: N): N {
    const present = this.#copies.get(node);
    if (present !== undefined) return present as N;
    if (node.kind !== 'directory') {
      // Contents are replaced, never changed.
      const copy = { ...node };
      this.#copies.set(node, copy);
      return copy;
    }
    const copy: DirectoryNode = { ...node, entries: new Map() };
    this.#copies.set(node, copy);
    for (const [name, entry] of node.entries) copy.entries.set(name, this.copy(entry));
    return copy as N;
  }

  copyState({ root, bytes, nodes }: FileSystemState): FileSystemState {
    return { root: this.copy(root), bytes, nodes };
  }
}

export function newDirectory(now: number): DirectoryNode {
  return { kind: 'directory', entries: new Map(), mode: 0o755, modified: now };
}

export class FileSystem {
  readonly #now: () => number;
  readonly #beforeChange: () => void;
  #state: FileSystemState;

  constructor({
    now,
    hostname,
    mounts = [],
    state,
    beforeChange = () => undefined,
  }: FileSystemConfig) {
    this.#now = now;
    this.#beforeChange = beforeChange;
    this.#state = state ?? { root: newDirectory(now()), bytes: 0, nodes: 0 };
    if (state !== undefined) return;
    for (const path of DIRECTORIES) this.makeDirectory(path, true);
    for (const device of ['null', 'zero', 'random', 'stdin', 'stdout', 'stderr'] as const) {
      this.#directory('/dev').entries.set(device, { kind: 'device', device });
    }
    this.#directory('/dev').entries.set('urandom', { kind: 'device', device: 'random' });
    this.write('/etc/hostname', Buffer.from(`${hostname}\n`), false);
    this.write('/etc/hosts', Buffer.from(`127.0.0.1\tlocalhost\n`), false);
    this.write(
      '/etc/passwd',
      Buffer.from('root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'),
      false,
    );
    this.write('/etc/group', Buffer.from('root:x:0:\nnogroup:x:65534:\n'), false);
    for (const { path, directory } of mounts) {
      const parts = partsOf(path);
      const name = parts.pop();
      if (name === undefined) continue;
      this.makeDirectory(`/${parts.join('/')}`, true);
      this.#directory(`/${parts.join('/')}`).entries.set(name, directory);
    }
  }

  /** The content, which changes with this file system. */
  get state(): FileSystemState {
    return this.#state;
  }

  /** From now on this file system has the content of the other one. */
  follow(other: FileSystem): void {
    this.#state = other.#state;
  }

  /** Called before a node is changed in place. */
  beforeChange(): void {
    this.#beforeChange();
  }

  /**
   * Returns the node at an absolute path; undefined if it does not exist. Throws FileError if a
   * part of the path is not a directory.
   */
  find(path: string, followLast = true, depth = 0): FsNode | undefined {
    if (depth > MAX_LINKS) throw new FileError('Too many levels of symbolic links');
    const parts = partsOf(path);
    let node: FsNode = this.#state.root;
    for (const [index, part] of parts.entries()) {
      if (node.kind !== 'directory') throw new FileError('Not a directory');
      const next: FsNode | undefined = node.entries.get(part);
      if (next === undefined) return undefined;
      node = next;
      if (node.kind === 'link' && (followLast || index < parts.length - 1)) {
        const rest = parts.slice(index + 1);
        const base = node.target.startsWith('/')
          ? node.target
          : `/${[...parts.slice(0, index), node.target].join('/')}`;
        return this.find([base, ...rest].join('/'), followLast, depth + 1);
      }
    }
    return node;
  }

  isDirectory(path: string): boolean {
    return this.find(path)?.kind === 'directory';
  }

  /** Returns the content of a file. Throws FileError. */
  read(path: string): Buffer {
    const node = this.find(path);
    if (node === undefined) throw new FileError('No such file or directory');
    if (node.kind === 'directory') throw new FileError('Is a directory');
    return node.kind === 'file' ? node.content : Buffer.alloc(0);
  }

  /** Creates or replaces a file, or appends to it. Throws FileError. */
  write(path: string, content: Uint8Array, append: boolean, mode = 0o644): void {
    const present = this.find(path);
    if (present?.kind === 'directory') throw new FileError('Is a directory');
    if (present?.kind === 'device') return;
    this.#beforeChange();
    const before = present?.kind === 'file' ? present.content.length : 0;
    const after = append ? before + content.length : content.length;
    if (this.#state.bytes - before + after > MAX_BYTES)
      throw new FileError('No space left on device');
    this.#state.bytes += after - before;
    if (present?.kind === 'file') {
      present.content = append ? Buffer.concat([present.content, content]) : Buffer.from(content);
      present.modified = this.#now();
      return;
    }
    const { directory, name } = this.#parent(path);
    this.#add(directory, name, {
      kind: 'file',
      content: Buffer.from(content),
      mode,
      modified: this.#now(),
    });
  }

  /** Creates a directory. `parents`: creates missing parents, and does not fail if it exists. */
  makeDirectory(path: string, parents: boolean, mode = 0o755): void {
    const parts = partsOf(path);
    let directory = this.#state.root;
    for (const [index, part] of parts.entries()) {
      const next = directory.entries.get(part);
      const last = index === parts.length - 1;
      if (next === undefined) {
        if (!parents && !last) throw new FileError('No such file or directory');
        const made = { ...newDirectory(this.#now()), mode };
        this.#add(directory, part, made);
        directory = made;
        continue;
      }
      if (last && !parents) throw new FileError('File exists');
      const target =
        next.kind === 'link' ? this.find(`/${parts.slice(0, index + 1).join('/')}`) : next;
      if (target?.kind !== 'directory')
        throw new FileError(last ? 'File exists' : 'Not a directory');
      directory = target;
    }
  }

  link(path: string, target: string): void {
    const { directory, name } = this.#parent(path);
    if (directory.entries.has(name)) throw new FileError('File exists');
    this.#add(directory, name, { kind: 'link', target });
  }

  /** Removes a file, a link, or with `recursive` a directory. Throws FileError. */
  remove(path: string, recursive: boolean): void {
    const { directory, name } = this.#parent(path);
    const node = directory.entries.get(name);
    if (node === undefined) throw new FileError('No such file or directory');
    if (node.kind === 'directory' && !recursive) throw new FileError('Is a directory');
    this.#beforeChange();
    this.#forget(node);
    directory.entries.delete(name);
    directory.modified = this.#now();
  }

  removeDirectory(path: string): void {
    const node = this.find(path, false);
    if (node === undefined) throw new FileError('No such file or directory');
    if (node.kind !== 'directory') throw new FileError('Not a directory');
    if (node.entries.size > 0) throw new FileError('Directory not empty');
    this.remove(path, true);
  }

  move(from: string, to: string): void {
    const source = this.#parent(from);
    const node = source.directory.entries.get(source.name);
    if (node === undefined) throw new FileError('No such file or directory');
    if (`${to}/`.startsWith(`${from}/`)) throw new FileError('Invalid argument');
    const target = this.#parent(to);
    this.#beforeChange();
    source.directory.entries.delete(source.name);
    target.directory.entries.set(target.name, node);
  }

  /** Returns the entries of a directory, sorted by name. Throws FileError. */
  list(path: string): readonly (readonly [name: string, node: FsNode])[] {
    return [...this.#directory(path).entries].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #directory(path: string): DirectoryNode {
    const node = this.find(path);
    if (node === undefined) throw new FileError('No such file or directory');
    if (node.kind !== 'directory') throw new FileError('Not a directory');
    return node;
  }

  #parent(path: string): { readonly directory: DirectoryNode; readonly name: string } {
    const parts = partsOf(path);
    const name = parts.pop();
    if (name === undefined) throw new FileError('Is a directory');
    return { directory: this.#directory(`/${parts.join('/')}`), name };
  }

  #add(directory: DirectoryNode, name: string, node: FsNode): void {
    this.#beforeChange();
    if (++this.#state.nodes > MAX_NODES) throw new FileError('No space left on device');
    directory.entries.set(name, node);
    directory.modified = this.#now();
  }

  #forget(node: FsNode): void {
    this.#state.nodes--;
    if (node.kind === 'file') this.#state.bytes -= node.content.length;
    if (node.kind === 'directory') for (const entry of node.entries.values()) this.#forget(entry);
  }
}

/** Returns the parts of an absolute path, with `.` and `..` resolved. */
export function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}

/** Returns the absolute path of a path that may be relative to `directory`. */
export function resolvePath(directory: string, path: string): string {
  return `/${partsOf(path.startsWith('/') ? path : `${directory}/${path}`).join('/')}`;
}
