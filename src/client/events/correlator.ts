// Decides whether an event becomes a new object, increases the count of an earlier one, or is dropped.
//
// Three stages, with the numbers that Kubernetes' components use: an object's source may send 25 events and then one every
// five minutes (spam filter); ten events within ten minutes that differ only in their message become one (aggregation); the
// same event again raises the count of the first (deduplication).

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { parseTime } from '#machinery/text/time.ts';
import { TokenBucket } from '../workqueue/rate-limiter.ts';
import { LruCache } from '#machinery/collections/lru.ts';

export interface EventCorrelatorConfig {
  readonly clock: Clock;
  /** How many different events, sources and groups are remembered. Default: 4096. */
  readonly cacheSize?: number;
  /** Events that a source may send about an object at once. Default: 25. */
  readonly spamBurst?: number;
  /** How many more per second. Default: one in 300 s. */
  readonly spamPerSecond?: number;
  /** So many different messages of one reason become one event. Default: 10. */
  readonly aggregateAfter?: number;
  /** Messages further apart than this are not similar. Default: 10 minutes. */
  readonly aggregateIntervalMs?: number;
}

export type Correlation =
  /** Too many of this source about this object. */
  | { readonly action: 'skip' }
  | { readonly action: 'create'; readonly event: Immutable<Event> }
  /** The event `event.metadata.name` exists, as far as is known; create `event` if not. */
  | { readonly action: 'patch'; readonly event: Immutable<Event>; readonly patch: unknown };

interface Observation {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string | null;
}

interface Aggregate {
  readonly messages: ReadonlySet<string>;
  readonly lastMs: number;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #config: Required<Omit<EventCorrelatorConfig, 'clock'>>;
  readonly #buckets: LruCache<string, TokenBucket>;
  readonly #aggregates: LruCache<string, Aggregate>;
  readonly #observations: LruCache<string, Observation>;

  constructor(config: EventCorrelatorConfig) {
    this.#clock = config.clock;
    this.#config = {
      cacheSize: config.cacheSize ?? 4096,
      spamBurst: config.spamBurst ?? 25,
      spamPerSecond: config.spamPerSecond ?? 1 / 300,
      aggregateAfter: config.aggregateAfter ?? 10,
      aggregateIntervalMs: config.aggregateIntervalMs ?? 600_000,
    };
    this.#buckets = new LruCache({ capacity: this.#config.cacheSize });
    this.#aggregates = new LruCache({ capacity: this.#config.cacheSize });
    this.#observations = new LruCache({ capacity: this.#config.cacheSize });
  }

  /** `event`: one occurrence, with its own name and count 1. */
  correlate(event: Immutable<Event>): Correlation {
    // A dropped event still counts as similar to later ones.
    const { event: candidate, key } = this.#aggregate(event);
    const correlation = this.#deduplicate(candidate, key);
    return this.#takeToken(event) ? correlation : { action: 'skip' };
  }

  #takeToken(event: Immutable<Event>): boolean {
    const key = keyOf([...sourceAndObject(event)]);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      const { spamPerSecond, spamBurst } = this.#config;
      bucket = new TokenBucket({ clock: this.#clock, perSecond: spamPerSecond, burst: spamBurst });
      this.#buckets.set(key, bucket);
    }
    return bucket.tryTake();
  }

  #aggregate(event: Immutable<Event>): { readonly event: Immutable<Event>; readonly key: string } {
    const group = keyOf([
      ...sourceAndObject(event),
      event.type,
      event.reason,
      event.reportingComponent,
      event.reportingInstance,
    ]);
    const nowMs = parseTime(event.lastTimestamp) ?? this.#clock.now();
    const last = this.#aggregates.get(group);
    const fresh = last === undefined || nowMs - last.lastMs > this.#config.aggregateIntervalMs;
    const messages = new Set(fresh ? [] : last.messages);
    messages.add(event.message ?? '');
    const similar = messages.size >= this.#config.aggregateAfter;
    // The group never grows beyond its limit; which message is forgotten does not matter.
    const [any] = messages;
    if (similar && any !== undefined) messages.delete(any);
    this.#aggregates.set(group, { messages, lastMs: nowMs });
    if (!similar)
      return { event, key: keyOf([group, event.involvedObject.fieldPath, event.message]) };
    return {
      event: { ...event, message: `(combined from similar events): ${event.message ?? ''}` },
      key: group,
    };
  }

  #deduplicate(event: Immutable<Event>, key: string): Correlation {
    const last = this.#observations.get(key);
    if (last === undefined) {
      this.#observations.set(key, {
        count: 1,
        name: event.metadata.name,
        firstTimestamp: event.firstTimestamp,
      });
      return { action: 'create', event: { ...event, count: 1 } };
    }
    const count = last.count + 1;
    this.#observations.set(key, { ...last, count });
    return {
      action: 'patch',
      event: {
        ...event,
        metadata: { ...event.metadata, name: last.name },
        firstTimestamp: last.firstTimestamp,
        count,
      },
      patch: { count, lastTimestamp: event.lastTimestamp, message: event.message },
    };
  }
}

function sourceAndObject({
  source,
  involvedObject: object,
}: Immutable<Event>): readonly (string | undefined)[] {
  return [
    source.component,
    source.host,
    object.kind,
    object.namespace,
    object.name,
    object.uid,
    object.apiVersion,
  ];
}

/** Joins the parts by a character that none of them can contain. */
function keyOf(parts: readonly (string | undefined)[]): string {
  return parts.join('\u0000');
}
