// The settings of a runtime of simulated pods.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { NodeJournal } from './journal.ts';
import type { NodeState } from './node-state.ts';

export interface SimulatedRuntimeConfig {
  /** Default: the system's clock. A virtual clock works. */
  readonly clock?: Clock;
  /** The source of IDs. Default: the system's. */
  readonly random?: Random;
  /**
   * The range of pod addresses until updateRuntimeConfig sets another one. Default: 10.88.0.0/16.
   */
  readonly podCidr?: string;
  /**
   * Pods have no network until updateRuntimeConfig sets the range of their addresses. Default:
   * false.
   */
  readonly awaitsPodCidr?: boolean;
  /**
   * How long a process takes to end after the stop signal, unless an annotation of its pod
   * overrides it, in milliseconds. Default: 0. With a real runtime, a stop takes a moment, so that
   * clients see a terminating pod before it is gone.
   */
  readonly stopDurationMs?: number;
  /**
   * Whether base images (`busybox`, `debian`, …) run their shell without a command, which ends at
   * once without an input. Default: false: they are servers, which most tests expect of any image.
   */
  readonly entryPoints?: boolean;
  /**
   * The former records of the node, and the sink for changes. Default: the node begins without
   * containers, and nothing is recorded.
   */
  readonly journal?: NodeJournal;
  /**
   * The state of a runtime to go on from, at the time at which it was taken. Not with a journal.
   * Default: nothing runs.
   */
  readonly state?: NodeState;
  /** Keeps the logs of containers in memory. Default: they are written to files. */
  readonly memoryLogs?: boolean;
}

/**
 * Settings for real clients: processes take about as long to end as with containerd, and base
 * images run their commands.
 */
export const realistic: Required<Pick<SimulatedRuntimeConfig, 'stopDurationMs' | 'entryPoints'>> = {
  stopDurationMs: 100,
  entryPoints: true,
};
