// `coxswain/testing`: clusters in tests.

export { sharedCluster, withCluster } from '#cluster/embedded/testing.ts';
export type { SharedCluster, TestHooks } from '#cluster/embedded/testing.ts';
export { VirtualClock } from '#machinery/clock.ts';
export { SeededRandom } from '#machinery/random.ts';
export { recordingLogger } from '#machinery/log.ts';
export type { LogRecord, RecordingLogger } from '#machinery/log.ts';
