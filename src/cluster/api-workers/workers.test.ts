import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { configMaps, nodes, pods } from '#api/groups/core/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger, silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { Cluster } from '../composition/cluster.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import { ADMIN_USER } from '../credentials/admin-user.ts';
import { Pki } from '../credentials/pki.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import { ApiWorkers } from './index.ts';
import { onlyWorkersAccept } from './testing/only-workers.ts';

// A worker loads the whole program first, which takes long while other programs use the machine.
vi.setConfig({ testTimeout: 480_000, hookTimeout: 120_000 });

const clock = systemClock;
const random = systemRandom;

let pki: Pki;
beforeAll(async () => {
  pki = await Pki.open({ clock, random });
});

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Resolves when the condition holds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: 120_000 }, condition);
}

async function start(count: number, more: Partial<ClusterConfig> = {}): Promise<Cluster> {
  const cluster = await Cluster.make({
    clock,
    random,
    logger: silentLogger,
    storage: createMemoryStorage({ clock, logger: silentLogger }),
    pki,
    listen: { bindAddress: '127.0.0.1', port: 0 },
    nodes: [
      simulatedNode(
        { name: 'node-1', podCidrs: ['10.244.1.0/24'] },
        { clock, random, journal: undefined },
      ),
    ],
    podCidrs: ['10.244.0.0/16'],
    serviceCidr: '10.96.0.0/16',
    apiWorkers: { min: count, max: count, logging: { level: 'error' } },
    ...more,
  });
  stops.push(() => cluster.stop());
  await cluster.begin();
  return cluster;
}

const metricsOf = (client: Client): Promise<string> =>
  client.transport.text({ method: 'GET', path: '/metrics' });

/** Resolves when so many workers of the cluster serve. */
async function serving(cluster: Cluster, count: number): Promise<void> {
  await until(async () =>
    (await metricsOf(cluster.client)).includes(`\ncoxswain_api_server_workers ${count}\n`),
  );
}

/** Returns a client with a connection of its own. */
async function connect({ url = '' }: Cluster): Promise<Client> {
  const { cert, key } = await pki.certificate('admin', {
    commonName: ADMIN_USER.name,
    organizations: ADMIN_USER.groups,
    usage: 'client',
  });
  const transport = createHttpTransport({
    clock,
    server: url,
    ca: pki.caCertificate,
    clientCertificate: cert,
    clientKey: key,
    userAgent: 'test',
  });
  stops.push(async () => transport.close?.());
  return createClient(transport);
}

const portOf = ({ url = '' }: Cluster): number => Number(new URL(url).port);

