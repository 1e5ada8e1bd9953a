// Where the bytes of a container's log are: in a file, or in the memory of a runtime of this
// process.

import { constants } from 'node:fs';
import { lstat, type FileHandle } from 'node:fs/promises';
import type { MemoryLog } from '#cri/index.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import { openUntrusted } from '#machinery/files/untrusted.ts';

export interface LogFile {
  size(): Promise<number>;
  /** Returns at most so many bytes from the position on; none at the end. */
  read(position: number, length: number): Promise<Buffer>;
  /**
   * Returns the file that has taken the place of this one since it was opened; undefined if none
   * has.
   */
  successor(): Promise<LogFile | undefined>;
  close(): Promise<void>;
}

/** Rejects as openUntrusted does: with ENOENT if there is no file. */
export async function openLogFile(path: string): Promise<LogFile> {
  return onDisk(path, await outsideWork(openUntrusted(path, constants.O_RDONLY)));
}

function onDisk(path: string, file: FileHandle): LogFile {
  return {
    size: async () => (await outsideWork(file.stat())).size,
    read: async (position, length) => {
      const { bytesRead, buffer } = await outsideWork(
        file.read(Buffer.allocUnsafe(length), 0, length, position),
      );
      return buffer.subarray(0, bytesRead);
    },
    successor: async () => {
      try {
        const [mine, there] = await outsideWork(Promise.all([file.stat(), lstat(path)]));
        if (mine.ino === there.ino && mine.dev === there.dev) return undefined;
        return await openLogFile(path);
      } catch (error) {
        // Between being moved away and being made anew.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    close: () => outsideWork(file.close()),
  };
}

/** The log as it is now and grows, from its oldest byte on. */
export function inMemory(log: MemoryLog): LogFile {
  let base = log.start;
  return {
    size: () => Promise.resolve(log.end - base),
    read: (position, length) => {
      // The bytes at the position were dropped meanwhile: the reader goes on with what there is.
      if (base + position < log.start) base = log.start - position;
      return Promise.resolve(log.read(base + position, length));
    },
    successor: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };
}
