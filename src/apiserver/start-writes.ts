// The server's own writes at its start. They pass admission, as upstream's do. So a webhook that
// fails closed can reject them, even a webhook whose pods cannot run before the server does. The
// start does not wait for such a webhook: a rejected write is repeated until it succeeds.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';

export interface StartWritesConfig {
  /** Reports whether admission webhooks exist. Without webhooks, a failure is the server's own. */
  readonly hasWebhooks: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * How long the start waits for a write, in ms. A webhook that cannot be reached takes its timeout,
 * 10 s by default.
 */
const PATIENCE_MS = 2000;
/** The pause before a write is repeated, in ms, as in upstream's controllers for these objects. */
const RETRY_MS = 10_000;
/** Matches the messages of failed calls and denials, which arrive here as Status. */
const BY_WEBHOOK = /failed calling webhook |^admission webhook ".*" denied the request/;

export class StartWrites {
  readonly #config: StartWritesConfig;
  /** Pending writes by name. */
  readonly #pending = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(config: StartWritesConfig) {
    this.#config = config;
  }

  /**
   * Runs an idempotent write. Resolves when it is done, or when webhooks prevent it: it is then
   * repeated in the background. Rejects with any other error.
   */
  async attempt(name: string, write: () => Promise<void>): Promise<void> {
    const { clock, logger, hasWebhooks } = this.#config;
    if (!(await hasWebhooks())) return write();
    const waiting = new AbortController();
    const first = write();
    const patience = clock.sleep(PATIENCE_MS, waiting.signal).then(
      () => 'slow' as const,
      () => 'slow' as const,
    );
    try {
      const outcome = await Promise.race([first.then(() => 'done' as const), patience]);
      if (outcome === 'done') return;
      logger.warn('API server: startup write is slow, continuing without it', { write: name });
    } catch (error) {
      if (!isByWebhook(error)) throw error;
      logger.warn('API server: admission webhook rejected a startup write, retrying', {
        write: name,
        err: error,
      });
    } finally {
      waiting.abort();
    }
    this.#pending.set(name, this.#repeat(name, first, write));
  }

  /** Stops repeating writes. Resolves when no write is in flight. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the API server is shutting down'));
    await Promise.all(this.#pending.values());
  }

  async #repeat(name: string, first: Promise<void>, write: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#config;
    const { signal } = this.#stop;
    let attempt = first;
    for (;;) {
      try {
        await attempt;
        this.#pending.delete(name);
        return;
      } catch (error) {
        logger.debug('API server: startup write failed, retrying', {
          write: name,
          reason: errorMessage(error),
        });
      }
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      attempt = write();
    }
  }
}

const isByWebhook = (err: unknown): boolean => BY_WEBHOOK.test(errorMessage(err));
