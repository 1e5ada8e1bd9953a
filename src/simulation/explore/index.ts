// Exploration: one test under every disturbance up to a bound.

export { DISTURBANCE_KINDS, describeDisturbance } from './disturbance.ts';
export type { Disturbance, DisturbanceKind, RunSize } from './disturbance.ts';
export { ExplorationError, exploreRuns } from './explore.ts';
export type { Exploration, ExplorationProblem, ExploreLimits, RunResult } from './explore.ts';
export { Interleaver } from './interleaver.ts';
export { outcomeOf } from './outcome.ts';
export { Probe } from './probe.ts';
export type { WrittenKind } from './probe.ts';
