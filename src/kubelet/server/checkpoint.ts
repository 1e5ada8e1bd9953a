// POST /checkpoint/NAMESPACE/POD/CONTAINER: has the runtime write the state of a container to a file.

import { join } from 'node:path';
import { CriError, type RuntimeService } from '#cri/index.ts';
import { makePrivateDirectory } from '../node/private-directory.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { formatTime } from '#machinery/text/time.ts';

/** The default time limit of a runtime's call, which is also the least one for a checkpoint. */
const TIMEOUT_S = 120;

export interface CheckpointInput {
  readonly runtime: RuntimeService;
  /** The directory of the file. */
  readonly directory: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Undefined: the runtime has no such container. */
  readonly containerId: string | undefined;
  readonly timeoutSeconds: number;
  /** The wall-clock time in milliseconds. */
  readonly now: number;
}

/** Returns the path of the file. Rejects with upstream's message. */
export async function checkpoint(input: CheckpointInput): Promise<string> {
  const { runtime, directory, namespace, pod, container, containerId, now } = input;
  const name = `checkpoint-${pod}_${namespace}-${container}-${formatTime(now)}.tar`;
  const location = join(directory, name);
  try {
    if (containerId === undefined) throw new Error(`container ${container} not found`);
    if (input.timeoutSeconds < 0)
      throw new Error('CheckpointContainer requires the timeout value to be > 0');
    if (runtime.checkpointContainer === undefined)
      throw new CriError('Unimplemented', 'containers cannot be checkpointed');
    await makePrivateDirectory(directory);
    const seconds = Math.max(TIMEOUT_S, input.timeoutSeconds);
    const options = { timeoutMs: seconds * 1000 };
    await runtime.checkpointContainer(containerId, location, seconds, options);
  } catch (error) {
    const why =
      error instanceof CriError
        ? `rpc error: code = ${error.reason} desc = ${error.message}`
        : errorMessage(error);
    throw new Error(`checkpointing of ${namespace}/${pod}/${container} failed (${why})`, {
      cause: error,
    });
  }
  return location;
}
