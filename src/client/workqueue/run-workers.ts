// The loop of every controller: take a key, reconcile it, and read the outcome in one place.

import type { Logger } from '#machinery/log.ts';
import { sharedByMany } from '../abort.ts';
import type { RateLimitingQueue } from './rate-limiting-queue.ts';

/** The outcome of a reconcile. Throwing retries with back-off, and is logged. */
export type ReconcileResult =
  /** Nothing more to do until something changes. */
  | { readonly next: 'done' }
  /** Again, with the back-off of a failure, but it is none: nothing is logged. */
  | { readonly next: 'requeue' }
  /** Again after a time; earlier if something changes. */
  | { readonly next: 'requeueAfter'; readonly delayMs: number };

export const reconciled: ReconcileResult = { next: 'done' };
export const requeue: ReconcileResult = { next: 'requeue' };
/** `delayMs` of 0 or less: at once. */
export function requeueAfter(delayMs: number): ReconcileResult {
  return { next: 'requeueAfter', delayMs };
}

/** Brings the cluster to the state that the object of the key asks for, from what is true now; never from the event that was seen. */
export type Reconcile<K = string> = (key: K, signal: AbortSignal) => Promise<ReconcileResult>;

export interface RunWorkersOptions<K> {
  readonly logger: Logger;
  /** Keys that have failed this often are dropped until they are added again. Default: never. */
  readonly maxRetries?: number;
  /** How the log names a key. Default: as text. */
  readonly describe?: (key: K) => string;
  /** Called for every failure, in addition to the log. */
  readonly onError?: (key: K, err: unknown) => void;
}

type Outcome = ReconcileResult | { readonly next: 'failed'; readonly err: unknown };

/**
 * Works on the queue with `workers` reconciles at a time, of different keys, until the signal aborts. Then the queue is shut
 * down; resolves when every reconcile that was under way has ended. Keys that were still queued are left: the objects they
 * name are looked at again when the controller next starts.
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
      // A reconcile that was cut short by stopping has not failed.
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
