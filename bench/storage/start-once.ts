// Opens the store in the given folder once, and prints a StartResult as JSON.

import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { openEmbeddedEngine } from '#storage/embedded/index.ts';

export interface StartResult {
  /** Processor time of all threads in ms. */
  readonly ms: number;
  /** The objects that are there. */
  readonly count: number;
}

const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: start-once.ts FOLDER');
const before = process.cpuUsage();
const engine = await openEmbeddedEngine({ clock: systemClock, logger: silentLogger, dataDir });
const { user, system } = process.cpuUsage(before);
const result: StartResult = {
  ms: (user + system) / 1000,
  count: await engine.count('/registry/'),
};
await engine.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
