// The parts of /stats/summary of a node besides CPU and memory: file systems, network, processes.

import { readFile, statfs } from 'node:fs/promises';
import { isCriError, type ImageService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { type InterfaceCounters, maxTasks, netDevices, runningTasks } from './proc-files.ts';

export interface FsDetails {
  /** The wall-clock time in milliseconds. */
  readonly time: number;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export interface NodeDetails {
  readonly time: number;
  /** When the machine started, in wall-clock milliseconds. */
  readonly bootTime?: number;
  /** The file system of the kubelet. */
  readonly fs?: FsDetails;
  /** That of images and of containers' writable layers. */
  readonly imageFs?: FsDetails;
  readonly tasks?: { readonly max: number; readonly running: number };
  readonly interfaces?: readonly InterfaceCounters[];
}

export interface NodeDetailsSource {
  /** Reads the details. Parts that cannot be read are left out. */
  read(): Promise<NodeDetails>;
}

export interface MachineDetailsConfig {
  readonly clock: Clock;
  readonly rootDir: string;
  readonly images: ImageService;
  /** The mount point of procfs. Default: /proc. */
  readonly proc?: string;
}

/** The details of this machine. */
export class MachineDetails implements NodeDetailsSource {
  readonly #config: MachineDetailsConfig;

  constructor(config: MachineDetailsConfig) {
    this.#config = config;
  }

  async read(): Promise<NodeDetails> {
    const { clock, rootDir } = this.#config;
    const [stat, pidMax, threadsMax, loadavg, netDev, fs, imageFs] = await Promise.all([
      this.#proc('stat'),
      this.#proc('sys/kernel/pid_max'),
      this.#proc('sys/kernel/threads-max'),
      this.#proc('loadavg'),
      this.#proc('net/dev'),
      this.#fileSystem(rootDir),
      this.#imageFs(),
    ]);
    const bootSeconds = /^btime (\d+)$/m.exec(stat ?? '')?.[1];
    const max = maxTasks(pidMax, threadsMax);
    const running = runningTasks(loadavg);
    return {
      time: clock.now(),
      ...(bootSeconds !== undefined && { bootTime: Number(bootSeconds) * 1000 }),
      ...(fs !== undefined && { fs }),
      ...(imageFs !== undefined && { imageFs }),
      ...(max !== undefined && running !== undefined && { tasks: { max, running } }),
      ...(netDev !== undefined && { interfaces: netDevices(netDev) }),
    };
  }

  /** Reads the usage of images from the runtime, and the rest from the file system. */
  async #imageFs(): Promise<FsDetails | undefined> {
    let info;
    try {
      info = await this.#config.images.imageFsInfo();
    } catch (error) {
      if (isCriError(error)) return undefined;
      throw error;
    }
    const [first] = info.imageFilesystems;
    if (first === undefined) return undefined;
    const used = first.usedBytes?.value ?? 0;
    const inodesUsed = first.inodesUsed?.value;
    const whole = await this.#fileSystem(first.fsId?.mountpoint ?? '');
    return {
      ...whole,
      time: first.timestamp / 1e6,
      usedBytes: used,
      ...(inodesUsed !== undefined && { inodesUsed }),
    };
  }

  async #fileSystem(path: string): Promise<FsDetails | undefined> {
    if (path === '') return undefined;
    const stats = await ifPresent(statfs(path));
    if (stats === undefined) return undefined;
    const { bsize, blocks, bfree, bavail, files, ffree } = stats;
    return {
      time: this.#config.clock.now(),
      availableBytes: bavail * bsize,
      capacityBytes: blocks * bsize,
      usedBytes: (blocks - bfree) * bsize,
      inodesFree: ffree,
      inodes: files,
      inodesUsed: files - ffree,
    };
  }

  #proc(name: string): Promise<string | undefined> {
    return ifPresent(readFile(`${this.#config.proc ?? '/proc'}/${name}`, 'utf8'));
  }
}

/** The details of a simulated node: an empty disk. */
export class SimulatedDetails implements NodeDetailsSource {
  readonly #clock: Clock;
  readonly #diskBytes: number;

  /** Creates a source. `diskBytes`: the size of the disk. */
  constructor(clock: Clock, diskBytes: number) {
    this.#clock = clock;
    this.#diskBytes = diskBytes;
  }

  read(): Promise<NodeDetails> {
    const time = this.#clock.now();
    const bytes = this.#diskBytes;
    const fs = { time, capacityBytes: bytes, availableBytes: bytes, usedBytes: 0 };
    return Promise.resolve({ time, ...(bytes > 0 && { fs, imageFs: fs }) });
  }
}

async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(code)) return undefined;
    throw error;
  }
}
