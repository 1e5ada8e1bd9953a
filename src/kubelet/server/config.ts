// The configuration of the kubelet's server.

import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { ConnectionLimits } from '#machinery/serving/index.ts';
import type { VersionInfo } from '#machinery/version-info.ts';
import type { CadvisorInput } from '../metrics/cadvisor-metrics.ts';
import type { KubeletGauges, KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { RuntimePodStatus } from '../pod/pod-status.ts';
import type { Pod } from '../types.ts';
import type { ServerAccess } from './access.ts';
import type { TlsListeners } from './listeners.ts';
import type { RunningPod } from './running-pods.ts';
import type { Usage } from '../node/usage.ts';

export interface KubeletServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: Runtime;
  readonly podLogsDir: string;
  readonly nodeName: string;
  readonly version: VersionInfo;
  /** See KubeletConfig. */
  readonly flags?: Readonly<Record<string, string>> | undefined;
  /** When the kubelet was started, wall-clock milliseconds. */
  readonly startedAt: number;
  /** The pods of this node with their latest status. */
  readonly pods: () => readonly Pod[];
  /** The pods that the runtime runs, whether they are wanted or not. */
  readonly runningPods: () => readonly RunningPod[];
  /** Reads what the node and its pods use. Rejects with CriError. */
  readonly usage: () => Promise<Usage>;
  readonly machine: () => CadvisorInput['machine'];
  readonly metrics: KubeletMetrics;
  readonly gauges: KubeletGauges;
  readonly probeMetrics: () => string;
  /** Returns the KubeletConfiguration in effect. `port`: the one that is open; 0 for none. */
  readonly configuration: (port: number) => unknown;
  readonly runtimeStatus: (uid: string) => RuntimePodStatus | undefined;
  /**
   * Removes the directory of a volume of the built-in provisioner, if it is there. Rejects with
   * LocalVolumeError: not now.
   */
  readonly removeLocalVolume: (name: string) => Promise<void>;
  /** Limits of connections to the port. Default: see ConnectionTable. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /**
   * Asked about every request but those of the API server itself and of system:masters, who may do
   * everything.
   */
  readonly access: ServerAccess;
  /** Absent: no port is opened. */
  readonly listen?: ServerListenConfig;
}

export interface ServerListenConfig {
  readonly listeners: TlsListeners;
  /** 0: any that is free. */
  readonly port: number;
  /** Opens any free port if this one is taken. Default: false. */
  readonly orFreePort?: boolean;
  /**
   * A port that cannot be opened is logged, and the kubelet starts without one. Default: false, it
   * does not start.
   */
  readonly optional?: boolean;
}
