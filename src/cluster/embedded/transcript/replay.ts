// Runs a transcript, and returns it with the answers of now.

import type { EmbeddedCluster } from '../embedded-cluster.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { Session } from './session.ts';
import { formatStep, parseTranscript } from './transcript.ts';

export interface ReplayOptions {
  /**
   * The cluster that is asked; its custom resources can be named. Default: a new one, which the
   * command `cluster` starts.
   */
  readonly cluster?: EmbeddedCluster<VirtualClock>;
}

/**
 * Runs the commands of a transcript and returns its text with the answers of now: compare it as a
 * snapshot. Rejects with Error for a transcript with mistakes; a request that the API rejects is an
 * answer.
 */
export async function replayTranscript(
  text: string,
  { cluster }: ReplayOptions = {},
): Promise<string> {
  const { steps, end } = parseTranscript(text);
  const session = new Session(cluster);
  let replayed = '';
  try {
    for (const step of steps)
      replayed += formatStep(step, await session.run(step.command, step.input));
  } finally {
    await session.stop();
  }
  return replayed + end.map((line) => `${line}\n`).join('');
}
