import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Client, ListOptions } from '#client/client.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { aesGcmProvider, encryptedBy } from '#storage/encryption/testing/encrypted.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { openWatchCache } from '#storage/watch-cache/index.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { ObjectFormat } from './encoded-object.ts';

const format = new ObjectFormat('v1', 'Pod');
const NODES = ['', 'node-1', 'node-2', 'node-3'];
const NAMESPACES = ['default', 'other'];
const NAMES = Array.from({ length: 12 }, (_, i) => `pod-${i}`);

interface Model {
  readonly node: string;
  readonly label: string;
}
/** Models by namespace/name. */
type State = ReadonlyMap<string, Model>;

const clock = new VirtualClock();
const memory = (): Storage => createMemoryStorage({ clock, logger: silentLogger });

const storages: Readonly<Record<string, () => Promise<Storage>>> = {
  memory: async () => memory(),
  'a watch cache': () => openWatchCache({ clock, logger: silentLogger, storage: memory() }),
  'a watch cache that remembers little': () =>
    openWatchCache({ clock, logger: silentLogger, storage: memory(), maxEvents: 4 }),
  encryption: async () =>
    encryptedBy(memory(), [aesGcmProvider()], { group: '', resource: 'pods' }),
};

let server: TestServer | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await server?.stop();
  await server?.storage.close();
  server = undefined;
});

async function serverOn(storage: Storage): Promise<Client> {
  server = await startTestServer({ storage, clock, start: false });
  return server.client;
}

async function write(storage: Storage, key: string, { node, label }: Model): Promise<number> {
  const [namespace = '', name = ''] = key.split('/');
  const value = format.encode({
    metadata: { name, namespace, uid: `uid-${key}`, labels: { app: label } },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'i' }] },
    status: { phase: 'Running' },
  } as unknown as KubeObject);
  const { revision } = await storage.guaranteedUpdate(`/registry/pods/${key}`, () => ({
    action: 'put',
    value,
  }));
  return revision;
}

const keyOf = ({
  metadata,
}: {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
}): string => `${metadata.namespace}/${metadata.name}`;

interface Query {
  readonly namespace: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly label: string | undefined;
}

/** Returns the result of a plain filter, which the list must equal. */
function expected(state: State, { namespace, fields, label }: Query): string[] {
  return [...state]
    .filter(([key, model]) => {
      const [ns, name] = key.split('/');
      const values: Record<string, string | undefined> = {
        'spec.nodeName': model.node,
        'metadata.name': name,
        'metadata.namespace': ns,
        'status.phase': 'Running',
      };
      const matches = Object.entries(fields).every(([field, value]) => values[field] === value);
      return (
        matches &&
        (namespace === '' || ns === namespace) &&
        (label === undefined || model.label === label)
      );
    })
    .map(([key]) => key)
    .sort();
}

function optionsOf({ fields, label }: Query): ListOptions {
  const fieldSelector = Object.entries(fields)
    .map(([field, value]) => `${field}=${value}`)
    .join(',');
  return {
    ...(fieldSelector !== '' && { fieldSelector }),
    ...(label !== undefined && { labelSelector: `app=${label}` }),
  };
}

