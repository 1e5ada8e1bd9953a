// Power loss: a server runs on the file layer, which records all operations on its files, and the
// time of each acknowledgement. Then the power fails at any point of that trace, and the store must
// open with all writes that were acknowledged before the point.

import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Random, SeededRandom } from '#machinery/random.ts';
import { Disk } from './disk.ts';
import { type FileLayer, type FileOperation, readTrace } from './file-layer.ts';
import { compare, parseAcks, readStore } from './read-store.ts';
import { buildServer, Refused, Server } from './server.ts';
import { makeValue } from './values.ts';

const CLIENTS = 8;
const KEYS = 40;
/** Enough writes for the write-ahead log to be copied into the database several times. */
const WRITES = 4000;
const COMPACT_EVERY = 300;

export interface PowerLossOptions {
  /** The number of power failures. */
  readonly losses: number;
  readonly seed: string;
  readonly layer: FileLayer;
  /** False: syncs do nothing, so the test must find lost acknowledged writes. */
  readonly sync: boolean;
}

export interface PowerLossResult {
  readonly losses: number;
  readonly acknowledged: number;
  /** The number of power losses after which something was wrong. */
  readonly failed: number;
  readonly problems: readonly string[];
}

export async function losePower(options: PowerLossOptions): Promise<PowerLossResult> {
  const random = new SeededRandom(options.seed);
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-power-')));
  try {
    const operations = await record(dir, random, options);
    const acksPath = join(dir, 'acks');
    const begin = operations.findIndex(({ path }) => path === acksPath);
    const points = Array.from(
      { length: options.losses },
      () => begin + random.int(operations.length - begin),
    );
    points.sort((a, b) => a - b);
    const disk = new Disk();
    let acks = '';
    let at = 0;
    let failed = 0;
    const problems: string[] = [];
    for (const [loss, point] of points.entries()) {
      for (; at < point; at++) {
        const operation = operations[at]!;
        if (operation.path !== acksPath) disk.apply(operation);
        else if (operation.kind === 'write') acks += operation.data.toString('utf8');
      }
      // Some versions of SQLite keep a lock on the file until the process ends, so each loss has
      // its own directory.
      const left = join(dir, `left-${loss}`);
      disk.lose(random, join(dir, 'store'), left);
      const wrong = compare(await readStore(left), parseAcks(acks));
      rmSync(left, { recursive: true, force: true });
      if (wrong.length === 0) continue;
      failed++;
      if (problems.length < 5) problems.push(`power lost before operation ${point}: ${wrong[0]}`);
    }
    return { losses: points.length, acknowledged: acks.split('\n').length - 1, failed, problems };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function record(
  dir: string,
  random: Random,
  options: PowerLossOptions,
): Promise<FileOperation[]> {
  const trace = `${dir}.trace`;
  try {
    const env = options.layer.env({ dir, trace, ...(!options.sync && { fail: 'nosync' }) });
    const server = Server.start(await buildServer(), dir, env);
    if ((await server.ready) === undefined)
      throw new Error(`the server does not start: ${server.errors}`);
    let left = WRITES;
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const key = `/t/${random.int(KEYS)}`;
        try {
          if (random.int(10) === 0) await server.request({ op: 'delete', key });
          else {
            const { revision } = await server.request({
              op: 'put',
              key,
              value: makeValue(`${key}#${left}`, 50 + random.int(8000)),
            });
            if (left % COMPACT_EVERY === 0)
              await server.request({ op: 'compact', revision: revision - random.int(50) });
          }
        } catch (error) {
          // A revision may be compacted already, or may not be the last one any more.
          if (!(error instanceof Refused) || error.reason === 'Lost') throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    await server.kill();
    return readTrace(readFileSync(trace));
  } finally {
    rmSync(trace, { force: true });
  }
}
