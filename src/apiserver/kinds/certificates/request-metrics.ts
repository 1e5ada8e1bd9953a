// How often certificates were issued for a requested lifetime, and how often with it. The names are
// upstream's: pkg/registry/certificates/certificates/storage/metrics.go.

import { X509Certificate } from 'node:crypto';

import type { CertificateSigningRequest } from '#api/groups/certificates/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';

/** Signers issue from this time before now on, in ms, for clients whose clocks are late. */
const BACKDATED_MS = 5 * 60_000;
/** A lifetime may differ from the requested one by this part of it. */
const TOLERANCE = 1 / 20;

export class CertificateRequestMetrics {
  readonly #instruments = new Instruments();
  readonly #requested: Family<Counter>;
  readonly #honored: Family<Counter>;

  constructor() {
    const counter = (name: string, help: string): Family<Counter> =>
      this.#instruments.counter({
        name: `apiserver_certificates_registry_${name}`,
        help: `${help} Signers other than those of Kubernetes are counted together.`,
        labels: ['signerName'],
      });
    this.#requested = counter(
      'csr_requested_duration_total',
      'Certificates that were issued to requests with a lifetime, by signer.',
    );
    this.#honored = counter(
      'csr_honored_duration_total',
      'Certificates that were issued with the requested lifetime, by signer.',
    );
  }

  /** Counts a certificate that was written. `issued`: PEM in base64. */
  issued({ spec }: Immutable<CertificateSigningRequest>, issued: string): void {
    if (spec.expirationSeconds === undefined) return;
    const signer = spec.signerName.startsWith('kubernetes.io/') ? spec.signerName : 'other';
    this.#requested.with(signer).value++;
    const wantedMs = spec.expirationSeconds * 1000;
    const difference = Math.abs(wantedMs - lifetimeMs(issued));
    if (difference < BACKDATED_MS + wantedMs * TOLERANCE) this.#honored.with(signer).value++;
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    return this.#instruments.text();
  }
}

/** Returns the lifetime of the first certificate; NaN for PEM that OpenSSL cannot read. */
function lifetimeMs(issued: string): number {
  try {
    const { validFrom, validTo } = new X509Certificate(Buffer.from(issued, 'base64'));
    return Date.parse(validTo) - Date.parse(validFrom);
  } catch {
    // The certificate is valid by the rules of the API, and has been written.
    return NaN;
  }
}
