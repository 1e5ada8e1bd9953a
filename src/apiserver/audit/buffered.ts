// A sink that collects events and sends them in batches, so that requests do not wait for it.

import type { Clock, Timer } from '#machinery/clock.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import type { AuditEvent } from './event.ts';
import type { AuditSink, ReportLoss } from './sink.ts';

export interface BatchConfig {
  /** Events beyond this number are lost. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  /** How long an event waits for others, in ms. */
  readonly maxBatchWaitMs: number;
  /** The limit of batches a second. Absent: there is none. */
  readonly throttle?: { readonly qps: number; readonly burst: number };
}

const STOP_MS = 5000;
/** The length of all waiting events, in characters of JSON. Events beyond it are lost. */
const MAX_WAITING = 256 * 1024 * 1024;

export class BufferedSink implements AuditSink {
  readonly #sink: AuditSink;
  readonly #config: BatchConfig;
  readonly #clock: Clock;
  readonly #lost: ReportLoss;
  readonly #bucket: TokenBucket | undefined;
  #waiting: AuditEvent[] = [];
  /** The length of the waiting events. */
  #length = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #stopped = false;

  constructor(sink: AuditSink, config: BatchConfig, clock: Clock, lost: ReportLoss) {
    this.#sink = sink;
    this.#config = config;
    this.#clock = clock;
    this.#lost = lost;
    const { throttle } = config;
    this.#bucket =
      throttle && new TokenBucket({ clock, perSecond: throttle.qps, burst: throttle.burst });
  }

  /** Resolves at once; with false if the buffer has no room for all events. */
  process(events: readonly AuditEvent[]): Promise<boolean> {
    let lost = 0;
    for (const event of events) {
      const { length } = event.json();
      const isFull =
        this.#waiting.length >= this.#config.bufferSize || this.#length + length > MAX_WAITING;
      if (this.#stopped || isFull) lost++;
      else {
        this.#waiting.push(event);
        this.#length += length;
      }
    }
    if (lost > 0) {
      const why = this.#stopped ? 'audit backend shut down' : 'audit buffer queue blocked';
      this.#lost('buffered', new Error(why), lost);
    }
    if (this.#waiting.length >= this.#config.maxBatchSize) this.#send();
    else if (this.#waiting.length > 0)
      this.#timer ??= this.#clock.setTimer(this.#config.maxBatchWaitMs, () => this.#send());
    // Events that are lost fail no request: batches are for those who prefer that.
    return Promise.resolve(true);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const late = new AbortController();
    const sent = this.#sendRest().finally(() => late.abort());
    // A receiver that does not answer delays the end of the server for so long.
    await this.#clock.sleep(STOP_MS, late.signal).catch(() => undefined);
    await this.#sink.stop();
    await sent;
  }

  async #sendRest(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) {
      this.#send();
      await this.#sending;
    }
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    do {
      const batch = this.#waiting.splice(0, this.#config.maxBatchSize);
      for (const event of batch) this.#length -= event.json().length;
      const waitMs = this.#stopped ? 0 : (this.#bucket?.reserve() ?? 0);
      if (waitMs > 0) await this.#clock.sleep(waitMs);
      if (batch.length > 0) await this.#sink.process(batch);
    } while (this.#waiting.length >= this.#config.maxBatchSize);
    if (this.#waiting.length > 0 && !this.#stopped)
      this.#timer ??= this.#clock.setTimer(this.#config.maxBatchWaitMs, () => this.#send());
  }
}
