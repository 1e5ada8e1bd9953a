// The audit log of a server: its policy, where its events go, and the filters that make them.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Attributes } from '../authorization/authorizer.ts';
import type { Filter } from '../request.ts';
import type { AuditEvent } from './event.ts';
import { audit, auditFailedAuthentication } from './filter.ts';
import type { AuditMetrics } from './metrics.ts';
import { type AuditPolicy, evaluator, type Level } from './policy.ts';
import type { AuditSink, ReportLoss } from './sink.ts';

export interface AuditSettings {
  readonly policy: AuditPolicy;
  /** Returns where events go. `lost`: is called for events that cannot be written. */
  readonly sink: (lost: ReportLoss) => AuditSink;
}

interface AuditLogConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly metrics: AuditMetrics;
}

export class AuditLog {
  readonly #sink: AuditSink;
  /** Other processes that still record. */
  #others: Promise<unknown> = Promise.resolve();
  readonly filters: { readonly requests: Filter; readonly failedAuthentication: Filter };
  readonly #metrics: AuditMetrics;
  readonly #decide: ReturnType<typeof evaluator>;

  constructor({ policy, sink }: AuditSettings, { clock, logger, random, metrics }: AuditLogConfig) {
    this.#sink = sink((plugin, error, lost) => {
      metrics.lost(plugin, lost);
      logger.error('audit events are lost', { plugin, events: lost, reason: errorMessage(error) });
    });
    this.#metrics = metrics;
    this.#decide = evaluator(policy);
    const config = { policy, sink: this.#sink, metrics, clock, random };
    this.filters = {
      requests: audit(config),
      failedAuthentication: auditFailedAuthentication(config),
    };
  }

  /** Returns the level at which the policy records a request. */
  levelOf(attributes: Attributes): Level {
    return this.#decide(attributes).level;
  }

  /** Counts requests that passed beside the filters, at the level None. */
  countUnrecorded(requests: number): void {
    if (requests > 0) this.#metrics.decided('None', requests);
  }

  /** Takes events of another process that serves the same API. See AuditSink. */
  process(events: readonly AuditEvent[]): Promise<boolean> {
    return this.#sink.process(events);
  }

  /** Makes stop() wait: other processes record until then. */
  keepOpen(until: Promise<unknown>): void {
    this.#others = Promise.allSettled([this.#others, until]);
  }

  /** Writes what is waiting. */
  async stop(): Promise<void> {
    await this.#others;
    await this.#sink.stop();
  }
}
