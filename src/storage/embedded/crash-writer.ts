// A program for the crash test: writes to the store in a directory from several loops until it is
// killed. It prints every acknowledged write as one line of JSON: [revision, key, value or null].

import { writeSync } from 'node:fs';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { openEmbeddedStorage } from './index.ts';

const LOOPS = 16;
const KEYS_PER_LOOP = 5;

const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error('usage: crash-writer.ts DIRECTORY');
const storage = await openEmbeddedStorage({ clock: systemClock, logger: silentLogger, dataDir });

/** Writes without end. Only this loop writes its keys. */
async function writeForEver(loop: number): Promise<never> {
  for (let count = 0; ; count++) {
    const key = `/crash/${loop}/${count % KEYS_PER_LOOP}`;
    const value = `${process.pid}-${count}`;
    const { kv, revision } = await storage.guaranteedUpdate(key, (current) =>
      current !== undefined && count % 3 === 0
        ? { action: 'delete' }
        : { action: 'put', value: Buffer.from(value) },
    );
    writeSync(1, `${JSON.stringify([revision, key, kv === undefined ? null : value])}\n`);
  }
}

await Promise.all(Array.from({ length: LOOPS }, (_, loop) => writeForEver(loop)));
