// Events that arrive while pods are being scheduled. A pod in flight may be rejected because of
// outdated state; when it returns, the events since it was popped decide whether a retry is
// worthwhile. So no event is lost.

import type { ClusterEvent, EventObjects } from '../framework/events.ts';

export interface InFlightEvent {
  readonly event: ClusterEvent;
  readonly objects: EventObjects;
}

export class InFlight {
  /** UID → the number of the first event after the pod was popped, in the order of popping. */
  readonly #pods = new Map<string, number>();
  /**
   * The events from number #firstEvent on. Earlier ones arrived before every pod in flight was
   * popped.
   */
  #events: InFlightEvent[] = [];
  #firstEvent = 0;

  get size(): number {
    return this.#pods.size;
  }

  get eventCount(): number {
    return this.#events.length;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** Adds a pod. Returns false if it is in flight already. */
  add(uid: string): boolean {
    if (this.#pods.has(uid)) return false;
    this.#pods.set(uid, this.#firstEvent + this.#events.length);
    return true;
  }

  /** Keeps the event for the pods in flight. */
  record(event: ClusterEvent, objects: EventObjects): void {
    if (this.#pods.size > 0) this.#events.push({ event, objects });
  }

  countsByEvent(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { event } of this.#events) counts[event.label] = (counts[event.label] ?? 0) + 1;
    return counts;
  }

  /** Returns the events since the pod was popped. */
  eventsSince(uid: string): readonly InFlightEvent[] {
    const first = this.#pods.get(uid);
    return first === undefined ? [] : this.#events.slice(first - this.#firstEvent);
  }

  done(uid: string): void {
    if (!this.#pods.delete(uid)) return;
    const [oldest] = this.#pods.values();
    if (oldest === undefined) {
      this.#firstEvent += this.#events.length;
      this.#events = [];
    } else if (oldest > this.#firstEvent) {
      this.#events = this.#events.slice(oldest - this.#firstEvent);
      this.#firstEvent = oldest;
    }
  }
}
