import { afterEach, beforeEach, expect, test } from 'vitest';

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { functionConverter } from '../registry/object-converter.ts';
import {
  ResourceStore,
  type ResourceStoreConfig,
  type StoreServices,
} from '../registry/resource-store.ts';
import { everything } from '../registry/selection.ts';
import type { RequestContext, ResourceStrategy } from '../registry/strategy.ts';
import { defineKind, defineVirtualKind } from './define-kind.ts';
import { type Kind, verbsOf } from './kind.ts';

interface Widget extends KubeObject {
  readonly size: number;
  readonly status?: { readonly ready: boolean };
}

interface FirstWidget extends KubeObject {
  readonly length: number;
}

const widgets: ResourceType<Widget> = {
  group: 'example.com',
  version: 'v2',
  resource: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};
const strategy: ResourceStrategy<Widget> = { validate: () => [], validateUpdate: () => [] };
const V1 = { group: 'example.com', version: 'v1', kind: 'Widget' };
const V2 = { group: 'example.com', version: 'v2', kind: 'Widget' };

const V1_NAME = 'example.com/v1';
const V2_NAME = 'example.com/v2';

const context: RequestContext = {
  user: { name: 'u', groups: [] },
  namespace: 'default',
  signal: new AbortController().signal,
  warnings: [],
};
const LIST = {
  selection: everything,
  limit: 0,
  continue: '',
  resourceVersion: '',
  resourceVersionMatch: '',
} as const;
const WRITE = { dryRun: false, fieldManager: 'test' };
const widget = (size: number): Widget =>
  ({
    apiVersion: 'example.com/v2',
    kind: 'Widget',
    metadata: { name: 'w' },
    size,
  }) as unknown as Widget;

let storage: Storage;
let services: StoreServices;
beforeEach(() => {
  const clock = new VirtualClock();
  storage = createMemoryStorage({ clock, logger: silentLogger });
  services = { storage, clock, random: new SeededRandom('kinds'), logger: silentLogger };
});
afterEach(() => storage.close());

const only = (kinds: readonly Kind[]): Kind => {
  expect(kinds).toHaveLength(1);
  return kinds[0]!;
};

test('a kind is a store with views', async () => {
  const kind = only(
    defineKind<Widget>({
      type: widgets,
      strategy,
      subresources: {
        status: {
          strategy: {
            prepareForUpdate: (object, old) => ({ ...object, size: old.size }),
            validateUpdate: () => [],
          },
        },
        size: ({ store }) => ({ kind: V2, rest: { get: (...call) => store.get(...call) } }),
      },
    }).build(services),
  );
  expect(kind.rest).toBeInstanceOf(ResourceStore);
  expect(kind.strategy).toBe(strategy);
  expect(kind.subresources?.map(({ name, rest }) => [name, verbsOf({ rest })])).toEqual([
    ['status', ['get', 'patch', 'update']],
    ['size', ['get']],
  ]);

  await kind.rest.create?.(context, '', widget(1), WRITE);
  const apply = (current: KubeObject | undefined): KubeObject =>
    ({ ...(current as Widget), size: 7 }) as KubeObject;
  const written = await kind.subresources?.[0]?.rest.update?.(context, 'w', { apply }, WRITE);
  expect(written?.object.object()).toMatchObject({ size: 1 });
});

test('a kind without some verbs does not list them', () => {
  const config = { type: widgets, strategy, withoutVerbs: ['deleteCollection', 'watch'] } as const;
  expect(verbsOf(only(defineKind<Widget>(config).build(services)))).toEqual([
    'create',
    'delete',
    'get',
    'list',
    'patch',
    'update',
  ]);
});

test('a version that is not stored is converted when it is read and written', async () => {
  const first: ResourceType = { ...widgets, version: 'v1' };
  const converter = functionConverter({
    'example.com/v1': {
      'example.com/v2': ({ length, ...others }: FirstWidget) => ({
        ...others,
        size: length,
        apiVersion: V2_NAME,
      }),
    },
    'example.com/v2': {
      'example.com/v1': ({ size, ...others }: Widget) => ({
        ...others,
        length: size,
        apiVersion: V1_NAME,
      }),
    },
  });
  const stored = only(
    defineKind<Widget>({ type: widgets, converter, otherVersions: [first], strategy }).build(
      services,
    ),
  );
  const viewed = only(
    defineKind<FirstWidget>({
      type: first,
      storedType: widgets,
      converter,
      otherVersions: [widgets],
      strategy: { validate: () => [], validateUpdate: () => [] },
      subresources: { status: { strategy: { validateUpdate: () => [] } } },
    }).build(services),
  );
  expect(stored.otherVersions).toEqual([V1]);
  expect(stored.storedKind).toBeUndefined();
  expect(viewed.otherVersions).toEqual([V2]);
  expect(viewed.storedKind).toEqual(V2);
  expect(viewed.subresources?.map(({ name, kind }) => [name, kind])).toEqual([['status', V1]]);

  await stored.rest.create?.(context, '', widget(3), WRITE);
  const list = await viewed.rest.list?.(context, LIST);
  expect(list?.items.map((item) => item.object())).toMatchObject([
    { apiVersion: V1_NAME, length: 3 },
  ]);
});

class LimitedStore extends ResourceStore<Widget> {
  readonly limit: number;

  constructor(config: ResourceStoreConfig<Widget>, limit: number) {
    super(config);
    this.limit = limit;
  }
}

test('a strategy and a store may depend on the services of the server', () => {
  const definition = defineKind<Widget, StoreServices & { readonly limit: number }>({
    type: widgets,
    strategy: ({ limit }) => ({ ...strategy, gracePeriodSeconds: () => limit }),
    store: (config, { limit }) => new LimitedStore(config, limit),
  });
  const first = only(definition.build({ ...services, limit: 1 }));
  const second = only(definition.build({ ...services, limit: 2 }));
  expect(first.strategy?.gracePeriodSeconds?.(widget(0), undefined)).toBe(1);
  expect(second.strategy?.gracePeriodSeconds?.(widget(0), undefined)).toBe(2);
  expect([first.rest, second.rest]).toMatchObject([{ limit: 1 }, { limit: 2 }]);
});

test('a kind that is created at run time has its own codec', () => {
  // The codec is only passed on, not called.
  const codec = { kind: V2 } as ObjectCodec;
  const columns = [{ name: 'Size', type: 'integer', description: 'The size.' }] as const;
  const kind = only(
    defineKind<Widget>({
      type: widgets,
      codec,
      strategy,
      table: { columns, cells: ({ size }) => [size] },
    }).build(services),
  );
  expect(kind.codec).toBe(codec);
  expect(kind.table?.cells(widget(4), 0)).toEqual([4]);
});

test('a virtual kind serves the result of its function', () => {
  const definition = defineVirtualKind<{ readonly answer: string }>({
    type: widgets,
    deprecation: 'old',
    rest: ({ answer }) => ({ create: () => Promise.reject(new Error(answer)) }),
  });
  const kind = only(definition.build({ answer: 'no' }));
  expect(verbsOf(kind)).toEqual(['create']);
  expect(kind.deprecation).toBe('old');
  expect(kind.strategy).toBeUndefined();
});
