import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { createClient } from '../create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '../in-process.ts';
import { ThreadClients, ThreadServer } from './index.ts';
import { separateParts } from './shared-parts.ts';
import { noStateMemo, type StateMemo } from './state-memo.ts';

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanup.splice(0)) step();
});

function connect(handler: InProcessHandler, states?: StateMemo, window?: number) {
  const { port1, port2 } = new MessageChannel();
  new ThreadServer({
    port: port1,
    handlerOf: () => handler,
    logger: silentLogger,
    ...(window !== undefined && { window }),
  }).start();
  const clients = new ThreadClients(port2, { states, parts: separateParts });
  cleanup.push(() => clients.close());
  const transport = createInProcessTransport({
    handler: clients.handlerOf({ name: 'u', groups: [] }),
    userAgent: 'test',
  });
  return createClient(transport).resource(configMaps).namespace('n');
}

const objectOf = (name: string) => ({
  object: () => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
});

describe('lists between threads', () => {
  test.each([0, 1, 250, 251, 1000, 1001])(
    'of %i objects arrive complete and in order',
    async (count) => {
      const items = Array.from({ length: count }, (_, i) => objectOf(`o-${i}`));
      const client = connect(async () => ({
        code: 200,
        body: {
          kind: 'list',
          apiVersion: 'v1',
          listKind: 'ConfigMapList',
          metadata: { resourceVersion: '7' },
          items,
        },
      }));
      const list = await client.list();
      expect(list.metadata.resourceVersion).toBe('7');
      expect(list.items.map(({ metadata }) => metadata.name)).toEqual(
        items.map((_, i) => `o-${i}`),
      );
    },
  );

  test('of stored objects are sent as their JSON, which is not decoded', async () => {
    const json = (name: string): Buffer => Buffer.from(JSON.stringify(objectOf(name).object()));
    const items = Array.from({ length: 300 }, (_, i) => ({
      object: (): never => {
        throw new Error('a stored object was decoded');
      },
      itemLength: () => json(`o-${i}`).length,
      copyItem: (target: Buffer, offset: number) => offset + json(`o-${i}`).copy(target, offset),
    }));
    const client = connect(async () => ({
      code: 200,
      body: { kind: 'list', apiVersion: 'v1', listKind: 'ConfigMapList', metadata: {}, items },
    }));
    const list = await client.list();
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(items.map((_, i) => `o-${i}`));
  });

  test('that are larger than the window arrive as fast as they are parsed', async () => {
    const items = Array.from({ length: 2000 }, (_, i) => objectOf(`o-${i}`));
    let parsed = 0;
    let sent = 0;
    const states: StateMemo = {
      objectOf: (_state, parse) => {
        parsed++;
        return parse();
      },
    };
    const stored = items.map((item, i) => {
      const json = Buffer.from(JSON.stringify(item.object()));
      return {
        object: item.object,
        state: i + 1,
        itemLength: () => json.length,
        copyItem: (target: Buffer, offset: number) => {
          // At most the slices of a turn are ahead of what is parsed.
          expect(sent++ - parsed).toBeLessThanOrEqual(1000);
          return offset + json.copy(target, offset);
        },
      };
    });
    const body = {
      kind: 'list' as const,
      apiVersion: 'v1',
      listKind: 'ConfigMapList',
      metadata: {},
      items: stored,
    };
    const client = connect(() => Promise.resolve({ code: 200, body }), states, 1);
    const [first, second] = await Promise.all([client.list(), client.list()]);
    const names = items.map((_, i) => `o-${i}`);
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(names);
  });

  test('that are long do not block other responses, and can be aborted', async () => {
    let encoded = 0;
    const items = Array.from({ length: 20_000 }, (_, i) => ({
      object: () => {
        encoded++;
        return objectOf(`o-${i}`).object();
      },
    }));
    const client = connect(async ({ path }) =>
      path.endsWith('/one')
        ? { code: 200, body: { kind: 'object', object: objectOf('one') } }
        : {
            code: 200,
            body: {
              kind: 'list',
              apiVersion: 'v1',
              listKind: 'ConfigMapList',
              metadata: { resourceVersion: '7' },
              items,
            },
          },
    );
    const abort = new AbortController();
    const listed = client.list({ signal: abort.signal }).then(
      () => 'listed',
      () => 'given up',
    );
    await client.get('one');
    expect(encoded).toBeLessThan(items.length);
    abort.abort();
    expect(await listed).toBe('given up');
    await client.get('one');
    const after = encoded;
    await client.get('one');
    expect(encoded).toBe(after);
  });

  test.each(['shared', 'parsed each time'])('of stored states are %s', async (mode) => {
    const states = [7, 8];
    const items = Array.from({ length: 600 }, (_, i) => ({
      ...objectOf(`o-${i}`),
      ...(i < states.length && { state: states[i] }),
    }));
    const client = connect(
      async () => ({
        code: 200,
        body: { kind: 'list', apiVersion: 'v1', listKind: 'ConfigMapList', metadata: {}, items },
      }),
      mode === 'shared' ? undefined : noStateMemo,
    );
    const [first, second] = [await client.list(), await client.list()];
    expect(second.items).toEqual(first.items);
    const shared = first.items.map((item, i) => item === second.items[i]);
    // Objects without a state are separate in any case.
    expect(shared.slice(0, 3)).toEqual([mode === 'shared', mode === 'shared', false]);
  });
});