describe.each(Object.keys(storages))('lists and watches by fields, on %s', (name) => {
  test('return on every page what a plain filter returns', async () => {
    const storage = await storages[name]!();
    const client = await serverOn(storage);
    const random = new SeededRandom(name);
    const any = <T>(...of: readonly T[]): T => of[random.int(of.length)] as T;
    let state: State = new Map();
    const change = async (): Promise<void> => {
      const key = `${any(...NAMESPACES)}/${any(...NAMES)}`;
      const next = new Map(state);
      if (state.has(key) && random.int(3) === 0) {
        next.delete(key);
        await storage.delete(`/registry/pods/${key}`);
      } else {
        const model = { node: any(...NODES), label: any('a', 'b') };
        next.set(key, model);
        await write(storage, key, model);
      }
      state = next;
    };
    const query = (): Query => {
      const fields: Record<string, string> = {};
      if (random.int(2) === 0) fields['spec.nodeName'] = any(...NODES);
      if (random.int(4) === 0) fields['metadata.name'] = any(...NAMES);
      if (random.int(4) === 0) fields['metadata.namespace'] = any(...NAMESPACES);
      if (random.int(6) === 0) fields['status.phase'] = any('Running', 'Failed');
      return {
        namespace: any('', '', ...NAMESPACES),
        fields,
        label: random.int(4) === 0 ? any('a', 'b') : undefined,
      };
    };
    for (let round = 0; round < 150; round++) {
      await change();
      const currentQuery = query();
      const resource = client.resource(pods).namespace(currentQuery.namespace);
      const selected = optionsOf(currentQuery);
      const before = state;
      expect((await resource.list(selected)).items.map(keyOf)).toEqual(
        expected(before, currentQuery),
      );
      expect((await resource.list({ ...selected, resourceVersion: '0' })).items.map(keyOf)).toEqual(
        expected(before, currentQuery),
      );
      // All pages are of the state of the first one, also with writes in between.
      const paged: string[] = [];
      for (let token: string | undefined; ;) {
        const page = await resource.list({
          ...selected,
          limit: 1 + random.int(3),
          ...(token !== undefined && { continue: token }),
        });
        paged.push(...page.items.map(keyOf));
        token = page.metadata.continue;
        if (!token) break;
        if (random.int(2) === 0) await change();
      }
      expect(paged).toEqual(expected(before, currentQuery));
      const watch = await resource.watch({
        ...selected,
        sendInitialEvents: true,
        resourceVersionMatch: 'NotOlderThan',
        allowWatchBookmarks: true,
      });
      const initial: string[] = [];
      for await (const { type, object } of watch) {
        if (type === 'BOOKMARK') break;
        initial.push(keyOf(object));
      }
      expect(initial.sort()).toEqual(expected(state, currentQuery));
    }
  });

  test('decode no object that they do not return', async () => {
    const storage = await storages[name]!();
    const client = await serverOn(storage);
    const count = async (work: () => Promise<unknown>): Promise<number> => {
      const parse = vi.spyOn(JSON, 'parse');
      await work();
      const { length } = parse.mock.calls.filter(([text]) => text.includes('"uid":"uid-'));
      parse.mockRestore();
      return length;
    };
    const fill = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++)
        await write(storage, `default/many-${i}`, { node: 'node-2', label: 'x'.repeat(2000) });
    };
    for (let i = 0; i < 3; i++)
      await write(storage, `default/few-${i}`, { node: 'node-1', label: 'a' });
    await fill(0, 600);
    const requests: readonly ListOptions[] = [
      { fieldSelector: 'spec.nodeName=node-1' },
      { fieldSelector: 'spec.nodeName=node-1', resourceVersion: '0' },
      { fieldSelector: 'spec.nodeName=node-1', limit: 2 },
      { fieldSelector: 'metadata.name=few-1' },
      { fieldSelector: 'metadata.name=none' },
      { fieldSelector: 'metadata.namespace=none' },
      { fieldSelector: 'metadata.namespace=default,metadata.name=few-2' },
    ];
    const resource = client.resource(pods);
    const all = async (): Promise<void> => {
      for (const options of requests) await resource.list(options);
      const watch = await resource.watch({ fieldSelector: 'spec.nodeName=node-1' });
      watch.stop();
    };
    // The first list by a field builds its index, for which every object's text is read.
    expect(await count(all)).toBeLessThanOrEqual(3 * (requests.length + 1));
    expect(await count(all)).toBeLessThanOrEqual(3 * (requests.length + 1));
    const first = await resource.list({ fieldSelector: 'spec.nodeName=node-1', limit: 2 });
    await fill(600, 1200);
    expect(await count(all)).toBeLessThanOrEqual(3 * (requests.length + 1));
    if (name !== 'a watch cache that remembers little') {
      const next = {
        fieldSelector: 'spec.nodeName=node-1',
        limit: 2,
        continue: first.metadata.continue!,
      };
      expect(await count(() => resource.list(next))).toBeLessThanOrEqual(3);
    }
  });
});
