// Discovery and OpenAPI merged with those of other API servers: correct ones, and servers that
// break off, send invalid data or do not respond.

import type { ServerResponse } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import { makeTestAuthority } from '../testing/certificates.ts';
import { send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { FakeServer } from './testing/fake-server.ts';
import { registerFake } from './testing/register.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const JSON_TYPE = { 'content-type': 'application/json' };

let t: TestServer;
/** Fake servers by address. */
const fakes = new Map<string, FakeServer>();

beforeAll(async () => {
  const authority = await makeTestAuthority();
  const { cert, key } = await authority.server();
  t = await startTestServer({
    clock: systemClock,
    aggregation: {
      dial: async ({ host }, tls, signal) => {
        const fake = fakes.get(host);
        if (fake === undefined) throw new Error(`dial tcp ${host}:6443: connect: no route to host`);
        return dial({ host: '127.0.0.1', port: fake.port, clock: systemClock, signal, tls });
      },
    },
  });
  const add = async (
    name: string,
    options: { version?: string; priority?: number; change?: (fake: FakeServer) => void } = {},
  ) => {
    const address = `10.0.0.${fakes.size + 1}`;
    const fake = new FakeServer({
      cert,
      key,
      group: `${name}.example.com`,
      version: options.version ?? 'v1',
    });
    options.change?.(fake);
    await fake.start();
    fakes.set(address, fake);
    await registerFake(t.client, fake, {
      service: name,
      address,
      insecureSkipTLSVerify: true,
      ...(options.priority !== undefined && { groupPriorityMinimum: options.priority }),
    });
  };
  await add('good', { priority: 17_850 });
  await add('liar', {
    change: (fake) => {
      const versions = [{ version: 'v1', resources: [], freshness: 'Current' }];
      const items = [{ metadata: { name: 'apps' }, versions }];
      const list = {
        kind: 'APIGroupDiscoveryList',
        apiVersion: 'apidiscovery.k8s.io/v2',
        metadata: {},
        items,
      };
      fake.documents.set('/apis', (_request, response) => {
        response.writeHead(200, { 'content-type': AGGREGATED }).end(JSON.stringify(list));
      });
      const paths = {
        'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=evil' },
        'apis/far': { serverRelativeURL: 'https://far/' },
      };
      fake.documents.set(
        '/openapi/v3',
        (_request, response) =>
          void response.writeHead(200, JSON_TYPE).end(JSON.stringify({ paths })),
      );
    },
  });
  await add('noise', {
    change: (fake) => {
      const noise = (text: string, type: string) => (_request: unknown, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': type }).end(text);
      fake.documents.set('/apis', noise('{"items": [[[', AGGREGATED));
      fake.documents.set('/openapi/v3', noise('[]7', 'application/json'));
      fake.documents.set(
        '/openapi/v2',
        noise('{"paths": 7, "definitions": []}', 'application/json'),
      );
    },
  });
  await add('large', {
    change: (fake) => {
      const description = 'x'.repeat(600 * 1024);
      const paths = { '/apis/large.example.com/v1/things': { get: { description } } };
      fake.documents.set(
        '/openapi/v2',
        (_request, response) =>
          void response.writeHead(200, JSON_TYPE).end(JSON.stringify({ paths })),
      );
    },
  });
  await add('old', {
    change: (fake) => {
      fake.documents.delete('/apis');
      fake.documents.delete('/openapi/v3');
    },
  });
  await registerFake(
    t.client,
    { group: 'away.example.com', version: 'v1' },
    { service: 'away', address: '10.9.9.9', insecureSkipTLSVerify: true },
  );
  const names = ['good', 'liar', 'noise', 'old'].map((name) => `v1.${name}.example.com`);
  await vi.waitFor(
    async () => {
      for (const name of names) {
        const { status } = await t.client.resource(apiServices).get(name);
        expect(status.conditions).toMatchObject([{ status: 'True' }]);
      }
      const listed = await groups();
      for (const name of ['good', 'liar', 'old'])
        expect(listed[`${name}.example.com`]).toMatchObject([{ freshness: 'Current' }]);
      expect(Object.keys(listed)).toEqual(
        expect.arrayContaining([...names, 'v1.away.example.com'].map((name) => name.slice(3))),
      );
    },
    { timeout: 60_000 },
  );
});
afterEach(() => {
  expect(t.logger.errors).toEqual([]);
});
afterAll(async () => {
  await t.stop();
  for (const fake of fakes.values()) await fake.stop();
});

interface Group {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness: string;
    readonly resources?: readonly unknown[];
  }[];
}

async function groups(): Promise<Readonly<Record<string, Group['versions']>>> {
  const { json } = await send(t.server, { path: '/apis', headers: { accept: AGGREGATED } });
  const { items } = json as unknown as { readonly items: readonly Group[] };
  return Object.fromEntries(items.map(({ metadata, versions }) => [metadata.name, versions]));
}

