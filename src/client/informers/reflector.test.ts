import type { KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { ListOptions, WatchOptions } from '../client.ts';
import type { WatchEvent } from '../transport.ts';
import { Reflector } from './reflector.ts';
import { objectKey } from './store.ts';

const object = (key: string, resourceVersion: number | string): KubeObject => {
  const [namespace, name] = key.split('/');
  return {
    metadata: {
      namespace,
      name,
      uid: key,
      resourceVersion: String(resourceVersion),
      creationTimestamp: '',
    } as KubeObject['metadata'],
  };
};
const listOf = (resourceVersion: number, ...items: KubeObject[]): ListOf<KubeObject> => ({
  metadata: { resourceVersion: String(resourceVersion) },
  items,
});
const bookmark = (resourceVersion: number): WatchEvent<KubeObject> => ({
  type: 'BOOKMARK',
  object: object('', resourceVersion),
});

/** Sets up a reflector on a server with prepared responses: each call takes the next one. */
function setUp(
  lists: (ListOf<KubeObject> | Error)[],
  watches: (WatchQueue<WatchEvent<KubeObject>> | Error)[],
) {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  const calls: string[] = [];
  const stored = new Map<string, string>();
  const stop = new AbortController();
  const take = <V>(answers: (V | Error)[]): V => {
    const answer = answers.shift();
    if (answer === undefined) throw new Error('no more answers were written down');
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const show = (options: ListOptions | WatchOptions) => {
    const { signal: _, timeoutSeconds, ...shown } = options as WatchOptions;
    if (timeoutSeconds !== undefined) expect(timeoutSeconds).toBeGreaterThanOrEqual(300);
    if (timeoutSeconds !== undefined) expect(timeoutSeconds).toBeLessThanOrEqual(600);
    return Object.entries(shown)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}=${value}`)
      .join(' ');
  };
  const reflector = new Reflector<KubeObject>({
    name: 'things',
    source: {
      async list(options) {
        calls.push(`${clock.monotonic()} list ${show(options)}`.trim());
        return take(lists);
      },
      async watch(options) {
        calls.push(`${clock.monotonic()} watch ${show(options)}`.trim());
        const stream = take(watches);
        options.signal?.addEventListener('abort', () => stream.stop());
        return stream;
      },
    },
    store: {
      put: (put) => void stored.set(objectKey(put), put.metadata.resourceVersion),
      delete: (gone) => void stored.delete(objectKey(gone)),
      replace: (all) => {
        stored.clear();
        for (const one of all) stored.set(objectKey(one), one.metadata.resourceVersion);
      },
    },
    clock,
    random: new SeededRandom(1),
    logger,
  });
  return { clock, logger, calls, stored, stop, reflector };
}

const stream = () => new WatchQueue<WatchEvent<KubeObject>>();

describe('Reflector', () => {
  test('lists, then applies watch events, and continues from the last revision when a watch ends', async () => {
    const [first, second] = [stream(), stream()];
    const { clock, calls, stored, stop, reflector } = setUp(
      [listOf(5, object('x/a', 3), object('x/b', 4))],
      [first, second],
    );
    const running = reflector.run(stop.signal);
    await clock.settle();
    expect(Object.fromEntries(stored)).toEqual({ 'x/a': '3', 'x/b': '4' });
    first.push({ type: 'ADDED', object: object('x/c', 6) });
    first.push({ type: 'MODIFIED', object: object('x/a', 7) });
    first.push({ type: 'DELETED', object: object('x/b', 8) });
    first.push(bookmark(20));
    first.close();
    await clock.settle();
    expect(Object.fromEntries(stored)).toEqual({ 'x/a': '7', 'x/c': '6' });
    expect(reflector.lastSyncResourceVersion).toBe('20');
    expect(calls).toEqual([
      '0 list resourceVersion=0',
      '0 watch resourceVersion=5 allowWatchBookmarks=true',
      '0 watch resourceVersion=20 allowWatchBookmarks=true',
    ]);
    stop.abort();
    await running;
    expect(second.ended).toBe(true);
  });

  test('keeps its revision while the server is unreachable, with growing delays', async () => {
    const away = () => apierrors.serviceUnavailable('connection refused');
    const { clock, calls, stop, reflector, logger } = setUp(
      [listOf(5)],
      [away(), away(), away(), stream()],
    );
    const running = reflector.run(stop.signal);
    await clock.advance('1m');
    const times = calls.map((call) => Number(call.split(' ')[0]));
    expect(calls.filter((call) => call.includes('list')).length).toBe(1);
    expect(calls.length).toBe(5);
    const pauses = times.slice(2).map((time, index) => time - times[index + 1]!);
    [800, 1600, 3200].forEach((least, index) => {
      expect(pauses[index]).toBeGreaterThanOrEqual(least);
      expect(pauses[index]).toBeLessThanOrEqual(2 * least);
    });
    expect(logger.records.filter(({ level }) => level === 'warn')).toEqual([]);
    stop.abort();
    await running;
  });

  test('lists again, not older than its store, after an unknown error', async () => {
    const broken = stream();
    const { clock, calls, stop, reflector, logger } = setUp(
      [listOf(5), listOf(9)],
      [broken, stream()],
    );
    broken.push(bookmark(7));
    broken.fail(new Error('garbage'));
    const running = reflector.run(stop.signal);
    await clock.advance('5s');
    expect(
      calls
        .filter((call) => call.includes('list'))
        .map((call) => call.split(' ').slice(1).join(' ')),
    ).toEqual(['list resourceVersion=0', 'list resourceVersion=7']);
    expect(logger.records.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'informer: list and watch failed, retrying'],
    ]);
    stop.abort();
    await running;
  });

  test('lists the latest state of a server whose revisions went back', async () => {
    const { clock, calls, stored, stop, reflector } = setUp(
      [listOf(50), apierrors.tooLargeResourceVersion(50, 3, 1), listOf(3, object('x/a', 2))],
      [new Error('gone'), stream()],
    );
    const running = reflector.run(stop.signal);
    await clock.advance('5s');
    expect(calls.filter((call) => call.includes('list')).length).toBe(3);
    expect(calls.find((call) => call.includes('limit'))).toMatch(/list limit=500$/);
    expect(Object.fromEntries(stored)).toEqual({ 'x/a': '2' });
    stop.abort();
    await running;
  });

  test('follows pages, and lists all at once when a page has expired', async () => {
    const page = (token: string, ...items: KubeObject[]): ListOf<KubeObject> => ({
      metadata: { resourceVersion: '5', continue: token },
      items,
    });
    const paged = setUp(
      [page('p2', object('x/a', 1)), page('p3', object('x/b', 2)), listOf(5, object('x/c', 3))],
      [stream()],
    );
    const running = paged.reflector.run(paged.stop.signal);
    await paged.clock.settle();
    expect([...paged.stored.keys()]).toEqual(['x/a', 'x/b', 'x/c']);
    expect(paged.reflector.lastSyncResourceVersion).toBe('5');
    paged.stop.abort();
    await running;

    const expired = setUp(
      [
        page('p2', object('x/a', 1)),
        apierrors.resourceExpired('the page is gone'),
        listOf(8, object('x/z', 7)),
      ],
      [stream()],
    );
    const second = expired.reflector.run(expired.stop.signal);
    await expired.clock.settle();
    expect([...expired.stored.keys()]).toEqual(['x/z']);
    expect(expired.reflector.lastSyncResourceVersion).toBe('8');
    expired.stop.abort();
    await second;
  });

  test('does not spin when watches end at once', async () => {
    const ended = () => {
      const queue = stream();
      queue.close();
      return queue;
    };
    const { clock, calls, stop, reflector } = setUp(
      [listOf(5)],
      Array.from({ length: 100 }, ended),
    );
    const running = reflector.run(stop.signal);
    await clock.advance('2m');
    expect(calls.length).toBeLessThan(12);
    stop.abort();
    await running;
  });
});
