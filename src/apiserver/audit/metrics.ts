// Metrics of the audit log, under upstream's names.

import { Counter, counterText, Family } from '#machinery/metrics/instruments.ts';
import type { Level } from './policy.ts';

export class AuditMetrics {
  readonly #events = new Family(
    { name: 'apiserver_audit_event_total', help: 'Audit events that were sent to the backends.' },
    () => new Counter(),
  );
  readonly #errors = new Family(
    {
      name: 'apiserver_audit_error_total',
      help: 'Audit events that were lost, by the part that lost them.',
      labels: ['plugin'],
    },
    () => new Counter(),
  );
  readonly #levels = new Family(
    {
      name: 'apiserver_audit_level_total',
      help: 'Requests, by the level at which the audit policy records them.',
      labels: ['level'],
    },
    () => new Counter(),
  );
  readonly #rejected = new Family(
    {
      name: 'apiserver_audit_requests_rejected_total',
      help: 'Requests that were rejected because they could not be recorded.',
    },
    () => new Counter(),
  );

  constructor() {
    // The series exist from the start, as upstream's.
    this.#events.with();
    this.#rejected.with();
  }

  recorded(): void {
    this.#events.with().value++;
  }

  lost(plugin: string, events: number): void {
    this.#errors.with(plugin).value += events;
  }

  decided(level: Level, requests = 1): void {
    this.#levels.with(level).value += requests;
  }

  rejected(): void {
    this.#rejected.with().value++;
  }

  text(): string {
    return [this.#events, this.#errors, this.#levels, this.#rejected].map(counterText).join('');
  }
}
