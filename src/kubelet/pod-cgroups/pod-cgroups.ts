// The cgroups of the pods: ROOT/kubepods/[burstable|besteffort]/podUID, as on every node.
//
// The node's share for pods is the limit of kubepods, the class of service decides about CPU time
// when it is scarce, and a pod has the limits of its containers together.

import type { Logger } from '#machinery/log.ts';
import { podRequests, qosClass, type QosClass } from '../pod/resources.ts';
import { podUid, type Pod } from '../types.ts';
import type { CgroupSystem } from './system.ts';
import { type CgroupSettings, cgroupFiles, podSettings, sharesOf, withLarger } from './settings.ts';

export interface PodCgroupsConfig {
  readonly system: CgroupSystem;
  readonly logger: Logger;
  /** The cgroup under which kubepods is: '/' or '/NAME'. */
  readonly root: string;
  /** The limits of all pods together. Absent amounts are not limited. */
  readonly node: CgroupSettings;
  /** The maximum number of processes of a pod; undefined for no limit. */
  readonly maxProcessesPerPod: number | undefined;
  readonly activePods: () => readonly Pod[];
  /** Reports whether a container of the pod has exclusive CPUs. Absent: none has. */
  readonly hasExclusiveCpus?: (pod: Pod) => boolean;
}

export interface CgroupUsage {
  /** The working set. */
  readonly memoryBytes?: number;
  readonly processes?: number;
}

const CLASS_DIRECTORY: Readonly<Record<QosClass, string>> = {
  Guaranteed: '',
  Burstable: '/burstable',
  BestEffort: '/besteffort',
};

export class PodCgroups {
  readonly #config: PodCgroupsConfig;
  readonly #base: string;
  /** By path: the settings that were written last. */
  readonly #written = new Map<string, CgroupSettings>();
  /** By UID. */
  readonly #paths = new Map<string, string>();

  constructor(config: PodCgroupsConfig) {
    this.#config = config;
    this.#base = `${config.root === '/' ? '' : config.root}/kubepods`;
  }

  /** The version of control groups. */
  get version(): 1 | 2 {
    return this.#config.system.version;
  }

  /** Creates the cgroups of the node and of the classes. Rejects if the kernel does not allow it. */
  async start(): Promise<void> {
    const { system, node } = this.#config;
    for (const directory of ['', '/burstable', '/besteffort'])
      await system.create(this.#base + directory);
    await this.#apply(this.#base, node);
    await this.#applyClasses();
  }

  /** Returns the path of a pod's cgroup. */
  pathOf(pod: Pod): string {
    return `${this.#base}${CLASS_DIRECTORY[qosClass(pod)]}/pod${podUid(pod)}`;
  }

  /**
   * Creates the cgroup of a pod, or raises its limits: before its containers change. A limit that
   * the pod no longer has stays until `settle`, since no container may have more than its pod.
   */
  async ensure(pod: Pod): Promise<void> {
    const path = this.pathOf(pod);
    const settings = this.#settingsOf(pod);
    const earlier = this.#written.get(path);
    const raised = earlier === undefined ? settings : withLarger(settings, earlier);
    if (earlier !== undefined && isSame(earlier, raised)) return;
    await this.#config.system.create(path);
    this.#paths.set(podUid(pod), path);
    await this.#apply(path, raised);
    await this.#applyClasses();
  }

  /**
   * Lowers the limits of a pod, after its containers have changed. Where the kernel refuses, because
   * a container has not changed yet or uses more, the limits stay: the next call tries again.
   */
  async settle(pod: Pod): Promise<void> {
    const path = this.pathOf(pod);
    const settings = this.#settingsOf(pod);
    const earlier = this.#written.get(path);
    if (earlier === undefined || isSame(earlier, settings)) return;
    try {
      await this.#apply(path, settings);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EINVAL' && code !== 'EBUSY') throw error;
      this.#config.logger.info('limits of the pod are lowered later', { uid: podUid(pod), code });
    }
  }

  #settingsOf(pod: Pod): CgroupSettings {
    const hasQuota = this.#config.hasExclusiveCpus?.(pod) !== true;
    return podSettings(pod, this.#config.maxProcessesPerPod, hasQuota);
  }

  /** Removes the cgroup of a pod without processes. */
  async remove(pod: Pod): Promise<void> {
    const path = this.pathOf(pod);
    this.#paths.delete(podUid(pod));
    this.#written.delete(path);
    await this.#config.system.remove(path);
  }

  /** Removes cgroups that an earlier kubelet has left for pods that are gone. */
  async removeUnknown(isKnown: (uid: string) => boolean): Promise<void> {
    const { system, logger } = this.#config;
    for (const directory of Object.values(CLASS_DIRECTORY)) {
      const parent = this.#base + directory;
      for (const name of await system.children(parent)) {
        const uid = /^pod(.+)$/.exec(name)?.[1];
        if (uid === undefined || isKnown(uid)) continue;
        logger.info('removing the cgroup of a pod that is gone', { uid });
        await system.remove(`${parent}/${name}`);
      }
    }
  }

  /** Reads the usage of a pod; undefined for an unknown one. */
  async usageOf(uid: string): Promise<CgroupUsage | undefined> {
    const path = this.#paths.get(uid);
    if (path === undefined) return undefined;
    const { system } = this.#config;
    const [memoryBytes, processes] = await Promise.all([
      this.#workingSet(path),
      system.read(path, 'pids', 'pids.current'),
    ]);
    return {
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(processes !== undefined && { processes: Number(processes) }),
    };
  }

  /** Reads the memory of all pods together, and their limit; undefined without a limit. */
  async podsMemory(): Promise<
    { readonly available: number; readonly capacity: number } | undefined
  > {
    const capacity = this.#config.node.memoryBytes;
    const used = await this.#workingSet(this.#base);
    if (capacity === undefined || used === undefined) return undefined;
    return { capacity, available: capacity - used };
  }

  /** Usage without file cache that was not used lately, as the kernel's killer sees it. */
  async #workingSet(path: string): Promise<number | undefined> {
    const { system } = this.#config;
    const isUnified = system.version === 2;
    const [usage, stat] = await Promise.all([
      system.read(path, 'memory', isUnified ? 'memory.current' : 'memory.usage_in_bytes'),
      system.read(path, 'memory', 'memory.stat'),
    ]);
    if (usage === undefined || stat === undefined) return undefined;
    const pattern = isUnified ? /^inactive_file (\d+)$/m : /^total_inactive_file (\d+)$/m;
    return Math.max(0, Number(usage) - Number(pattern.exec(stat)?.[1] ?? 0));
  }

  async #applyClasses(): Promise<void> {
    const requested = this.#config
      .activePods()
      .filter((pod) => qosClass(pod) === 'Burstable')
      .reduce((sum, pod) => sum + (podRequests(pod).get('cpu') ?? 0), 0);
    await this.#apply(`${this.#base}/burstable`, { cpuShares: sharesOf(requested) });
    await this.#apply(`${this.#base}/besteffort`, { cpuShares: sharesOf(0) });
  }

  async #apply(path: string, settings: CgroupSettings): Promise<void> {
    const earlier = this.#written.get(path);
    if (earlier !== undefined && isSame(earlier, settings)) return;
    const { system } = this.#config;
    for (const file of cgroupFiles(settings, system.version)) await system.write(path, file);
    this.#written.set(path, settings);
  }
}

const FIELDS = ['cpuShares', 'cpuQuotaUs', 'memoryBytes', 'maxProcesses'] as const;

const isSame = (a: CgroupSettings, b: CgroupSettings): boolean =>
  FIELDS.every((field) => a[field] === b[field]);
