// Opens and reads files that other programs have created or may replace: containers, and users of
// the node.
//
// open(2) of a FIFO waits for the other end. A device may block, act, or never end. A link leads
// anywhere. In Node such a call occupies a thread of libuv's pool, or with a Sync function the
// event loop. Therefore, for every function of this module:
//
// - The file is inspected before it is opened, through a descriptor for the inode alone (O_PATH).
//   Only a regular file is opened (or a FIFO, where the caller asks for one), and the opened inode is
//   the inspected one.
// - A link in the last place is not followed, unless `followLinks` is set.
// - Reads are bounded by the caller.
// - The asynchronous functions occupy at most half of the pool's threads together, and reject after
//   DEADLINE_MS. A thread that hangs in a file system cannot be recovered; the caller continues
//   without it.
//
// Not guaranteed: links in the middle of a path are followed. Where a container may exchange
// directories of the path, walk with `openBelow` of directory.ts.

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { systemClock } from '../clock.ts';
import { poolGate } from './thread-pool.ts';

/** Linux's O_PATH and O_CLOEXEC, which Node has no constants for. Node sets O_CLOEXEC by itself. */
const O_PATH = 0o10000000;
const isLinux = process.platform === 'linux';

/** The longest time for one call on an untrusted file, in milliseconds. */
export const DEADLINE_MS = 10_000;

export type FileType = 'regular file' | 'named pipe' | 'directory';

/** The file exists but has another type than the expected one. */
export class FileTypeError extends Error {
  readonly code = 'EFTYPE';
  readonly actual: string;

  constructor(path: string, actual: string, wanted: FileType) {
    super(`${path} is a ${actual}, not a ${wanted}`);
    this.name = 'FileTypeError';
    this.actual = actual;
  }
}

export interface OpenOptions {
  /** Default: a regular file. */
  readonly type?: FileType;
  /** Follow a link in the last place of the path. Default: false. */
  readonly followLinks?: boolean;
}

export function describeType(info: Stats): string {
  if (info.isFile()) return 'regular file';
  if (info.isDirectory()) return 'directory';
  if (info.isSymbolicLink()) return 'symbolic link';
  if (info.isFIFO()) return 'named pipe';
  if (info.isSocket()) return 'socket';
  if (info.isCharacterDevice()) return 'character device';
  return info.isBlockDevice() ? 'block device' : 'file of an unknown type';
}

function checkType(path: string, info: Stats, wanted: FileType): void {
  const actual = describeType(info);
  if (actual !== wanted) throw new FileTypeError(path, actual, wanted);
}

/**
 * Returns the flags for inspecting a path. Without O_PATH, O_NONBLOCK keeps the open itself from
 * waiting.
 */
function lookFlags(followLinks: boolean): number {
  const { O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_RDONLY } = constants;
  return (isLinux ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY) | (followLinks ? 0 : O_NOFOLLOW);
}

/**
 * Opens an existing file. `flags`: O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND or O_TRUNC. Rejects
 * with FileTypeError for a file of another type, with the system's error (ENOENT, EACCES …), or
 * after DEADLINE_MS.
 */
export function openUntrusted(
  path: string,
  flags: number,
  options: OpenOptions = {},
): Promise<FileHandle> {
  return bounded(
    `open ${path}`,
    () => openChecked(path, flags, options),
    (late) => void late.close(),
  );
}

async function openChecked(path: string, flags: number, options: OpenOptions): Promise<FileHandle> {
  const { type = 'regular file', followLinks = false } = options;
  const seen = await open(path, lookFlags(followLinks)).catch((error: unknown) => {
    // Without O_PATH, only the error shows that the file is a link.
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' && !followLinks
      ? new FileTypeError(path, 'symbolic link', type)
      : error;
  });
  try {
    checkType(path, await seen.stat(), type);
    return await open(
      isLinux ? `/proc/self/fd/${seen.fd}` : path,
      flags | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } finally {
    await seen.close();
  }
}

/**
 * Does the same as openUntrusted, on the event loop: for small files in directories on fast file
 * systems.
 */
export function openUntrustedSync(path: string, flags: number, options: OpenOptions = {}): number {
  const { type = 'regular file', followLinks = false } = options;
  const seen = openSync(path, lookFlags(followLinks));
  try {
    checkType(path, fstatSync(seen), type);
    return openSync(isLinux ? `/proc/self/fd/${seen}` : path, flags | constants.O_NOCTTY);
  } finally {
    closeSync(seen);
  }
}

/** Reads a whole file. Rejects if it has more than `maxBytes`. */
export async function readUntrusted(
  path: string,
  maxBytes: number,
  options: OpenOptions = {},
): Promise<Buffer> {
  return await withFile(path, options, async (file) => {
    const data = await readAt(file, 0, maxBytes + 1);
    if (data.length > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
    return data;
  });
}

/** Reads the last `maxBytes` of a file, or all of a shorter one. */
export async function readEndUntrusted(path: string, maxBytes: number): Promise<Buffer> {
  return await withFile(path, {}, async (file) => {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    return await readAt(file, size - length, length);
  });
}

/** Reads a whole file on the event loop. Throws if it has more than `maxBytes`. */
export function readUntrustedSync(
  path: string,
  maxBytes: number,
): { readonly data: Buffer; readonly info: Stats } {
  const fd = openUntrustedSync(path, constants.O_RDONLY);
  try {
    const info = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(info.size, maxBytes) + 1);
    let length = 0;
    for (;;) {
      const bytes = readSync(fd, buffer, length, buffer.length - length, length);
      if (bytes === 0) break;
      length += bytes;
      if (length > maxBytes || length === buffer.length) break;
    }
    if (length > maxBytes || info.size > maxBytes)
      throw new Error(`${path} has more than ${maxBytes} bytes`);
    return { data: buffer.subarray(0, length), info };
  } finally {
    closeSync(fd);
  }
}

async function withFile<T>(
  path: string,
  options: OpenOptions,
  read: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await openUntrusted(path, constants.O_RDONLY, options);
  // The file is closed when the read has finished, even if the caller has stopped waiting for it.
  return await bounded(`read ${path}`, async () => {
    try {
      return await read(file);
    } finally {
      await file.close();
    }
  });
}

async function readAt(file: FileHandle, position: number, maxBytes: number): Promise<Buffer> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - position)));
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(
      buffer,
      length,
      buffer.length - length,
      position + length,
    );
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

/**
 * Runs an operation on an untrusted file, on one of the threads that poolGate allows. Rejects after
 * DEADLINE_MS; `discard` receives a result that came too late. The deadline is in real time on any
 * clock, as the file system is.
 */
export async function bounded<T>(
  what: string,
  operation: () => Promise<T>,
  discard?: (late: T) => void,
): Promise<T> {
  const expired = new AbortController();
  const running = poolGate.run(operation, expired.signal);
  return await new Promise<T>((resolve, reject) => {
    const timer = systemClock.setTimer(DEADLINE_MS, () => {
      expired.abort(new Error(`${what}: not done within ${DEADLINE_MS / 1000}s`));
      reject(expired.signal.reason as Error);
    });
    running.then(
      (result) => {
        timer.cancel();
        if (expired.signal.aborted) discard?.(result);
        else resolve(result);
      },
      (error: Error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
