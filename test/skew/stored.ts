// Data that a version has stored: a snapshot of its store with objects of all kinds, and the objects
// as that version returned them.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import { restoreClusterSnapshot, saveClusterSnapshot } from '#cluster/stores/snapshot.ts';
import { dataDirLayout } from '#cluster/data-dir/data-dir.ts';
import { openStorage } from '#cluster/stores/open-storage.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { Storage } from '#storage/interface.ts';
import type { Answer } from '../differential/compare.ts';
import { Ours } from '../differential/ours.ts';
import { samples } from '../differential/samples.ts';
import { creation, servedKind, type Shot, targetOf } from '../differential/shots.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { applied, DEFINITION, definition, lantern, lanterns, statuses } from './stored-samples.ts';

const folder = fileURLToPath(new URL('stored', import.meta.url));
const SNAPSHOT = 'store.snap.gz';
const OBJECTS = 'objects.json.gz';
const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

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

const request = (method: string, path: string, body?: unknown, type = JSON_TYPE): Shot => ({
  method,
  path,
  type,
  body: body === undefined ? '' : JSON.stringify(body),
  changes: [],
});
const get = (server: Ours, path: string): Promise<Answer> => server.send(request('GET', path));

/** Sends a request that has to succeed. */
async function write(server: Ours, shot: Shot): Promise<void> {
  const { code, body } = await server.send(shot);
  if (code >= 300) throw new Error(`${shot.method} ${shot.path}: ${code} ${JSON.stringify(body)}`);
}

/** Resolves with the answer when the path is served: custom resources are installed a moment later. */
async function getServed(server: Ours, path: string): Promise<Answer> {
  let answer = await get(server, path);
  await wait.pollImmediately(
    { clock: systemClock, intervalMs: 50, timeoutMs: 30_000 },
    async () => (answer = await get(server, path)).code === 200,
  );
  return answer;
}

export interface Recorded {
  /** The number of objects. */
  readonly count: number;
  /** Kinds that this version stores, but of which there is no object. */
  readonly missing: readonly string[];
}

/** Kinds without recorded objects: events expire. */
const NOT_KEPT: ReadonlySet<string> = new Set(['Event']);

/**
 * Stores objects of all kinds with this version, and keeps them as that of `version`. `into`: the
 * folder of all versions.
 */
export async function recordStored(version: string, into = folder): Promise<Recorded> {
  return await withDirectory(async (dataDir) => {
    const server = await Ours.start({ storage: await open(dataDir) });
    const paths = [...(await storeSamples(server)), ...(await storeCustomObjects(server))];
    // The objects as they are after all writes: the server itself may have changed some.
    const objects: Record<string, unknown> = {};
    for (const path of paths) objects[path] = (await getServed(server, path)).body;
    const recorded = new Set(
      Object.values(objects).map((object) => kindText(object as Record<string, string>)),
    );
    const missing = server.kinds
      .filter(({ strategy, storedKind, isCustom, type }) => {
        const isStored = strategy !== undefined && storedKind === undefined;
        return isStored && isCustom !== true && !NOT_KEPT.has(type.kind);
      })
      .map(({ type }) => kindText({ apiVersion: apiVersionOf(type), kind: type.kind }))
      .filter((kind) => !recorded.has(kind));
    await server.stop();
    const file = join(dataDir, 'store.snap');
    await saveClusterSnapshot({ dataDir, file });
    const target = join(into, version);
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, SNAPSHOT), gzipSync(readFileSync(file), { level: 9 }));
    writeFileSync(join(target, OBJECTS), gzipSync(JSON.stringify(objects), { level: 9 }));
    return { count: Object.keys(objects).length, missing };
  });
}

const kindText = ({ apiVersion, kind }: { apiVersion?: string; kind?: string }): string =>
  `${apiVersion}, Kind=${kind}`;

/** Stores objects of the built-in kinds. Returns their paths. */
async function storeSamples(server: Ours): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const sample of [...kindManifests, ...samples]) {
    const served = servedKind(server.kinds, sample);
    if (served === undefined || NOT_KEPT.has(sample.kind)) continue;
    const target = targetOf(served, sample);
    const { code } = await server.send(creation(target));
    const path = `${target.collection}/${target.name}`;
    if ((code !== 201 && code !== 409) || (await get(server, path)).code !== 200) continue;
    paths.push(path);
    const status = statuses[sample.kind];
    if (status !== undefined)
      await write(server, request('PATCH', `${path}/status`, { status }, MERGE));
  }
  const configMap = '/api/v1/namespaces/default/configmaps/it';
  await write(server, request('PATCH', `${configMap}?fieldManager=applier`, applied, APPLY));
  return paths;
}

/** Stores custom resources, some of them in an older version than the others. */
async function storeCustomObjects(server: Ours): Promise<readonly string[]> {
  const definitions = DEFINITION.slice(0, DEFINITION.lastIndexOf('/'));
  await write(server, request('POST', definitions, definition('v1')));
  await getServed(server, lanterns('v2'));
  await write(server, request('POST', lanterns('v1'), lantern('v1', 'older')));
  await write(server, request('PATCH', DEFINITION, { spec: definition('v2')['spec'] }, MERGE));
  await getServed(server, lanterns('v2'));
  await write(server, request('POST', lanterns('v2'), lantern('v2', 'newer')));
  const status = { status: { lit: true } };
  await write(server, request('PATCH', `${lanterns('v2')}/newer/status`, status, MERGE));
  return [DEFINITION, ...['older', 'newer'].map((name) => `${lanterns('v2')}/${name}`)];
}

/**
 * Returns the objects of a version, as it returned them and as this version reads them. `from`: the
 * folder of all versions.
 */
export async function readStored(
  version: string,
  from = folder,
): Promise<{ readonly before: Objects; readonly now: Objects }> {
  const before = JSON.parse(
    gunzipSync(readFileSync(join(from, version, OBJECTS))).toString(),
  ) as Objects;
  return await withDirectory(async (dataDir) => {
    const file = join(dataDir, 'store.snap');
    writeFileSync(file, gunzipSync(readFileSync(join(from, version, SNAPSHOT))));
    await restoreClusterSnapshot({ dataDir, file, bumpRevision: 0 });
    const server = await Ours.start({ storage: await open(dataDir) });
    const now: Record<string, unknown> = {};
    for (const path of Object.keys(before)) now[path] = (await getServed(server, path)).body;
    await server.stop();
    return { before, now };
  });
}
