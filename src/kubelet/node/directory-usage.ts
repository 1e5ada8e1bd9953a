// Measures the disk usage of a directory that a running container may change at the same time.
//
// The walk goes from open directory to open directory and follows no link, so it never leaves the
// tree (see machinery/files/directory.ts). It stays on one file system, and counts a file with
// several names once.

import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { openBelow, openRoot, pathOf, type Place } from '#machinery/files/directory.ts';

export interface DirectoryUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** The size of the blocks that stat(2) counts, in bytes. */
const BLOCK_BYTES = 512;
/**
 * Each level keeps a directory open. Deeper levels are not counted: the file system's own limits
 * still apply to it.
 */
const MAX_DEPTH = 500;
/** Further entries are not counted, so that a measurement ends. */
const MAX_ENTRIES = 2_000_000;
/** How many files are examined at once, of the 4 threads that all of the process shares. */
const PARALLEL = 2;

interface Walk {
  readonly device: number;
  readonly signal: AbortSignal;
  /** Inodes with several names. */
  readonly seen: Set<number>;
  bytes: number;
  inodes: number;
  entries: number;
}

/**
 * Measures a directory or a single file; the path itself is trusted, and may be a link to neither.
 * Resolves with undefined if it does not exist. Files that vanish meanwhile are not counted.
 */
export async function directoryUsage(
  path: string,
  signal: AbortSignal,
): Promise<DirectoryUsage | undefined> {
  const stats = await ifExists(lstat(path));
  if (stats === undefined) return undefined;
  const walk: Walk = {
    device: stats.dev,
    signal,
    seen: new Set(),
    bytes: 0,
    inodes: 0,
    entries: 0,
  };
  count(walk, stats);
  if (stats.isDirectory()) {
    const root = await ifExists(openRoot(path));
    if (root === undefined) return undefined;
    await measure(walk, root, 1);
  }
  return { usedBytes: walk.bytes, inodesUsed: walk.inodes };
}

/** Counts what is below an open directory, and closes it. */
async function measure(walk: Walk, place: Place, depth: number): Promise<void> {
  try {
    const listing = await ifExists(opendir(pathOf(place)));
    if (listing === undefined) return;
    let batch: string[] = [];
    // The loop closes the listing.
    for await (const { name } of listing) {
      walk.signal.throwIfAborted();
      if (++walk.entries > MAX_ENTRIES) return;
      batch.push(name);
      if (batch.length < PARALLEL) continue;
      await measureEntries(walk, place, batch, depth);
      batch = [];
    }
    await measureEntries(walk, place, batch, depth);
  } finally {
    await place.handle.close();
  }
}

async function measureEntries(
  walk: Walk,
  parent: Place,
  names: readonly string[],
  depth: number,
): Promise<void> {
  const found = await Promise.all(
    names.map((name) => ifExists(lstat(`${pathOf(parent)}/${name}`))),
  );
  for (const [index, stats] of found.entries()) {
    if (stats === undefined || stats.dev !== walk.device) continue;
    count(walk, stats);
    if (!stats.isDirectory() || depth >= MAX_DEPTH) continue;
    const child = await ifExists(openBelow(parent, names[index] ?? ''));
    if (child !== undefined) await measure(walk, child, depth + 1);
  }
}

function count(walk: Walk, stats: Stats): void {
  if (stats.nlink > 1 && !stats.isDirectory()) {
    if (walk.seen.has(stats.ino)) return;
    walk.seen.add(stats.ino);
  }
  walk.bytes += stats.blocks * BLOCK_BYTES;
  walk.inodes++;
}

/** Resolves with undefined if the file has vanished, or is another one by now. */
async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw error;
  }
}
