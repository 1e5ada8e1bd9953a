// A node whose resources a test sets.

import type { FileSystemState, FsUsage, NodeSystem, Supply } from '../node/system.ts';

const GIB = 1024 ** 3;

export class FakeSystem implements NodeSystem {
  memoryState: Supply = { capacity: 8 * GIB, available: 6 * GIB };
  processState: Supply = { capacity: 32_768, available: 32_000 };
  disk: FileSystemState = {
    device: 1,
    capacityBytes: 100 * GIB,
    availableBytes: 60 * GIB,
    usedBytes: 40 * GIB,
    inodes: 1_000_000,
    inodesFree: 900_000,
  };
  /** By the end of the path. */
  readonly usage = new Map<string, FsUsage>();

  memory(): Promise<Supply> {
    return Promise.resolve(this.memoryState);
  }

  processes(): Promise<Supply> {
    return Promise.resolve(this.processState);
  }

  fileSystem(): Promise<FileSystemState> {
    return Promise.resolve(this.disk);
  }

  usageOf(path: string): Promise<FsUsage | undefined> {
    for (const [end, usage] of this.usage) if (path.endsWith(end)) return Promise.resolve(usage);
    return Promise.resolve(undefined);
  }
}
