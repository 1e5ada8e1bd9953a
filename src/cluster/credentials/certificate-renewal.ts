// Renews certificates while the process runs. A process that runs for a year would otherwise serve
// an expired certificate.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import type { KeyPair } from './pki.ts';

/**
 * The interval at which the latest certificate is requested from the Pki. The Pki signs a new one
 * when the stored one has less than 30 days left.
 */
export const RENEWAL_PERIOD_MS = 12 * 3600 * 1000;

/** The interval at which certificate files are read again, as in upstream's components. */
export const RELOAD_PERIOD_MS = 60_000;

export interface CertificateRenewalConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name in the log. */
  readonly name: string;
  /** The pair that is in use now. */
  readonly current: KeyPair;
  readonly periodMs: number;
  /**
   * Returns the pair that should be in use: the current one, or its successor. May reject; the next
   * period tries again.
   */
  readonly latest: () => KeyPair | Promise<KeyPair>;
  /** Takes a pair into use. Called when `latest` returned another one. */
  readonly use: (pair: KeyPair) => void;
}

/**
 * Asks for the latest pair once per period, and resolves when the signal aborts. Does not reject: a
 * pair that cannot be had or used is logged and asked for again.
 */
export async function keepRenewed(
  config: CertificateRenewalConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, name, periodMs, latest, use } = config;
  let { current } = config;
  const renew = async (): Promise<void> => {
    try {
      const pair = await latest();
      if (signal.aborted || (pair.cert === current.cert && pair.key === current.key)) return;
      use(pair);
      current = pair;
      logger.info('certificate renewed', { certificate: name });
    } catch (error) {
      logger.error('certificate renewal failed, will retry', { certificate: name, err: error });
    }
  };
  try {
    await wait.until({ clock, signal, periodMs }, renew);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
