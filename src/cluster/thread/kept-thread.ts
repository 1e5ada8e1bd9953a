// Keeps a thread of components running: when it ends by itself, for example because its memory is
// used up, a new one replaces it. The journal restores simulated containers; without it, the
// kubelets start the pods' containers again.

import type { Duplex } from 'node:stream';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { RestartBackoff, type UncaughtErrors } from '../faults/index.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { KeyPair } from '../credentials/pki.ts';
import type { ComponentsRunner, ComponentsThreadStart } from './components-thread.ts';

const NAME = 'components-thread';

export interface KeptThreadConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly faults: UncaughtErrors;
  /** Makes a thread, which loads its program at once. */
  readonly make: () => ComponentsRunner;
}

export class KeptThread implements ComponentsRunner {
  readonly #config: KeptThreadConfig;
  readonly #abort = new AbortController();
  readonly #backoff: RestartBackoff;
  #current: ComponentsRunner;
  /** The last that was set: a thread that is started again gets it, too. */
  #kubeletCertificate: KeyPair | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #fail: (reason: Error) => void = () => undefined;
  /** Resolves with the reason if the first start fails. */
  readonly failed: Promise<Error>;

  constructor(config: KeptThreadConfig) {
    this.#config = config;
    this.#backoff = new RestartBackoff(config.clock);
    this.#current = config.make();
    this.failed = new Promise((resolve) => (this.#fail = resolve));
  }

  async start(start: ComponentsThreadStart): Promise<void> {
    try {
      await this.#current.start(start);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    this.#keeping = this.#keep(start);
  }

  metrics(): string | Promise<string> {
    return this.#current.metrics();
  }

  decisions(): readonly Decision[] | Promise<readonly Decision[]> {
    return this.#current.decisions();
  }

  setKubeletCertificate(pair: KeyPair): void {
    this.#kubeletCertificate = pair;
    this.#current.setKubeletCertificate(pair);
  }

  connect(node: string): Duplex | undefined {
    return this.#current.connect(node);
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('the cluster stops'));
    await this.#keeping;
    await this.#current.stop();
  }

  async #keep(start: ComponentsThreadStart): Promise<void> {
    const { clock, logger, faults, make } = this.#config;
    const { signal } = this.#abort;
    const stopping = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    for (;;) {
      const error = await Promise.race([this.#current.failed, stopping]);
      if (error === undefined || signal.aborted) return;
      faults.report(NAME, error);
      const delayMs = this.#backoff.next();
      logger.warn('restarting component', { component: NAME, delayMs });
      await this.#current
        .stop()
        .catch((error_: unknown) =>
          logger.debug('thread has not stopped cleanly', { err: error_ }),
        );
      await clock.sleep(delayMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const next = make();
      this.#current = next;
      // A start that fails resolves `failed` only if the thread has ended.
      const failure = await next.start(start).then(
        () => {
          if (this.#kubeletCertificate !== undefined)
            next.setKubeletCertificate(this.#kubeletCertificate);
          return undefined;
        },
        (error_: unknown) => error_,
      );
      if (failure !== undefined) {
        faults.report(NAME, failure);
        await next
          .stop()
          .catch((error_: unknown) =>
            logger.debug('thread has not stopped cleanly', { err: error_ }),
          );
      }
    }
  }
}
