// Runs an additional command in a container: with its environment, directory and user, in its own
// process group.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { CriError, type ExecRequest, type ExecStreams } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { followSizes, forgetPty, hasPty, onPty } from './pty.ts';
import { findExecutable } from './requirements.ts';

/**
 * How long output may continue after the command has ended, if a remaining process holds it open.
 */
const DRAIN_MS = 500;
/** How long a killed command may take to end. */
const UNKILLABLE_MS = 2000;

export interface ExecConfig {
  readonly clock: Clock;
  /** The environment of programs that run before the command. */
  readonly trustedEnv: Readonly<Record<string, string>>;
  /** The container's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The container's directory, for the file that names its terminal. */
  readonly dir: string;
  /** Distinguishes this exec from others of the container. */
  readonly id: string;
  /**
   * Whether the program is one of the host's. Otherwise the command finds it, and ends with 127 if
   * there is none.
   */
  readonly onHost: boolean;
  /** Gives the command the container's user and environment. */
  readonly inContainer: (command: readonly [string, ...string[]]) => readonly string[];
}

function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

async function copyOut(from: Readable, to: Writable | undefined): Promise<void> {
  if (to === undefined || to.destroyed) {
    from.resume();
    await finished(from).catch(() => undefined);
    return;
  }
  from.pipe(to);
  // A closed reader stops nothing.
  const drop = (): void => void from.resume();
  to.once('error', drop);
  to.once('close', drop);
  await finished(from).catch(() => undefined);
  if (!to.writableEnded) to.end();
  await finished(to, { readable: false }).catch(() => undefined);
}

/**
 * Returns the exit code. Rejects with a CriError if the command cannot be run, or with the signal's
 * reason after killing it.
 */
export async function execProcess(
  config: ExecConfig,
  request: ExecRequest,
  streams: ExecStreams,
  signal?: AbortSignal,
): Promise<number> {
  const { clock, trustedEnv, env, cwd, dir, id, onHost, inContainer } = config;
  const [program, ...args] = request.command;
  signal?.throwIfAborted();
  if (program === undefined) throw new CriError('InvalidArgument', 'a command is needed');
  if (request.tty && !hasPty()) {
    throw new CriError(
      'Unimplemented',
      'the process runtime has no terminals on this host: it needs the script command of util-linux',
    );
  }
  const found = onHost ? findExecutable(program, env['PATH'] ?? '', cwd) : program;
  if (found === undefined)
    throw new CriError(
      'NotFound',
      `this host has no executable ${JSON.stringify(program)} on its PATH`,
    );
  const deviceFile = join(dir, `tty-${id}`);
  const command = inContainer([found, ...args]);
  const [file, ...rest] = (request.tty ? onPty(command, deviceFile) : command) as [
    string,
    ...string[],
  ];
  // With a terminal, the end of script's own input would be typed into the terminal, so the input
  // stays open.
  const hasInput = request.stdin === true || request.tty === true;
  const child = spawn(file, rest, {
    detached: true,
    stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    env: trustedEnv,
    cwd,
  });
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', (err) =>
      reject(new CriError('Internal', `cannot run ${program}: ${err.message}`, { cause: err })),
    );
    child.once('exit', (code, by) => resolve(exitCodeOf(code, by)));
  });
  // The command may have left its process group.
  const kill = (): void => {
    if (child.pid === undefined) return;
    for (const pid of [-child.pid, child.pid]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  };
  // A process that the system cannot kill now is not awaited.
  let giveUp = (): void => undefined;
  const unkillable = new Promise<never>((_, reject) => {
    giveUp = () => void clock.setTimer(UNKILLABLE_MS, () => reject(signal?.reason as Error));
  });
  // Avoids an unhandled rejection: it may lose the race below, or not be part of it.
  unkillable.catch(() => undefined);
  const onAbort = (): void => {
    kill();
    giveUp();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const sizesDone = new AbortController();
  try {
    // The command may end, and its input break, at any time.
    child.stdin?.on('error', () => undefined);
    if (request.stdin && streams.stdin && child.stdin) streams.stdin.pipe(child.stdin);
    if (request.tty && streams.resize) {
      const hasDevice = (): Promise<void> =>
        wait.pollImmediately(
          { clock, intervalMs: 10, timeoutMs: 5000, signal: sizesDone.signal },
          () => existsSync(deviceFile),
        );
      void followSizes(deviceFile, streams.resize, hasDevice).catch(() => undefined);
    }
    const copied = Promise.all([
      copyOut(child.stdout!, streams.stdout),
      copyOut(child.stderr!, streams.stderr),
    ]);
    const exitCode = await Promise.race([exited, unkillable]);
    const late = new AbortController();
    await Promise.race([copied, clock.sleep(DRAIN_MS, late.signal).catch(() => undefined)]);
    late.abort();
    child.stdout?.destroy();
    child.stderr?.destroy();
    await copied;
    signal?.throwIfAborted();
    return exitCode;
  } finally {
    sizesDone.abort();
    signal?.removeEventListener('abort', onAbort);
    if (child.stdin) streams.stdin?.unpipe(child.stdin);
    if (request.tty) forgetPty(deviceFile);
  }
}
