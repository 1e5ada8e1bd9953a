// The one interface through which the node's resources are observed. A fake of it is a few values.

/** The usage of a file system by one part of a pod. Absent: unknown, counted as nothing. */
export interface FsUsage {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

export interface FileSystemState {
  /** Distinguishes file systems. */
  readonly device: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  /** 0 if the file system makes inodes as they are needed. */
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface Supply {
  readonly available: number;
  readonly capacity: number;
}

export interface NodeSystem {
  /** Reads the node's memory in bytes. Resolves with undefined if the system does not have it. */
  memory(): Promise<Supply | undefined>;
  /** Reads how many processes there may be, and how many more than now. */
  processes(): Promise<Supply | undefined>;
  /** Reads the file system of a path. Resolves with undefined if the path does not exist. */
  fileSystem(path: string): Promise<FileSystemState | undefined>;
  /**
   * Measures the files below a path that is not controlled by pods; what is below may be. Resolves
   * with undefined if the path does not exist.
   */
  usageOf(path: string, signal: AbortSignal): Promise<FsUsage | undefined>;
}
