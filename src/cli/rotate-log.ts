// Bounds the log of a cluster in the background: when cox.log is large, its content becomes cox.log.1,
// and cox.log begins anew.

import { copyFileSync, existsSync, renameSync, statSync, truncateSync } from 'node:fs';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

/** The size from which a log is rotated, in bytes. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
/** The number of earlier logs that are kept: cox.log.1 is the latest. */
const KEPT = 3;
const CHECK_INTERVAL_MS = 10_000;

export interface RotationConfig {
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: MAX_LOG_BYTES. */
  readonly maxBytes?: number;
}

/**
 * Rotates the log now and every ten seconds, as far as needed, until the timer is cancelled.
 *
 * The content is copied and the file truncated, because the process, its threads and its children
 * have the file open. They append, so they go on at its new end. A line that another thread writes
 * between the two steps can be lost.
 */
export function keepLogSmall(config: RotationConfig): Timer {
  const { clock, logger } = config;
  const attempt = (): void => {
    try {
      rotate(config);
    } catch (error) {
      logger.error('log: rotation failed, retrying', { file: config.file, err: error });
    }
  };
  attempt();
  return clock.setInterval(CHECK_INTERVAL_MS, attempt);
}

function rotate({ file, maxBytes = MAX_LOG_BYTES }: RotationConfig): void {
  if (!existsSync(file) || statSync(file).size < maxBytes) return;
  for (let number = KEPT - 1; number >= 1; number--) {
    if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
  }
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}
