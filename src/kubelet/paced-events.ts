// Events at a measured pace: a node that starts a hundred pods at once has three hundred things to tell, and they are not
// what it should be busy with. Like the kubelet's --event-qps and --event-burst.

import type { Clock, Timer } from '../machinery/clock.ts';
import type { EventSink } from './events.ts';
import type { ObjectReference } from './types.ts';

export interface PacedEventsConfig {
  readonly sink: EventSink;
  readonly clock: Clock;
  /** 0: no limit. */
  readonly perSecond: number;
  readonly burst: number;
}

interface Waiting {
  readonly regarding: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The order of events is kept. Those that wait longest are as old as they are: what is sent late is not worth less. */
const MAX_WAITING = 1000;

export class PacedEvents implements EventSink {
  readonly #config: PacedEventsConfig;
  #waiting: Waiting[] = [];
  #tokens: number;
  /** Monotonic time at which #tokens was right. */
  #countedAt: number;
  #timer: Timer | undefined;

  constructor(config: PacedEventsConfig) {
    this.#config = config;
    this.#tokens = config.burst;
    this.#countedAt = config.clock.monotonic();
  }

  event(regarding: ObjectReference, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#config.perSecond === 0) {
      this.#config.sink.event(regarding, type, reason, message);
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push({ regarding, type, reason, message });
    this.#send();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#waiting = [];
  }

  #send(): void {
    const { clock, perSecond, burst, sink } = this.#config;
    const now = clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#countedAt) / 1000) * perSecond);
    this.#countedAt = now;
    const count = Math.min(Math.floor(this.#tokens + 1e-9), this.#waiting.length);
    this.#tokens -= count;
    for (const { regarding, type, reason, message } of this.#waiting.splice(0, count))
      sink.event(regarding, type, reason, message);
    if (this.#waiting.length === 0 || this.#timer !== undefined) return;
    this.#timer = clock.setTimer(Math.max(((1 - this.#tokens) / perSecond) * 1000, 1), () => {
      this.#timer = undefined;
      this.#send();
    });
  }
}
