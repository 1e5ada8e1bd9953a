// Simulates a disk that loses power: applies a trace, and computes what the disk may contain
// afterwards. Synced data is there. Of all other changes, each may be there or not, in any
// combination, and a write may be there in part, by sectors. A created (or removed) file may be
// there or not until its directory was synced.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Random } from '#machinery/random.ts';
import type { FileOperation } from './file-layer.ts';

const SECTOR_BYTES = 512;

type Change = Extract<FileOperation, { readonly kind: 'write' | 'truncate' }>;

interface File {
  /** The content that a sync has made durable. */
  durable: Content;
  /** The changes since then, in order. */
  pending: Change[];
}

export class Disk {
  /** Files that running processes see. */
  readonly #files = new Map<string, File>();
  /** Files whose names are durable. */
  #named = new Map<string, File>();

  apply(operation: FileOperation): void {
    const { path } = operation;
    switch (operation.kind) {
      case 'create':
        this.#files.set(path, { durable: new Content(), pending: [] });
        return;
      case 'unlink':
        this.#files.delete(path);
        return;
      case 'write':
      case 'truncate':
        this.#file(path).pending.push(operation);
        return;
      case 'sync': {
        const file = this.#files.get(path);
        if (file === undefined) return this.#syncDirectory(path);
        for (const change of file.pending.splice(0)) file.durable.apply(change);
        return;
      }
    }
  }

  /**
   * Writes the possible content after a power loss at this moment to `to`, which is emptied first.
   * `from`: the directory of the trace.
   */
  lose(random: Random, from: string, to: string): void {
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to, { recursive: true });
    const candidates = new Set(
      [...this.#files.keys(), ...this.#named.keys()].filter((path) => dirname(path) === from),
    );
    for (const path of candidates) {
      const now = this.#files.get(path);
      const before = this.#named.get(path);
      const file = now === before || random.int(2) === 0 ? now : before;
      if (file !== undefined) writeFileSync(join(to, basename(path)), remains(file, random));
    }
  }

  #file(path: string): File {
    const file = this.#files.get(path);
    if (file === undefined) throw new Error(`the trace changes ${path} before it is created`);
    return file;
  }

  #syncDirectory(path: string): void {
    const others = [...this.#named].filter(([name]) => dirname(name) !== path);
    this.#named = new Map([
      ...others,
      ...[...this.#files].filter(([name]) => dirname(name) === path),
    ]);
  }
}

/** Returns the file with nothing, everything, or any part of the changes that were not synced. */
function remains(file: File, random: Random): Buffer {
  const content = file.durable.copy();
  const share = random.int(3) === 0 ? random.int(2) : random.float();
  for (const change of file.pending) {
    if (random.float() >= share) continue;
    if (change.kind === 'write' && random.int(4) === 0) content.apply(torn(change, random));
    else content.apply(change);
  }
  return content.bytes;
}

function torn(change: Extract<Change, { readonly kind: 'write' }>, random: Random): Change {
  // A partial write ends at a sector's end on the disk.
  const sectors = Math.ceil(change.data.length / SECTOR_BYTES);
  const end = (Math.floor(change.offset / SECTOR_BYTES) + random.int(sectors + 1)) * SECTOR_BYTES;
  return {
    ...change,
    data: change.data.subarray(0, Math.max(0, Math.min(change.data.length, end - change.offset))),
  };
}

/** Bytes of growing length. */
class Content {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  copy(): Content {
    const copy = new Content();
    copy.#bytes = Buffer.from(this.bytes);
    copy.#length = this.#length;
    return copy;
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') {
      this.#reserve(change.length);
      this.#bytes.fill(
        0,
        Math.min(this.#length, change.length),
        Math.max(this.#length, change.length),
      );
      this.#length = change.length;
      return;
    }
    const end = change.offset + change.data.length;
    this.#reserve(end);
    change.data.copy(this.#bytes, change.offset);
    this.#length = Math.max(this.#length, end);
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}
