// Observes the node and its pods for the eviction manager.
//
// Observing the node is cheap: some small files. Pods are observed only if it matters, because
// their disk usage takes a walk through their files, and their memory a request to the runtime.

import { join } from 'node:path';
import { isCriError, type ImageService, type RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { FileSystemState, FsUsage, NodeSystem, Supply } from '../node/system.ts';
import { readUsage, type PodUsage } from '../node/usage.ts';
import { hostsFilePath, podDir } from '../paths.ts';
import type { RuntimePodStatus } from '../pod/pod-status.ts';
import { podLogDirectory } from '../runtime/sandbox-config.ts';
import { podUid, type Pod, type Volume } from '../types.ts';
import type { Observation, Observations } from './observations.ts';
import type { ContainerStatsForEviction, PodStats, StatsOfPods } from './pod-stats.ts';
import type { Signal } from './signals.ts';
import type { DiskLayout } from './thresholds.ts';

export interface ObserverConfig {
  readonly system: NodeSystem;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly runtimeStatus: (uid: string) => RuntimePodStatus | undefined;
  /** Reads the memory of all pods together, and its limit. Absent: pods have no common limit. */
  readonly podsMemory?: () => Promise<Supply | undefined>;
  /** How long a measurement of a volume is valid, in milliseconds. */
  readonly volumeStatsMs: number;
}

interface Measurement {
  readonly usage: FsUsage | undefined;
  /** The monotonic time until which it is valid. */
  readonly validUntil: number;
}

/** A measurement may take this share of the time at most. */
const MAX_DUTY = 0.05;

export class NodeObserver {
  readonly #config: ObserverConfig;
  /** The directories of images and of writable layers; undefined: those of the node. */
  #imagesDir: string | undefined;
  #containersDir: string | undefined;
  /** By path. */
  #measured = new Map<string, Measurement>();

  constructor(config: ObserverConfig) {
    this.#config = config;
  }

  /** Finds out which file systems there are. Rejects if the runtime does not respond. */
  async layout(): Promise<DiskLayout> {
    const { system, rootDir } = this.#config;
    const { images, containers } = await this.#runtimeDirectories();
    this.#imagesDir = images;
    this.#containersDir = containers;
    const root = await system.fileSystem(rootDir);
    const imageFs = images === undefined ? root : await system.fileSystem(images);
    const containerFs = containers === undefined ? imageFs : await system.fileSystem(containers);
    const dedicatedImageFs = imageFs?.device !== root?.device;
    return {
      dedicatedImageFs,
      splitContainerFs: dedicatedImageFs && containerFs?.device === root?.device,
    };
  }

  /** Reads the file system of the images. */
  imageFileSystem(): Promise<FileSystemState | undefined> {
    const { system, rootDir } = this.#config;
    return system.fileSystem(this.#imagesDir ?? rootDir);
  }

  async observeNode(signal: AbortSignal): Promise<Observations> {
    const { system, clock, rootDir, podsMemory } = this.#config;
    const time = clock.now();
    const observations = new Map<Signal, Observation>();
    const add = (name: Signal, supply: Supply | undefined): void => {
      if (supply !== undefined) observations.set(name, { ...supply, time });
    };
    const imagesDir = this.#imagesDir ?? rootDir;
    const [memory, podMemory, processes, nodeFs, imageFs, containerFs] = await Promise.all([
      system.memory(),
      podsMemory?.(),
      system.processes(),
      system.fileSystem(rootDir),
      system.fileSystem(imagesDir),
      system.fileSystem(this.#containersDir ?? imagesDir),
    ]);
    signal.throwIfAborted();
    add('memory.available', memory);
    add('allocatableMemory.available', podMemory);
    add('pid.available', processes);
    for (const [name, state] of [
      ['nodefs', nodeFs],
      ['imagefs', imageFs],
      ['containerfs', containerFs],
    ] as const) {
      add(`${name}.available`, bytesOf(state));
      add(`${name}.inodesFree`, inodesOf(state));
    }
    return observations;
  }

  /** Observes the usage of the pods. `disk`: whether to measure their files, too. */
  async observePods(
    pods: readonly Pod[],
    disk: (pod: Pod) => boolean,
    signal: AbortSignal,
  ): Promise<StatsOfPods> {
    const { runtime, runtimeStatus } = this.#config;
    const usage = await readUsage({
      runtime,
      node: { read: () => Promise.resolve(undefined) },
      runtimeStatus,
    });
    const byUid = new Map(usage.pods.map((one) => [one.uid, one]));
    const stats = new Map<string, PodStats>();
    const used = new Map<string, Measurement>();
    for (const pod of pods) {
      const known = byUid.get(podUid(pod));
      if (known === undefined) continue;
      stats.set(
        podUid(pod),
        disk(pod) ? await this.#withFiles(pod, known, used, signal) : statsOf(known, new Map()),
      );
    }
    // Measurements of pods that are gone are dropped.
    this.#measured = used;
    return stats;
  }

  async #withFiles(
    pod: Pod,
    usage: PodUsage,
    used: Map<string, Measurement>,
    signal: AbortSignal,
  ): Promise<PodStats> {
    const { system, rootDir, podLogsDir } = this.#config;
    const uid = podUid(pod);
    const volumes = new Map<string, FsUsage>();
    for (const volume of pod.spec.volumes ?? []) {
      const plugin = measuredPlugin(volume);
      if (plugin === undefined) continue;
      const path = join(podDir(rootDir, uid), 'volumes', plugin, volume.name);
      const measurement = await this.#measure(path, signal);
      used.set(path, measurement);
      if (measurement.usage !== undefined) volumes.set(volume.name, measurement.usage);
    }
    const logs = new Map<string, FsUsage>();
    for (const { name } of usage.containers) {
      const own = await system.usageOf(join(podLogDirectory(podLogsDir, pod), name), signal);
      logs.set(name, own ?? { usedBytes: 0, inodesUsed: 0 });
    }
    const hosts = await system.usageOf(hostsFilePath(rootDir, uid), signal);
    return { ...statsOf(usage, logs), volumes, ...(hosts !== undefined && { other: hosts }) };
  }

  async #measure(path: string, signal: AbortSignal): Promise<Measurement> {
    const { system, clock, logger, volumeStatsMs } = this.#config;
    const began = clock.monotonic();
    const last = this.#measured.get(path);
    if (last !== undefined && began < last.validUntil) return last;
    let usage: FsUsage | undefined;
    try {
      usage = await system.usageOf(path, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      logger.warn('volume usage not measured', { path, err: error });
      usage = last?.usage;
    }
    const took = clock.monotonic() - began;
    return { usage, validUntil: began + Math.max(volumeStatsMs, took / MAX_DUTY) };
  }

  async #runtimeDirectories(): Promise<{
    readonly images: string | undefined;
    readonly containers: string | undefined;
  }> {
    try {
      const info = await this.#config.images.imageFsInfo();
      return {
        images: info.imageFilesystems[0]?.fsId?.mountpoint || undefined,
        containers: info.containerFilesystems[0]?.fsId?.mountpoint || undefined,
      };
    } catch (error) {
      // Runtimes without images of their own: they take no other file system than the node's.
      if (isCriError(error, 'Unimplemented')) return { images: undefined, containers: undefined };
      throw error;
    }
  }
}

/** Returns the directory name of the volume's plugin if the volume is measured. */
function measuredPlugin(volume: Volume): string | undefined {
  if (volume.emptyDir !== undefined) return 'kubernetes.io~empty-dir';
  return volume.configMap === undefined ? undefined : 'kubernetes.io~configmap';
}

function statsOf(usage: PodUsage, logs: ReadonlyMap<string, FsUsage>): PodStats {
  return {
    ...(usage.memory?.workingSetBytes !== undefined && {
      memoryBytes: usage.memory.workingSetBytes,
    }),
    ...(usage.processCount !== undefined && { processes: usage.processCount }),
    containers: usage.containers.map(({ name, memory, writableLayer }) => {
      const own = logs.get(name);
      const container: ContainerStatsForEviction = {
        name,
        ...(memory?.workingSetBytes !== undefined && { memoryBytes: memory.workingSetBytes }),
        ...(writableLayer !== undefined && {
          rootfs: {
            ...(writableLayer.usedBytes !== undefined && {
              usedBytes: writableLayer.usedBytes.value,
            }),
            ...(writableLayer.inodesUsed !== undefined && {
              inodesUsed: writableLayer.inodesUsed.value,
            }),
          },
        }),
        ...(own !== undefined && { logs: own }),
      };
      return container;
    }),
    volumes: new Map(),
  };
}

function bytesOf(state: FileSystemState | undefined): Supply | undefined {
  return state && { available: state.availableBytes, capacity: state.capacityBytes };
}

/** Returns undefined for a file system without a fixed number of inodes. */
function inodesOf(state: FileSystemState | undefined): Supply | undefined {
  if (state === undefined || state.inodes === 0) return undefined;
  return { available: state.inodesFree, capacity: state.inodes };
}
