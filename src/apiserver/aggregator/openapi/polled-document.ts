// A document of another API server, which is read when it is needed. A document older than a minute
// is still served, and read again in the background. A document that cannot be read is left out,
// and retried after a time that doubles from a minute to an hour.

import type { Clock } from '#machinery/clock.ts';

const REFRESH_MS = 60_000;
const MAX_BACKOFF_MS = 3_600_000;

export interface PolledDocumentConfig<T> {
  readonly clock: Clock;
  /** Reads the document. Resolves with undefined if it has not changed. */
  readonly read: (previous: T | undefined) => Promise<T | undefined>;
  /** Called when the document has changed. */
  readonly onChange: () => void;
  readonly onFailure: (error: unknown) => void;
}

export class PolledDocument<T> {
  readonly #config: PolledDocumentConfig<T>;
  #value: T | undefined;
  #nextRead = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #reading: Promise<void> | undefined;

  constructor(config: PolledDocumentConfig<T>) {
    this.#config = config;
  }

  /** The last document. Undefined: it has never been read. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Reads the document if that is due. Resolves at once if there is one already; never rejects. */
  async refresh(): Promise<void> {
    if (this.#reading === undefined && this.#config.clock.monotonic() >= this.#nextRead) {
      this.#reading = this.#read().finally(() => (this.#reading = undefined));
    }
    if (this.#value === undefined) await this.#reading;
  }

  /** Makes the document due for reading now. */
  expire(): void {
    this.#failures = 0;
    this.#nextRead = Number.NEGATIVE_INFINITY;
  }

  async #read(): Promise<void> {
    const { clock, read, onChange, onFailure } = this.#config;
    // Set before the request, so that an expiry during the request counts.
    this.#nextRead = clock.monotonic() + REFRESH_MS;
    try {
      const value = await read(this.#value);
      this.#failures = 0;
      if (value === undefined) return;
      this.#value = value;
      onChange();
    } catch (error) {
      this.#nextRead =
        clock.monotonic() + Math.min(REFRESH_MS * 2 ** this.#failures++, MAX_BACKOFF_MS);
      onFailure(error);
    }
  }
}
