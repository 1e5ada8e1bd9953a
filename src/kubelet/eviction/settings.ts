// The settings of evictions, with upstream's defaults.

import { DEFAULT_HARD, type ThresholdStatements } from './thresholds.ts';

export interface EvictionSettings extends ThresholdStatements {
  /** How long a condition of the node holds after its thresholds were last met. */
  readonly pressureTransitionMs: number;
  /** The maximum grace period of pods that are evicted for a soft threshold. */
  readonly maxPodGracePeriodSeconds: number;
  /** Whether limits of local storage are enforced. */
  readonly localStorageIsolation: boolean;
  /** The time between two observations of the node. */
  readonly monitoringMs: number;
  /** How long a measurement of a volume's usage is valid. */
  readonly volumeStatsMs: number;
}

/** A simulated node is never short; as on a real one, pods do not get all of its memory. */
export const SIMULATED_HARD = { 'memory.available': '100Mi' } as const;

export const DEFAULT_EVICTION: EvictionSettings = {
  hard: DEFAULT_HARD,
  soft: {},
  softGracePeriod: {},
  minimumReclaim: {},
  enforceAllocatable: true,
  pressureTransitionMs: 300_000,
  maxPodGracePeriodSeconds: 0,
  localStorageIsolation: true,
  monitoringMs: 10_000,
  volumeStatsMs: 60_000,
};
