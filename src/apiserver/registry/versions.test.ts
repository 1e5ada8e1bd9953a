// One store with objects in several versions: the storage version has changed, and objects of older
// servers still exist.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { pods } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import { aesGcmProvider, encryptedBy } from '#storage/encryption/testing/encrypted.ts';
import { openEtcdStorage } from '#storage/etcd/index.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcd,
} from '#storage/etcd/testing/etcd-process.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { conversionFailed, functionConverter, type ObjectConverter } from './object-converter.ts';
import { ResourceStore } from './resource-store.ts';
import { selectableFields } from './selectable-fields.ts';
import type { ListOptions, WatchOptions } from './rest.ts';
import { everything, Selection } from './selection.ts';
import type { RequestContext, ResourceStrategy } from './strategy.ts';

/** A lamp, which has a color in v1 and a hue in v2. */
interface Lamp extends KubeObject {
  readonly color?: string;
  readonly hue?: string;
}

const lampType = (version: string): ResourceType => ({
  group: 'example.com',
  version,
  resource: 'lamps',
  singular: 'lamp',
  kind: 'Lamp',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
});
const V1 = lampType('v1');
const V2 = lampType('v2');
const PREFIX = '/registry/example.com/lamps/';

const functions = functionConverter({
  'example.com/v1': { 'example.com/v2': ({ metadata, color }: Lamp) => ({ metadata, hue: color }) },
  'example.com/v2': { 'example.com/v1': ({ metadata, hue }: Lamp) => ({ metadata, color: hue }) },
});
/**
 * A converter like a webhook: it is asynchronous, and fails completely if it cannot convert one
 * object.
 */
const asynchronous: ObjectConverter = {
  convert: async (objects, to) => {
    await nextTurn();
    const broken = objects.find(({ metadata }) => metadata.name === 'broken');
    if (broken !== undefined) throw conversionFailed(broken, 'the bulb is broken');
    return functions.convert(objects, to);
  },
};

function counted(converter: ObjectConverter): ObjectConverter & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    convert: (objects, to) => {
      calls.push(`${to}: ${objects.map(({ metadata }) => metadata.name).join(' ')}`);
      return converter.convert(objects, to);
    },
  };
}

const strategy: ResourceStrategy<Lamp> = {
  validate: () => [],
  validateUpdate: () => [],
};
const lampFields = selectableFields<Lamp>({
  color: ({ color = '' }) => color,
  hue: ({ hue = '' }) => hue,
});

const stores: ResourceStore<Lamp>[] = [];
afterEach(() => {
  for (const store of stores.splice(0)) store.close();
});

/** Returns a server's store, which serves `type` and writes `storedType`. */
function storeOf(
  storage: Storage,
  type: ResourceType,
  storedType: ResourceType,
  converter?: ObjectConverter,
): ResourceStore<Lamp> {
  const store = new ResourceStore<Lamp>({
    storage,
    clock: new VirtualClock(),
    random: new SeededRandom(type.version),
    logger: silentLogger,
    detectMutations: true,
    type,
    storedType,
    strategy,
    selectableFields: lampFields,
    converter,
  });
  stores.push(store);
  return store;
}

const context: RequestContext = {
  user: { name: 'u', groups: [] },
  namespace: 'default',
  signal: new AbortController().signal,
  warnings: [],
};
const write = { dryRun: false, fieldManager: '' };
const all: ListOptions = {
  selection: everything,
  limit: 0,
  continue: '',
  resourceVersion: '',
  resourceVersionMatch: '',
};

const lampOf = (encoded: EncodedObject): Lamp => encoded.object() as Lamp;
/** Returns 'name apiVersion color/hue', from the bytes that are sent. */
const textOf = (encoded: EncodedObject): string => {
  const { apiVersion, metadata, color, hue } = JSON.parse(
    Buffer.from(encoded.jsonLine()).toString(),
  ) as Lamp;
  return `${metadata.name} ${apiVersion} ${color !== undefined ? `color=${color}` : `hue=${hue}`}`;
};
const lamp = (name: string, more: object): Lamp =>
  ({
    metadata: {
      name,
      namespace: 'default',
      labels: { room: name.startsWith('k') ? 'kitchen' : 'hall' },
    },
    ...more,
  }) as unknown as Lamp;

