// Measures the files of pods: their volumes and the logs of their containers.
//
// Nothing is measured until it is asked for, and a measurement is valid for a minute. Readers wait for
// measurements a short time only: a driver that hangs, or a volume with a million files, delays no
// reader, and its last measurement is used until the next one is complete.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { isLocalEphemeral } from '../eviction/pod-stats.ts';
import type { NodeSystem } from '../node/system.ts';
import { hostsFilePath } from '../paths.ts';
import { podLogDirectory } from '../runtime/sandbox-config.ts';
import { podUid, type Pod, type Volume } from '../types.ts';
import { claimNameOf } from '../volumes/claims.ts';
import type { CsiVolumeStats } from '../volumes/csi/index.ts';
import { measureOf } from './measured-volume.ts';
import type { FsStats, PodFiles, Used, VolumeStats } from './types.ts';

export interface PodFilesConfig {
  readonly system: NodeSystem;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Returns where the volumes of a pod are, by name; undefined before they are mounted. */
  readonly mountedVolumes: (uid: string) => ReadonlyMap<string, string> | undefined;
  /** Returns whether the volume of the pod's claim at this path is a local volume. */
  readonly isLocalVolume: (uid: string, path: string) => boolean;
  /**
   * Asks the driver of the pod's volume at this path. Resolves with undefined if it is no volume of a
   * driver, or the driver has no statistics.
   */
  readonly driverStats: (
    uid: string,
    path: string,
    signal: AbortSignal,
  ) => Promise<CsiVolumeStats | undefined>;
  /** Called with each measurement of a volume that its driver calls abnormal. */
  readonly onAbnormal: (pod: Pod, volume: string, message: string) => void;
  /** Ends measurements. */
  readonly signal: AbortSignal;
}

/** The parts of a pod that are measured: only volumes of claims, or everything. */
export type Extent = 'claims' | 'all';

interface Measurement {
  value: unknown;
  /** The monotonic time until which it is valid. */
  validUntil: number;
  running: Promise<void> | undefined;
}

const VALID_MS = 60_000;
/** How long readers wait for measurements. */
const PATIENCE_MS = 2_000;
/** A measurement may take this share of the time at most. */
const MAX_DUTY = 0.05;

export class PodFilesReader {
  readonly #config: PodFilesConfig;
  /** By pod UID, then by what is measured. */
  readonly #pods = new Map<string, Map<string, Measurement>>();

  constructor(config: PodFilesConfig) {
    this.#config = config;
  }