describe('aggregated discovery', () => {
  test('has a server’s entry for its own group version', async () => {
    const { 'good.example.com': good } = await groups();
    expect(good).toMatchObject([
      { version: 'v1', freshness: 'Current', resources: [{ resource: 'things' }] },
    ]);
  });

  test('orders groups by their priorities', async () => {
    const names = Object.keys(await groups());
    expect(names.slice(0, 4)).toEqual([
      'apiregistration.k8s.io',
      'good.example.com',
      'apps',
      'events.k8s.io',
    ]);
    expect(names.slice(-5)).toEqual([
      'away.example.com',
      'large.example.com',
      'liar.example.com',
      'noise.example.com',
      'old.example.com',
    ]);
  });

  test('has no entry of a server for other groups', async () => {
    const { apps, 'liar.example.com': liar } = await groups();
    expect(apps?.[0]?.resources?.length).toBeGreaterThan(3);
    expect(liar).toEqual([{ version: 'v1', freshness: 'Current' }]);
  });

  test('marks unreadable documents as stale', async () => {
    const { 'away.example.com': away, 'noise.example.com': noise } = await groups();
    expect(away).toEqual([{ version: 'v1', freshness: 'Stale' }]);
    expect(noise).toEqual([{ version: 'v1', freshness: 'Stale' }]);
  });

  test('converts the older form', async () => {
    const { 'old.example.com': old } = await groups();
    expect(old).toMatchObject([
      {
        freshness: 'Current',
        resources: [
          {
            resource: 'things',
            scope: 'Namespaced',
            singularResource: 'thing',
            verbs: ['get', 'list', 'watch'],
          },
        ],
      },
    ]);
  });
});

describe('OpenAPI', () => {
  test('v3 lists the documents of other servers, and forwards requests for them', async () => {
    const { json } = await send(t.server, { path: '/openapi/v3' });
    const { paths } = json as unknown as {
      readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
    };
    const others = Object.keys(paths).filter(
      (path) => path.includes('example.com') || path === 'apis/far',
    );
    expect(others).toEqual([
      'apis/good.example.com/v1',
      'apis/large.example.com/v1',
      'apis/old.example.com/v1',
    ]);
    expect(paths['apis/apps/v1']?.serverRelativeURL).not.toContain('evil');
    const document = await send(t.server, { path: '/openapi/v3/apis/good.example.com/v1' });
    expect(document.json).toMatchObject({ openapi: '3.0.0', info: { title: 'Fake' } });
    const own = await send(t.server, { path: '/openapi/v3/apis/apps/v1' });
    expect(own.json).toMatchObject({ info: { title: 'Kubernetes' } });
    const converted = await send(t.server, {
      path: paths['apis/old.example.com/v1']?.serverRelativeURL ?? '',
    });
    expect(converted).toMatchObject({
      code: 200,
      headers: { 'cache-control': 'public, immutable' },
    });
    expect(Object.keys((converted.json as unknown as { readonly paths: object }).paths)).toEqual([
      '/apis/old.example.com/v1/namespaces/{namespace}/things',
    ]);
  });

  test('v2 has the paths of all group versions with readable documents and entries of limited size', async () => {
    const { json } = await send(t.server, { path: '/openapi/v2' });
    const { paths } = json as unknown as { readonly paths: object };
    const others = Object.keys(paths).filter((path) => path.includes('example.com'));
    expect(others.toSorted()).toEqual(
      ['good', 'liar', 'old'].map(
        (name) => `/apis/${name}.example.com/v1/namespaces/{namespace}/things`,
      ),
    );
  });
});

test('controllers of this process read lists and watch, as objects', async () => {
  const path = '/apis/good.example.com/v1/namespaces/default/things';
  expect(await t.client.transport.request({ method: 'GET', path })).toMatchObject({
    kind: 'ThingList',
    items: [{ kind: 'Thing' }],
  });
  const events = await t.client.transport.watch({ method: 'GET', path });
  const iterator = events[Symbol.asyncIterator]();
  expect(await iterator.next()).toMatchObject({
    value: { type: 'ADDED', object: { kind: 'Thing' } },
  });
  events.stop();
  await expect(
    t.client.transport.request({ method: 'GET', path: '/apis/away.example.com/v1/things' }),
  ).rejects.toMatchObject({
    status: { code: 503 },
  });
});

test('metrics name the APIServices that are unavailable', async () => {
  const { text } = await send(t.server, { path: '/metrics' });
  expect(text).toContain('aggregator_unavailable_apiservice{name="v1.away.example.com"} 1');
  expect(text).toContain('aggregator_unavailable_apiservice{name="v1.good.example.com"} 0');
});
