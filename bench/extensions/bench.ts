// Measures custom resources: the memory of an idle definition, the time from applying a definition
// to its first object, the memory of objects, and the rate of creates. ConfigMaps, and
// kube-apiserver if `--reference` names one, are measured in the same run.

import { namespaces } from '#api/groups/core/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { BuiltCluster, type Target } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { GeneratorProcess } from '../load/generator-process.ts';
import { NAMESPACE, type WorkName } from '../load/work.ts';
import { cpuMs } from '../process-usage.ts';
import { heading, median, note, show } from '../report.ts';
import { memoryOf, MEMORY_FLAGS, type Memory } from './memory.ts';
import { averageDefinition, GROUP, thing, thingDefinition } from './definitions.ts';

export interface ExtensionsOptions {
  /** The number of definitions of average size. */
  readonly definitions: number;
  /** kube-apiserver with etcd, whose certificate need not be signed. Absent: no comparison. */
  readonly reference?: { readonly url: string; readonly token: string };
  /** Node's flags for the server's process, such as --cpu-prof. */
  readonly nodeFlags: readonly string[];
  /** Runs only this part. Default: all. */
  readonly only?: string;
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/things`;
const SETTLE_MS = 3000;
/** A busy machine takes minutes to establish 5,000 definitions. */
const POLL_TIMEOUT_MS = 20 * 60_000;
const BACKLOG_POLL_MS = 100;
/** Once a minute, the storage drops revisions that are older than five minutes. */
const HISTORY_FORGOTTEN_MS = 7 * 60_000;
const AT_ONCE = 8;
const APPLIED = 20;
const OBJECTS = 10_000;
const WARM_UP_OBJECTS = 3000;
const CONNECTIONS = 64;
const ROUNDS = 3;
const ROUND_MS = 2500;

export async function extensions({
  definitions,
  reference,
  nodeFlags,
  only,
}: ExtensionsOptions): Promise<void> {
  heading('extensions: custom resources (embedded store, TLS, HTTP/1.1)');
  const withProbe = [...nodeFlags, ...MEMORY_FLAGS];
  const parts: Readonly<Record<string, () => Promise<void>>> = {
    creates: () => withCluster(nodeFlags, (cluster, client) => creates(cluster, client, reference)),
    objects: () => withCluster(withProbe, watchedObjects),
    definitions: () =>
      withCluster(withProbe, (cluster, client) => manyDefinitions(cluster, client, definitions)),
  };
  const names = only === undefined ? Object.keys(parts) : [only];
  for (const name of names) {
    const part = parts[name];
    if (part === undefined)
      throw new Error(
        `there is no workload '${name}'; there are: ${Object.keys(parts).join(', ')}`,
      );
    await part();
  }
}

async function withCluster(
  nodeFlags: readonly string[],
  use: (cluster: BuiltCluster, client: Client) => Promise<void>,
): Promise<void> {
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'embedded', '--runtime', 'simulated'],
    nodeFlags,
  });
  const { client, close } = connectTo(cluster.target);
  try {
    await client.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    await use(cluster, client);
  } finally {
    close();
    await cluster.stop();
  }
}

/**
 * Measures creates by 64 clients: custom objects with 30 fields and three rules, ConfigMaps, and
 * the same custom objects at the reference.
 */
async function creates(
  cluster: BuiltCluster,
  client: Client,
  reference: ExtensionsOptions['reference'],
): Promise<void> {
  await define(client, thingDefinition());
  const configMaps = await measureCreates(cluster.target, 'create', cluster.pid);
  const things = await measureCreates(cluster.target, 'create-custom', cluster.pid);
  const theirs = reference === undefined ? undefined : await referenceCreates(reference);
  const theirRate = theirs === undefined ? Number.NaN : median(theirs.rates);
  show({
    what: 'creates of 30 fields and 3 rules',
    unit: '/s',
    values: things.rates,
    goal: { atLeast: median(configMaps.rates) / 2 },
    comparedWith: { name: 'ConfigMaps', value: median(configMaps.rates) },
  });
  show({
    what: '  server CPU',
    unit: 'µs each',
    values: things.cpuMicros,
    comparedWith: { name: 'ConfigMaps', value: median(configMaps.cpuMicros) },
  });
  if (theirs === undefined) {
    note('  no kube-apiserver to compare with: --reference URL --token TOKEN');
    return;
  }
  show({ what: '  kube-apiserver', unit: '/s', values: theirs.rates });
  note(`  ${(median(things.rates) / theirRate).toFixed(2)} times kube-apiserver's (goal ≥ 3)`);
}

