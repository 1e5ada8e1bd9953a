// Waits until an object meets a condition, by watching it.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock, type Clock } from '#machinery/clock.ts';
import { WaitTimeoutError } from '#machinery/wait.ts';
import type { ResourceClient } from './client.ts';

/**
 * 'Available', 'Ready' …: the condition of this type has the status True. 'deleted': the object is
 * gone. Or a function.
 */
export type WaitCondition<T> = 'deleted' | (string & {}) | ((object: Immutable<T>) => boolean);

export interface WaitForOptions {
  /** Milliseconds. Default: a minute. Infinity: until the signal aborts. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /**
   * Ends the wait also when the object does not exist: the result is undefined then. Default: false.
   */
  readonly untilDeleted?: boolean;
}

/** The delay after a watch has ended or failed. */
const RETRY_MS = 100;

/**
 * Waits until the object meets the condition. Resolves with the object, or with undefined once it
 * is deleted. The object need not exist yet. Rejects with WaitTimeoutError, the signal's reason, or
 * a StatusError that is not transient (such as Forbidden).
 */
export async function waitFor<T extends KubeObject>(
  resource: ResourceClient<T>,
  name: string,
  condition: WaitCondition<T>,
  options: WaitForOptions = {},
): Promise<Immutable<T> | undefined> {
  const { timeoutMs = 60_000, clock = systemClock } = options;
  const timeout = new AbortController();
  const signal =
    options.signal === undefined
      ? timeout.signal
      : AbortSignal.any([options.signal, timeout.signal]);
  const expired = new WaitTimeoutError(
    `timed out waiting for ${name} to be ${describe(condition)}`,
  );
  const timer = Number.isFinite(timeoutMs)
    ? clock.setTimer(timeoutMs, () => timeout.abort(expired))
    : undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      try {
        const isOver = (object: Immutable<T> | undefined): boolean =>
          meets(object, condition) || (options.untilDeleted === true && object === undefined);
        const result = await watchOnce(resource, name, isOver, signal);
        if (result !== 'ended') return result.object;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!isTransient(error)) throw error;
      }
      await clock.sleep(RETRY_MS, signal);
    }
  } finally {
    timer?.cancel();
  }
}

/** Reports whether an object meets the condition. Undefined: the object does not exist. */
export function meets<T extends KubeObject>(
  object: Immutable<T> | undefined,
  condition: WaitCondition<T>,
): boolean {
  if (condition === 'deleted') return object === undefined;
  if (object === undefined) return false;
  if (typeof condition === 'function') return condition(object);
  const { status } = object as { readonly status?: { readonly conditions?: unknown } };
  const conditions = status?.conditions;
  if (!Array.isArray(conditions)) return false;
  return conditions.some(
    (entry: { readonly type?: unknown; readonly status?: unknown } | null) =>
      entry?.type === condition && entry.status === 'True',
  );
}

async function watchOnce<T extends KubeObject>(
  resource: ResourceClient<T>,
  name: string,
  isOver: (object: Immutable<T> | undefined) => boolean,
  signal: AbortSignal,
): Promise<'ended' | { readonly object: Immutable<T> | undefined }> {
  const fieldSelector = `metadata.name=${name}`;
  const { items, metadata } = await resource.list({ fieldSelector, signal });
  const [current] = items;
  if (isOver(current)) return { object: current };
  const events = await resource.watch({
    fieldSelector,
    resourceVersion: metadata.resourceVersion,
    signal,
  });
  try {
    for await (const { type, object } of events) {
      if (type === 'ERROR') return 'ended';
      if (type === 'BOOKMARK') continue;
      const after = type === 'DELETED' ? undefined : object;
      if (isOver(after)) return { object: after };
    }
    return 'ended';
  } finally {
    events.stop();
  }
}

/** Reports whether the same request may succeed later. */
function isTransient(error: unknown): boolean {
  return (
    apierrors.isServiceUnavailable(error) ||
    apierrors.isTooManyRequests(error) ||
    apierrors.isTimeout(error) ||
    apierrors.isServerTimeout(error) ||
    apierrors.isInternalError(error) ||
    apierrors.isResourceExpired(error) ||
    apierrors.isGone(error)
  );
}

export function describe<T>(condition: WaitCondition<T>): string {
  return typeof condition === 'function' ? condition.name || 'in the expected state' : condition;
}
