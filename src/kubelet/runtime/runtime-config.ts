// The services and settings of the runtime manager.

import type { ImageService, RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ContainerDevices } from '../devices/container-devices.ts';
import type { DnsSettings } from '../dns.ts';
import type { DownwardContext } from '../env/downward.ts';
import type { ServiceVariables } from '../env/service-variables.ts';
import type { PodEvents } from '../events.ts';
import type { HookRunner } from '../handlers/hooks.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { NetworkReadiness } from '../network-readiness.ts';
import type { ObjectSource } from '../objects.ts';
import type { SandboxRecord } from '../pod/pod-status.ts';
import type { Placement } from '../pod/resources.ts';
import type { Container, Pod } from '../types.ts';
import type { UserNamespace } from '../user-namespaces/user-namespaces.ts';
import type { Mounter } from '../volumes/mounter.ts';
import type { ProbeVerdicts } from './compute-pod-actions.ts';
import type { ContainerKiller } from './kill.ts';
import type { SwapFacts } from './swap.ts';

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** The metrics of the runtime manager. */
export interface RuntimeMetrics {
  /** Counts a start. `userNamespace`: whether the pod has a user namespace of its own. */
  sandboxStarted(failed: boolean, userNamespace: boolean): void;
  /**
   * Counts a start. `code`: the reason of a failure, such as RunContainerError; absent if the
   * container runs.
   */
  containerStarted(type: ContainerType, code?: string): void;
  imageVolumes(event: 'requested' | 'mounted' | 'failed', count: number): void;
  podResized(success: boolean, ms: number): void;
}

/** Where containers run. */
export interface Placements {
  placement(pod: Pod, container: Container): Placement;
  /** Reports whether a container of the pod has exclusive CPUs. */
  hasExclusiveCpus(pod: Pod): boolean;
  /** Called when a container has been created with its placement. */
  containerStarts(pod: Pod, container: Container, id: string): void;
}

export interface RuntimeManagerConfig {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly imageManager: ImageManager;
  readonly killer: ContainerKiller;
  readonly hooks: HookRunner;
  readonly probes: ProbeVerdicts;
  readonly events: PodEvents;
  readonly objects: ObjectSource;
  readonly services: ServiceVariables;
  /** The inputs of the downward API, except the addresses of the pod. */
  readonly downward: () => DownwardContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly mounter: Mounter;
  /**
   * Prepares the ResourceClaims of a pod before its sandbox is created. Rejects with the reason why
   * the pod has to wait.
   */
  readonly prepareResources?: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Returns the devices of a container. Absent: containers have none. */
  readonly containerDevices?: (
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ) => Promise<ContainerDevices>;
  /** Decides on which CPUs and NUMA nodes containers run. Absent: on all. */
  readonly placements?: Placements;
  /** How containers use swap; undefined if the kernel cannot limit it. */
  readonly swap: SwapFacts | undefined;
  readonly dns: DnsSettings;
  /** The node's own /etc/hosts, as text. */
  readonly nodeHosts: () => Promise<string>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostFiles: boolean;
  readonly metrics?: RuntimeMetrics;
  /** The node's memory, in bytes. */
  readonly memoryCapacity: number;
  /** Returns the cgroup of a pod; '': the runtime chooses one. */
  readonly cgroupParent: (pod: Pod) => string;
  /** Returns the user namespace of a pod; rejects if the handler of the runtime has none. */
  readonly userNamespace: (pod: Pod, runtimeHandler: string) => Promise<UserNamespace>;
  /** Returns the groups that the pod's mounted volumes give to its processes. */
  readonly volumeGroups: (pod: Pod) => readonly number[];
  /** Reports whether the handler of the runtime makes mounts below a mount read-only, too. */
  readonly recursiveReadOnly: (runtimeHandler: string) => Promise<boolean>;
  /** The seccomp profile of containers whose pod asks for none. */
  readonly seccompDefault: 'RuntimeDefault' | 'Unconfined';
  /** Returns the handler of a runtime class; rejects if the class does not exist. */
  readonly runtimeHandler: (runtimeClassName: string) => Promise<string>;
  /** Called after a sandbox was created. */
  readonly onSandbox: (sandbox: SandboxRecord) => void;
  readonly networkReadiness?: NetworkReadiness;
  /** The initial and the maximum delay between restarts of a container, in milliseconds. */
  readonly restartBackoffMs: number;
  readonly maxRestartBackoffMs: number;
  /** The delay before a failure without its own back-off is retried, in milliseconds. */
  readonly retryMs: number;
}
