// The metrics that the framework and plugins record. The scheduler's metrics implement these
// interfaces.

import type { Counter, Instruments } from '#machinery/metrics/instruments.ts';
import type { Code } from './status.ts';

/**
 * Records durations. Times are in milliseconds; `start`: the result of `now` when the measured step
 * began.
 */
export interface FrameworkMetrics {
  now(): number;
  /** Reports whether each plugin is timed in the cycle that begins now. */
  samplesCycle(): boolean;
  /** Records that all plugins of the extension point have run. */
  pointRan(point: string, status: Code, profile: string, start: number): void;
  /** Records that one plugin has run. */
  pluginRan(plugin: string, point: string, status: Code, start: number): void;
  /** Returns the counter of the plugin's evaluations. */
  evaluations(
    plugin: string,
    point: 'PreFilter' | 'Filter' | 'PreScore' | 'Score',
    profile: string,
  ): Counter;
  /** Records a preemption attempt. `victims`: undefined if preemption would not help. */
  preempted(victims: number | undefined): void;
  permitWaited(result: Code, start: number): void;
}

/** Metrics for plugins. */
export interface PluginMetrics {
  /** Holds the metrics that plugins define themselves. */
  readonly instruments: Instruments;
  now(): number;
  evictionEnded(result: 'success' | 'error', start: number): void;
}
