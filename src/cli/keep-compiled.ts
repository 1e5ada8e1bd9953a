// Keeps the compiled code when a cluster stops, if there was none when it started.

import type { Logger } from '#machinery/log.ts';
import type { Build } from './build.ts';

/** After this long, what was needed for the start and not since is compiled no more. */
const FRESH_SECONDS = 600;

/**
 * Keeps the compiled code when a cluster stops, so that the next start has some. Does nothing if
 * there was compiled code at the start.
 */
export function keepCompiledOnce(build: Build | undefined, logger: Logger): void {
  if (build === undefined || build.compiledBefore || process.uptime() > FRESH_SECONDS) return;
  try {
    build.keepCompiled();
  } catch (error) {
    // The package may be installed by another user. The next start takes as long as this one.
    logger.debug('the compiled code cannot be kept', { err: error });
  }
}
