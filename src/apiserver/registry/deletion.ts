// What a DELETE means for one object, decided as a value: gone at once, marked and kept until its grace period or its
// finalizers are over, or left as it is because it is on its way already. The store acts on it.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { DeleteOptions } from './rest.ts';
import type { DeleteStrategy, StrategyContext } from './strategy.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';

export const ORPHAN_FINALIZER = 'orphan';
export const FOREGROUND_FINALIZER = 'foregroundDeletion';

export type DeletionDecision<T> =
  /** It goes now. `last`: the object as the response shows it, where that is not as it is stored. */
  | { readonly action: 'delete'; readonly last?: T }
  /** It stays for now, in this state. */
  | { readonly action: 'mark'; readonly object: T }
  /** It is being deleted already, and this request changes nothing about it. */
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
  const held = finalizers.length > 0 || strategy.hasPendingFinalizers?.(object) === true;
  let marked = withFinalizers(object, finalizers);
  if (graceful !== undefined) {
    // Upstream writes the mark before it deletes the object. Here only the response has it: a write for each pod that ends would be lost.
    if (graceful.seconds === 0 && !held)
      return { action: 'delete', last: mark(object, graceful.deletionTimestamp, 0) };
    marked = mark(marked, graceful.deletionTimestamp, graceful.seconds);
  } else {
    if (!held) return { action: 'delete' };
    marked = markNow(marked, context.now);
  }
  const first = object.metadata.deletionTimestamp === undefined;
  if (first && strategy.prepareForDelete !== undefined)
    marked = strategy.prepareForDelete(marked, context);
  return { action: 'mark', object: marked };
}

/** True if an update has taken away the last thing that kept a deleted object. */
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

/** The grace that this request gives; undefined: none; 'pending': one is running, and the request does not shorten it. */
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
  // The grace is over, and only finalizers have kept the object: this request may finish it.
  if (running === undefined || running === 0) return undefined;
  if (requested === undefined || requested >= running) return 'pending';
  // Once deletion has begun, its grace can only become shorter, counted from the same beginning.
  return {
    deletionTimestamp: (parseTime(deletionTimestamp) ?? now) - (running - requested) * 1000,
    seconds: requested,
  };
}

/** The object's finalizers with those that the garbage collector works off put as the request's propagation policy says. */
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
  // The order is the user's, unless something changes.
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
      // That it is to go is a change of the desired state.
      ...(first && metadata.generation !== undefined && { generation: metadata.generation + 1 }),
    },
  };
}

/** Marked as due: only finalizers keep it. A mark that is there already stays, if it is not in the future. */
function markNow<T extends KubeObject>(object: T, now: number): T {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  // Kinds that know no such period are not to get one with the second request.
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === undefined) return object;
  return mark(object, Math.min(parseTime(deletionTimestamp) ?? now, now), 0);
}
