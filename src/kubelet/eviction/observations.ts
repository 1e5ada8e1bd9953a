// The observations of a node at one time: how much of each resource is available.

import type { Signal } from './signals.ts';

export interface Observation {
  /** Bytes, inodes or processes. */
  readonly available: number;
  readonly capacity: number;
  /**
   * The wall-clock time of the measurement in milliseconds. A threshold is acted on once per
   * measurement.
   */
  readonly time: number;
}

/** Absent signals could not be observed; their thresholds are not met. */
export type Observations = ReadonlyMap<Signal, Observation>;
