// Ends pods in order when the machine shuts down: holds a lock that delays the shutdown, and releases
// it when the pods have ended or their time is over.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import type { Rejection } from '../admission.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { describePod, type Pod } from '../types.ts';
import type { InhibitLock, ShutdownInhibitor } from './inhibitor.ts';
import { groupByPriority, type ShutdownPeriod, totalMs } from './periods.ts';

/** The name of the file with the times of the last shutdown. */
export const SHUTDOWN_STATE = 'graceful_node_shutdown_state';

export interface ShutdownMetrics {
  /** Records the wall-clock times of the last shutdown in milliseconds; 0: not yet. */
  shutdownTimes(start: number, end: number): void;
}

export interface ShutdownManagerConfig {
  readonly inhibitor: ShutdownInhibitor;
  /** At least one. */
  readonly periods: readonly ShutdownPeriod[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly file: CheckpointFile;
  readonly metrics?: ShutdownMetrics;
  /** Returns the pods that have not ended. */
  readonly active: () => readonly Pod[];
  /**
   * Ends the pod within the grace period, and resolves when its containers have ended. The pod's
   * status gets the reason and the message.
   */
  readonly endPod: (
    pod: Pod,
    gracePeriodSeconds: number,
    reason: string,
    message: string,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Records an event of the Node. */
  readonly event: (reason: 'NodeShutdown', message: string) => void;
  /** Called when the node's condition has changed. */
  readonly onChange: () => void;
}

const REASON = 'Terminated';
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';
const REJECTION: Rejection = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};
const RECONNECT_MS = 1000;
const FIRST_CHECK_MS = 100;
const CHECKS = 5;

export class ShutdownManager {
  readonly #config: ShutdownManagerConfig;
  #isShuttingDown = false;
  #lock: InhibitLock | undefined;

  constructor(config: ShutdownManagerConfig) {
    this.#config = config;
  }

  /** Returns why the node is not ready; undefined while it is not shutting down. */
  get problem(): string | undefined {
    return this.#isShuttingDown ? 'node is shutting down' : undefined;
  }

  /** Returns the rejection of new pods during a shutdown. */
  admit(): Rejection | undefined {
    return this.#isShuttingDown ? REJECTION : undefined;
  }

  /**
   * Delays shutdowns, and ends the pods when one begins, until the signal aborts. Resolves at once if
   * the machine cannot delay its shutdown.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    await this.#restoreTimes();
    let wasReady = false;
    while (!signal.aborted) {
      try {
        await this.#allowDelay(signal);
        await this.#acquire();
        wasReady = true;
        await this.#follow(signal);
        if (!signal.aborted) logger.error('shutdown manager: events ended, will retry');
      } catch (error) {
        if (signal.aborted) break;
        // A machine that cannot delay its shutdown at the start will not learn it.
        if (!wasReady) {
          logger.error('failed to start node shutdown manager', { err: error });
          return;
        }
        logger.error('shutdown manager: node is not watched for shutdown, will retry', {
          err: error,
        });
      }
      await clock.sleep(RECONNECT_MS, signal).catch(() => undefined);
    }
    this.#lock?.release();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { inhibitor, logger, event, onChange } = this.#config;
    for await (const begins of inhibitor.watch(signal)) {
      logger.info('shutdown manager: shutdown event', { begins });
      event(
        'NodeShutdown',
        `Shutdown manager detected shutdown ${begins ? 'event' : 'cancellation'}`,
      );
      this.#isShuttingDown = begins;
      onChange();
      if (begins) await this.#shutDown(signal);
      else await this.#acquire();
    }
  }

  /** Takes a lock in place of the present one. */
  async #acquire(): Promise<void> {
    const lock = await this.#config.inhibitor.inhibit();
    this.#lock?.release();
    this.#lock = lock;
  }

  /** Makes sure that the machine waits as long as the pods may take. */
  async #allowDelay(signal: AbortSignal): Promise<void> {
    const { inhibitor, periods, clock } = this.#config;
    const wanted = totalMs(periods);
    let allowed = await inhibitor.maxDelay();
    if (allowed >= wanted) return;
    await inhibitor.requestMaxDelay(wanted);
    for (let check = 0; check < CHECKS; check++) {
      allowed = await inhibitor.maxDelay();
      if (allowed >= wanted) return;
      await clock.sleep(FIRST_CHECK_MS * 2 ** check, signal);
    }
    throw new Error(
      `node shutdown manager was timed out after ${CHECKS} attempts waiting for logind ` +
        `InhibitDelayMaxSec to update to ${formatDuration(wanted)} (ShutdownGracePeriod), ` +
        `current value is ${formatDuration(allowed)}`,
    );
  }

  async #shutDown(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    const start = clock.now();
    this.#recordTimes(start, 0);
    try {
      await this.#endPods(signal);
    } finally {
      this.#recordTimes(start, clock.now());
      this.#lock?.release();
      this.#lock = undefined;
      logger.info('shutdown manager: pods have ended, the node shuts down');
    }
  }

  async #endPods(signal: AbortSignal): Promise<void> {
    const { periods, active, clock, logger } = this.#config;
    for (const { pods, priority, seconds } of groupByPriority(periods, active())) {
      if (pods.length === 0) continue;
      const timeout = new AbortController();
      const until = AbortSignal.any([signal, timeout.signal]);
      const ends = Promise.all(pods.map((pod) => this.#end(pod, seconds, until))).then(() => true);
      const isDone = await Promise.race([
        ends,
        clock.sleep(seconds * 1000, until).then(
          () => false,
          () => false,
        ),
      ]);
      timeout.abort();
      signal.throwIfAborted();
      logger.info(
        isDone ? 'shutdown manager: group has ended' : 'shutdown manager: group timed out',
        { priority, gracePeriodSeconds: seconds, pods: pods.length },
      );
    }
  }

  async #end(pod: Pod, groupSeconds: number, signal: AbortSignal): Promise<void> {
    const { endPod, logger } = this.#config;
    const seconds = Math.min(pod.spec.terminationGracePeriodSeconds ?? groupSeconds, groupSeconds);
    try {
      await endPod(pod, seconds, REASON, MESSAGE, signal);
    } catch (error) {
      if (!signal.aborted)
        logger.warn('shutdown manager: pod not ended', {
          pod: describePod(pod),
          err: errorMessage(error),
        });
    }
  }

  #recordTimes(start: number, end: number): void {
    const { file, metrics, logger } = this.#config;
    metrics?.shutdownTimes(start, end);
    file
      .write(JSON.stringify({ startTime: timeText(start), endTime: timeText(end) }))
      .catch((error: unknown) =>
        logger.error('shutdown manager: state not written', { err: error }),
      );
  }

  async #restoreTimes(): Promise<void> {
    const { file, metrics, logger } = this.#config;
    try {
      const contents = await file.read();
      if (contents === undefined) return;
      const state = JSON.parse(contents) as {
        readonly startTime: string;
        readonly endTime: string;
      };
      metrics?.shutdownTimes(timeOf(state.startTime), timeOf(state.endTime));
    } catch (error) {
      logger.error('shutdown manager: state not read', { err: error });
    }
  }
}

/** Go's zero time stands for "not yet". */
const ZERO_TIME = '0001-01-01T00:00:00Z';

const timeText = (ms: number): string => (ms === 0 ? ZERO_TIME : new Date(ms).toISOString());

function timeOf(text: string): number {
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? 0 : ms;
}
