// Faults of watches. All but a silent loss keep the contract of a watch: what a client has missed it gets by watching
// or listing again.

import type { ApiResponse } from '#apiserver/request.ts';
import { watchErrorEvent } from '#apiserver/registry/storage-errors.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { StorageError } from '#storage/interface.ts';
import type { Fault } from './active-faults.ts';
import type { Call } from './call.ts';
import { durationMs, type FaultContext, type FaultDuration } from './context.ts';
import type { WatchEnd } from './faulty-watch.ts';
import type { FaultRule } from './interceptor.ts';
import type { CallMatcher, FaultSelector } from './selector.ts';

/** Watch events have no verb. */
export type EventSelector = Omit<FaultSelector, 'verb' | 'subresource'>;

export interface DelayEventsOptions extends EventSelector {
  /** How long each event is held back. Those behind it wait, too. */
  readonly by: FaultDuration;
}

export interface DropEventsOptions extends EventSelector {
  /**
   * True: the watch goes on as if the event had not been. No API server does that; a client learns of the change only
   * when it lists again. Default: false, the watch ends in place of the event.
   */
  readonly silently?: boolean;
}

export interface CutWatchesOptions extends EventSelector {
  /**
   * 'closed': the stream ends, as after its time limit. 'expired': with the error 410, so that the client has to list
   * again. 'broken': the connection fails. Default: 'closed'.
   */
  readonly end?: WatchCut;
}

const CUTS = ['closed', 'expired', 'broken'] as const;
export type WatchCut = (typeof CUTS)[number];

/** Holds each event back for a while. */
export function delayEvents(context: FaultContext, options: DelayEventsOptions): Fault {
  const byMs = durationMs('delayEvents', 'by', options.by);
  const { fault, matches, take } = addForEvents(context, 'delayEvents', options, ['by']);
  const { clock, interceptor } = context.config;
  const remove = interceptor.add({
    event: (call, _event, stopped) =>
      matches(call) && take()
        ? clock.sleep(byMs, stopped).then(
            () => ({ kind: 'pass' }) as const,
            () => ({ kind: 'pass' }) as const,
          )
        : undefined,
  });
  fault.onEnd(remove);
  return fault;
}

/** Leaves events out. */
export function dropEvents(context: FaultContext, options: DropEventsOptions): Fault {
  const { silently = false } = options;
  const { fault, matches, take } = addForEvents(context, 'dropEvents', options, ['silently']);
  const remove = context.config.interceptor.add({
    event: (call) => {
      if (!matches(call) || !take()) return undefined;
      return silently ? { kind: 'lose' } : { kind: 'end', end: { kind: 'closed' } };
    },
  });
  fault.onEnd(remove);
  return fault;
}

/** Delivers events twice. */
export function duplicateEvents(context: FaultContext, options: EventSelector): Fault {
  const { fault, matches, take } = addForEvents(context, 'duplicateEvents', options);
  const remove = context.config.interceptor.add({
    event: (call) => (matches(call) && take() ? { kind: 'repeat' } : undefined),
  });
  fault.onEnd(remove);
  return fault;
}

/**
 * Ends watches. Without `skip`, `count`, `probability` and `name`: the open ones, now and once. With one of them: a
 * watch ends in place of an event that matches.
 */
export function cutWatches(context: FaultContext, options: CutWatchesOptions): Fault {
  const { end = 'closed' } = options;
  if (!CUTS.includes(end))
    throw new TypeError(`fault cutWatches: end is one of ${CUTS.join(', ')}, not ${end as string}`);
  const { fault, matches, take } = addForEvents(context, 'cutWatches', options, ['end']);
  const { interceptor } = context.config;
  const { skip, count, probability, name } = options;
  if ([skip, count, probability, name].every((field) => field === undefined)) {
    fault.hits = interceptor.cut(matches, () => endOf(end));
    fault.end();
    return fault;
  }
  const remove = interceptor.add({
    event: (call) => (matches(call) && take() ? { kind: 'end', end: endOf(end) } : undefined),
  });
  fault.onEnd(remove);
  return fault;
}

/**
 * Lets clients see the state of now until the fault ends: events wait, and lists show the present revision, also to a
 * component that is started again meanwhile. Reads of single objects are current.
 */
export function staleCache(context: FaultContext, options: EventSelector): Fault {
  const { fault, matches, take } = addForEvents(context, 'staleCache', options);
  const { interceptor, storage } = context.config;
  const frozen = storage.currentRevision();
  const remove = interceptor.add(
    frozenAt(frozen, matches, async (stopped) => {
      if (take()) await fault.ended(stopped);
    }),
  );
  fault.onEnd(remove);
  return fault;
}

/** Returns the rule for a stale cache. `hold`: awaited before each event that is newer than the revision. */
export function frozenAt(
  frozen: Promise<number>,
  matches: CallMatcher,
  hold: (stopped: AbortSignal) => Promise<void>,
): FaultRule {
  return {
    request: (call, next, request) => {
      if (call.verb !== 'list' || !matches(withoutName(call))) return undefined;
      return frozen.then((revision) => listAt(request.query, revision, next));
    },
    event: (call, event, stopped) => {
      if (!matches(call)) return undefined;
      return frozen.then(async (revision) => {
        const { metadata } = event.object.object() as { metadata: { resourceVersion?: string } };
        if (Number(metadata.resourceVersion) > revision) await hold(stopped);
        return { kind: 'pass' } as const;
      });
    },
  };
}

/** Lists at a revision, unless the client itself asks for one, or the server does not remember it. */
async function listAt(
  query: URLSearchParams,
  revision: number,
  next: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const given = query.get('resourceVersion') ?? '';
  if (query.has('continue') || (given !== '' && given !== '0')) return next();
  query.set('resourceVersion', String(revision));
  query.set('resourceVersionMatch', 'Exact');
  try {
    return await next();
  } catch (error) {
    if (!apierrors.isResourceExpired(error)) throw error;
    query.delete('resourceVersionMatch');
    query.set('resourceVersion', given);
    return next();
  }
}

/** A list selects no object by its name. */
function withoutName(call: Call): Call {
  return call.name === '' ? call : { ...call, name: '' };
}

function addForEvents(
  context: FaultContext,
  name: string,
  options: EventSelector,
  own: readonly string[] = [],
): ReturnType<FaultContext['add']> {
  for (const field of ['verb', 'subresource'])
    if (field in options)
      throw new TypeError(`fault ${name}: watch events have no ${field}; leave it out`);
  return context.add(name, options, own);
}

/** How a watch ends that is cut. */
export function endOf(cut: WatchCut): WatchEnd {
  switch (cut) {
    case 'closed':
      return { kind: 'closed' };
    case 'expired':
      return {
        kind: 'event',
        event: watchErrorEvent(new StorageError('Expired', 'fault: the events are gone')),
      };
    case 'broken':
      return {
        kind: 'error',
        error: apierrors.serviceUnavailable('fault: the connection was lost'),
      };
  }
}
