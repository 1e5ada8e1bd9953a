// `coxswain/testing`: clusters in tests.

export { explore } from '#cluster/embedded/explore.ts';
export type { ExploreOptions } from '#cluster/embedded/explore.ts';
export type { ExploreContext, ExploreTest } from '#cluster/embedded/explore-context.ts';
export type {
  ScenarioAction,
  ScenarioContext,
  ScenarioInvariant,
  SimulationScenario,
} from '#cluster/simulate/index.ts';
export { ExplorationError } from '#simulation/explore/index.ts';
export type {
  Disturbance,
  DisturbanceKind,
  Exploration,
  ExplorationProblem,
} from '#simulation/explore/index.ts';
export type { Fault, Faults, FaultSelector, FaultVerb } from '#simulation/faults/index.ts';
export { sharedCluster, withCluster } from '#cluster/embedded/testing.ts';
export type { SharedCluster, TestHooks } from '#cluster/embedded/testing.ts';
export { VirtualClock } from '#machinery/clock.ts';
export { SeededRandom } from '#machinery/random.ts';
export { recordingLogger } from '#machinery/log.ts';
export type { LogRecord, RecordingLogger } from '#machinery/log.ts';
