// Writes small files that survive a crash of the process and a loss of power.
//
// A reader sees the old contents or the new ones, never a part of them and never an empty file:
//
//   1. write the contents to PATH.tmp, in the same directory, and fsync it;
//   2. rename PATH.tmp to PATH (or link it, where PATH must not exist yet);
//   3. fsync the directory, so that the new name is on the disk, too.
//
// Without the first fsync a file system may write the rename before the contents, and the file is
// empty after a power loss. Each call costs two fsyncs and blocks the thread meanwhile. Two
// processes must not write one path at the same time.

import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** The part of node:fs that is used here. Tests replace it to make single operations fail. */
export interface DurableFileSystem {
  openSync(path: string, flags: string, mode?: number): number;
  writeFileSync(file: number, contents: string | Uint8Array): void;
  fsyncSync(file: number): void;
  closeSync(file: number): void;
  renameSync(from: string, to: string): void;
  linkSync(existing: string, path: string): void;
  rmSync(path: string, options: { force: true }): void;
}

const nodeFileSystem: DurableFileSystem = {
  openSync,
  writeFileSync,
  fsyncSync,
  closeSync,
  renameSync,
  linkSync,
  rmSync,
};

export interface DurableFileOptions {
  /** Permissions of the file, less the umask. Default: 0o600. */
  readonly mode?: number;
  /** Default: node:fs. */
  readonly fileSystem?: DurableFileSystem;
}

/**
 * Writes the file durably and replaces an existing one. The contents are on the disk when it
 * returns. Throws the error of node:fs; the previous file then still exists, unless only the last
 * step (the fsync of the directory) failed.
 */
export function writeDurableFile(
  path: string,
  contents: string | Uint8Array,
  options: DurableFileOptions = {},
): void {
  const { fileSystem = nodeFileSystem } = options;
  writeTemporary(path, contents, options, (temporary) => fileSystem.renameSync(temporary, path));
  syncDirectory(dirname(path), fileSystem);
}

/**
 * Creates a file as `writeDurableFile` does. Throws an error with the code EEXIST, and changes
 * nothing, if the file exists.
 */
export function createDurableFile(
  path: string,
  contents: string | Uint8Array,
  options: DurableFileOptions = {},
): void {
  const { fileSystem = nodeFileSystem } = options;
  writeTemporary(path, contents, options, (temporary) => {
    // Unlike rename, link fails if a file of that name exists.
    fileSystem.linkSync(temporary, path);
    fileSystem.rmSync(temporary, { force: true });
  });
  syncDirectory(dirname(path), fileSystem);
}

/**
 * Renames a file whose contents are already on the disk, and waits until the new name is on the
 * disk, too.
 */
export function renameDurably(
  from: string,
  to: string,
  { fileSystem = nodeFileSystem }: DurableFileOptions = {},
): void {
  fileSystem.renameSync(from, to);
  syncDirectory(dirname(to), fileSystem);
  if (dirname(from) !== dirname(to)) syncDirectory(dirname(from), fileSystem);
}

/**
 * Writes the entries of a directory to the disk: files that were created, renamed or removed in it.
 */
export function syncDirectory(path: string, fileSystem: DurableFileSystem = nodeFileSystem): void {
  const directory = fileSystem.openSync(path, 'r');
  try {
    fileSystem.fsyncSync(directory);
  } finally {
    fileSystem.closeSync(directory);
  }
}

/** Writes `PATH.tmp` and publishes it under its final name. Removes it if either step fails. */
function writeTemporary(
  path: string,
  contents: string | Uint8Array,
  { mode = 0o600, fileSystem = nodeFileSystem }: DurableFileOptions,
  publish: (temporary: string) => void,
): void {
  const temporary = `${path}.tmp`;
  // A crash may have left a temporary file with other permissions.
  fileSystem.rmSync(temporary, { force: true });
  try {
    const file = fileSystem.openSync(temporary, 'wx', mode);
    try {
      fileSystem.writeFileSync(file, contents);
      fileSystem.fsyncSync(file);
    } finally {
      fileSystem.closeSync(file);
    }
    publish(temporary);
  } catch (error) {
    fileSystem.rmSync(temporary, { force: true });
    throw error;
  }
}
