// The one thing that goes wrong in a run of an exploration.

export type Disturbance =
  | { readonly kind: 'none' }
  /**
   * The reconciler ends after its write number `write` took effect, before it sees the answer, and is started again.
   */
  | { readonly kind: 'crash'; readonly write: number }
  /**
   * Write number `write` takes effect, the reconciler gets 504, and its cache stands still until all else has come to
   * rest.
   */
  | { readonly kind: 'lost answer'; readonly write: number }
  /** Watch event number `event` is lost with its watch; the reconciler has to list again. */
  | { readonly kind: 'lost event'; readonly event: number }
  /** From event number `event` of a step on, the cache stands still until all else has come to rest. */
  | { readonly kind: 'stale cache'; readonly event: number }
  /** As a stale cache, but then the reconciler has to list: it sees nothing of what was in between. */
  | { readonly kind: 'gap'; readonly event: number }
  /** Every update, patch and deletion fails with a conflict when it is first tried. */
  | { readonly kind: 'conflicts' }
  /** As a crash, but the next run sees the state before the write for a while. */
  | { readonly kind: 'stale restart'; readonly write: number }
  /**
   * Watch event number `event` is lost, and the watch goes on. No API server does that; tried only where it is asked
   * for.
   */
  | { readonly kind: 'silent loss'; readonly event: number }
  /**
   * After the last step the reconciler is started again, and sees the state as it was after step `step` for a while:
   * of all that it watches, or only of one resource.
   */
  | { readonly kind: 'time travel'; readonly step: number; readonly resource?: string }
  /** Requests of several reconcilers are handled in the order that the choices say. */
  | { readonly kind: 'order'; readonly choices: readonly number[] };

export const DISTURBANCE_KINDS = [
  'crash',
  'lost answer',
  'stale restart',
  'lost event',
  'stale cache',
  'gap',
  'conflicts',
  'time travel',
  'order',
] as const;

/** A kind of disturbance that an exploration tries. */
export type DisturbanceKind = (typeof DISTURBANCE_KINDS)[number] | 'silent loss';

/** The size of the undisturbed run, from which the disturbances follow. */
export interface RunSize {
  /** Writes of the reconciler. */
  readonly writes: number;
  /** Watch events that it received. */
  readonly events: number;
  readonly steps: number;
  /** The most events in one step. */
  readonly eventsOfStep: number;
  /** The resources that it watches. */
  readonly watched?: readonly string[];
}

/** Returns every disturbance of a run but the orders of requests, which follow from each other. */
export function disturbancesOf(
  { writes, events, steps, eventsOfStep, watched = [] }: RunSize,
  kinds: ReadonlySet<DisturbanceKind>,
): readonly Disturbance[] {
  const upTo = (count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => index + 1);
  const all: readonly Disturbance[] = [
    ...upTo(writes).map((write) => ({ kind: 'crash', write }) as const),
    ...upTo(writes).map((write) => ({ kind: 'lost answer', write }) as const),
    ...upTo(writes).map((write) => ({ kind: 'stale restart', write }) as const),
    ...upTo(Math.max(1, eventsOfStep)).map((event) => ({ kind: 'stale cache', event }) as const),
    ...upTo(Math.max(1, eventsOfStep)).map((event) => ({ kind: 'gap', event }) as const),
    ...upTo(events).map((event) => ({ kind: 'lost event', event }) as const),
    { kind: 'conflicts' },
    ...upTo(events).map((event) => ({ kind: 'silent loss', event }) as const),
    ...upTo(steps - 1).flatMap((step) => [
      { kind: 'time travel', step } as const,
      ...(watched.length > 1
        ? watched.map((resource) => ({ kind: 'time travel', step, resource }) as const)
        : []),
    ]),
  ];
  return all.filter(({ kind }) => kind !== 'none' && kinds.has(kind));
}

/** Returns a disturbance in words, for messages. */
export function describeDisturbance(disturbance: Disturbance): string {
  switch (disturbance.kind) {
    case 'none':
      return 'no fault';
    case 'crash':
      return `a crash after write ${disturbance.write}`;
    case 'lost answer':
      return `no answer to write ${disturbance.write}, and a stale cache`;
    case 'stale restart':
      return `a restart after write ${disturbance.write} that sees the state before it`;
    case 'silent loss':
      return `event ${disturbance.event} lost without a trace`;
    case 'lost event':
      return `event ${disturbance.event} lost`;
    case 'stale cache':
      return `a stale cache from event ${disturbance.event} of each step on`;
    case 'gap':
      return `nothing seen from event ${disturbance.event} of each step on, and then a list`;
    case 'conflicts':
      return 'conflicts';
    case 'time travel':
      return `a restart that sees the ${disturbance.resource ?? 'state'} after step ${disturbance.step}`;
    case 'order':
      return `requests in the order ${disturbance.choices.join('')}`;
  }
}
