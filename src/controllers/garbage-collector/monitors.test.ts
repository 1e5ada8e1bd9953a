import { expect, test } from 'vitest';
import type { Client, WatchOptions } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { DiscoveredResource } from '../discovery.ts';
import { Graph } from './graph.ts';
import { Monitors } from './monitors.ts';

const OBJECTS = 2500;

/** A client of one resource with many objects, whose watch never has an event. */
function clientOfMany(): Client {
  const items = Array.from({ length: OBJECTS }, (_, i) => ({
    metadata: { name: `thing-${i}`, namespace: 'x', uid: `uid-${i}` },
  }));
  const source = {
    list: async () => ({ items, metadata: { resourceVersion: '7' } }),
    watch: async ({ signal }: WatchOptions) => {
      const events = new WatchQueue();
      signal?.addEventListener('abort', () => events.close());
      return events;
    },
  };
  return { resource: () => source } as unknown as Client;
}

test('a long first list is put into the graph in several turns, before it is synced', async () => {
  const nothing = (): void => undefined;
  const graph = new Graph({
    attemptToDelete: nothing,
    attemptToOrphan: nothing,
    invalidNamespace: nothing,
    absent: nothing,
  });
  const monitors = new Monitors({
    client: clientOfMany(),
    clock: systemClock,
    random: new SeededRandom(1),
    logger: silentLogger,
    graph,
    onDefinition: nothing,
  });
  const sizes = new Set<number>();
  let isSynced = false;
  const look = (): void => {
    const size = Array.from({ length: OBJECTS }, (_, i) => graph.get(`uid-${i}`)).filter(Boolean);
    sizes.add(size.length);
    if (!isSynced) setImmediate(look);
  };
  setImmediate(look);
  const things = { resource: 'things', group: '', version: 'v1', kind: 'Thing' };
  await monitors.watch([things as DiscoveredResource]);
  isSynced = true;
  expect(graph.get(`uid-${OBJECTS - 1}`)).toBeDefined();
  expect([...sizes].filter((size) => size > 0 && size < OBJECTS)).toEqual([1000, 2000]);
  await monitors.stop();
});
