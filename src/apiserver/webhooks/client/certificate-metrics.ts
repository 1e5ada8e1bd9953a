// How many connections failed because of certificates that are out of date, under upstream's names: those without
// subject alternative names, and those with SHA-1 signatures.

import { Counter, counterText, Family } from '#machinery/metrics/instruments.ts';

export class CertificateMetrics {
  readonly #missingNames: Family<Counter>;
  readonly #sha1: Family<Counter>;

  /** `prefix`: 'apiserver_webhooks', for example. */
  constructor(prefix: string) {
    const counter = (name: string, help: string): Family<Counter> => {
      const family = new Family({ name: `${prefix}_${name}`, help }, () => new Counter());
      // There from the beginning, as upstream's.
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
    // OpenSSL's words. Algorithms that are weaker than SHA-1 count, too: OpenSSL does not name the algorithm.
    if (error.message.includes('CA signature digest algorithm too weak')) this.#sha1.with().value++;
  }

  text(): string {
    return counterText(this.#sha1) + counterText(this.#missingNames);
  }
}
