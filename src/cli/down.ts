// `cox down`: stops the cluster that runs on a data directory and waits until it is gone.

import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { dataDirLayout, readClaim, runningProcess } from '#cluster/data-dir/data-dir.ts';
import { cleanMachine } from '#cluster/machine/clean.ts';
import { leftoversOf } from '#cluster/machine/reset.ts';
import { UserError } from '#cluster/user-error.ts';
import { writeJson } from './inspect/output.ts';
import { typed } from './own-command.ts';
import { shortest } from './terminal.ts';

const STOP_TIMEOUT_MS = 60_000;

export interface DownOptions {
  readonly dataDir: string;
  /** Also ends the pods, and removes all that clusters without a process have in the kernel. Default: false. */
  readonly clean?: boolean;
  readonly output?: 'json';
}

export interface DownResult {
  readonly dataDir: string;
  /** False: no cluster ran, which only `--clean` accepts. */
  readonly stopped: boolean;
  /** The processes and mounts of pods that keep running. */
  readonly processes: number;
  readonly mounts: number;
  /** With `--clean`: the removed items, as text. */
  readonly removed: readonly string[];
}

export async function down(options: DownOptions): Promise<void> {
  const result = await takeDown(options);
  if (options.output === 'json') writeJson(result);
  else process.stdout.write(describe(result, options.clean === true));
}

/** Stops the cluster of a data directory. Throws UserError. */
export async function takeDown(options: DownOptions): Promise<DownResult> {
  const layout = dataDirLayout(options.dataDir);
  if (options.clean !== true) {
    await stop(layout);
    const { processes, mounts } = leftoversOf(options.dataDir);
    return { dataDir: layout.root, stopped: true, processes, mounts, removed: [] };
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UserError('--clean needs Linux and root');
  const stopped = (await runningProcess(layout)) !== undefined;
  if (stopped) await stop(layout);
  const removed = await cleanMachine(layout, systemClock);
  return { dataDir: layout.root, stopped, processes: 0, mounts: 0, removed };
}

async function stop(layout: ReturnType<typeof dataDirLayout>): Promise<void> {
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
}

/** Returns the text for a person. */
export function describe(result: DownResult, clean: boolean): string {
  const { dataDir, stopped, processes, mounts, removed } = result;
  const lines = stopped ? [`stopped; the data stays in ${dataDir}`] : [];
  if (clean) {
    lines.push(...(removed.length === 0 ? ['nothing to clean'] : []));
    lines.push(...removed.map((text) => `removed: ${text}`));
  } else if (processes > 0 || mounts > 0) {
    const left = [
      amount(processes, 'process', 'processes'),
      amount(mounts, 'mount', 'mounts'),
    ].filter((text) => text !== '');
    lines.push(
      typed(
        `pods keep running: ${left.join(' and ')}. The next 'cox up' takes them over; ` +
          `'cox reset --data-dir ${shortest(dataDir)}' removes them with all data`,
      ),
    );
  }
  return lines.map((line) => `${line}\n`).join('');
}

const amount = (count: number, one: string, many: string): string =>
  count === 0 ? '' : `${count} ${count === 1 ? one : many}`;
