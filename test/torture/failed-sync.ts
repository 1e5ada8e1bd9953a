// A sync or a write of a file that fails with an error of the disk: the server acknowledges no more
// writes, reports why, and never repeats the operation. After its restart all acknowledged writes are
// there. On Linux, the sync after a failed one succeeds, so a store that repeats it would lose the data
// of the first sync.

import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededRandom } from '#machinery/random.ts';
import { type FileLayer, readTrace } from './file-layer.ts';
import { compare, parseAcks, readStore } from './read-store.ts';
import { buildServer, Refused, Server } from './server.ts';
import { makeValue } from './values.ts';

const CLIENTS = 4;
/** The write-ahead log is copied into the database, and the database synced, after about 8 MB. */
const VALUE_BYTES = 20_000;
const GIVE_UP_AFTER = 3000;

export interface FailedSyncResult {
  readonly failures: number;
  readonly problems: readonly string[];
}

/** The operations on the log, and on the database itself, which take turns. */
const FAILING = [
  { kind: 'sync', file: 'storage.db-wal', among: 30 },
  { kind: 'sync', file: 'storage.db', among: 1 },
  { kind: 'write', file: 'storage.db-wal', among: 1000 },
  { kind: 'write', file: 'storage.db', among: 300 },
] as const;

type Failing = (typeof FAILING)[number];

export async function failSyncs(options: {
  readonly rounds: number;
  readonly seed: string;
  readonly layer: FileLayer;
}): Promise<FailedSyncResult> {
  const random = new SeededRandom(options.seed);
  const problems: string[] = [];
  let failures = 0;
  for (let round = 0; round < options.rounds; round++) {
    const failing = FAILING[round % FAILING.length]!;
    const at = 1 + (await operationsOfStart(options.layer, failing)) + random.int(failing.among);
    const fail = `${failing.kind}:${at}:${failing.file}`;
    const problem = await failOperation(options.layer, random.int(1e6), fail);
    if (problem === undefined) failures++;
    else problems.push(`${fail}: ${problem}`);
  }
  return { failures, problems };
}

/** Returns how often the operation is made before the server serves. */
async function operationsOfStart(layer: FileLayer, { kind, file }: Failing): Promise<number> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-sync-')));
  const trace = `${dir}.trace`;
  try {
    const server = Server.start(await buildServer(), dir, layer.env({ dir, trace }));
    await server.ready;
    await server.kill();
    const path = join(dir, 'store', file);
    return readTrace(readFileSync(trace)).filter(
      (operation) => operation.kind === kind && operation.path === path,
    ).length;
  } finally {
    rmSync(dir, { recursive: true, force: true });
    rmSync(trace, { force: true });
  }
}

/** `fail`: see file-layer.c. */
async function failOperation(
  layer: FileLayer,
  round: number,
  fail: string,
): Promise<string | undefined> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-sync-')));
  const trace = `${dir}.trace`;
  try {
    const server = Server.start(await buildServer(), dir, layer.env({ dir, trace, fail }));
    if ((await server.ready) === undefined) return `the server does not start: ${server.errors}`;
    let serial = 0;
    let refusal: Refused | undefined;
    const client = async (number: number): Promise<void> => {
      while (refusal === undefined && serial < GIVE_UP_AFTER) {
        const key = `/t/${number}`;
        try {
          await server.request({
            op: 'put',
            key,
            value: makeValue(`${key}#${round}.${serial++}`, VALUE_BYTES),
          });
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          refusal = error;
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    if (refusal === undefined) return `nothing was refused in ${GIVE_UP_AFTER} writes`;
    if (refusal.reason !== 'Unavailable')
      return `writes were refused with ${refusal.reason}: ${refusal.message}`;
    if (server.failure?.reason !== 'Unavailable') return 'the store did not say that it failed';
    const acksThen = readFileSync(join(dir, 'acks'), 'utf8');
    // The server refuses later writes, too.
    const later = await server
      .request({ op: 'put', key: '/t/0', value: makeValue('/t/0#later', 10) })
      .catch((error: unknown) => error);
    if (!(later instanceof Refused) || later.reason !== 'Unavailable')
      return 'a write after the failure was not refused';
    await server.request({ op: 'list' });
    await server.kill();
    if (readFileSync(join(dir, 'acks'), 'utf8') !== acksThen)
      return 'something was acknowledged after the failure';
    if (readTrace(readFileSync(trace)).length === 0) return 'the file layer saw nothing';
    return compare(await readStore(join(dir, 'store')), parseAcks(acksThen))[0];
  } finally {
    rmSync(dir, { recursive: true, force: true });
    rmSync(trace, { force: true });
  }
}
