// The loop of every controller: take a key, reconcile it, and handle the result in one place.

import type { Logger } from '#machinery/log.ts';
import { sharedByMany } from '../abort.ts';
import type { RateLimitingQueue } from './rate-limiting-queue.ts';

/** The result of a reconcile. An error is logged and retried with back-off. */
export type ReconcileResult =
  /** Nothing to do until something changes. */
  | { readonly next: 'done' }
  /** Reconcile again with back-off, but without logging a failure. */
  | { readonly next: 'requeue' }
  /** Reconcile again after a delay; earlier if something changes. */
  | { readonly next: 'requeueAfter'; readonly delayMs: number };

export const reconciled: ReconcileResult = { next: 'done' };
export const requeue: ReconcileResult = { next: 'requeue' };
/** Returns the result for a delayed reconcile. `delayMs` of 0 or less: immediately. */
export function requeueAfter(delayMs: number): ReconcileResult {
  return { next: 'requeueAfter', delayMs };
}

/**
 * Brings the cluster to the desired state of the object with this key, based on the current state,
 * never on the received event.
 */
export type Reconcile<K = string> = (key: K, signal: AbortSignal) => Promise<ReconcileResult>;

export interface RunWorkersOptions<K> {
  readonly logger: Logger;
  /**
   * The number of failures after which a key is dropped until it is added again. Default: no limit.
   */
  readonly maxRetries?: number;
  /** Returns the name of a key in the log. Default: the key as text. */
  readonly describe?: (key: K) => string;
  /** Called for every failure, in addition to the log. */
  readonly onError?: (key: K, err: unknown) => void;
}

type Outcome = ReconcileResult | { readonly next: 'failed'; readonly err: unknown };

/**
 * Processes the queue with `workers` concurrent reconciles of different keys, until the signal
 * aborts. Then it shuts the queue down, and resolves when every running reconcile has ended. Queued
 * keys are dropped: the controller looks at their objects again at its next start.
 */
export async function runWorkers<K>(
  queue: RateLimitingQueue<K>,
  workers: number,
  reconcile: Reconcile<K>,
  signal: AbortSignal,
  options: RunWorkersOptions<K>,
): Promise<void> {
  sharedByMany(signal);
  const shutDown = (): void => queue.shutDown();
  if (signal.aborted) shutDown();
  else signal.addEventListener('abort', shutDown, { once: true });
  try {
    await Promise.all(
      Array.from({ length: workers }, () => work(queue, reconcile, signal, options)),
    );
  } finally {
    signal.removeEventListener('abort', shutDown);
  }
}

async function work<K>(
  queue: RateLimitingQueue<K>,
  reconcile: Reconcile<K>,
  signal: AbortSignal,
  options: RunWorkersOptions<K>,
): Promise<void> {
  for (;;) {
    const key = await queue.get();
    if (key === undefined) return;
    if (!signal.aborted) settle(queue, key, await attempt(reconcile, key, signal), signal, options);
    queue.done(key);
  }
}

async function attempt<K>(reconcile: Reconcile<K>, key: K, signal: AbortSignal): Promise<Outcome> {
  try {
    return await reconcile(key, signal);
  } catch (error) {
    return { next: 'failed', err: error };
  }
}

function settle<K>(
  queue: RateLimitingQueue<K>,
  key: K,
  outcome: Outcome,
  signal: AbortSignal,
  { logger, maxRetries, onError, describe = String }: RunWorkersOptions<K>,
): void {
  switch (outcome.next) {
    case 'done':
      queue.forget(key);
      return;
    case 'requeue':
      queue.addRateLimited(key);
      return;
    case 'requeueAfter':
      queue.forget(key);
      queue.addAfter(key, outcome.delayMs);
      return;
    case 'failed':
      // A reconcile that was interrupted by the shutdown has not failed.
      if (signal.aborted) return;
      onError?.(key, outcome.err);
      if (maxRetries !== undefined && queue.numRequeues(key) >= maxRetries) {
        logger.error('controller: giving up on a key after retries', {
          key: describe(key),
          retries: maxRetries,
          err: outcome.err,
        });
        queue.forget(key);
        return;
      }
      logger.warn('controller: reconcile failed, retrying', {
        key: describe(key),
        err: outcome.err,
      });
      queue.addRateLimited(key);
      return;
  }
}
