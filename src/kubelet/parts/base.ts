// The dependencies of all parts of a kubelet.

import type { EventRecorder } from '#client/events/index.ts';
import type { Runtime } from '#cri/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { KubeletConfig } from '../config.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';

/** The dependencies that exist before the first call of the runtime. */
export interface Base {
  readonly config: KubeletConfig;
  /** The runtime, wrapped with deadlines and metrics. */
  readonly runtime: Runtime;
  readonly metrics: KubeletMetrics;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
}
