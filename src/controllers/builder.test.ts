import { describe, expect, test } from 'vitest';
import { configMaps, type Pod, pods, secrets } from '#api/groups/core/v1/index.ts';
import { type ReplicaSet, replicaSets } from '#api/groups/apps/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport, TransportRequest, WatchEvent } from '#client/transport.ts';
import { type Reconcile, reconciled } from '#client/workqueue/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import { ControllerBuilder, only, type QueueConfig } from './builder.ts';
import { ControllerManagerMetrics } from './metrics.ts';
import { OwnWrites } from './own-writes.ts';
import { selectorOf } from './claim.ts';

let revision = 100;

function object(name: string, fields: Record<string, unknown> = {}, uid = name): KubeObject {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid,
      resourceVersion: String(revision++),
      creationTimestamp: '',
      ...fields,
    },
  };
}

/**
 * Starts a server whose objects the test sets: it serves lists by resource, and a watch of each.
 */
function setUp() {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  const random = new SeededRandom(1);
  const lists = new Map<string, KubeObject[]>();
  const watches = new Map<string, WatchQueue<WatchEvent<KubeObject>>>();
  const requests: TransportRequest[] = [];
  /** The resources whose lists are not answered. */
  const held = new Set<string>();
  const resourceOf = ({ path }: TransportRequest): string => path.slice(path.lastIndexOf('/') + 1);
  const transport: Transport = {
    request: async <T>(request: TransportRequest) => {
      requests.push(request);
      if (held.has(resourceOf(request))) return new Promise<T>(() => undefined);
      return {
        metadata: { resourceVersion: '1' },
        items: lists.get(resourceOf(request)) ?? [],
      } as T;
    },
    watch: async <T>(request: TransportRequest) => {
      const queue = new WatchQueue<WatchEvent<KubeObject>>();
      request.signal?.addEventListener('abort', () => queue.stop());
      watches.set(resourceOf(request), queue);
      return queue as unknown as WatchQueue<WatchEvent<T>>;
    },
    text: () => Promise.reject(new Error('not served')),
    stream: () => Promise.reject(new Error('not served')),
    close: () => undefined,
  };
  const client = createClient(transport);
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const metrics = new ControllerManagerMetrics({ clock });
  const config = {
    client,
    clock,
    logger,
    random,
    informers,
    queueMetrics: <K>(name: string) => metrics.queue<K>(name),
  };
  const reconciles: string[] = [];
  const reconcile: Reconcile = async (key) => {
    reconciles.push(key);
    return reconciled;
  };
  const stop = new AbortController();
  return {
    clock,
    client,
    informers,
    lists,
    held,
    logger,
    metrics,
    requests,
    stop,
    builder: (queue: Partial<QueueConfig> = {}) =>
      new ControllerBuilder(config, { queue: 'things', workers: 1, reconcile, ...queue }),
    /** Starts the controller. An abort by its signal is not a failure. */
    async start(builder: ControllerBuilder): Promise<{ readonly ended: Promise<void> }> {
      const ended = builder
        .complete()(stop.signal)
        .catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
      informers.start(stop.signal);
      await clock.settle();
      return { ended };
    },
    async push(
      resource: string,
      type: 'ADDED' | 'MODIFIED' | 'DELETED',
      pushed: KubeObject,
    ): Promise<void> {
      watches.get(resource)?.push({ type, object: pushed });
      await clock.settle();
    },
    /** Returns the keys that were reconciled since the last call. */
    keys: () => reconciles.splice(0),
    /** Adds the key of a second queue to what `keys` returns. */
    note: (key: string) => void reconciles.push(key),
  };
}

