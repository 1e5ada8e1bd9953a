// `coxswain/testing`: clusters in tests.

export { clusterFixtures, forkedCluster } from '#cluster/embedded/forked-cluster.ts';
export type {
  ClusterFixtures,
  FixtureDefinitions,
  ForkableOptions,
  ForkedCluster,
  ForkHooks,
  Prepare,
} from '#cluster/embedded/forked-cluster.ts';
export { explore } from '#cluster/embedded/explore.ts';
export type { ExploreOptions } from '#cluster/embedded/explore.ts';
export type { ExploreContext, ExploreTest } from '#cluster/embedded/explore-context.ts';
export type {
  ScenarioAction,
  ScenarioContext,
  ScenarioInvariant,
  SimulationScenario,
} from '#cluster/simulate/index.ts';
export { SeedError, underFaults } from '#cluster/simulate/under-faults.ts';
export type {
  UnderFaultsContext,
  UnderFaultsOptions,
  UnderFaultsTest,
} from '#cluster/simulate/under-faults.ts';
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
export { clusterMatchers } from '#cluster/embedded/matchers.ts';
export type { ClusterMatchers } from '#cluster/embedded/matchers.ts';
export { formatHistory } from '#cluster/embedded/insight/format-history.ts';
export { formatEvent } from '#cluster/embedded/insight/records.ts';
export { replayTranscript } from '#cluster/embedded/transcript/replay.ts';
export type { ReplayOptions } from '#cluster/embedded/transcript/replay.ts';
export { VirtualClock } from '#machinery/clock.ts';
export { SeededRandom } from '#machinery/random.ts';
export { recordingLogger } from '#machinery/log.ts';
export type { LogRecord, RecordingLogger } from '#machinery/log.ts';
