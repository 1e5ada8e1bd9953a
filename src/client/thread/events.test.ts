import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { configMaps, events } from '#api/groups/core/v1/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { createClient } from '../create-client.ts';
import { createInProcessTransport } from '../in-process.ts';
import { ThreadClients, ThreadServer } from './index.ts';

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanup.splice(0)) step();
});

test('few writes of events are in flight at a time, and delay no other request', async () => {
  const { port1, port2 } = new MessageChannel();
  let inFlight = 0;
  let most = 0;
  const held: (() => void)[] = [];
  new ThreadServer({
    port: port1,
    logger: silentLogger,
    handlerOf: () => async (request) => {
      if (request.method === 'POST' && request.path.endsWith('/events')) {
        most = Math.max(most, ++inFlight);
        await new Promise<void>((resolve) => held.push(resolve));
        inFlight--;
      }
      return { code: 200, body: { kind: 'object', object: { object: () => ({ metadata: {} }) } } };
    },
  }).start();
  const clients = new ThreadClients(port2);
  cleanup.push(() => clients.close());
  const transport = createInProcessTransport({
    handler: clients.handlerOf({ name: 'u', groups: [] }),
    userAgent: 'test',
  });
  const client = createClient(transport);
  const involvedObject = { kind: 'Pod', name: 'p', namespace: 'n' };
  const written = Array.from({ length: 300 }, (_, i) =>
    client
      .resource(events)
      .namespace('n')
      .create({ metadata: { name: `e-${i}` }, involvedObject }),
  );
  await vi.waitFor(() => expect(inFlight).toBeGreaterThan(0), { timeout: 60_000 });
  // 300 requests of another kind would fill all places.
  await client.resource(configMaps).namespace('n').get('c');
  let all = false;
  const done = Promise.all(written).then(() => (all = true));
  await vi.waitFor(
    () => {
      for (const release of held.splice(0)) release();
      expect(all).toBe(true);
    },
    { timeout: 60_000, interval: 1 },
  );
  await done;
  expect(most).toBe(4);
});

test('one write of an event is in flight while others are', async () => {
  const { port1, port2 } = new MessageChannel();
  let eventsInFlight = 0;
  let mostEvents = 0;
  const held = new Map<string, () => void>();
  new ThreadServer({
    port: port1,
    logger: silentLogger,
    handlerOf: () => async (request) => {
      const isEvent = request.path.endsWith('/events');
      if (isEvent) mostEvents = Math.max(mostEvents, ++eventsInFlight);
      const { name } = (request.body.object as { metadata: { name: string } }).metadata;
      await new Promise<void>((resolve) => held.set(name, resolve));
      if (isEvent) eventsInFlight--;
      return { code: 200, body: { kind: 'object', object: { object: () => ({ metadata: {} }) } } };
    },
  }).start();
  const clients = new ThreadClients(port2);
  cleanup.push(() => clients.close());
  const client = createClient(
    createInProcessTransport({
      handler: clients.handlerOf({ name: 'u', groups: [] }),
      userAgent: 'test',
    }),
  );
  const involvedObject = { kind: 'Pod', name: 'p', namespace: 'n' };
  const write = client
    .resource(configMaps)
    .namespace('n')
    .create({ metadata: { name: 'c' } });
  const written = Array.from({ length: 20 }, (_, i) =>
    client
      .resource(events)
      .namespace('n')
      .create({ metadata: { name: `e-${i}` }, involvedObject }),
  );
  for (let i = 0; i < 3; i++) {
    await vi.waitFor(() => expect(held.has(`e-${i}`)).toBe(true), { timeout: 60_000 });
    held.get(`e-${i}`)?.();
  }
  await vi.waitFor(() => expect(held.has('e-3')).toBe(true), { timeout: 60_000 });
  expect(mostEvents).toBe(1);
  held.get('c')?.();
  await write;
  let all = false;
  const done = Promise.all(written).then(() => (all = true));
  await vi.waitFor(
    () => {
      for (const release of held.values()) release();
      expect(all).toBe(true);
    },
    { timeout: 60_000, interval: 1 },
  );
  await done;
  expect(mostEvents).toBe(4);
});

test('reads do not wait behind writes', async () => {
  const { port1, port2 } = new MessageChannel();
  let writes = 0;
  const held: (() => void)[] = [];
  new ThreadServer({
    port: port1,
    logger: silentLogger,
    handlerOf: () => async (request) => {
      if (request.method !== 'GET') {
        writes++;
        await new Promise<void>((resolve) => held.push(resolve));
      }
      return { code: 200, body: { kind: 'object', object: { object: () => ({ metadata: {} }) } } };
    },
  }).start();
  const clients = new ThreadClients(port2);
  cleanup.push(() => clients.close());
  const transport = createInProcessTransport({
    handler: clients.handlerOf({ name: 'u', groups: [] }),
    userAgent: 'test',
  });
  const resource = createClient(transport).resource(configMaps).namespace('n');
  let written = 0;
  const all = Array.from({ length: 500 }, (_, i) =>
    resource.create({ metadata: { name: `c-${i}` } }).then(() => written++),
  );
  await vi.waitFor(() => expect(writes).toBe(200), { timeout: 60_000 });
  await Promise.all(Array.from({ length: 300 }, () => resource.get('c')));
  // No write has ended meanwhile, and the others wait.
  expect([writes, written]).toEqual([200, 0]);
  await vi.waitFor(
    () => {
      for (const release of held.splice(0)) release();
      expect(written).toBe(500);
    },
    { timeout: 60_000, interval: 1 },
  );
  await Promise.all(all);
});
