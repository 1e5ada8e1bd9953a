// Runs a step to its end, with its output in a log.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { systemClock } from '#machinery/clock.ts';
import { readOutput, type StepOutput } from './output.ts';

export interface StepRun {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly logFile: string;
  readonly limitMs: number;
  /** The time in ms from SIGTERM to SIGKILL: clusters with containers take some time to end. */
  readonly graceMs: number;
  /** Ends the step. */
  readonly signal: AbortSignal;
}

export interface StepOutcome extends StepOutput {
  /** The exit status; undefined if the step was ended, after its time or by the signal. */
  readonly status: number | undefined;
  readonly seconds: number;
}

export async function runStep(run: StepRun): Promise<StepOutcome> {
  const { cwd, logFile, limitMs, graceMs, signal } = run;
  const log = createWriteStream(logFile);
  const began = systemClock.monotonic();
  const [program = '', ...args] = run.command;
  // A process group of its own: a signal reaches everything that the step has started.
  const child = spawn(program, args, {
    cwd,
    // Tests that take minutes run at night only.
    env: { ...process.env, COXSWAIN_LONG_TESTS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  const kill = (name: NodeJS.Signals): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, name);
  };
  let isEnded = false;
  let killing: { cancel(): void } | undefined;
  const end = (): void => {
    isEnded = true;
    kill('SIGTERM');
    killing ??= systemClock.setTimer(graceMs, () => {
      kill('SIGKILL');
      // A process in another group may keep them open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    });
  };
  const timer = systemClock.setTimer(limitMs, end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    );
    log.end();
    await once(log, 'close');
    return {
      status: isEnded ? undefined : (code ?? 1),
      seconds: Math.round((systemClock.monotonic() - began) / 1000),
      ...readOutput(readFileSync(logFile, 'utf8')),
    };
  } finally {
    timer.cancel();
    killing?.cancel();
    signal.removeEventListener('abort', end);
  }
}