const listed = async (
  store: ResourceStore<Lamp>,
  options: Partial<ListOptions> = {},
): Promise<string[]> => (await store.list(context, { ...all, ...options })).items.map(textOf);

async function pages(store: ResourceStore<Lamp>, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let next: string | undefined = ''; next !== undefined;) {
    const page = await store.list(context, { ...all, limit, continue: next });
    pages.push(page.items.map(textOf));
    next = page.continue;
  }
  return pages;
}

async function take(stream: WatchStream<EncodedWatchEvent>, count: number): Promise<string[]> {
  const events: string[] = [];
  for await (const { type, object } of stream) {
    events.push(
      type === 'ERROR'
        ? `ERROR ${(object.object() as apierrors.Status).message}`
        : `${type} ${textOf(object)}`,
    );
    if (events.length === count) break;
  }
  return events;
}

const watch = (
  store: ResourceStore<Lamp>,
  options: Partial<WatchOptions>,
): Promise<WatchStream<EncodedWatchEvent>> =>
  store.watch(context, {
    selection: everything,
    resourceVersion: '',
    allowBookmarks: false,
    sendInitialEvents: undefined,
    ...options,
  });

/** Updates an object without a change. */
const touch = (store: ResourceStore<Lamp>, name: string) =>
  store.update(context, name, { apply: (current) => ({ ...current }) as Lamp }, write);

/** Returns 'name apiVersion' of each stored object. */
async function stored(storage: Storage): Promise<string[]> {
  const { items } = await storage.list(PREFIX);
  return items.map(({ key, value }) => {
    const [, apiVersion = ''] =
      /"apiVersion":"([^"]*)"/.exec(Buffer.from(value).toString('latin1')) ?? [];
    return `${key.slice(`${PREFIX}default/`.length)} ${apiVersion}`;
  });
}

interface Engine {
  readonly name: string;
  /** Starts the engine with an empty storage. */
  start(): Promise<{
    readonly storage: Storage;
    /** Opens the storage again, as after a restart of the server. */
    reopen(): Promise<Storage>;
    dispose(): Promise<void>;
  }>;
}

const memory: Engine = {
  name: 'memory',
  start: async () => {
    const storage = createMemoryStorage({ clock: new VirtualClock(), logger: silentLogger });
    return { storage, reopen: async () => storage, dispose: () => storage.close() };
  },
};

const embedded: Engine = {
  name: 'embedded',
  start: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'versions-'));
    const open = (): Promise<Storage> =>
      openEmbeddedStorage({ clock: new VirtualClock(), logger: silentLogger, dataDir });
    let storage = await open();
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = await open());
      },
      dispose: async () => {
        await storage.close();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  },
};

let etcdProcess: EtcdProcess | undefined;
let etcdPrefixes = 0;
const etcd: Engine = {
  name: 'etcd',
  start: async () => {
    const prefix = `/versions-${++etcdPrefixes}`;
    const open = (): Promise<Storage> =>
      openEtcdStorage({
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        endpoints: [etcdProcess!.endpoint],
        prefix,
        compactionIntervalMs: 0,
      });
    let storage = await open();
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = await open());
      },
      dispose: () => storage.close(),
    };
  },
};

function encrypted(engine: Engine): Engine {
  const around = (storage: Storage): Storage =>
    encryptedBy(storage, [aesGcmProvider()], { group: 'example.com', resource: 'lamps' });
  return {
    name: `${engine.name} with encryption`,
    start: async () => {
      const { storage, reopen, dispose } = await engine.start();
      return { storage: around(storage), reopen: async () => around(await reopen()), dispose };
    },
  };
}

const OLD = ['hall-1', 'hall-2', 'kitchen-1', 'kitchen-2', 'kitchen-3'];

