// Records the actions of a component and their reasons as Event objects. Recording never blocks and
// never fails for the caller: events are sent one after the other in the background, and dropped if
// too many are waiting.

import { events, type Event, type ObjectReference } from '#api/groups/core/v1/index.ts';
import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Client } from '../client.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { formatTime } from '#machinery/text/time.ts';
import { EventCorrelator, type EventCorrelatorConfig } from './correlator.ts';

export interface EventRecorderConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The reporting component: 'replicaset-controller', 'kubelet' … */
  readonly component: string;
  /** The node of the component, if it has one. */
  readonly host?: string;
  /**
   * The number of events that may wait to be sent; more are dropped. Default: 1000. As in upstream,
   * that is no problem to report: events are best effort, and a controller that creates thousands of
   * objects records more than it may send.
   */
  readonly queueLimit?: number;
  /**
   * The number of events that are sent per second, and in a burst; others wait. Default: 50 and
   * 100, as in upstream's clients.
   */
  readonly perSecond?: number;
  readonly burst?: number;
  /** Settings of the recorder's own correlator, or one that several sources share. */
  readonly correlator?: Omit<EventCorrelatorConfig, 'clock'> | EventCorrelator;
}

export type EventType = 'Normal' | 'Warning';

/** An API object, or a reference to one (with a fieldPath for a part of it). */
export type EventSubject =
  | {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly metadata: Immutable<ObjectMeta>;
    }
  | Immutable<ObjectReference>;

export interface EventExtras {
  readonly annotations?: Readonly<Record<string, string>>;
  /** The action that was taken or attempted, in UpperCamelCase. */
  readonly action?: string;
  readonly related?: Immutable<ObjectReference>;
}

/** The part of a recorder that components use. */
export interface Recorder {
  event(
    subject: EventSubject,
    type: EventType,
    reason: string,
    message: string,
    extras?: EventExtras,
  ): void;
}

const SEND_ATTEMPTS = 12;
const SEND_RETRY_MS = 10_000;

export class EventRecorder implements Recorder {
  readonly #config: EventRecorderConfig;
  readonly #correlator: EventCorrelator;
  readonly #queueLimit: number;
  readonly #pace: TokenBucket;
  /** Oldest first. */
  #waiting: Immutable<Event>[] = [];
  /** The running sender; undefined while no event is waiting. */
  #sending: Promise<void> | undefined;
  #dropped = 0;
  readonly #stop = new AbortController();

  constructor(config: EventRecorderConfig) {
    this.#config = config;
    this.#queueLimit = config.queueLimit ?? 1000;
    this.#pace = new TokenBucket({
      clock: config.clock,
      perSecond: config.perSecond ?? 50,
      burst: config.burst ?? 100,
    });
    this.#correlator =
      config.correlator instanceof EventCorrelator
        ? config.correlator
        : new EventCorrelator({ ...config.correlator, clock: config.clock });
  }

  /**
   * Records an event. `subject` needs apiVersion and kind. Items of a list lack them: pass a
   * reference for those.
   */
  event(
    subject: EventSubject,
    type: EventType,
    reason: string,
    message: string,
    extras: EventExtras = {},
  ): void {
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.length >= this.#queueLimit) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(this.#makeEvent(referenceTo(subject), type, reason, message, extras));
    this.#sending ??= this.#send();
  }

  /** Reports whether no event waits to be sent. */
  get isIdle(): boolean {
    return this.#sending === undefined;
  }

  /** Resolves when all events have been sent or dropped. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  /** Stops sending. Waiting events are dropped. */
  stop(): void {
    this.#stop.abort();
    this.#waiting = [];
  }

  #makeEvent(
    involvedObject: Immutable<ObjectReference>,
    type: EventType,
    reason: string,
    message: string,
    { annotations, action, related }: EventExtras,
  ): Immutable<Event> {
    const { clock, random, component, host } = this.#config;
    const now = clock.now();
    const timestamp = formatTime(now);
    // The name contains the time in nanoseconds, as upstream's. The clock is less precise, so
    // random digits fill the rest.
    const unique = (BigInt(now) * 1_000_000n + BigInt(random.int(1_000_000))).toString(16);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `${involvedObject.name ?? ''}.${unique}`,
        namespace: involvedObject.namespace || 'default',
        ...(annotations !== undefined && { annotations }),
      } as Immutable<ObjectMeta>,
      involvedObject,
      reason,
      message,
      source: { component, ...(host !== undefined && { host }) },
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      count: 1,
      type,
      eventTime: null,
      ...(action !== undefined && { action }),
      ...(related !== undefined && { related }),
      reportingComponent: component,
      reportingInstance: host ?? '',
    };
  }

  async #send(): Promise<void> {
    // The caller continues before anything is sent.
    await Promise.resolve();
    try {
      for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
        await this.#sendOne(event);
      }
    } finally {
      // This happens in the turn in which the queue becomes empty: an event that is added later
      // must start a new sender.
      this.#sending = undefined;
    }
    if (this.#dropped > 0)
      this.#config.logger.debug('event recorder: queue is full, events dropped', {
        count: this.#dropped,
      });
    this.#dropped = 0;
  }

  async #sendOne(event: Immutable<Event>): Promise<void> {
    const { clock, logger } = this.#config;
    const correlation = this.#correlator.correlate(event);
    if (correlation.action === 'skip') return;
    const delayMs = this.#pace.reserve();
    if (delayMs > 0) await clock.sleep(delayMs, this.#stop.signal).catch(() => undefined);
    for (let attempt = 1; !this.#stop.signal.aborted; attempt++) {
      try {
        if (correlation.action === 'create') await this.#create(correlation.event);
        else await this.#patchOrCreate(correlation.event, correlation.patch);
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (!apierrors.isServiceUnavailable(error) || attempt === SEND_ATTEMPTS) {
          // A namespace that is being deleted rejects its last events, which is expected.
          const expected =
            apierrors.isAlreadyExists(error) ||
            apierrors.statusCause(error, 'NamespaceTerminating') !== undefined;
          logger[expected ? 'debug' : 'warn']('an event could not be recorded', {
            reason: event.reason,
            note: event.message,
            err: error,
          });
          return;
        }
        await clock.sleep(SEND_RETRY_MS, this.#stop.signal).catch(() => undefined);
      }
    }
  }

  async #create(event: Immutable<Event>): Promise<void> {
    await this.#client(event).create(event, { signal: this.#stop.signal });
  }

  /** Patches an event. If it has expired meanwhile, creates it again under its old name. */
  async #patchOrCreate(event: Immutable<Event>, patch: unknown): Promise<void> {
    try {
      const options = { signal: this.#stop.signal };
      await this.#client(event).patch(
        event.metadata.name,
        'application/strategic-merge-patch+json',
        patch,
        options,
      );
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      await this.#create(event);
    }
  }

  #client(event: Immutable<Event>) {
    return this.#config.client.resource(events).namespace(event.metadata.namespace ?? 'default');
  }
}

/** Returns a reference without its empty parts. */
function referenceTo(subject: EventSubject): Immutable<ObjectReference> {
  if (!('metadata' in subject)) return subject;
  const { apiVersion, kind, metadata } = subject;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    ...(kind && { kind }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(apiVersion && { apiVersion }),
    ...(resourceVersion && { resourceVersion }),
  };
}
