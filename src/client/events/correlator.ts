// Decides whether an event becomes a new object, increases the count of an earlier one, or is
// dropped.
//
// There are three stages, with the numbers of upstream's components. Spam filter: a source may send
// 25 events about an object and then one every five minutes. Aggregation: ten events within ten
// minutes that differ only in their message become one. Deduplication: a repeated event increases
// the count of the first.

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { parseTime } from '#machinery/text/time.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { LruCache } from '#machinery/collections/lru.ts';

export interface EventCorrelatorConfig {
  readonly clock: Clock;
  /** The number of events, sources and groups that are remembered. Default: 4096. */
  readonly cacheSize?: number;
  /** The number of events that a source may send about an object at once. Default: 25. */
  readonly spamBurst?: number;
  /** The number of further events per second. Default: one in 300 s. */
  readonly spamPerSecond?: number;
  /** The number of different messages with one reason that are aggregated. Default: 10. */
  readonly aggregateAfter?: number;
  /** The longest time between messages that are aggregated. Default: 10 minutes. */
  readonly aggregateIntervalMs?: number;
}

export type Correlation =
  /** The source has sent too many events about this object. */
  | { readonly action: 'skip' }
  | { readonly action: 'create'; readonly event: Immutable<Event> }
  /** The event `event.metadata.name` should exist; if it does not, create `event`. */
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

/** Several sources may share one: it keeps their events apart. */
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

  /** Decides about one occurrence. `event` has its own name and count 1. */
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
    const startsGroup =
      last === undefined || nowMs - last.lastMs > this.#config.aggregateIntervalMs;
    const messages = new Set(startsGroup ? [] : last.messages);
    messages.add(event.message ?? '');
    const similar = messages.size >= this.#config.aggregateAfter;
    // The group never exceeds its limit. Which message is removed does not matter.
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