function scenarios(engine: Engine, how: string, converter: ObjectConverter): void {
  describe(`a new storage version on ${engine.name}, with a converter ${how}`, () => {
    let cleanUp: () => Promise<void>;
    let storage: Storage;
    let v1: ResourceStore<Lamp>;
    let v2: ResourceStore<Lamp>;
    let begin: number;
    let calls: readonly string[];

    /** Writes old lamps with a server that stores v1, then restarts it with v2. */
    const restart = async (): Promise<void> => {
      const started = await engine.start();
      const old = storeOf(started.storage, V1, V1);
      begin = await started.storage.currentRevision();
      for (const name of OLD) await old.create(context, '', lamp(name, { color: 'red' }), write);
      old.close();
      storage = await started.reopen();
      const each = counted(converter);
      calls = each.calls;
      v1 = storeOf(storage, V1, V2, each);
      v2 = storeOf(storage, V2, V2, each);
      cleanUp = async () => {
        for (const store of stores.splice(0)) store.close();
        await started.dispose();
      };
    };
    afterEach(() => cleanUp());

    test('old objects are served in both versions, unconverted in their own', async () => {
      await restart();
      expect(await stored(storage)).toEqual(OLD.map((name) => `${name} example.com/v1`));
      expect(await listed(v1)).toEqual(OLD.map((name) => `${name} example.com/v1 color=red`));
      expect(calls).toEqual([]);
      expect(await listed(v2)).toEqual(OLD.map((name) => `${name} example.com/v2 hue=red`));
      expect(calls).toEqual([`example.com/v2: ${OLD.join(' ')}`]);
      expect(textOf(await v2.get(context, 'hall-1', {}))).toBe('hall-1 example.com/v2 hue=red');
      expect((await v2.find('default', 'hall-2'))?.hue).toBe('red');
      expect((await v2.findAll('default')).map(({ hue }) => hue)).toEqual(OLD.map(() => 'red'));
      const { metadata } = lampOf(await v2.get(context, 'hall-1', {}));
      expect(metadata).toEqual(lampOf(await v1.get(context, 'hall-1', {})).metadata);
    });

    test('a write stores the new version; lists have pages of both', async () => {
      await restart();
      await v2.create(context, '', lamp('ivory', { hue: 'white' }), write);
      const answer = await v1.create(context, '', lamp('jade', { color: 'green' }), write);
      expect(textOf(answer)).toBe('jade example.com/v1 color=green');
      const update = {
        apply: (current: KubeObject | undefined) => ({ ...current, color: 'blue' }) as Lamp,
      };
      expect(textOf((await v1.update(context, 'hall-2', update, write)).object)).toBe(
        'hall-2 example.com/v1 color=blue',
      );
      expect(await stored(storage)).toEqual([
        'hall-1 example.com/v1',
        'hall-2 example.com/v2',
        'ivory example.com/v2',
        'jade example.com/v2',
        'kitchen-1 example.com/v1',
        'kitchen-2 example.com/v1',
        'kitchen-3 example.com/v1',
      ]);
      expect(await pages(v2, 3)).toEqual([
        [
          'hall-1 example.com/v2 hue=red',
          'hall-2 example.com/v2 hue=blue',
          'ivory example.com/v2 hue=white',
        ],
        [
          'jade example.com/v2 hue=green',
          'kitchen-1 example.com/v2 hue=red',
          'kitchen-2 example.com/v2 hue=red',
        ],
        ['kitchen-3 example.com/v2 hue=red'],
      ]);
      expect((await pages(v1, 2)).flat()).toEqual([
        'hall-1 example.com/v1 color=red',
        'hall-2 example.com/v1 color=blue',
        'ivory example.com/v1 color=white',
        'jade example.com/v1 color=green',
        'kitchen-1 example.com/v1 color=red',
        'kitchen-2 example.com/v1 color=red',
        'kitchen-3 example.com/v1 color=red',
      ]);
    });

    test('selectors use the served form', async () => {
      await restart();
      await v2.create(context, '', lamp('kitchen-4', { hue: 'white' }), write);
      const kitchen = new Selection({ labels: labels.parse('room=kitchen') });
      expect(await listed(v2, { selection: kitchen, limit: 3 })).toEqual([
        'kitchen-1 example.com/v2 hue=red',
        'kitchen-2 example.com/v2 hue=red',
        'kitchen-3 example.com/v2 hue=red',
      ]);
      const white = new Selection({ fields: fields.oneTermEqualSelector('hue', 'white') });
      expect(await listed(v2, { selection: white })).toEqual([
        'kitchen-4 example.com/v2 hue=white',
      ]);
      const red = new Selection({ fields: fields.oneTermEqualSelector('color', 'red') });
      expect(await listed(v1, { selection: red })).toEqual(
        OLD.map((name) => `${name} example.com/v1 color=red`),
      );
      expect(await listed(v2, { selection: red })).toEqual([]);
      const one = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', 'hall-1') });
      expect(await listed(v2, { selection: one })).toEqual(['hall-1 example.com/v2 hue=red']);
    });

    test('watches resume from an old resourceVersion, in the order of the changes', async () => {
      await restart();
      const streams = [
        await watch(v2, { resourceVersion: String(begin) }),
        await watch(v1, { resourceVersion: String(begin) }),
      ];
      await touch(v2, 'kitchen-1');
      await v1.delete(context, 'kitchen-2', { dryRun: false });
      await v2.create(context, '', lamp('new', { hue: 'white' }), write);
      const [inV2, inV1] = await Promise.all(streams.map((stream) => take(stream, 8)));
      expect(inV2).toEqual([
        ...OLD.map((name) => `ADDED ${name} example.com/v2 hue=red`),
        'MODIFIED kitchen-1 example.com/v2 hue=red',
        'DELETED kitchen-2 example.com/v2 hue=red',
        'ADDED new example.com/v2 hue=white',
      ]);
      expect(inV1).toEqual([
        ...OLD.map((name) => `ADDED ${name} example.com/v1 color=red`),
        'MODIFIED kitchen-1 example.com/v1 color=red',
        'DELETED kitchen-2 example.com/v1 color=red',
        'ADDED new example.com/v1 color=white',
      ]);
    });

    test('a watch begins with the converted state, and a bookmark in its version', async () => {
      await restart();
      const stream = await watch(v2, { sendInitialEvents: true, allowBookmarks: true });
      const events: EncodedWatchEvent[] = [];
      for await (const event of stream) if (events.push(event) === OLD.length + 1) break;
      expect(events.slice(0, -1).map(({ object }) => textOf(object))).toEqual(
        OLD.map((name) => `${name} example.com/v2 hue=red`),
      );
      expect(events.at(-1)).toMatchObject({ type: 'BOOKMARK' });
      expect(events.at(-1)?.object.object()).toMatchObject({
        kind: 'Lamp',
        apiVersion: 'example.com/v2',
      });
    });

    test('deletions return the deleted object, in the served version', async () => {
      await restart();
      const before = lampOf(await v2.get(context, 'hall-1', {}));
      const answer = await v2.delete(context, 'hall-1', {
        dryRun: false,
        preconditions: { uid: before.metadata.uid },
      });
      expect(answer).toMatchObject({ deleted: true });
      expect(answer.object.object()).toMatchObject({
        status: 'Success',
        details: { name: 'hall-1', uid: before.metadata.uid },
      });
      // A finalizer keeps it, so it is written again, in the new version.
      const held = await v2.delete(context, 'hall-2', {
        dryRun: false,
        propagationPolicy: 'Foreground',
      });
      expect(textOf(held.object)).toBe('hall-2 example.com/v2 hue=red');
      expect(await stored(storage)).toContain('hall-2 example.com/v2');
      const deleted = await v1.deleteCollection(context, { dryRun: false }, all);
      expect(deleted.items.map(textOf).sort()).toEqual(
        OLD.slice(1).map((name) => `${name} example.com/v1 color=red`),
      );
      expect(await listed(v1)).toEqual(['hall-2 example.com/v1 color=red']);
    });

    test('unchanged updates migrate objects once', async () => {
      await restart();
      for (const name of OLD) {
        const { metadata } = lampOf(await v2.get(context, name, {}));
        const { object } = await touch(v2, name);
        expect(Number(lampOf(object).metadata.resourceVersion)).toBeGreaterThan(
          Number(metadata.resourceVersion),
        );
      }
      expect(await stored(storage)).toEqual(OLD.map((name) => `${name} example.com/v2`));
      const before = calls.length;
      const revision = await storage.currentRevision();
      for (const store of [v1, v2]) for (const name of OLD) await touch(store, name);
      // Returning the same object changes nothing, either.
      await v2.update(context, 'hall-1', { apply: (current) => current as Lamp }, write);
      expect(await storage.currentRevision()).toBe(revision);
      expect(calls.slice(before).filter((call) => call.startsWith('example.com/v2:'))).toHaveLength(
        OLD.length,
      );
      expect(await listed(v2)).toEqual(OLD.map((name) => `${name} example.com/v2 hue=red`));
    });

    test('an update that returns the same object migrates it, too', async () => {
      await restart();
      await v2.update(context, 'hall-1', { apply: (current) => current as Lamp }, write);
      expect((await stored(storage))[0]).toBe('hall-1 example.com/v2');
    });

    test('a dry run writes nothing', async () => {
      await restart();
      const dryRun = { ...write, dryRun: true };
      expect(
        textOf(
          (
            await v2.update(
              context,
              'hall-1',
              { apply: (current) => ({ ...current }) as Lamp },
              dryRun,
            )
          ).object,
        ),
      ).toBe('hall-1 example.com/v2 hue=red');
      await v2.delete(context, 'hall-1', { dryRun: true });
      expect((await stored(storage))[0]).toBe('hall-1 example.com/v1');
    });
  });
}

