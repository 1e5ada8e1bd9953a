// Metrics of connections that failed because of outdated certificates: without subject alternative
// names, or with SHA-1 signatures. The names are upstream's.

import { Counter, counterText, Family } from '#machinery/metrics/instruments.ts';

export class CertificateMetrics {
  readonly #missingNames: Family<Counter>;
  readonly #sha1: Family<Counter>;

  /** Creates the metrics. `prefix`: 'apiserver_webhooks', for example. */
  constructor(prefix: string) {
    const counter = (name: string, help: string): Family<Counter> => {
      const family = new Family({ name: `${prefix}_${name}`, help }, () => new Counter());
      // The series exist from the start, as upstream's.
      family.with();
      return family;
    };
    this.#missingNames = counter(
      'x509_missing_san_total',
      'Connections that failed because the certificate of the server has no subject alternative names.',
    );
    this.#sha1 = counter(
      'x509_insecure_sha1_total',
      'Connections that failed because a certificate of the server has a SHA-1 signature.',
    );
  }

  /** Counts the error of a connection, if it is one of these. */
  failed(error: unknown): void {
    if (!(error instanceof Error)) return;
    if (error.message.includes('certificate relies on legacy Common Name field'))
      this.#missingNames.with().value++;
    // OpenSSL's message. It also covers algorithms that are weaker than SHA-1, since OpenSSL does
    // not name the algorithm.
    if (error.message.includes('CA signature digest algorithm too weak')) this.#sha1.with().value++;
  }

  text(): string {
    return counterText(this.#sha1) + counterText(this.#missingNames);
  }
}
