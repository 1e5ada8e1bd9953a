// The name of a process in ps, top, pgrep and killall: `node` says nothing about a role. Its command
// line stays as it is, unlike with `process.title`.

import { writeFileSync } from 'node:fs';
import type { Logger } from '#machinery/log.ts';

/** The name's file; longer names are cut after 15 bytes by the kernel. */
const COMM = '/proc/self/comm';

/** Gives this process a name on Linux. */
export function nameProcess(name: string, logger: Logger, file: string = COMM): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync(file, name);
  } catch (error) {
    logger.debug('the process keeps its name', { name, err: error });
  }
}
