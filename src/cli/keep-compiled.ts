// What was compiled while a cluster ran is kept when it stops, if nothing was there when it began.

import type { Logger } from '#machinery/log.ts';
import type { Build } from './build.ts';

/** After this long, what was needed for the start and not since is compiled no more. */
const FRESH_SECONDS = 600;

/** For a cluster that stops: if nothing was there when it began, its next start shall have something. */
export function keepCompiledOnce(build: Build | undefined, logger: Logger): void {
  if (build === undefined || build.compiledBefore || process.uptime() > FRESH_SECONDS) return;
  try {
    build.keepCompiled();
  } catch (err) {
    // Installed by somebody else, perhaps: it starts as it did this time.
    logger.debug('what was compiled is not kept', { err });
  }
}
