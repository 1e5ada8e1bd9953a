// Renews certificates while the process runs. A process that runs for a year would otherwise serve
// an expired certificate.

import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import type { KeyPair } from './pki.ts';

/**
 * The interval at which the latest certificate is requested from the Pki. The Pki signs a new one
 * when the stored one has less than 30 days left.
 */
export const RENEWAL_PERIOD_MS = 12 * 3600 * 1000;

/**
 * The interval at which certificate files are read again. Upstream's components watch them, and use
 * replaced ones within seconds.
 */
export const RELOAD_PERIOD_MS = 2000;

export interface CertificateRenewalConfig<T = KeyPair> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name in the log. */
  readonly name: string;
  /** The pair, or the authorities, that are in use now: a plain value. */
  readonly current: T;
  readonly periodMs: number;
  /**
   * Returns those that should be in use: the current ones, or their successors. May reject; the next
   * period tries again.
   */
  readonly latest: () => T | Promise<T>;
  /** Takes others into use. Called when `latest` returned others. */
  readonly use: (latest: T) => void;
}

/**
 * Asks for the latest certificates once per period, and resolves when the signal aborts. Does not
 * reject: those that cannot be had or used are logged and asked for again.
 */
export async function keepRenewed<T = KeyPair>(
  config: CertificateRenewalConfig<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, name, periodMs, latest, use } = config;
  let { current } = config;
  /** The message of the last attempt if it failed: a failure that lasts is logged once. */
  let failure: string | undefined;
  const renew = async (): Promise<void> => {
    try {
      const next = await latest();
      if (signal.aborted) return;
      const isOther = !deepEqual(next, current);
      if (isOther) use(next);
      failure = undefined;
      if (!isOther) return;
      current = next;
      logger.info('certificate renewed', { certificate: name });
    } catch (error) {
      const message = errorMessage(error);
      if (message !== failure)
        logger.error('certificate renewal failed, will retry', { certificate: name, err: error });
      failure = message;
    }
  };
  try {
    await wait.until({ clock, signal, periodMs }, renew);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