  /**
   * Returns the files of the pods by UID. What has never been measured, and is not within two
   * seconds, is left out. Measurements of other pods are dropped.
   */
  async read(pods: readonly Pod[], extent: Extent): Promise<ReadonlyMap<string, PodFiles>> {
    const { clock } = this.#config;
    const uids = new Set(pods.map(podUid));
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
    const refreshed = Promise.all(pods.map((pod) => this.#refresh(pod, extent)));
    const patience = new AbortController();
    await Promise.race([
      refreshed,
      clock.sleep(PATIENCE_MS, patience.signal).catch(() => undefined),
    ]);
    patience.abort();
    return new Map(pods.map((pod) => [podUid(pod), this.#filesOf(pod)]));
  }

  #filesOf(pod: Pod): PodFiles {
    const measured = this.#pods.get(podUid(pod));
    const valueOf = <T>(key: string): T | undefined => measured?.get(key)?.value as T | undefined;
    const volumes = (pod.spec.volumes ?? []).flatMap(
      ({ name }) => valueOf<VolumeStats>(`volume ${name}`) ?? [],
    );
    const logs = new Map<string, Used>();
    for (const { name } of containersOf(pod)) {
      const used = valueOf<Used>(`logs ${name}`);
      if (used !== undefined) logs.set(name, used);
    }
    return { volumes, logs, hosts: valueOf<Used>('hosts') };
  }

  /** Starts what is due, and resolves when it has ended. */
  async #refresh(pod: Pod, extent: Extent): Promise<void> {
    const { rootDir, podLogsDir, mountedVolumes } = this.#config;
    const paths = mountedVolumes(podUid(pod));
    const running: Promise<void>[] = [];
    for (const volume of pod.spec.volumes ?? []) {
      const path = paths?.get(volume.name);
      const measure = measureOf(volume);
      if (path === undefined || path === '' || measure === 'none') continue;
      if (extent === 'claims' && measure !== 'claim') continue;
      const key = `volume ${volume.name}`;
      running.push(this.#measure(pod, key, () => this.#volume(pod, volume, path)));
    }
    if (extent === 'all') {
      const logs = podLogDirectory(podLogsDir, pod);
      for (const { name } of containersOf(pod))
        running.push(this.#measure(pod, `logs ${name}`, () => this.#used(`${logs}/${name}`)));
      const hosts = hostsFilePath(rootDir, podUid(pod));
      running.push(this.#measure(pod, 'hosts', () => this.#used(hosts)));
    }
    await Promise.all(running);
  }

  /** Measures what is due. A failure is logged, and the value before it stays. */
  #measure(pod: Pod, key: string, work: () => Promise<unknown>): Promise<void> {
    const { clock, logger, signal } = this.#config;
    const uid = podUid(pod);
    const ofPod = this.#pods.get(uid) ?? new Map<string, Measurement>();
    this.#pods.set(uid, ofPod);
    const measurement = ofPod.get(key) ?? { value: undefined, validUntil: 0, running: undefined };
    ofPod.set(key, measurement);
    const began = clock.monotonic();
    if (measurement.running !== undefined) return measurement.running;
    if (measurement.validUntil > began) return Promise.resolve();
    const end = (): void => {
      const now = clock.monotonic();
      measurement.validUntil = now + Math.max(VALID_MS, (now - began) / MAX_DUTY);
      measurement.running = undefined;
    };
    measurement.running = work()
      .then((value) => void (measurement.value = value))
      .catch((error: unknown) => {
        if (!signal.aborted)
          logger.debug('Failed to calculate volume metrics', { pod: uid, what: key, err: error });
      })
      .finally(end);
    return measurement.running;
  }

  async #volume(pod: Pod, volume: Volume, path: string): Promise<VolumeStats | undefined> {
    const { clock, driverStats, isLocalVolume, onAbnormal, signal } = this.#config;
    const claim = claimNameOf(pod, volume);
    const { namespace = '' } = pod.metadata;
    const common = {
      name: volume.name,
      isEphemeral: isLocalEphemeral(volume),
      ...(claim !== undefined && { claim: { name: claim, namespace } }),
    };
    let measure = measureOf(volume);
    if (measure === 'claim') measure = isLocalVolume(podUid(pod), path) ? 'file-system' : 'driver';
    if (measure !== 'driver') {
      const stats = await this.#fsStats(path, measure === 'files');
      return stats && { ...common, ...stats };
    }
    const stats = await driverStats(podUid(pod), path, signal);
    if (stats === undefined) return undefined;
    const { condition, ...usage } = stats;
    if (condition?.abnormal === true) onAbnormal(pod, volume.name, condition.message);
    return {
      ...common,
      ...usage,
      time: clock.now(),
      ...(condition !== undefined && { abnormal: condition.abnormal }),
    };
  }

  /** Reads the state of the file system at the path. `byFiles`: counts what the files take. */
  async #fsStats(path: string, byFiles: boolean): Promise<FsStats | undefined> {
    const { system, clock, signal } = this.#config;
    const [state, used] = await Promise.all([
      system.fileSystem(path),
      byFiles ? system.usageOf(path, signal) : undefined,
    ]);
    if (state === undefined) return undefined;
    const { availableBytes, capacityBytes, usedBytes, inodes, inodesFree } = state;
    return {
      time: clock.now(),
      availableBytes,
      capacityBytes,
      usedBytes: byFiles ? (used?.usedBytes ?? 0) : usedBytes,
      inodes,
      inodesFree,
      inodesUsed: byFiles ? (used?.inodesUsed ?? 0) : inodes - inodesFree,
    };
  }

  async #used(path: string): Promise<Used | undefined> {
    const { system, signal } = this.#config;
    const usage = await system.usageOf(path, signal);
    return usage && { usedBytes: usage.usedBytes ?? 0, inodesUsed: usage.inodesUsed ?? 0 };
  }
}

const containersOf = ({ spec }: Pod): readonly { readonly name: string }[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...(spec.ephemeralContainers ?? []),
];
