// Runs a component until it is to stop, and again after an error.

import { sharedByMany } from '#client/abort.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { RestartBackoff } from './restarts.ts';
import type { UncaughtErrors } from './uncaught-errors.ts';

/** A component that is to stop after an error has this long; then the next run begins beside it. */
const STOP_TIMEOUT_MS = 30_000;

export interface KeepRunningConfig {
  /** The name in the log, in the metric and in `UncaughtErrors.clockOf`. */
  readonly name: string;
  /** See FaultyComponent. */
  readonly folder: string;
  /** Not the component's own clock: an error in it must not keep the component from being restarted. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly faults: UncaughtErrors;
  /** Runs the component until its signal aborts. Called again after an error. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Resolves when `signal` has aborted and the component has ended. Never rejects. */
export async function keepRunning(config: KeepRunningConfig, signal: AbortSignal): Promise<void> {
  const { name, folder, clock, logger, faults, run } = config;
  const backoff = new RestartBackoff(clock);
  while (!signal.aborted) {
    const failed = new AbortController();
    const unregister = faults.register({ name, folder, restart: (error) => failed.abort(error) });
    const ended = runOnce(
      config,
      run,
      sharedByMany(AbortSignal.any([signal, failed.signal])),
      failed,
    );
    await Promise.race([ended, aborted(failed.signal)]);
    if (failed.signal.aborted && !(await endsWithin(clock, ended))) {
      logger.warn('component has not stopped, starting another', {
        component: name,
        timeoutMs: STOP_TIMEOUT_MS,
      });
    }
    unregister();
    if (signal.aborted) return;
    const delayMs = backoff.next();
    logger.warn('restarting component', { component: name, delayMs });
    await clock.sleep(delayMs, signal).catch(() => undefined);
  }
}

async function runOnce(
  { name, faults }: KeepRunningConfig,
  run: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  failed: AbortController,
): Promise<void> {
  try {
    await run(signal);
    if (!signal.aborted) faults.report(name, new Error('the component has ended'));
  } catch (error) {
    if (!signal.aborted) faults.report(name, error);
  }
  failed.abort(new Error('the component has ended'));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function endsWithin(clock: Clock, ended: Promise<void>): Promise<boolean> {
  const over = new AbortController();
  const late = clock.sleep(STOP_TIMEOUT_MS, over.signal).then(
    () => false,
    () => false,
  );
  const result = await Promise.race([ended.then(() => true), late]);
  over.abort();
  return result;
}
