// Data that a version has stored: a snapshot of its store with objects of all kinds, and the objects
// as that version returned them.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { restoreClusterSnapshot, saveClusterSnapshot } from '#cluster/snapshot.ts';
import { dataDirLayout } from '#cluster/data-dir.ts';
import { openStorage } from '#cluster/stores.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import type { Answer } from '../differential/compare.ts';
import { Ours } from '../differential/ours.ts';
import { samples } from '../differential/samples.ts';
import { creation, servedKind, targetOf } from '../differential/shots.ts';
import { kindManifests } from '../e2e/kinds.ts';

const folder = fileURLToPath(new URL('stored', import.meta.url));
const SNAPSHOT = 'store.snap.gz';
const OBJECTS = 'objects.json.gz';

/** An object by its path in the API, as JSON. */
export type Objects = Readonly<Record<string, unknown>>;

const open = (dataDir: string): Promise<Storage> =>
  openStorage({
    choice: 'embedded',
    etcd: undefined,
    dir: dataDirLayout(dataDir).store,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });

async function withDirectory<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-stored-'));
  try {
    return await use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const get = (server: Ours, path: string): Promise<Answer> =>
  server.send({ method: 'GET', path, type: '', body: '', changes: [] });

/** Stores objects of all kinds with this version, and keeps them as that of `version`. */
export async function recordStored(version: string): Promise<number> {
  return await withDirectory(async (dataDir) => {
    const server = await Ours.start({ storage: await open(dataDir) });
    const objects: Record<string, unknown> = {};
    for (const sample of [...kindManifests, ...samples]) {
      const served = servedKind(server.kinds, sample);
      if (served === undefined) continue;
      const target = targetOf(served, sample);
      const { code } = await server.send(creation(target));
      const path = `${target.collection}/${target.name}`;
      const read = await get(server, path);
      // Events expire.
      if (served.type.kind === 'Event' || (code !== 201 && code !== 409) || read.code !== 200)
        continue;
      objects[path] = read.body;
    }
    // The objects as they are after all writes: the server itself may have changed some.
    for (const path of Object.keys(objects)) objects[path] = (await get(server, path)).body;
    await server.stop();
    const file = join(dataDir, 'store.snap');
    await saveClusterSnapshot({ dataDir, file });
    const target = join(folder, version);
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, SNAPSHOT), gzipSync(readFileSync(file), { level: 9 }));
    writeFileSync(join(target, OBJECTS), gzipSync(JSON.stringify(objects), { level: 9 }));
    return Object.keys(objects).length;
  });
}

/** Returns the objects of a version, as it returned them and as this version reads them. */
export async function readStored(
  version: string,
): Promise<{ readonly before: Objects; readonly now: Objects }> {
  const before = JSON.parse(
    gunzipSync(readFileSync(join(folder, version, OBJECTS))).toString(),
  ) as Objects;
  return await withDirectory(async (dataDir) => {
    const file = join(dataDir, 'store.snap');
    writeFileSync(file, gunzipSync(readFileSync(join(folder, version, SNAPSHOT))));
    await restoreClusterSnapshot({ dataDir, file, bumpRevision: 0 });
    const server = await Ours.start({ storage: await open(dataDir) });
    const now: Record<string, unknown> = {};
    for (const path of Object.keys(before)) now[path] = (await get(server, path)).body;
    await server.stop();
    return { before, now };
  });
}
