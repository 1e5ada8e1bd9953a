// `cox down`: stops the cluster that runs on a data directory and waits until it is gone.

import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { dataDirLayout, readClaim, runningProcess } from '#cluster/data-dir.ts';
import { cleanMachine } from '#cluster/clean.ts';
import { leftoversOf } from '#cluster/reset.ts';
import { UserError } from '#cluster/user-error.ts';
import { typed } from './own-command.ts';
import { shortest } from './terminal.ts';

const STOP_TIMEOUT_MS = 60_000;

export interface DownOptions {
  readonly dataDir: string;
  /** Also ends the pods, and removes all that clusters without a process have in the kernel. Default: false. */
  readonly clean?: boolean;
}

export async function down(options: DownOptions): Promise<void> {
  if (options.clean !== true) return stop(options);
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UserError('--clean needs Linux and root');
  const layout = dataDirLayout(options.dataDir);
  if ((await runningProcess(layout)) !== undefined) await stop(options, false);
  const removed = await cleanMachine(layout, systemClock);
  if (removed.length === 0) process.stdout.write('nothing to clean\n');
  for (const text of removed) process.stdout.write(`removed: ${text}\n`);
}

/** @param tellsLeftovers whether to say what goes on without the cluster */
async function stop(options: DownOptions, tellsLeftovers = true): Promise<void> {
  const layout = dataDirLayout(options.dataDir);
  const running = await runningProcess(layout);
  if (running === undefined) throw new UserError(`no cluster runs on ${layout.root}`);
  process.kill(running.pid, 'SIGTERM');
  try {
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 50, timeoutMs: STOP_TIMEOUT_MS },
      () => readClaim(layout).state !== 'running',
    );
  } catch (error) {
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    throw new UserError(
      `process ${running.pid} has not stopped within ${STOP_TIMEOUT_MS / 1000} s; see ${layout.logFile}`,
      {
        cause: error,
      },
    );
  }
  process.stdout.write(`stopped; the data stays in ${layout.root}\n`);
  if (!tellsLeftovers) return;
  const { processes, mounts } = leftoversOf(options.dataDir);
  if (processes === 0 && mounts === 0) return;
  const left = [
    amount(processes, 'process', 'processes'),
    amount(mounts, 'mount', 'mounts'),
  ].filter((text) => text !== '');
  process.stdout.write(
    typed(
      `pods keep running: ${left.join(' and ')}. The next 'cox up' takes them over; ` +
        `'cox reset --data-dir ${shortest(layout.root)}' removes them with all data\n`,
    ),
  );
}

const amount = (count: number, one: string, many: string): string =>
  count === 0 ? '' : `${count} ${count === 1 ? one : many}`;
