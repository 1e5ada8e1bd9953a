import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { Storage } from '#storage/interface.ts';
import { RecordingLogger } from '../testing/server.ts';
import { everything } from '../registry/selection.ts';
import { widgetKind } from '../testing/widgets.ts';
import { Catalog } from './catalog.ts';
import { type FollowOptions, Follower } from './follow.ts';
import { internalContext, watchAll } from './internal-client.ts';
import type { Kind } from './kind.ts';

const GROUP = 'example.com';

let clock: VirtualClock;
let storage: Storage;
let catalog: Catalog;
let follower: Follower;
let kept: Map<string, KubeObject>;
beforeEach(() => {
  clock = new VirtualClock();
  const logger = new RecordingLogger();
  storage = createMemoryStorage({ clock, logger });
  catalog = new Catalog();
  follower = new Follower({ catalog, clock, logger });
  kept = new Map();
});
afterEach(async () => {
  follower.stop();
  catalog.close();
  await storage.close();
});

const follow = (options: FollowOptions = {}): Promise<void> => {
  const keeper = {
    set: (object: KubeObject) => void kept.set(object.metadata.name, object),
    delete: (key: string) => void kept.delete(key.replace('default/', '')),
  };
  return follower.follow(GROUP, 'widgets', keeper, options);
};
const create = (kind: Kind, name: string): unknown =>
  kind.rest.create?.(
    internalContext('default'),
    '',
    { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } } as KubeObject,
    { dryRun: false, fieldManager: '' },
  );
const names = (): string[] => [...kept.keys()].toSorted();

test('existing objects are loaded when follow resolves, and changes follow', async () => {
  const kind = widgetKind({ storage, clock });
  catalog.install([kind]);
  await create(kind, 'a');
  await follow();
  expect(names()).toEqual(['a']);
  await create(kind, 'b');
  await kind.rest.delete?.(internalContext('default'), 'a', { dryRun: false });
  await clock.settle();
  expect(names()).toEqual(['b']);
});

test('a client that takes all changes at once is not ahead of the keeper', async () => {
  const kind = widgetKind({ storage, clock });
  catalog.install([kind]);
  await follow();
  const events = (await watchAll(kind.rest, 'default', {
    selection: everything,
    sendInitialEvents: undefined,
  }))!;
  const first = events[Symbol.asyncIterator]().next();
  const created = Array.from({ length: 20 }, (_, index) => create(kind, `w-${index}`));
  await first;
  const received = 1 + (events.drain?.().length ?? 0);
  expect(received).toBe(20);
  expect(kept.size).toBe(received);
  events.stop();
  await Promise.all(created);
});

test('a resource that is installed later is followed from then on', async () => {
  await follow();
  expect(names()).toEqual([]);
  const kind = widgetKind({ storage, clock });
  await create(kind, 'a');
  catalog.install([kind]);
  await clock.settle();
  expect(names()).toEqual(['a']);
});

test('a resource that is uninstalled has no objects until it is installed again', async () => {
  const kind = widgetKind({ storage, clock });
  const installed = catalog.install([kind]);
  await create(kind, 'a');
  await create(kind, 'b');
  await follow();
  installed.uninstall();
  await clock.settle();
  expect(names()).toEqual([]);
  await kind.rest.delete?.(internalContext('default'), 'a', { dryRun: false });
  catalog.install([widgetKind({ storage, clock })]);
  await clock.settle();
  expect(names()).toEqual(['b']);
});

test('after a replacement the new store is followed at once, without deleted objects', async () => {
  const kind = widgetKind({ storage, clock });
  const installed = catalog.install([kind]);
  await create(kind, 'a');
  await create(kind, 'b');
  await follow();
  installed.replace([widgetKind({ storage, clock })]);
  await kind.rest.delete?.(internalContext('default'), 'a', { dryRun: false });
  await clock.settle();
  expect(names()).toEqual(['b']);
});

test('only changes, without the objects that exist, in each watch again', async () => {
  const kind = widgetKind({ storage, clock });
  const installed = catalog.install([kind]);
  await create(kind, 'a');
  await create(kind, 'b');
  const seen: string[] = [];
  await follower.follow(
    GROUP,
    'widgets',
    {
      set: (object) => void seen.push(`set ${object.metadata.name}`),
      delete: (key, last) =>
        void seen.push(`delete ${key} ${(last!.object() as KubeObject).metadata.name}`),
    },
    { onlyChangesSince: () => void seen.push('begin') },
  );
  await create(kind, 'c');
  await kind.rest.delete?.(internalContext('default'), 'a', { dryRun: false });
  await clock.settle();
  expect(seen).toEqual(['begin', 'set c', 'delete default/a a']);
  installed.replace([widgetKind({ storage, clock })]);
  await clock.settle();
  await kind.rest.delete?.(internalContext('default'), 'b', { dryRun: false });
  await clock.settle();
  expect(seen.slice(3)).toEqual(['begin', 'delete default/b b']);
});

test('after stop nothing is followed', async () => {
  await follow();
  follower.stop();
  const kind = widgetKind({ storage, clock });
  catalog.install([kind]);
  await create(kind, 'a');
  await clock.settle();
  expect(names()).toEqual([]);
});

describe('a store that cannot be read', () => {
  let broken: boolean;
  beforeEach(async () => {
    broken = true;
    const kind = widgetKind({ storage, clock });
    const { rest } = kind;
    const watch: typeof rest.watch = async (...args) => {
      if (broken) throw new Error('the disk is on fire');
      return rest.watch!(...args);
    };
    catalog.install([{ ...kind, rest: { watch } }]);
    await create(kind, 'a');
  });

  test('makes follow reject, and is read again', async () => {
    await expect(follow()).rejects.toThrow('the disk is on fire');
    broken = false;
    await clock.advance(1_000);
    await clock.settle();
    expect(names()).toEqual(['a']);
  });

  test('is waited for if follow may wait', async () => {
    let isRead = false;
    const following = follow({ waits: true }).then(() => (isRead = true));
    await clock.advance(5_000);
    expect(isRead).toBe(false);
    broken = false;
    await clock.advance(1_000);
    await following;
    expect(names()).toEqual(['a']);
  });

  test('is waited for until the follower stops', async () => {
    const following = follow({ waits: true });
    const stopped = expect(following).rejects.toThrow('stopped before widgets could be read');
    await clock.advance(5_000);
    follower.stop();
    await stopped;
  });
});
