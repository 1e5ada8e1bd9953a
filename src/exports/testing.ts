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
export { sharedCluster, withCluster } from '#cluster/embedded/testing.ts';
export type { SharedCluster, TestHooks } from '#cluster/embedded/testing.ts';
export { VirtualClock } from '#machinery/clock.ts';
export { SeededRandom } from '#machinery/random.ts';
export { recordingLogger } from '#machinery/log.ts';
export type { LogRecord, RecordingLogger } from '#machinery/log.ts';