describe('what wakes a key', () => {
  test('for: the initial list and every event of the objects', async () => {
    const t = setUp();
    t.lists.set('configmaps', [object('a')]);
    const builder = t.builder();
    const informer = builder.for(configMaps);
    await t.start(builder);
    expect(t.keys()).toEqual(['ns/a']);
    await t.push('configmaps', 'ADDED', object('b'));
    await t.push('configmaps', 'MODIFIED', object('b'));
    await t.push('configmaps', 'DELETED', object('b'));
    expect(t.keys()).toEqual(['ns/b', 'ns/b', 'ns/b']);
    expect(informer.lister.size).toBe(1);
  });

  test('a predicate leaves out events', async () => {
    const t = setUp();
    const builder = t.builder();
    builder.for(configMaps, {
      predicate: {
        ...only(({ metadata }) => metadata.labels?.['wanted'] !== undefined),
        delete: false,
      },
    });
    await t.start(builder);
    const wanted = { labels: { wanted: '' } };
    await t.push('configmaps', 'ADDED', object('a'));
    expect(t.keys()).toEqual([]);
    await t.push('configmaps', 'MODIFIED', object('a', wanted));
    expect(t.keys()).toEqual(['ns/a']);
    await t.push('configmaps', 'MODIFIED', object('a'));
    await t.push('configmaps', 'ADDED', object('b', wanted));
    await t.push('configmaps', 'DELETED', object('b', wanted));
    expect(t.keys()).toEqual(['ns/b']);
  });

  test('watches: an update wakes the keys of the new object, of the old one, or of both', async () => {
    const t = setUp();
    const builder = t.builder();
    const keysOf = ({ metadata }: KubeObject): readonly string[] =>
      metadata.labels?.['for']?.split('.') ?? [];
    builder.watches(configMaps, keysOf);
    builder.watches(secrets, keysOf, { maps: 'old' });
    builder.watches(pods, keysOf, { maps: 'both' });
    await t.start(builder);
    const updated = async (resource: string): Promise<readonly string[]> => {
      await t.push(resource, 'ADDED', object('a', { labels: { for: 'x.y' } }));
      expect(t.keys()).toEqual(['x', 'y']);
      await t.push(resource, 'MODIFIED', object('a', { labels: { for: 'z' } }));
      return t.keys();
    };
    expect(await updated('configmaps')).toEqual(['z']);
    expect(await updated('secrets')).toEqual(['x', 'y']);
    expect(await updated('pods')).toEqual(['x', 'y', 'z']);
  });

  test('the mapping of an update may compare the new object with the old one', async () => {
    const t = setUp();
    const builder = t.builder();
    builder.watches(
      configMaps,
      ({ metadata }, before) => `${before?.metadata.uid ?? 'new'} ${metadata.uid}`,
    );
    await t.start(builder);
    await t.push('configmaps', 'ADDED', object('a'));
    await t.push('configmaps', 'MODIFIED', object('a'));
    await t.push('configmaps', 'DELETED', object('a'));
    expect(t.keys()).toEqual(['new a', 'a a', 'new a']);
  });

  test('an update that shows another UID is a deletion and an addition', async () => {
    const t = setUp();
    const builder = t.builder();
    const seen: string[] = [];
    builder.watches(configMaps, ({ metadata }) => metadata.uid, {
      predicate: { update: false },
      onSeen: ({ metadata }, before) =>
        seen.push(`seen ${metadata.uid}${before === undefined ? ', new' : ''}`),
      onGone: ({ metadata }) => seen.push(`gone ${metadata.uid}`),
    });
    await t.start(builder);
    await t.push('configmaps', 'ADDED', object('a', {}, 'first'));
    await t.push('configmaps', 'MODIFIED', object('a', {}, 'first'));
    expect(t.keys()).toEqual(['first']);
    await t.push('configmaps', 'MODIFIED', object('a', {}, 'second'));
    expect(t.keys()).toEqual(['first', 'second']);
    expect(seen).toEqual(['seen first, new', 'seen first', 'gone first', 'seen second, new']);
  });

  test('owns: events of a dependent wake its owner, and an orphan wakes the owners that may adopt it', async () => {
    const t = setUp();
    const selector = { matchLabels: { app: 'web' } };
    t.lists.set('replicasets', [{ ...object('web'), spec: { selector } } as KubeObject]);
    const builder = t.builder();
    const owners = builder.for(replicaSets);
    builder.owns<ReplicaSet, Pod>(pods, {
      ownerType: replicaSets,
      owners: owners.lister,
      selectorOf,
    });
    await t.start(builder);
    t.keys();
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true },
    ];
    await t.push('pods', 'ADDED', object('owned', { ownerReferences }));
    expect(t.keys()).toEqual(['ns/web']);
    await t.push('pods', 'ADDED', object('orphan', { labels: { app: 'web' } }));
    expect(t.keys()).toEqual(['ns/web']);
    await t.push('pods', 'ADDED', object('stranger', { labels: { app: 'other' } }));
    expect(t.keys()).toEqual([]);
  });

  test('a watch may put its keys on a second queue, which has workers of its own', async () => {
    const t = setUp();
    const builder = t.builder();
    const second = builder.addQueue({
      queue: 'others',
      workers: 1,
      reconcile: async (key) => {
        t.note(`second ${key}`);
        return reconciled;
      },
    });
    builder.for(configMaps, { enqueue: (key) => second.add(key) });
    await t.start(builder);
    await t.push('configmaps', 'ADDED', object('a'));
    expect(t.keys()).toEqual(['second ns/a']);
    expect(t.metrics.text()).toContain('workqueue_adds_total{name="others"} 1');
    expect(t.metrics.text()).toContain('workqueue_adds_total{name="things"} 0');
  });
});