interface Creates {
  readonly rates: readonly number[];
  /** CPU time of the server for each create, in microseconds. */
  readonly cpuMicros: readonly number[];
}

async function measureCreates(target: Target, work: WorkName, pid?: number): Promise<Creates> {
  const generator = await GeneratorProcess.open({
    target,
    protocol: 'h1',
    connections: CONNECTIONS,
  });
  try {
    const rates: number[] = [];
    const cpuMicros: number[] = [];
    let created = 0;
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const before = pid === undefined ? 0 : cpuMs(pid);
      const report = await generator.run({ work, from: created, durationMs: ROUND_MS });
      created += report.requests;
      if (round === 0) continue;
      rates.push(report.requests / (report.elapsedMs / 1000));
      if (pid !== undefined) cpuMicros.push(((cpuMs(pid) - before) / report.requests) * 1000);
    }
    return { rates, cpuMicros };
  } finally {
    generator.close();
  }
}

async function referenceCreates({
  url,
  token,
}: NonNullable<ExtensionsOptions['reference']>): Promise<Creates> {
  const { hostname, port } = new URL(url);
  const target = { host: hostname, port: Number(port), token };
  const { client, close } = connectTo(target);
  try {
    await removed(client, thingDefinition());
    await client.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    await define(client, thingDefinition());
    return await measureCreates(target, 'create-custom');
  } finally {
    await removed(client, thingDefinition());
    await client.resource(namespaces).delete(NAMESPACE);
    close();
  }
}

async function removed(client: Client, definition: object): Promise<void> {
  const path = `${DEFINITIONS}/${nameOf(definition)}`;
  await send(client, 'DELETE', path);
  await poll(async () => (await send(client, 'GET', path)) === undefined);
}

/** Measures the memory of custom objects with one watcher. */
async function watchedObjects(cluster: BuiltCluster, client: Client): Promise<void> {
  await define(client, thingDefinition());
  await client.transport.request({ method: 'POST', path: THINGS, body: thing('first') });
  const end = new AbortController();
  const watch = await client.transport.watch<KubeObject>({
    method: 'GET',
    path: THINGS,
    query: { watch: 'true', resourceVersion: '0' },
    signal: end.signal,
  });
  let seen = 0;
  const watching = (async () => {
    for await (const _ of watch) seen++;
  })();
  try {
    // Code and caches of the first use then count as memory from before.
    await createThings(client, 'early', WARM_UP_OBJECTS);
    await settled();
    const before = await memoryOf(cluster.pid);
    await createThings(client, 'object', OBJECTS);
    await settled();
    const more = difference(await memoryOf(cluster.pid), before);
    show({
      what: `${OBJECTS} objects of 1 KiB and a watcher: heap`,
      unit: 'MB',
      values: [more.heapMB],
      goal: { atMost: 20 },
    });
    show({ what: '  resident', unit: 'MB', values: [more.residentMB] });
    note(`  the watcher got ${seen} events`);
  } finally {
    end.abort();
    await watching.catch(() => undefined);
  }
}

function createThings(client: Client, prefix: string, number: number): Promise<void> {
  return inParallel(number, (index) =>
    client.transport.request({ method: 'POST', path: THINGS, body: thing(`${prefix}-${index}`) }),
  );
}

const difference = (after: Memory, before: Memory): Memory => ({
  heapMB: after.heapMB - before.heapMB,
  residentMB: after.residentMB - before.residentMB,
});

