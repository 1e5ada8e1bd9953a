// The world of a test that `explore` runs.

import type { VirtualClock } from '#machinery/clock.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';

/** The world of a test in one run. */
export interface ExploreContext {
  readonly cluster: EmbeddedCluster<VirtualClock>;
  /** Everything that the test makes belongs into this namespace. */
  readonly namespace: string;
  /** Ends a step: lets virtual time pass until everything that was set off has come to rest (`rest` of the options). */
  settle(): Promise<void>;
}

/** The steps of a test, with `settle()` between them. What it throws fails the run. */
export type ExploreTest = (run: ExploreContext) => Promise<void>;
