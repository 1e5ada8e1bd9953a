// `coxswain/testing`: clusters in tests.

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
