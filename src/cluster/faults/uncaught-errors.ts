// The process policy: an error that nothing catches is logged and counted, and the component that
// it comes from is restarted. It does not end the cluster.
//
// An error in a timer's callback is attributed by the component's own clock (`clockOf`), any other
// by its stack. One that cannot be attributed is logged and counted as "unknown", and nothing is
// restarted. An error in the store ends the process: an acknowledged write must be on the disk, and
// a store in an unknown state cannot promise that.
//
// Only the `cox` command installs this. A cluster inside a program leaves the program's uncaught
// errors alone.

import type { Clock } from '#machinery/clock.ts';
import { Counter, counterText, Family } from '#machinery/metrics/instruments.ts';
import type { Logger } from '#machinery/log.ts';
import { componentFolderOf } from './stack-component.ts';

export interface UncaughtErrorsConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for an error after which the process cannot go on. */
  readonly onFatal: (error: Error) => void;
  /** Called for each error, with the component's name in the metric. */
  readonly onCount?: (component: string) => void;
}

export interface FaultyComponent {
  /**
   * The component's name in the log: 'kubelet/node-1'. The part before the slash is its name in the
   * metric.
   */
  readonly name: string;
  /** The folder of src/ with its code. */
  readonly folder: string;
  /** Called with an error of this component, which has been logged and counted. Must not throw. */
  readonly restart: (error: unknown) => void;
}

/** Folders of src/ whose errors are fatal. */
const FATAL_FOLDERS: ReadonlySet<string> = new Set(['storage']);
/** More errors of a component within this time are only counted. */
const LOG_INTERVAL_MS = 10_000;
const MAX_LOGGED = 10;

export class UncaughtErrors {
  readonly #config: UncaughtErrorsConfig;
  readonly #components = new Set<FaultyComponent>();
  readonly #counters = new Family(
    {
      name: 'coxswain_uncaught_errors_total',
      help: 'Errors that no code of the component caught, by component.',
      labels: ['component'],
    },
    () => new Counter(),
  );
  /** By component: when its current interval began, and how many errors came in it. */
  readonly #intervals = new Map<string, { readonly from: number; errors: number }>();

  constructor(config: UncaughtErrorsConfig) {
    this.#config = config;
  }

  /** Handles the uncaught errors of this thread from now on. Returns how to end that. */
  install(): () => void {
    const onError = (error: unknown): void => this.uncaught(error);
    // Without a listener of its own, a rejection would become an uncaught exception as well.
    process.on('uncaughtException', onError);
    process.on('unhandledRejection', onError);
    process.stdout.on('error', onOutputError);
    process.stderr.on('error', onOutputError);
    return () => {
      process.off('uncaughtException', onError);
      process.off('unhandledRejection', onError);
      process.stdout.off('error', onOutputError);
      process.stderr.off('error', onOutputError);
    };
  }

  /** Adds a component. Returns how to remove it. */
  register(component: FaultyComponent): () => void {
    this.#components.add(component);
    return () => void this.#components.delete(component);
  }

  /**
   * Returns a clock like `clock` that attributes errors of its callbacks to the component `name`.
   */
  clockOf(name: string, clock: Clock): Clock {
    const guarded = (callback: () => void) => (): void => {
      try {
        callback();
      } catch (error) {
        this.#handle(
          error,
          name,
          [...this.#components].find((component) => component.name === name),
        );
      }
    };
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (delayMs, callback) => clock.setTimer(delayMs, guarded(callback)),
      setInterval: (intervalMs, callback) => clock.setInterval(intervalMs, guarded(callback)),
      sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    };
  }

  /** Handles an error that nothing caught. */
  uncaught(error: unknown): void {
    const folder = componentFolderOf(error);
    if (folder !== undefined && FATAL_FOLDERS.has(folder)) {
      this.report(folder, error);
      this.#config.onFatal(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    const candidates = [...this.#components].filter((component) => component.folder === folder);
    const [only] = candidates;
    // The stack does not show which of several kubelets failed. The others must not be restarted for it.
    if (only !== undefined && candidates.length === 1) this.#handle(error, only.name, only);
    else this.#handle(error, folder ?? 'unknown', undefined);
  }

  /** Logs and counts an error of a component. */
  report(name: string, error: unknown): void {
    this.count(name.split('/')[0] as string);
    const now = this.#config.clock.monotonic();
    let interval = this.#intervals.get(name);
    if (interval === undefined || now - interval.from >= LOG_INTERVAL_MS) {
      const unlogged = (interval?.errors ?? 0) - MAX_LOGGED;
      if (unlogged > 0)
        this.#config.logger.warn('uncaught errors were only counted', {
          component: name,
          count: unlogged,
        });
      interval = { from: now, errors: 0 };
      this.#intervals.set(name, interval);
    }
    if (++interval.errors > MAX_LOGGED) return;
    const err = error instanceof Error ? error : new Error(`not an Error: ${String(error)}`);
    this.#config.logger.error('uncaught error', { component: name, err, stack: err.stack });
  }

  /** Counts an error, which was logged where it happened. */
  count(component: string): void {
    this.#counters.with(component).value++;
    this.#config.onCount?.(component);
  }

  /** The counts, in the form that Prometheus reads. */
  metrics(): string {
    return counterText(this.#counters);
  }

  #handle(error: unknown, name: string, component: FaultyComponent | undefined): void {
    this.report(name, error);
    component?.restart(error);
  }
}

/**
 * Ends the process when nothing reads its output any more, as in `cox up | head`: to log that would
 * fail in the same way.
 */
function onOutputError({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(1);
}
