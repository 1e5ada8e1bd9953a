// Decides the effect of a DELETE on one object, as a value: the object is deleted at once, or
// marked and kept until its grace period and its finalizers are over, or unchanged because it is
// already being deleted. The store acts on the decision.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { DeleteOptions } from './rest.ts';
import type { DeleteStrategy, StrategyContext } from './strategy.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';

export const ORPHAN_FINALIZER = 'orphan';
export const FOREGROUND_FINALIZER = 'foregroundDeletion';

export type DeletionDecision<T> =
  /**
   * The object is deleted now. `last`: the object for the response, if it differs from the stored
   * one.
   */
  | { readonly action: 'delete'; readonly last?: T }
  /** The object stays for now, in this state. */
  | { readonly action: 'mark'; readonly object: T }
  /** The object is already being deleted, and this request changes nothing. */
  | { readonly action: 'keep' };

export function decideDeletion<T extends KubeObject>(
  object: T,
  options: DeleteOptions,
  strategy: DeleteStrategy<T>,
  context: StrategyContext,
): DeletionDecision<T> {
  const graceful = decideGrace(object, options, strategy, context.now);
  if (graceful === 'pending') return { action: 'keep' };

  const finalizers = finalizersFor(object, options, strategy);
  const isHeld = finalizers.length > 0 || strategy.hasPendingFinalizers?.(object) === true;
  let marked = withFinalizers(object, finalizers);
  if (graceful !== undefined) {
    // Upstream writes the mark before it deletes the object. Here only the response has it, which
    // saves a write for each pod that ends.
    if (graceful.seconds === 0 && !isHeld)
      return { action: 'delete', last: mark(object, graceful.deletionTimestamp, 0) };
    marked = mark(marked, graceful.deletionTimestamp, graceful.seconds);
  } else {
    if (!isHeld) return { action: 'delete' };
    marked = markNow(marked, context.now);
  }
  const first = object.metadata.deletionTimestamp === undefined;
  if (first && strategy.prepareForDelete !== undefined)
    marked = strategy.prepareForDelete(marked, context);
  return { action: 'mark', object: marked };
}

/** Reports whether an update has removed the last reason that kept a deleted object. */
export function finishesDeletion<T extends KubeObject>(
  object: T,
  old: T,
  strategy: DeleteStrategy<T>,
): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata;
  if (deletionTimestamp === undefined || (deletionGracePeriodSeconds ?? 0) > 0) return false;
  return (
    (object.metadata.finalizers ?? []).length === 0 &&
    strategy.hasPendingFinalizers?.(object) !== true
  );
}

interface Grace {
  readonly deletionTimestamp: number;
  readonly seconds: number;
}

/**
 * Returns the grace period for this request. Undefined: none. 'pending': one is running, and the
 * request does not shorten it.
 */
function decideGrace<T extends KubeObject>(
  object: T,
  options: DeleteOptions,
  strategy: DeleteStrategy<T>,
  now: number,
): Grace | undefined | 'pending' {
  if (strategy.gracePeriodSeconds === undefined) return undefined;
  const { deletionTimestamp, deletionGracePeriodSeconds: running } = object.metadata;
  const requested = options.gracePeriodSeconds;
  if (deletionTimestamp === undefined) {
    const seconds = strategy.gracePeriodSeconds(object, requested);
    return seconds === undefined ? undefined : { deletionTimestamp: now + seconds * 1000, seconds };
  }
  // The grace period is over, and only finalizers kept the object, so this request may finish the
  // deletion.
  if (running === undefined || running === 0) return undefined;
  if (requested === undefined || requested >= running) return 'pending';
  // A running grace period can only become shorter, and still counts from its start.
  return {
    deletionTimestamp: (parseTime(deletionTimestamp) ?? now) - (running - requested) * 1000,
    seconds: requested,
  };
}

/**
 * Returns the object's finalizers, with those of the garbage collector set by the request's
 * propagation policy.
 */
function finalizersFor<T extends KubeObject>(
  object: T,
  options: DeleteOptions,
  strategy: DeleteStrategy<T>,
): readonly string[] {
  const finalizers = object.metadata.finalizers ?? [];
  const policy = propagationPolicy(finalizers, options, strategy);
  const others = finalizers.filter(
    (finalizer) => finalizer !== ORPHAN_FINALIZER && finalizer !== FOREGROUND_FINALIZER,
  );
  const wanted = [
    ...others,
    ...(policy === 'Orphan' ? [ORPHAN_FINALIZER] : []),
    ...(policy === 'Foreground' ? [FOREGROUND_FINALIZER] : []),
  ];
  // The order of the finalizers stays unless something changes.
  const same =
    wanted.length === finalizers.length &&
    wanted.every((finalizer) => finalizers.includes(finalizer));
  return same ? finalizers : wanted;
}

function propagationPolicy<T extends KubeObject>(
  finalizers: readonly string[],
  options: DeleteOptions,
  strategy: DeleteStrategy<T>,
): 'Orphan' | 'Background' | 'Foreground' {
  if (strategy.defaultGarbageCollection === 'unsupported') return 'Background';
  if (options.orphanDependents !== undefined)
    return options.orphanDependents ? 'Orphan' : 'Background';
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan';
  if (finalizers.includes(FOREGROUND_FINALIZER)) return 'Foreground';
  return strategy.defaultGarbageCollection === 'orphan' ? 'Orphan' : 'Background';
}

function withFinalizers<T extends KubeObject>(object: T, finalizers: readonly string[]): T {
  if (finalizers === object.metadata.finalizers) return object;
  const { finalizers: _finalizers, ...metadata } = object.metadata;
  return { ...object, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}

function mark<T extends KubeObject>(object: T, deletionTimestamp: number, seconds: number): T {
  const { metadata } = object;
  const first = metadata.deletionTimestamp === undefined;
  return {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: formatTime(deletionTimestamp),
      deletionGracePeriodSeconds: seconds,
      // The deletion is a change of the desired state.
      ...(first && metadata.generation !== undefined && { generation: metadata.generation + 1 }),
    },
  };
}

/** Marks an object that only finalizers keep. An earlier mark stays, unless it is in the future. */
function markNow<T extends KubeObject>(object: T, now: number): T {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  // Kinds without grace periods do not get one by a second request.
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === undefined) return object;
  return mark(object, Math.min(parseTime(deletionTimestamp) ?? now, now), 0);
}
