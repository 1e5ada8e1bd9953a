// Files that have to be whole after a power loss: written aside, synced, renamed, and the directory synced.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces the file at `path`, or makes it. After a crash at any moment the old or the new content is there, never a part. */
export function writeFileDurably(path: string, data: string | Uint8Array, mode: number): void {
  const aside = `${path}.tmp`;
  // A file that a crash has left is not reused: it might be anything.
  rmSync(aside, { recursive: true, force: true });
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  const file = openSync(aside, 'wx', mode);
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(aside, path);
  syncDirectory(dirname(path));
}

/** Makes the names in a directory durable: what was made, renamed and removed in it. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