/** Measures the memory of idle definitions, and the time until one more definition can be used. */
async function manyDefinitions(
  cluster: BuiltCluster,
  client: Client,
  total: number,
): Promise<void> {
  await usable(client, 0, APPLIED);
  await settled();
  const before = await memoryOf(cluster.pid);
  let bytes = 0;
  const began = systemClock.monotonic();
  const half = Math.floor(total / 2);
  const add = async (from: number, to: number): Promise<void> => {
    await inParallel(to - from, async (index) => {
      const { body } = averageDefinition(from + index);
      bytes += Buffer.byteLength(JSON.stringify(body));
      await client.transport.request({ method: 'POST', path: DEFINITIONS, body });
    });
    // The server works off definitions in their order, and more slowly than they are created.
    await poll(
      async () => (await establishedAt(client, averageDefinition(to - 1).body)) !== undefined,
      BACKLOG_POLL_MS,
    );
  };
  await add(APPLIED, half);
  await usable(client, half, half);
  await add(half, total);
  const seconds = (systemClock.monotonic() - began) / 1000;
  note(
    `${total} definitions of ${(bytes / total / 1000).toFixed(0)} KB on average, ` +
      `established in ${seconds.toFixed(0)} s`,
  );
  await usable(client, total, total);
  const each = (megabytes: number): number[] => [(megabytes * 1000) / total];
  // The storage keeps the revisions of the last minutes, and each definition has been written three
  // times.
  const withHistory = difference(await memoryOf(cluster.pid), before);
  await systemClock.sleep(HISTORY_FORGOTTEN_MS);
  const idle = difference(await memoryOf(cluster.pid), before);
  show({
    what: `each of ${total} idle definitions: heap`,
    unit: 'kB',
    values: each(idle.heapMB),
    goal: { atMost: 50 },
  });
  show({ what: '  resident', unit: 'kB', values: each(idle.residentMB) });
  show({
    what: '  heap with the history of their creation',
    unit: 'kB',
    values: each(withHistory.heapMB),
  });
}

/** Measures how soon definitions can be used, when `there` others exist. */
async function usable(client: Client, there: number, from: number): Promise<void> {
  await settled();
  const created: number[] = [];
  const published: number[] = [];
  for (let index = 0; index < APPLIED; index++) {
    // The names have numbers that no other definition has; the groups exist already.
    const { plural, group } = averageDefinition(from - 1 - index);
    const name = `applied${index}of${from}s`;
    const body = JSON.parse(
      JSON.stringify(averageDefinition(from - 1 - index).body).replaceAll(plural, name),
    ) as Definition;
    const { names } = body.spec;
    Object.assign(names, {
      kind: `Applied${index}Of${from}`,
      listKind: `Applied${index}Of${from}List`,
      singular: name.slice(0, -1),
    });
    const applied = systemClock.monotonic();
    await client.transport.request({ method: 'POST', path: DEFINITIONS, body });
    const path = `/apis/${group}/v1/namespaces/${NAMESPACE}/${name}`;
    const object = {
      apiVersion: `${group}/v1`,
      kind: `Applied${index}Of${from}`,
      metadata: { name: 'first' },
    };
    await poll(async () => (await establishedAt(client, body)) !== undefined);
    await poll(async () => (await send(client, 'POST', path, object)) !== undefined);
    created.push(systemClock.monotonic() - applied);
    await poll(async () =>
      JSON.stringify(await send(client, 'GET', `/openapi/v3/apis/${group}/v1`)).includes(
        `/${name}"`,
      ),
    );
    published.push(systemClock.monotonic() - applied);
  }
  show({
    what: `from apply to the first create, ${there} definitions`,
    unit: 'ms',
    values: created,
    goal: { atMost: 20 },
  });
  show({
    what: '  until /openapi/v3 has it',
    unit: 'ms',
    values: published,
    goal: { atMost: 200 },
  });
}

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly names: object };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const nameOf = (definition: object): string => (definition as Definition).metadata.name;

/** Creates the definition, and waits until its kind is served. */
async function define(client: Client, body: object): Promise<void> {
  await client.transport.request({ method: 'POST', path: DEFINITIONS, body });
  await poll(async () => (await establishedAt(client, body)) !== undefined);
  // Discovery lists the kind before all parts of kube-apiserver serve it.
  await poll(
    async () =>
      (await send(client, 'GET', THINGS)) !== undefined ||
      nameOf(body) !== nameOf(thingDefinition()),
  );
}

/** Returns the definition once it is established, and undefined if it is not. */
async function establishedAt(client: Client, body: object): Promise<Definition | undefined> {
  const definition = (await send(client, 'GET', `${DEFINITIONS}/${nameOf(body)}`)) as
    | Definition
    | undefined;
  const isEstablished = definition?.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  return isEstablished === true ? definition : undefined;
}

/** Returns the response's object, or undefined for 404. */
async function send(
  client: Client,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<unknown> {
  try {
    return await client.transport.request({ method, path, ...(body !== undefined && { body }) });
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

const poll = (condition: () => Promise<boolean>, intervalMs = 1): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs, timeoutMs: POLL_TIMEOUT_MS }, condition);

const settled = (): Promise<void> => systemClock.sleep(SETTLE_MS);

async function inParallel(times: number, run: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < times) await run(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
