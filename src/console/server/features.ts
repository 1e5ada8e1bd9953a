// The parts that the composition gives the console besides the API. Each may be absent: its paths
// are not served then, and the pages do not show it.

import type { Verdicts } from './api/why.ts';
import type { User } from './http.ts';

export interface ConsoleFeatures {
  /** Repeats the scheduler's decision for explanations. */
  readonly verdicts?: Verdicts;
  /** Returns the scheduler's last decisions, latest first. */
  readonly decisions?: () => Promise<readonly unknown[]>;
  /** Controls a cluster whose clock is virtual. */
  readonly controls?: ClusterControls;
}

export interface ClusterControls {
  /** Returns the time of the cluster, in ms since the epoch. */
  now(): number;
  /** Advances the clock by so many milliseconds. Resolves when everything has settled. */
  advance(ms: number): Promise<void>;
  /** Waits until nothing is going on. */
  settle(): Promise<void>;
  /**
   * Creates a copy of the cluster that has a console of its own. Returns the address at which the
   * user can open it.
   */
  readonly fork?: (user: User) => Promise<{ readonly url: string }>;
}
