// Metrics of issued certificates, with upstream's names.

import type { Clock } from '#machinery/clock.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import type { CertificateObserver } from './certificate-manager.ts';
import type { IssuedPair } from './issued-pair.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** From a minute to four years, in seconds. */
const AGE_BUCKETS: readonly number[] = [
  MINUTE,
  HOUR,
  4 * HOUR,
  DAY,
  7 * DAY,
  30 * DAY,
  90 * DAY,
  180 * DAY,
  360 * DAY,
  1440 * DAY,
];

export class CertificateMetrics implements CertificateObserver {
  readonly #instruments = new Instruments();
  readonly #failures;
  /** Upstream has none for client certificates. */
  readonly #ages;
  readonly #kind: 'client' | 'server';

  constructor(kind: 'client' | 'server') {
    this.#kind = kind;
    this.#failures = this.#instruments.counter({
      name:
        kind === 'client'
          ? 'kubelet_certificate_manager_client_expiration_renew_errors'
          : 'kubelet_server_expiration_renew_errors',
      help: `Requests for the kubelet's ${kind} certificate that failed.`,
    });
    this.#failures.with();
    if (kind === 'server') {
      const name = 'kubelet_certificate_manager_server_rotation_seconds';
      const help = 'How long serving certificates had been valid when they were replaced.';
      this.#ages = this.#instruments.histogram({ name, help }, AGE_BUCKETS);
      this.#ages.with();
    }
  }

  renewalFailed(): void {
    this.#failures.with().value++;
  }

  rotated(ageSeconds: number): void {
    this.#ages?.with().observe(ageSeconds);
  }

  /** Returns the metrics as text. `current`: the present pair. */
  text(current: IssuedPair | undefined, clock: Clock): string {
    const seconds =
      current === undefined
        ? Number.POSITIVE_INFINITY
        : Math.trunc((current.notAfter - clock.now()) / 1000);
    const name = `kubelet_certificate_manager_${this.#kind}_ttl_seconds`;
    const help = `Seconds until the kubelet's ${this.#kind} certificate expires; +Inf without one.`;
    this.#instruments.gauge({ name, help }, () => [[[], seconds]]);
    return this.#instruments.text();
  }
}
