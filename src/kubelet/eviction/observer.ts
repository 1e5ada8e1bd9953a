// Observes the node and its pods for the eviction manager.
//
// Observing the node is cheap: some small files. Pods are observed only if it matters, because
// their disk usage takes a walk through their files, and their memory a request to the runtime.

import { join } from 'node:path';
import {
  type ContainerStats,
  isCriError,
  type ImageService,
  type RuntimeService,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { FileSystemState, FsUsage, NodeSystem, Supply } from '../node/system.ts';
import type { CgroupUsage } from '../cgroups/pod-cgroups.ts';
import { hostsFilePath, podDir } from '../paths.ts';
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from '../runtime/labels.ts';
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
  /** Reads the usage of a pod's cgroup. Absent: pods have none. */
  readonly podCgroup?: (uid: string) => Promise<CgroupUsage | undefined>;
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
    const containers = await this.#config.runtime.listContainerStats({}, { signal });
    const byUid = new Map<string, ContainerStats[]>();
    for (const one of containers) {
      const uid = one.attributes?.labels[POD_UID_LABEL] ?? '';
      const others = byUid.get(uid);
      if (others === undefined) byUid.set(uid, [one]);
      else others.push(one);
    }
    const stats = new Map<string, PodStats>();
    const used = new Map<string, Measurement>();
    for (const pod of pods) {
      const own = byUid.get(podUid(pod));
      if (own === undefined) continue;
      const memory = await this.#withCgroup(podUid(pod), statsOf(own));
      stats.set(podUid(pod), disk(pod) ? await this.#withFiles(pod, memory, used, signal) : memory);
    }
    // Measurements of pods that are gone are dropped.
    this.#measured = used;
    return stats;
  }

  /** Adds what only the cgroup of the pod knows: its processes, and memory besides containers. */
  async #withCgroup(uid: string, stats: PodStats): Promise<PodStats> {
    const { memoryBytes, processes } = (await this.#config.podCgroup?.(uid)) ?? {};
    return {
      ...stats,
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(processes !== undefined && { processes }),
    };
  }

  async #withFiles(
    pod: Pod,
    stats: PodStats,
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
    const containers: ContainerStatsForEviction[] = [];
    for (const container of stats.containers) {
      const directory = join(podLogDirectory(podLogsDir, pod), container.name);
      const logs = await system.usageOf(directory, signal);
      containers.push({ ...container, logs: logs ?? { usedBytes: 0, inodesUsed: 0 } });
    }
    const hosts = await system.usageOf(hostsFilePath(rootDir, uid), signal);
    return { ...stats, containers, volumes, ...(hosts !== undefined && { other: hosts }) };
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

/** Returns the usage of a pod's containers, without files. */
function statsOf(containers: readonly ContainerStats[]): PodStats {
  const own = containers.flatMap(({ attributes, memory, writableLayer }) => {
    const name = attributes?.labels[CONTAINER_NAME_LABEL];
    if (name === undefined) return [];
    const memoryBytes = memory?.workingSetBytes?.value;
    const usedBytes = writableLayer?.usedBytes?.value;
    const inodesUsed = writableLayer?.inodesUsed?.value;
    const container: ContainerStatsForEviction = {
      name,
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(writableLayer !== undefined && {
        rootfs: {
          ...(usedBytes !== undefined && { usedBytes }),
          ...(inodesUsed !== undefined && { inodesUsed }),
        },
      }),
    };
    return [container];
  });
  return {
    memoryBytes: own.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0),
    containers: own,
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