for (const engine of [memory, embedded]) {
  scenarios(engine, 'in this process', functions);
  scenarios(encrypted(engine), 'that is asynchronous', asynchronous);
}
scenarios(memory, 'that is asynchronous', asynchronous);

if (!hasEtcd()) {
  describe('a new storage version on etcd', () => {
    test.skip(ETCD_HINT);
  });
} else {
  describe('etcd', () => {
    beforeAll(async () => {
      etcdProcess = await startEtcd();
    });
    afterAll(() => etcdProcess?.stop());
    scenarios(etcd, 'in this process', functions);
    scenarios(encrypted(etcd), 'that is asynchronous', asynchronous);
  });
}

describe('conversions that fail or are slow', () => {
  let storage: Storage;
  let old: ResourceStore<Lamp>;
  const start = (config: { readonly watchBufferEvents?: number } = {}): void => {
    storage = createMemoryStorage({ clock: new VirtualClock(), logger: silentLogger, ...config });
    old = storeOf(storage, V1, V1);
  };
  afterEach(() => storage.close());
  const inV1 = (name: string) => old.create(context, '', lamp(name, { color: 'red' }), write);
  const WHY = 'conversion webhook for example.com/v1, Kind=Lamp failed: the bulb is broken';
  const failure = async (request: Promise<unknown>): Promise<apierrors.Status> =>
    apierrors.toStatus(
      await request.then(
        () => 'no error',
        (error: unknown) => error,
      ),
    );

  test('a list with an object that cannot be converted is 500; the others are served', async () => {
    start();
    for (const name of ['a', 'broken', 'c']) await inV1(name);
    const v2 = storeOf(storage, V2, V2, asynchronous);
    const expected = { code: 500, message: WHY, status: 'Failure' };
    for (const request of [
      () => v2.list(context, all),
      () => v2.get(context, 'broken', {}),
      () => touch(v2, 'broken'),
      () => v2.delete(context, 'broken', { dryRun: false }),
      () => v2.deleteCollection(context, { dryRun: false }, all),
      () => watch(v2, { sendInitialEvents: true }),
      async () => v2.findAll(''),
    ]) {
      const status = await failure(request());
      expect(status).toMatchObject(expected);
      expect(status.reason).toBeUndefined();
    }
    expect(textOf(await v2.get(context, 'c', {}))).toBe('c example.com/v2 hue=red');
    expect(await pages(v2, 1).catch(() => 'failed')).toBe('failed');
    expect(await listed(v2, { limit: 1 })).toEqual(['a example.com/v2 hue=red']);
    // In its own version it is served, and can be deleted.
    expect(await listed(old)).toHaveLength(3);
    await old.delete(context, 'broken', { dryRun: false });
    expect(await listed(v2)).toEqual(['a example.com/v2 hue=red', 'c example.com/v2 hue=red']);
  });

  test('a watch gets earlier events, then an ERROR event, and ends; other versions continue', async () => {
    start();
    const v2 = storeOf(storage, V2, V2, asynchronous);
    const revision = String(await storage.currentRevision());
    const live = await watch(v2, { resourceVersion: revision });
    const inOld = await watch(old, { resourceVersion: revision });
    for (const name of ['a', 'broken', 'c']) await inV1(name);
    const error = `ERROR Internal error occurred: ${WHY}`;
    expect(await take(live, 10)).toEqual(['ADDED a example.com/v2 hue=red', error]);
    expect(await take(inOld, 3)).toEqual(
      ['a', 'broken', 'c'].map((name) => `ADDED ${name} example.com/v1 color=red`),
    );
    // A resumed watch meets the object again, now from the storage, but not in another namespace.
    expect(await take(await watch(v2, { resourceVersion: revision }), 10)).toEqual([
      'ADDED a example.com/v2 hue=red',
      error,
    ]);
    const c = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', 'c') });
    expect(await take(await watch(v2, { resourceVersion: revision, selection: c }), 1)).toEqual([
      'ADDED c example.com/v2 hue=red',
    ]);
    // After it is deleted, watches continue.
    await old.delete(context, 'broken', { dryRun: false });
    const again = await watch(v2, { resourceVersion: String(await storage.currentRevision()) });
    await inV1('d');
    expect(await take(again, 1)).toEqual(['ADDED d example.com/v2 hue=red']);
  });

  test('events and bookmarks wait for a conversion; waiting ones are converted in one call', async () => {
    start();
    const release: (() => void)[] = [];
    const slow = counted({
      convert: async (objects, to) => {
        await new Promise<void>((resolve) => release.push(resolve));
        return functions.convert(objects, to);
      },
    });
    const v2 = storeOf(storage, V2, V2, slow);
    const revision = await storage.currentRevision();
    const stream = await watch(v2, { resourceVersion: String(revision) });
    const seen: string[] = [];
    const done = (async () => {
      for await (const event of stream)
        if (seen.push(`${event.type} ${textOf(event.object)}`) === 5) break;
    })();
    await inV1('a');
    await v2.create(context, '', lamp('b', { hue: 'white' }), write);
    for (const name of ['c', 'd', 'e']) await inV1(name);
    while (release.length === 0) await nextTurn();
    expect(seen).toEqual([]);
    // A new watcher does not wait for the conversion, and gets later events.
    const late = await watch(v2, { resourceVersion: String(await storage.currentRevision()) });
    await v2.create(context, '', lamp('f', { hue: 'white' }), write);
    for (;;) {
      release.shift()?.();
      if (seen.length === 5) break;
      await nextTurn();
    }
    await done;
    expect(seen).toEqual([
      'ADDED a example.com/v2 hue=red',
      'ADDED b example.com/v2 hue=white',
      'ADDED c example.com/v2 hue=red',
      'ADDED d example.com/v2 hue=red',
      'ADDED e example.com/v2 hue=red',
    ]);
    expect(await take(late, 1)).toEqual(['ADDED f example.com/v2 hue=white']);
    expect(slow.calls.length).toBeLessThan(4);
    expect(slow.calls.join(' ').match(/\b[acde]\b/g)).toEqual(['a', 'c', 'd', 'e']);
  });

  test('a slow converter cuts its own watchers off, which resume', async () => {
    start({ watchBufferEvents: 5 });
    let release = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const v2 = storeOf(storage, V2, V2, {
      convert: async (objects, to) => {
        await hanging;
        return functions.convert(objects, to);
      },
    });
    const revision = String(await storage.currentRevision());
    const slow = await watch(v2, { resourceVersion: revision });
    const other = await watch(old, { resourceVersion: revision });
    const names = Array.from({ length: 12 }, (_, index) => `l${String(index).padStart(2, '0')}`);
    const otherEvents = take(other, names.length);
    for (const name of names) {
      await inV1(name);
      await nextTurn();
    }
    expect(await otherEvents).toHaveLength(names.length);
    release();
    const first = await take(slow, names.length);
    expect(first.length).toBeGreaterThan(0);
    expect(first.length).toBeLessThan(names.length);
    expect(first).toEqual(
      names.slice(0, first.length).map((name) => `ADDED ${name} example.com/v2 hue=red`),
    );
  });

  test('a state in an unknown version is an error', async () => {
    start();
    await inV1('a');
    const alone = storeOf(storage, V2, V2);
    const message = 'no kind "Lamp" is registered for version "example.com/v1"';
    expect(await failure(alone.list(context, all))).toMatchObject({ code: 500, message });
    expect(await failure(alone.get(context, 'a', {}))).toMatchObject({ code: 500, message });
  });

  test('nothing is converted without watchers', async () => {
    start();
    const converter = counted(functions);
    const v2 = storeOf(storage, V2, V2, converter);
    const revision = await storage.currentRevision();
    (await watch(v2, { resourceVersion: String(revision) })).stop();
    for (const name of ['a', 'b']) await inV1(name);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(converter.calls).toEqual([]);
    const back = await watch(v2, { resourceVersion: String(revision) });
    expect(await take(back, 2)).toEqual([
      'ADDED a example.com/v2 hue=red',
      'ADDED b example.com/v2 hue=red',
    ]);
  });
});

