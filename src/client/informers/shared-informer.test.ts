import type { KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { WatchEvent } from '../transport.ts';
import type { EventHandler } from './event-handler.ts';
import { SharedInformer } from './shared-informer.ts';

interface Thing extends KubeObject {
  readonly labels: Record<string, string>;
}

const thing = (name: string, resourceVersion: number): Thing => ({
  metadata: { name, uid: name, resourceVersion: String(resourceVersion), creationTimestamp: '' },
  labels: {},
});

function setUp(options: { detectMutations?: boolean; transform?: (object: Thing) => Thing } = {}) {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  const stop = new AbortController();
  const server = {
    list: {
      metadata: { resourceVersion: '5' },
      items: [thing('a', 3), thing('b', 4)],
    } as ListOf<Thing>,
  };
  let watch = new WatchQueue<WatchEvent<Thing>>();
  const informer = new SharedInformer<Thing>({
    name: 'things',
    source: {
      list: async () => server.list,
      watch: async ({ signal }) => {
        watch = new WatchQueue();
        signal?.addEventListener('abort', () => watch.stop());
        return watch;
      },
    },
    clock,
    random: new SeededRandom(1),
    logger,
    ...options,
  });
  const received: string[] = [];
  const tell = (who: string): EventHandler<Thing> => ({
    onAdd: (object, initial) =>
      received.push(`${who} add ${object.metadata.name}${initial ? ' (initial)' : ''}`),
    onUpdate: (before, after) =>
      received.push(
        `${who} update ${after.metadata.name} ${before.metadata.resourceVersion}→${after.metadata.resourceVersion}`,
      ),
    onDelete: (object, lastKnown) =>
      received.push(
        `${who} delete ${object.metadata.name} ${object.metadata.resourceVersion}${lastKnown ? ' (last known)' : ''}`,
      ),
  });
  const push = async (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Thing) => {
    watch.push({ type, object });
    await clock.settle();
  };
  const expire = async () => {
    watch.push({
      type: 'ERROR',
      object: apierrors.resourceExpired('too old').status as unknown as Thing,
    });
    await clock.settle();
  };
  return { clock, logger, stop, server, informer, received, tell, push, expire };
}

describe('SharedInformer', () => {
  test('calls every handler for every change, in order, with the store at that change', async () => {
    const { clock, stop, informer, received, tell, push } = setUp();
    informer.addEventHandler(tell('1'));
    const registration = informer.addEventHandler({
      ...tell('2'),
      onUpdate: (_, after) =>
        received.push(
          `store has ${informer.lister.get('', 'a')?.metadata.resourceVersion} at ${after.metadata.resourceVersion}`,
        ),
    });
    expect([informer.hasSynced(), registration.hasSynced()]).toEqual([false, false]);
    const running = informer.run(stop.signal);
    expect(informer.run(stop.signal)).toBe(running);
    await informer.waitForSync(stop.signal);
    expect([informer.hasSynced(), registration.hasSynced()]).toEqual([true, true]);
    await clock.settle();
    await push('MODIFIED', thing('a', 6));
    await push('ADDED', thing('c', 7));
    await push('DELETED', thing('b', 8));
    expect(received).toEqual([
      '1 add a (initial)',
      '2 add a (initial)',
      '1 add b (initial)',
      '2 add b (initial)',
      '1 update a 3→6',
      'store has 6 at 6',
      '1 add c',
      '2 add c',
      '1 delete b 8',
      '2 delete b 8',
    ]);
    stop.abort();
    await running;
  });

  test('calls a late handler for the existing objects, and a removed one not at all', async () => {
    const { clock, stop, informer, received, tell, push } = setUp();
    const running = informer.run(stop.signal);
    await clock.settle();
    const late = informer.addEventHandler(tell('late'));
    expect(received).toEqual(['late add a (initial)', 'late add b (initial)']);
    expect(late.hasSynced()).toBe(true);
    late.remove();
    await push('ADDED', thing('c', 7));
    expect(received.length).toBe(2);
    stop.abort();
    await running;
  });

  test('reports only differences after a relist, deletions with the last known state', async () => {
    const { clock, stop, server, informer, received, tell, expire } = setUp();
    const running = informer.run(stop.signal);
    await clock.settle();
    const before = informer.lister.get('', 'a');
    informer.addEventHandler(tell('1'));
    received.length = 0;
    server.list = { metadata: { resourceVersion: '12' }, items: [thing('a', 3), thing('c', 11)] };
    await expire();
    expect(received).toEqual(['1 delete b 4 (last known)', '1 add c']);
    expect(informer.lister.get('', 'a')).toBe(before);
    stop.abort();
    await running;
  });

  test('continues when a handler throws, and logs the error', async () => {
    const { clock, stop, informer, received, tell, logger } = setUp();
    informer.addEventHandler({
      onAdd: () => {
        throw new Error('a bug');
      },
    });
    informer.addEventHandler(tell('2'));
    const running = informer.run(stop.signal);
    await clock.settle();
    expect(received.length).toBe(2);
    expect(logger.records.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'an event handler threw'],
      ['error', 'an event handler threw'],
    ]);
    stop.abort();
    await running;
  });

  test('throws on modified objects if the mutation detector is on', async () => {
    const { clock, stop, informer } = setUp({ detectMutations: true });
    const running = informer.run(stop.signal);
    await clock.settle();
    const object = informer.lister.get('', 'a')!;
    expect(() => {
      object.labels['x'] = 'y';
    }).toThrow(TypeError);
    stop.abort();
    await running;
  });

  test('stores the result of a transform', async () => {
    const { clock, stop, informer } = setUp({
      transform: (object) => ({ ...object, labels: { kept: 'yes' } }),
    });
    const running = informer.run(stop.signal);
    await clock.settle();
    expect(informer.lister.list().map((object) => object.labels)).toEqual([
      { kept: 'yes' },
      { kept: 'yes' },
    ]);
    stop.abort();
    await running;
  });

  test('a long list is published in several turns, and then it has synced', async () => {
    const { clock, stop, server, informer, received, tell } = setUp();
    const items = Array.from({ length: 1000 }, (_, i) => thing(`t-${i}`, i + 1));
    server.list = { metadata: { resourceVersion: '1000' }, items };
    informer.addEventHandler(tell('1'));
    const running = informer.run(stop.signal);
    let turns = 0;
    while (received.length < 1000) {
      expect(informer.hasSynced()).toBe(false);
      expect(received.length % 250).toBe(0);
      await nextTurn();
      turns++;
    }
    expect(turns).toBeGreaterThan(2);
    await informer.waitForSync(stop.signal);
    expect(received).toEqual(items.map(({ metadata }) => `1 add ${metadata.name} (initial)`));
    stop.abort();
    await clock.settle();
    await running;
  });

  test('stops waiting for a sync when the signal aborts', async () => {
    const { informer } = setUp();
    const gaveUp = new AbortController();
    const waiting = informer.waitForSync(gaveUp.signal);
    gaveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  describe('a view', () => {
    const labelled = (name: string, version: number, zone: string): Thing => ({
      ...thing(name, version),
      labels: { zone },
    });

    test('calls its handlers for the objects with its value, with the store at that change', async () => {
      const { clock, stop, informer, received, tell, push, server } = setUp();
      server.list = {
        metadata: { resourceVersion: '5' },
        items: [labelled('a', 3, 'x'), labelled('b', 4, 'y')],
      };
      informer.addIndexers({ zone: ({ labels }) => [labels['zone'] ?? ''] });
      const view = informer.view('zone', 'x');
      const registration = view.addEventHandler(tell('x'));
      informer.view('zone', 'y').addEventHandler({
        onUpdate: (_, after) => expect(view.lister.get('', after.metadata.name)).toBe(after),
      });
      void informer.run(stop.signal);
      await clock.settle();
      await push('MODIFIED', labelled('a', 6, 'x'));
      await push('MODIFIED', labelled('b', 7, 'y'));
      await push('MODIFIED', labelled('b', 8, 'x'));
      await push('MODIFIED', labelled('a', 9, 'y'));
      await push('DELETED', labelled('b', 10, 'x'));
      await push('DELETED', labelled('a', 11, 'y'));
      expect(received).toEqual([
        'x add a (initial)',
        'x update a 3→6',
        'x add b',
        'x delete a 6',
        'x delete b 10',
      ]);
      await push('ADDED', labelled('c', 12, 'x'));
      received.length = 0;
      const later = view.addEventHandler(tell('later'));
      expect(later.hasSynced()).toBe(true);
      registration.remove();
      await push('MODIFIED', labelled('c', 13, 'x'));
      expect(received).toEqual(['later add c (initial)', 'later update c 12→13']);
      stop.abort();
    });

    test('costs other objects nothing: handlers of other values are not asked', async () => {
      const { clock, stop, informer, push } = setUp();
      let calls = 0;
      informer.addIndexers({ zone: ({ labels }) => [labels['zone'] ?? ''] });
      for (let i = 0; i < 1000; i++)
        informer.view('zone', `z${i}`).addEventHandler({ onAdd: () => calls++ });
      void informer.run(stop.signal);
      await clock.settle();
      await push('ADDED', labelled('c', 12, 'z7'));
      expect(calls).toBe(1);
      stop.abort();
    });
  });
});
