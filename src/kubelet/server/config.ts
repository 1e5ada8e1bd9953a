// The configuration of the kubelet's server.

import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { ConnectionLimits } from '#machinery/serving/index.ts';
import type { VersionInfo } from '#machinery/version-info.ts';
import type { CgroupReader } from '../cgroups/reader.ts';
import type { CadvisorInput } from '../metrics/cadvisor-metrics.ts';
import type { KubeletGauges, KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { RuntimePodStatus } from '../pod/pod-status.ts';
import type { Pod } from '../types.ts';
import type { ServerAccess } from './access.ts';
import type { PortOpener } from './listeners.ts';
import type { RunningPod } from './running-pods.ts';
import type { NodeDetailsSource } from '../node/node-details.ts';
import type { SystemContainers } from '../node/system-containers.ts';
import type { PodFilesReader } from '../volume-stats/pod-files-reader.ts';
import type { Usage } from '../node/usage.ts';

export interface KubeletServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: Runtime;
  readonly podLogsDir: string;
  /** The directory of checkpoints of containers. */
  readonly checkpointsDir: string;
  /** The directory that is served at /logs/. Absent: none. */
  readonly systemLogsDir?: string;
  readonly nodeName: string;
  readonly version: VersionInfo;
  /** See KubeletConfig. */
  readonly otherMetrics?: () => string;
  /** See KubeletConfig. */
  readonly flags?: Readonly<Record<string, string>>;
  /** When the kubelet was started, in wall-clock milliseconds. */
  readonly startedAt: number;
  /** Returns the pods of this node with their latest status. */
  readonly pods: () => readonly Pod[];
  /** Returns the pods in the runtime, including undesired ones. */
  readonly runningPods: () => readonly RunningPod[];
  /** Reads the usage of the node and its pods. Rejects with CriError. */
  readonly usage: () => Promise<Usage>;
  /** The file systems, the network and the processes of the node. */
  readonly details: NodeDetailsSource;
  /** Measures the files of pods. Absent: the pods of the node have none. */
  readonly files?: PodFilesReader;
  /** Reads the cgroups of containers. Absent: the containers of the node have none. */
  readonly cgroups?: CgroupReader;
  /** The cgroups that belong to no pod. Absent: the node has none. */
  readonly systemContainers?: Pick<SystemContainers, 'read'>;
  readonly machine: () => CadvisorInput['machine'];
  readonly metrics: KubeletMetrics;
  readonly gauges: KubeletGauges;
  readonly probeMetrics: () => string;
  /** Returns the effective KubeletConfiguration. `port`: the server's port; 0 without one. */
  readonly configuration: (port: number) => unknown;
  /** Awaited before each request, so that what the requests read about pods is complete. */
  readonly completePods?: () => Promise<void>;
  readonly runtimeStatus: (uid: string) => RuntimePodStatus | undefined;
  /**
   * Deletes the directory of a volume of the built-in provisioner, if it exists. Rejects with
   * LocalVolumeError if it cannot be deleted now.
   */
  readonly removeLocalVolume: (name: string) => Promise<void>;
  /** Limits of connections to the port. Default: see ConnectionTable. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /**
   * Authorizes every request except those of the API server and of system:masters, which are always
   * allowed.
   */
  readonly access: ServerAccess;
  /** The address of the port. Absent: no port is opened. */
  readonly listen?: ServerListenConfig;
}

export interface ServerListenConfig {
  readonly listeners: PortOpener;
  /** 0: any free port. */
  readonly port: number;
  /** Opens any free port if this one is taken. Default: false. */
  readonly orFreePort?: boolean;
  /** A failure to open the port is only logged. Default: false, the kubelet then does not start. */
  readonly optional?: boolean;
}
