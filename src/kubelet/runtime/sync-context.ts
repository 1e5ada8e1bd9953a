// One sync of a pod: what it is given, and what its steps report.

import type { PodSandboxConfig } from '#cri/index.ts';
import type { RuntimePodStatus } from '../pod/pod-status.ts';
import type { Pod, Secret } from '../types.ts';
import type { VolumePaths } from '../volumes/volume-manager.ts';
import type { PodSecurity } from './security-context.ts';

export interface SyncContext {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly pullSecrets: readonly Secret[];
  readonly volumes: VolumePaths;
  readonly signal: AbortSignal;
  acted: boolean;
  retryAt: number | undefined;
}

/** A sandbox in which containers can be started. */
export interface Sandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly security: PodSecurity;
  /** Whether the runtime's handler can make mounts below a mount read-only. */
  readonly recursiveReadOnly: boolean;
  readonly ips: readonly string[];
}

/** Has failed actions of the sync retried at a time, or earlier. */
export function retryAt(context: SyncContext, time: number): void {
  context.retryAt = Math.min(context.retryAt ?? Number.POSITIVE_INFINITY, time);
}
