import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { WatchQueue, type WatchEventType } from '#machinery/watch.ts';
import { createClient } from '../create-client.ts';
import { createInProcessTransport, type Encoded } from '../in-process.ts';
import { ThreadClients, ThreadServer } from './index.ts';

interface Event {
  readonly type: WatchEventType;
  readonly object: Encoded;
}

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanup.splice(0)) step();
});

const named = (name: string): Encoded => ({ object: () => ({ metadata: { name } }) });

test('watches of the same objects get the events of a turn in their order', async () => {
  const { port1, port2 } = new MessageChannel();
  const queues: WatchQueue<Event>[] = [];
  new ThreadServer({
    port: port1,
    logger: silentLogger,
    handlerOf: () => () => {
      const events = new WatchQueue<Event>();
      queues.push(events);
      return Promise.resolve({ code: 200, body: { kind: 'watch', events } });
    },
  }).start();
  const clients = new ThreadClients(port2);
  cleanup.push(() => clients.close());
  const client = createClient(
    createInProcessTransport({ handler: clients.handlerOf({ name: 'u', groups: [] }) }),
  );
  const watches = [
    await client.resource(configMaps).namespace('n').watch(),
    await client.resource(configMaps).namespace('n').watch(),
  ];
  const sent: Event[] = [
    ...['a', 'b', 'c'].map((name) => ({ type: 'ADDED', object: named(name) }) as const),
    { type: 'MODIFIED', object: named('a') },
    { type: 'MODIFIED', object: named('b') },
    { type: 'DELETED', object: named('c') },
    { type: 'ADDED', object: named('d') },
  ];
  for (const queue of queues) for (const event of sent) queue.push(event);
  for (const queue of queues) queue.close();
  const received: string[][] = [];
  for (const watch of watches) {
    const events: string[] = [];
    for await (const { type, object } of watch) events.push(`${type} ${object.metadata.name}`);
    received.push(events);
  }
  const expected = 'ADDED a,ADDED b,ADDED c,MODIFIED a,MODIFIED b,DELETED c,ADDED d'.split(',');
  expect(received).toEqual([expected, expected]);
});