describe('a cluster whose connections all go to a worker', () => {
  test('serves reads, writes, watches, logs, and the health of its components', async () => {
    const cluster = await start(1);
    await serving(cluster, 1);
    onlyWorkersAccept(portOf(cluster));
    const client = await connect(cluster);
    // Only the main process counts workers.
    expect(await metricsOf(client)).not.toContain('coxswain_api_server_workers');
    expect((await client.resource(nodes).list()).items).toHaveLength(1);
    const namespaced = client.resource(pods).namespace('default');
    const created = await namespaced.create({
      metadata: { name: 'web' },
      spec: {
        containers: [
          { name: 'c', image: 'busybox:1.36', command: ['sh', '-c', 'echo hello; sleep 1d'] },
        ],
      },
    });
    // The main process sees the write at once, and the worker what the main process writes.
    const inMain = cluster.client.resource(pods).namespace('default');
    expect((await inMain.get('web')).metadata.uid).toBe(created.metadata.uid);
    await until(async () => (await namespaced.get('web')).status.phase === 'Running');
    const path = '/api/v1/namespaces/default/pods/web/log';
    expect(await client.transport.text({ method: 'GET', path })).toBe('hello\n');
    const { items } = JSON.parse(
      await client.transport.text({ method: 'GET', path: '/api/v1/componentstatuses' }),
    ) as { items: { metadata: { name: string }; conditions: { status: string }[] }[] };
    expect(items.map(({ metadata, conditions }) => [metadata.name, conditions[0]?.status])).toEqual(
      expect.arrayContaining([
        ['controller-manager', 'True'],
        ['scheduler', 'True'],
      ]),
    );
    await namespaced.delete('web');
    await until(async () => (await inMain.list()).items.length === 0);
    expect(await client.transport.text({ method: 'GET', path: '/readyz' })).toBe('ok');
  });

  test('serves a definition when it is established', async () => {
    const cluster = await start(1);
    await serving(cluster, 1);
    onlyWorkersAccept(portOf(cluster));
    const client = await connect(cluster);
    await client.resource(customResourceDefinitions).create({
      metadata: { name: 'boats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'boats', kind: 'Boat' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
    });
    await until(async () => {
      const { status } = await client.resource(customResourceDefinitions).get('boats.example.com');
      return (
        status.conditions?.some(
          ({ type, status: state }) => type === 'Established' && state === 'True',
        ) === true
      );
    });
    const path = '/apis/example.com/v1/boats';
    expect(await client.transport.text({ method: 'GET', path })).toContain('"BoatList"');
  });
});

test('a worker records its requests in the audit log of the main process', async () => {
  const recorded: string[] = [];
  const settings: NonNullable<ClusterConfig['audit']> = {
    policy: {
      rules: [
        {
          level: 'RequestResponse',
          users: [ADMIN_USER.name],
          userGroups: [],
          verbs: ['create', 'get'],
          resources: [{ group: '', resources: ['configmaps'], resourceNames: [] }],
          namespaces: [],
          nonResourceURLs: [],
          omitStages: ['RequestReceived'],
        },
      ],
      omitStages: [],
      omitManagedFields: true,
    },
    sink: () => ({
      process: (events) => {
        recorded.push(...events.map((event) => event.json()));
        return Promise.resolve(true);
      },
      stop: async () => void recorded.push('stopped'),
    }),
  };
  const cluster = await start(1, { audit: settings });
  await serving(cluster, 1);
  onlyWorkersAccept(portOf(cluster));
  const client = await connect(cluster);
  const maps = client.resource(configMaps).namespace('default');
  await maps.create({ metadata: { name: 'audited' }, data: { a: 'b' } });
  await expect(maps.get('missing')).rejects.toThrow('not found');
  // A response is sent after its event was recorded.
  const events = recorded.map((json) => JSON.parse(json) as Record<string, unknown>);
  expect(events).toMatchObject([
    {
      kind: 'Event',
      stage: 'ResponseComplete',
      verb: 'create',
      user: { username: ADMIN_USER.name },
      requestObject: { data: { a: 'b' } },
      responseObject: { metadata: { name: 'audited' } },
      responseStatus: { code: 201 },
    },
    { verb: 'get', responseStatus: { code: 404, reason: 'NotFound' } },
  ]);
  await cluster.stop();
  expect(recorded.filter((each) => each === 'stopped')).toEqual(['stopped']);
  expect(recorded.at(-1)).toBe('stopped');
});

describe('workers', () => {
  test('and the main process read what any of them has written', async () => {
    const cluster = await start(2);
    await serving(cluster, 2);
    onlyWorkersAccept(portOf(cluster));
    const clients = [cluster.client, await connect(cluster), await connect(cluster)];
    const maps = clients.map((client) => client.resource(configMaps).namespace('default'));
    await Promise.all(
      maps.map(async (mine, writer) => {
        for (let i = 0; i < 25; i++) {
          const name = `${writer}-${i % 3}`;
          const data = { value: `${writer}/${i}` };
          if (i < 3) await mine.create({ metadata: { name }, data });
          else await mine.update({ ...(await mine.get(name)), data });
          for (const each of maps) expect((await each.get(name)).data).toEqual(data);
        }
      }),
    );
    expect((await maps[1]!.list()).items.filter(({ data }) => data?.['value'])).toHaveLength(9);
  });

  test('lose no acknowledged write when they are killed, and are replaced', async () => {
    const cluster = await start(1);
    await serving(cluster, 1);
    const [pid] = pidsOf();
    const acknowledged: string[] = [];
    const stop = new AbortController();
    // The kernel gives some of the connections to the worker.
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      const client = await connect(cluster);
      const maps = client.resource(configMaps).namespace('default');
      for (let i = 0; !stop.signal.aborted; i++) {
        const name = `${writer}-${i}`;
        try {
          await maps.create({ metadata: { name } });
          acknowledged.push(name);
        } catch (error) {
          // A write without an answer may have been made.
          if (apierrors.isAlreadyExists(error)) throw error;
        }
      }
    });
    const more = async (): Promise<void> => {
      const before = acknowledged.length;
      await until(() => acknowledged.length >= before + 50);
    };
    await more();
    process.kill(pid!, 'SIGKILL');
    await more();
    stop.abort();
    await Promise.all(writers);
    const { items } = await cluster.client.resource(configMaps).namespace('default').list();
    const names = new Set(items.map(({ metadata }) => metadata.name));
    expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
    await until(async () =>
      (await metricsOf(cluster.client)).includes('\ncoxswain_api_server_worker_restarts_total 1\n'),
    );
    await serving(cluster, 1);
    expect(pidsOf()).not.toContain(pid);
  });

  test('end with the cluster', async () => {
    const cluster = await start(1);
    await serving(cluster, 1);
    const pids = pidsOf();
    await cluster.stop();
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

test('a server with parts in its process cannot have workers', () => {
  const server = {
    clock,
    random,
    logger: createLogger({ level: 'error' }),
    storage: createMemoryStorage({ clock, logger: silentLogger }),
    localAuthorizer: { authorize: () => ({ decision: 'allow' as const }) },
  };
  expect(ApiWorkers.of({ min: 0, max: 1, server: server as never })).toBeUndefined();
  expect(() => ApiWorkers.of({ min: 1, max: 1, server: server as never })).toThrow(
    'an API server with parts in its own process (localAuthorizer) cannot have workers',
  );
});

/** Returns the living child processes of this one that are workers. */
function pidsOf(): readonly number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
    .map(Number);
  return children.filter((pid) => {
    try {
      return /api-worker/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
