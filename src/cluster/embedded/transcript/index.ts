// Transcripts: the behaviour of a cluster as text.

export { replayTranscript } from './replay.ts';
export type { ReplayOptions } from './replay.ts';
