// The flags for processes that serve the API beside the main one: of commands that run an API server.

import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import type { ApiWorkersSettings, Logging } from '#cluster/api-workers/index.ts';
import { UserError } from '#cluster/user-error.ts';
import { wholeNumber } from './flags.ts';

export interface WorkerFlags {
  readonly apiServerWorkers?: number | 'auto';
  readonly apiServerWorkersMin?: number;
}

/** More would cost the main process more for each write than they can take from it. */
const MAX_WORKERS = 64;
/** The cores that the main process needs with its threads. */
const OTHER_CORES = 2;

function workerCount(text: string): number | 'auto' {
  if (text === 'auto') return text;
  const count = wholeNumber(text);
  if (count > MAX_WORKERS)
    throw new InvalidArgumentError(`auto, or a whole number from 0 to ${MAX_WORKERS}.`);
  return count;
}

export function withWorkerFlags(command: Command): Command {
  return command
    .option(
      '--api-server-workers <count>',
      'processes that may serve the API beside the main one, when it is busy; auto: the number ' +
        'of cores, less two',
      workerCount,
      'auto',
    )
    .option(
      '--api-server-workers-min <count>',
      'so many of them run always',
      (text) => Number(workerCount(text)),
      0,
    );
}

/** Returns the settings; undefined if there can be no workers. Throws UserError. */
export function workersOf(
  { apiServerWorkers = 'auto', apiServerWorkersMin: min = 0 }: WorkerFlags,
  logging: Logging,
  cores = availableParallelism(),
): ApiWorkersSettings | undefined {
  if (apiServerWorkers !== 'auto' && min > apiServerWorkers)
    throw new UserError(
      `--api-server-workers-min ${min} is more than --api-server-workers ${apiServerWorkers}`,
    );
  const max =
    apiServerWorkers === 'auto'
      ? Math.max(min, Math.min(cores - OTHER_CORES, MAX_WORKERS))
      : apiServerWorkers;
  return max <= 0 ? undefined : { min, max, logging };
}
