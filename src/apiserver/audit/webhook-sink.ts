// Sends events to a webhook, as upstream's EventList. Every failure is tried again, since there is
// hardly one that lasts.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { AuditEvent } from './event.ts';
import type { AuditSink, ReportLoss } from './sink.ts';

export interface WebhookSinkConfig {
  /** Posts JSON. Rejects unless the response's code is 2xx. */
  readonly post: (body: Buffer, signal: AbortSignal) => Promise<void>;
  /** The pause before the first retry, in ms. */
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly lost: ReportLoss;
}

/** Upstream's steps of the back-off of webhooks. */
const ATTEMPTS = 5;
const FACTOR = 1.5;
const JITTER = 0.2;

export class WebhookSink implements AuditSink {
  readonly #config: WebhookSinkConfig;
  readonly #stopping = new AbortController();

  constructor(config: WebhookSinkConfig) {
    this.#config = config;
  }

  async process(events: readonly AuditEvent[]): Promise<boolean> {
    const { post, clock, random, lost, initialBackoffMs } = this.#config;
    const { signal } = this.#stopping;
    const items = events.map((event) => event.json()).join(',');
    const body = Buffer.from(
      `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`,
      'utf8',
    );
    let pauseMs = initialBackoffMs;
    for (let attempt = 1; ; attempt++) {
      try {
        await post(body, signal);
        return true;
      } catch (error) {
        if (attempt === ATTEMPTS || signal.aborted) {
          lost('webhook', error, events.length);
          return false;
        }
      }
      // A server that stops does not wait: the next attempt is then the last one.
      await clock.sleep(pauseMs * (1 + random.float() * JITTER), signal).catch(() => undefined);
      pauseMs *= FACTOR;
    }
  }

  stop(): Promise<void> {
    this.#stopping.abort(new Error('the API server stops'));
    return Promise.resolve();
  }
}
