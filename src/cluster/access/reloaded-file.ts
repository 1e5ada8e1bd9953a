// A configuration file that is read again while the server runs, as upstream: a new content that is
// not valid is logged and counted, and the present configuration stays.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { serverId } from '#apiserver/identity/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { Counter, counterText, Family, gaugeText } from '#machinery/metrics/instruments.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import * as wait from '#machinery/wait.ts';

/** How often the file is read. */
const PERIOD_MS = 5_000;
/** In upstream's order, which scripts that read the text may expect. */
const LABELS = ['apiserver_id_hash', 'status'];
/** The label of metrics that names this server. */
export const SERVER_ID_HASH = hashOf(serverId(hostname()));

export interface ReloadedFileConfig<T> {
  readonly path: string;
  /** The subject of the configuration, such as 'authorization'; for metrics and the log. */
  readonly subject: string;
  /** The content of the file now. */
  readonly text: string;
  /** The configuration in `text`. */
  readonly current: T;
  /**
   * Reads another content. Rejects if it is not valid. Work outside of the event loop is the
   * reader's to count (outsideWork). `signal`: that of `keepLoaded`.
   */
  readonly read: (text: string, signal: AbortSignal) => T | Promise<T>;
  /**
   * Reports whether a content that was rejected with the error is read again. Default: only once it
   * has changed again.
   */
  readonly retries?: (error: unknown) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ReloadedFile<T> {
  readonly #config: ReloadedFileConfig<T>;
  #text: string;
  #current: T;
  readonly #prefix: string;
  readonly #reloads: Family<Counter>;
  /** By status: when the last reload was, in seconds since the epoch. */
  readonly #last = new Map<string, number>();
  /** The hash of the content that is in use. */
  #hash: string;

  constructor(config: ReloadedFileConfig<T>) {
    this.#config = config;
    this.#text = config.text;
    this.#current = config.current;
    this.#hash = hashOf(config.text);
    this.#prefix = `apiserver_${config.subject}_config_controller`;
    this.#reloads = new Family(
      {
        name: `${this.#prefix}_automatic_reloads_total`,
        help: `Automatic reloads of ${config.subject} configuration, by status and apiserver identity.`,
        labels: LABELS,
      },
      () => new Counter(),
    );
  }

  /** The same value until another one is read. */
  get current(): T {
    return this.#current;
  }

  /** Reads the file periodically until the signal aborts. `changed`: called after a change. */
  async keepLoaded(signal: AbortSignal, changed: () => void): Promise<void> {
    const { clock } = this.#config;
    try {
      await wait.until({ clock, signal, periodMs: PERIOD_MS }, async () => {
        if (await this.#reload(signal)) changed();
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  metrics(): string {
    const { subject } = this.#config;
    const last = [...this.#last].map(
      ([status, seconds]) => [[SERVER_ID_HASH, status], seconds] as const,
    );
    return [
      counterText(this.#reloads),
      gaugeText(
        {
          name: `${this.#prefix}_automatic_reload_last_timestamp_seconds`,
          help: `Time of the last automatic reload of ${subject} configuration, by status and apiserver identity.`,
          labels: LABELS,
        },
        last,
      ),
      gaugeText(
        {
          name: `${this.#prefix}_last_config_info`,
          help: `The hash of the last applied ${subject} configuration, by apiserver identity.`,
          labels: ['apiserver_id_hash', 'hash'],
        },
        [[[SERVER_ID_HASH, this.#hash], 1]],
      ),
    ].join('');
  }

  /** Reports whether the configuration is another one now. */
  async #reload(signal: AbortSignal): Promise<boolean> {
    const { path, subject, read, retries, logger } = this.#config;
    const before = this.#text;
    try {
      const text = await outsideWork(readFile(path, 'utf8'));
      if (text === this.#text) return false;
      this.#text = text;
      const configuration = await read(text, signal);
      if (isDeepStrictEqual(configuration, this.#current)) return false;
      this.#current = configuration;
      this.#hash = hashOf(text);
      this.#count('success');
      logger.info(`reloaded ${subject} config`, { file: path });
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      logger.error(`reloading ${subject} config`, { file: path, err: error });
      this.#count('failure');
      if (retries?.(error) === true) this.#text = before;
      return false;
    }
  }

  #count(status: string): void {
    this.#reloads.with(SERVER_ID_HASH, status).value++;
    this.#last.set(status, this.#config.clock.now() / 1000);
  }
}

function hashOf(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