describe('what is noted', () => {
  test('writes are noted as seen with each event, and forgotten with the object', async () => {
    const t = setUp();
    const writes = new OwnWrites({ clock: t.clock });
    const builder = t.builder();
    builder.for(configMaps, { writes, predicate: { add: false, update: false, delete: false } });
    await t.start(builder);
    const first = object('a');
    writes.wrote('ns/a', first, undefined);
    expect(writes.remainingMs('ns/a')).toBeGreaterThan(0);
    await t.push('configmaps', 'ADDED', first);
    expect(writes.remainingMs('ns/a')).toBe(0);
    writes.wrote('ns/a', object('a'), first);
    await t.push('configmaps', 'DELETED', first);
    expect(writes.remainingMs('ns/a')).toBe(0);
    expect(t.keys()).toEqual([]);
  });

  test('expectations are dropped with the object, and when another has its name', async () => {
    const t = setUp();
    const expectations = new ControllerExpectations({ clock: t.clock });
    const builder = t.builder();
    builder.for(configMaps, { expectations });
    await t.start(builder);
    await t.push('configmaps', 'ADDED', object('a'));
    expectations.expectCreations('ns/a', 1);
    await t.push('configmaps', 'MODIFIED', object('a'));
    expect(expectations.satisfiedExpectations('ns/a')).toBe(false);
    await t.push('configmaps', 'MODIFIED', object('a', {}, 'another'));
    expect(expectations.satisfiedExpectations('ns/a')).toBe(true);
    expectations.expectCreations('ns/a', 1);
    await t.push('configmaps', 'DELETED', object('a', {}, 'another'));
    expect(expectations.satisfiedExpectations('ns/a')).toBe(true);
  });
});

describe('the run', () => {
  test('no key is reconciled before every declared informer has synced', async () => {
    const t = setUp();
    t.lists.set('configmaps', [object('a')]);
    t.held.add('secrets');
    const builder = t.builder();
    builder.for(configMaps);
    builder.informerFor(secrets);
    let tasks = 0;
    builder.alongside(async () => void tasks++);
    const { ended } = await t.start(builder);
    expect(t.keys()).toEqual([]);
    expect(tasks).toBe(0);
    t.stop.abort();
    await ended;
    expect(t.keys()).toEqual([]);
  });

  test('informers that run already: handlers are called when the controller runs, not while it is made', async () => {
    const t = setUp();
    t.lists.set('configmaps', [object('a'), object('b')]);
    t.informers.informerFor(configMaps);
    t.informers.start(t.stop.signal);
    await t.clock.settle();
    const builder = t.builder();
    const seen: string[] = [];
    // `informer` would not be initialized if the handler were called at once.
    const informer = builder.for(configMaps, {
      onSeen: ({ metadata }) => seen.push(`${metadata.name} of ${informer.lister.size}`),
    });
    expect(seen).toEqual([]);
    await t.start(builder);
    expect(seen).toEqual(['a of 2', 'b of 2']);
    expect(t.keys()).toEqual(['ns/a', 'ns/b']);
    expect(t.logger.records.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('ends when nothing is in flight, and no event reaches the controller afterwards', async () => {
    const t = setUp();
    const seen: string[] = [];
    let finish: () => void = () => undefined;
    const builder = t.builder({
      reconcile: () =>
        new Promise((resolve) => {
          finish = () => resolve(reconciled);
        }),
    });
    const informer = builder.for(configMaps, {
      onSeen: ({ metadata }) => seen.push(metadata.name),
    });
    const recorder = builder.recorder('tester');
    const stopRun = new AbortController();
    let ended = false;
    const run = builder
      .complete()(stopRun.signal)
      .then(() => {
        ended = true;
      });
    t.informers.start(t.stop.signal);
    await t.clock.settle();
    await t.push('configmaps', 'ADDED', object('a'));
    stopRun.abort();
    await t.clock.settle();
    expect(ended).toBe(false);
    finish();
    await run;
    await t.push('configmaps', 'ADDED', object('b'));
    expect(informer.lister.size).toBe(2);
    expect(seen).toEqual(['a']);
    // A recorder that was stopped sends nothing.
    recorder.event(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: object('a').metadata },
      'Normal',
      'Tested',
      'a',
    );
    await t.clock.settle();
    expect(t.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  test('a key that fails too often is dropped if the queue has a limit', async () => {
    const t = setUp();
    let tries = 0;
    const builder = t.builder({
      maxRetries: 2,
      reconcile: () => {
        tries++;
        throw new Error('it does not work');
      },
    });
    builder.for(configMaps);
    await t.start(builder);
    await t.push('configmaps', 'ADDED', object('a'));
    await t.clock.advance('1m');
    expect(tries).toBe(3);
  });
});
