// Seeds on several cores: processes of this very program, each of which runs one seed at a time.

import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { SeedResult, SeedRunner } from '#cluster/simulate/index.ts';
import { UserError } from '#cluster/user-error.ts';

/** The environment variable that makes `cox simulate` such a process. */
export const WORKER_VARIABLE = 'COX_SIMULATE_WORKER';

export interface SeedProcesses {
  readonly runners: readonly SeedRunner[];
  stop(): void;
}

export const defaultProcesses = (): number => availableParallelism();

/** Starts processes that run `cox simulate` with these arguments. */
export function startProcesses(count: number, args: readonly string[]): SeedProcesses {
  const program = process.argv[1];
  if (program === undefined) throw new UserError('the path of this program is not known');
  const children = Array.from({ length: count }, () =>
    fork(program, [...args], {
      env: { ...process.env, [WORKER_VARIABLE]: '1' },
      execArgv: process.execArgv,
      serialization: 'advanced',
    }),
  );
  return {
    runners: children.map(
      (child): SeedRunner =>
        (seed) =>
          runIn(child, seed),
    ),
    stop: () => {
      for (const child of children) child.kill();
    },
  };
}

function runIn(child: ChildProcess, seed: string): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => {
      child.off('message', onMessage);
      reject(new Error(`the process of seed ${seed} ended with status ${code ?? 'unknown'}`));
    };
    const onMessage = (message: SeedResult): void => {
      child.off('exit', onExit);
      resolve(message);
    };
    child.once('exit', onExit);
    child.once('message', onMessage);
    child.send(seed);
  });
}

/** Runs each seed that the parent sends, until it disconnects. */
export function serveSeeds(run: SeedRunner): Promise<void> {
  return new Promise((resolve, reject) => {
    process.once('disconnect', () => resolve());
    process.on('message', (seed: string) => {
      run(seed).then((result) => process.send?.(result), reject);
    });
  });
}