test('an index finds objects in the served version, and unmigrated ones, too', async () => {
  const storage = createMemoryStorage({ clock: new VirtualClock(), logger: silentLogger });
  const podType: ResourceType = { ...pods, version: 'v1' };
  const oldPodType: ResourceType = { ...pods, version: 'v0' };
  const rules: ResourceStrategy<KubeObject> = {
    validate: () => [],
    validateUpdate: () => [],
  };
  const podFields = selectableFields<KubeObject>({
    'spec.nodeName': {
      value: (pod) => (pod as { spec?: { nodeName?: string } }).spec?.nodeName ?? '',
      indexed: true,
    },
  });
  const converter = counted(
    functionConverter({
      v0: {
        v1: ({ metadata, node }: Record<string, unknown>) => ({
          metadata,
          spec: { nodeName: node },
        }),
      },
    }),
  );
  const services = {
    storage,
    clock: new VirtualClock(),
    random: new SeededRandom('pods'),
    logger: silentLogger,
  };
  const old = new ResourceStore({
    ...services,
    type: oldPodType,
    strategy: { validate: () => [], validateUpdate: () => [] },
  });
  const current = new ResourceStore({
    ...services,
    type: podType,
    strategy: rules,
    selectableFields: podFields,
    converter,
  });
  const pod = (name: string, more: object) =>
    ({ metadata: { name, namespace: 'default' }, ...more }) as unknown as KubeObject;
  await old.create(context, '', pod('old-1', { node: 'n1' }), write);
  await old.create(context, '', pod('old-2', { node: 'n2' }), write);
  await current.create(context, '', pod('new-1', { spec: { nodeName: 'n1' } }), write);
  await current.create(context, '', pod('new-2', { spec: { nodeName: 'n2' } }), write);
  const onNode = async (node: string): Promise<string[]> => {
    const selection = new Selection({ fields: fields.oneTermEqualSelector('spec.nodeName', node) });
    return (await current.list(context, { ...all, selection })).items.map(
      (item) => (item.object() as KubeObject).metadata.name,
    );
  };
  expect(await onNode('n1')).toEqual(['new-1', 'old-1']);
  expect(await onNode('n2')).toEqual(['new-2', 'old-2']);
  expect(await onNode('n3')).toEqual([]);
  expect(converter.calls).toEqual(['v1: old-1 old-2']);
  await current.update(context, 'old-1', { apply: (each) => ({ ...each }) as KubeObject }, write);
  await current.update(
    context,
    'old-2',
    { apply: (each) => ({ ...each, spec: { nodeName: 'n3' } }) as unknown as KubeObject },
    write,
  );
  expect([await onNode('n1'), await onNode('n2'), await onNode('n3')]).toEqual([
    ['new-1', 'old-1'],
    ['new-2'],
    ['old-2'],
  ]);
  old.close();
  current.close();
  await storage.close();
});
