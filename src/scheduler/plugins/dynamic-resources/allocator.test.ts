// The devices that claims get: each rule alone, and compared with an exhaustive search.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Device, type DeviceRequest, resourceSlices } from '#api/groups/resource/v1/index.ts';
import { runSteps } from '#machinery/turn.ts';
import { TestInformers } from '#scheduler/testing/informers.ts';
import { makeNode } from '#scheduler/testing/objects.ts';
import {
  DRIVER,
  makeDeviceClass,
  makeResourceClaim,
  makeSlice,
  request,
} from '#scheduler/testing/devices.ts';
import { AllocationTimeout, Allocator } from './allocator.ts';
import { DeviceTracker } from './in-use.ts';
import type { Allocation, DeviceClass, ResourceClaim, ResourceSlice } from './objects.ts';
import { Pools } from './pools.ts';
import { allocationOf } from './result.ts';

const node = makeNode('n', { labels: { zone: 'z1' } });
const classes = new Map<string, DeviceClass>([
  ['gpu', makeDeviceClass('gpu')],
  [
    'large',
    makeDeviceClass(
      'large',
      `device.capacity["${DRIVER}"].memory.compareTo(quantity("16Gi")) >= 0`,
    ),
  ],
]);

let world: TestInformers;
beforeEach(() => {
  world = new TestInformers();
});
afterEach(() => {
  world.stop();
});

async function poolsOf(...slices: readonly ResourceSlice[]): Promise<Pools> {
  const pools = new Pools(world);
  for (const slice of slices) world.put(resourceSlices, slice);
  await world.sync();
  return pools;
}

/**
 * Returns the allocations: 'device' or 'request:device', or undefined. `taken`: allocations of
 * other claims.
 */
async function allocate(
  slices: readonly ResourceSlice[],
  claims: readonly ResourceClaim[],
  taken: readonly Allocation[] = [],
): Promise<readonly Allocation[] | undefined> {
  const pools = await poolsOf(...slices);
  const inUse = new DeviceTracker();
  taken.forEach((allocation, i) => inUse.set(String(i), allocation));
  const allocator = new Allocator({ inUse, classOf: (name) => classes.get(name) });
  const picks = runSteps(allocator.allocate(pools.of(node), claims));
  let ids = 0;
  return picks?.map((of, i) => allocationOf(claims[i]!, of, 'n', () => `share-${ids++}`));
}

const names = (
  allocations: readonly Allocation[] | undefined,
): readonly (readonly string[])[] | undefined =>
  allocations?.map(({ devices }) =>
    (devices.results ?? []).map(({ request: name, device }) => `${name}:${device}`),
  );

const device = (name: string, more: Partial<Device> = {}): Device => ({ name, ...more });
const withMemory = (name: string, value: string, more: Partial<Device> = {}): Device => ({
  name,
  capacity: { memory: { value } },
  ...more,
});
const numa = (name: string, int: number, more: Partial<Device> = {}): Device => ({
  name,
  attributes: { numa: { int } },
  ...more,
});
const having = (...devices: readonly string[]): Allocation => ({
  devices: {
    results: devices.map((name) => ({ request: 'r', driver: DRIVER, pool: 'p', device: name })),
  },
});
const selector = (expression: string) => ({ selectors: [{ cel: { expression } }] });

describe('Allocator', () => {
  test('gives each request its devices, and no device twice', async () => {
    const slice = makeSlice('p', 'n', [device('a'), device('b'), device('c')]);
    const claims = [
      makeResourceClaim('one'),
      makeResourceClaim('two', [request('x', { count: 2 })]),
    ];
    expect(names(await allocate([slice], claims))).toEqual([['r:a'], ['x:b', 'x:c']]);
    expect(await allocate([slice], [...claims, makeResourceClaim('three')])).toBeUndefined();
    expect(names(await allocate([slice], [makeResourceClaim('one')], [having('a', 'b')]))).toEqual([
      ['r:c'],
    ]);
  });

  test('selects by class and by claim', async () => {
    const attributes = {
      model: { string: 'a100' },
      driverVersion: { version: '1.10.0' },
      'other.io/fast': { bool: true },
    };
    const slice = makeSlice('p', 'n', [
      withMemory('small', '8Gi'),
      withMemory('big', '32Gi', { attributes }),
      withMemory('mid', '16Gi'),
    ]);
    const get = async (more: Parameters<typeof request>[1]) =>
      names(await allocate([slice], [makeResourceClaim('c', [request('r', more)])]));
    expect(await get({ deviceClassName: 'large' })).toEqual([['r:big']]);
    const model = `has(device.attributes["${DRIVER}"].model) && device.attributes["${DRIVER}"].model == "a100"`;
    expect(await get(selector(model))).toEqual([['r:big']]);
    expect(
      await get(selector(`"other.io" in device.attributes && device.attributes["other.io"].fast`)),
    ).toEqual([['r:big']]);
    const version =
      `has(device.attributes["${DRIVER}"].driverVersion) && ` +
      `device.attributes["${DRIVER}"].driverVersion.isGreaterThan(semver("1.9.0"))`;
    expect(await get(selector(version))).toEqual([['r:big']]);
    expect(
      await get(selector(`device.capacity["${DRIVER}"].memory.isLessThan(quantity("10Gi"))`)),
    ).toEqual([['r:small']]);
    expect(await get(selector('device.allowMultipleAllocations'))).toBeUndefined();
  });

  test.each<[string, Parameters<typeof request>[1], RegExp]>([
    [
      'a wrong expression',
      selector('device.nope'),
      /^claim default\/c: selector #0: CEL compile error: /,
    ],
    [
      'an expression that fails',
      selector(`device.attributes["${DRIVER}"].nope`),
      /selector #0 on device gpu\.example\.com\/p\/a: CEL runtime error: no such key: nope/,
    ],
    [
      'an expression that says neither yes nor no',
      selector('device.driver'),
      /could not be converted to bool/,
    ],
    [
      'a class that is not there',
      { deviceClassName: 'none' },
      /could not retrieve device class none: deviceclass\.resource\.k8s\.io "none" not found/,
    ],
    [
      'too many devices',
      { count: 33 },
      /number of requested devices 33 exceeds the claim limit of 32/,
    ],
  ])('refuses %s', async (_what, more, message) => {
    const slice = makeSlice('p', 'n', [device('a')]);
    await expect(allocate([slice], [makeResourceClaim('c', [request('r', more)])])).rejects.toThrow(
      message,
    );
  });

  test('tries other devices for earlier requests if later ones find none', async () => {
    const slice = makeSlice('p', 'n', [withMemory('big', '32Gi'), withMemory('small', '8Gi')]);
    const claims = [
      makeResourceClaim('any'),
      makeResourceClaim('large', [request('r', { deviceClassName: 'large' })]),
    ];
    expect(names(await allocate([slice], claims))).toEqual([['r:small'], ['r:big']]);
  });

  test('allocates all devices, or none', async () => {
    const slice = makeSlice('p', 'n', [device('a'), device('b')]);
    const all = makeResourceClaim('all', [request('r', { allocationMode: 'All' })]);
    expect(names(await allocate([slice], [all]))).toEqual([['r:a', 'r:b']]);
    expect(await allocate([slice], [all], [having('b')])).toBeUndefined();
    expect(await allocate([makeSlice('p', 'n', [])], [all])).toBeUndefined();
    const partly = makeSlice('p', 'n', [device('a')], {
      pool: { name: 'p', generation: 1, resourceSliceCount: 2 },
    });
    await expect(allocate([partly], [all])).rejects.toThrow(
      /asks for all devices, but resource pool gpu\.example\.com\/p is currently being updated/,
    );
  });

  test('takes the first possible alternative', async () => {
    const slice = makeSlice('p', 'n', [withMemory('big', '32Gi'), withMemory('small', '8Gi')]);
    const alternatives = (...of: readonly [string, number, string][]): DeviceRequest => ({
      name: 'r',
      firstAvailable: of.map(([name, count, deviceClassName]) => ({
        name,
        count,
        deviceClassName,
        allocationMode: 'ExactCount',
      })),
    });
    const claim = makeResourceClaim('c', [
      alternatives(['two-large', 2, 'large'], ['one-large', 1, 'large'], ['any', 1, 'gpu']),
    ]);
    expect(names(await allocate([slice], [claim]))).toEqual([['r/one-large:big']]);
    expect(names(await allocate([slice], [claim], [having('big')]))).toEqual([['r/any:small']]);
    // An alternative with too many devices is skipped.
    const many = makeResourceClaim('c', [
      request('a'),
      alternatives(['many', 32, 'gpu'], ['one', 1, 'gpu']),
    ]);
    expect(names(await allocate([slice], [many]))).toEqual([['a:big', 'r/one:small']]);
  });

  test('gives devices in use to requests with admin access only', async () => {
    const slice = makeSlice('p', 'n', [device('a')]);
    const admin = makeResourceClaim('admin', [request('r', { adminAccess: true })]);
    const found = await allocate([slice], [admin], [having('a')]);
    expect(found?.[0]?.devices.results).toEqual([
      { request: 'r', driver: DRIVER, pool: 'p', device: 'a', adminAccess: true },
    ]);
    // The devices of such requests stay free.
    expect(names(await allocate([slice], [makeResourceClaim('c')], found ?? []))).toEqual([
      ['r:a'],
    ]);
    expect(
      await allocate(
        [slice],
        [makeResourceClaim('admin', [request('r', { adminAccess: true, count: 2 })])],
      ),
    ).toBeUndefined();
  });

  test('enforces the constraints of claims', async () => {
    const slice = makeSlice('p', 'n', [
      numa('a', 0),
      numa('b', 1),
      device('none'),
      numa('c', 1),
      numa('d', 2),
    ]);
    const two = [request('x', { count: 2 })];
    const match = makeResourceClaim('c', two, {
      constraints: [{ matchAttribute: `${DRIVER}/numa` }],
    });
    expect(names(await allocate([slice], [match]))).toEqual([['x:b', 'x:c']]);
    const distinct = makeResourceClaim('c', [request('x', { count: 3 })], {
      constraints: [{ distinctAttribute: `${DRIVER}/numa` }],
    });
    expect(names(await allocate([slice], [distinct]))).toEqual([['x:a', 'x:b', 'x:d']]);
    // A constraint for some of the requests only.
    const some = makeResourceClaim('c', [request('x'), request('y'), request('z')], {
      constraints: [{ matchAttribute: `${DRIVER}/numa`, requests: ['x', 'z'] }],
    });
    expect(names(await allocate([slice], [some]))).toEqual([['x:b', 'y:a', 'z:c']]);
    const all = makeResourceClaim('c', [request('x', { allocationMode: 'All' })], {
      constraints: [{ matchAttribute: `${DRIVER}/numa` }],
    });
    await expect(allocate([slice], [all])).rejects.toThrow(
      /cannot add device .* because a claim constraint would not be satisfied/,
    );
  });

  test('leaves tainted devices to requests that tolerate the taint', async () => {
    const taints = [{ key: 'broken', value: 'yes', effect: 'NoSchedule' as const }];
    const slice = makeSlice('p', 'n', [
      device('a', { taints }),
      device('b', { taints: [{ key: 'k', effect: 'None' }] }),
    ]);
    const get = async (more: Parameters<typeof request>[1]) =>
      names(await allocate([slice], [makeResourceClaim('c', [request('r', more)])]));
    expect(await get({})).toEqual([['r:b']]);
    expect(await get({ tolerations: [{ key: 'broken', operator: 'Exists' }] })).toEqual([['r:a']]);
    expect(
      await get({
        tolerations: [{ key: 'broken', operator: 'Equal', value: 'yes', effect: 'NoExecute' }],
      }),
    ).toEqual([['r:b']]);
    expect(await get({ tolerations: [{ key: 'broken', operator: 'Equal', value: 'no' }] })).toEqual(
      [['r:b']],
    );
  });

  test('counts the consumption of a device’s partitions', async () => {
    const takes = (value: string) => [{ counterSet: 'card', counters: { memory: { value } } }];
    const slice = makeSlice(
      'p',
      'n',
      [
        device('whole', { consumesCounters: takes('40Gi') }),
        device('half-1', { consumesCounters: takes('20Gi') }),
        device('half-2', { consumesCounters: takes('20Gi') }),
      ],
      { sharedCounters: [{ name: 'card', counters: { memory: { value: '40Gi' } } }] },
    );
    expect(names(await allocate([slice], [makeResourceClaim('c')]))).toEqual([['r:whole']]);
    expect(names(await allocate([slice], [makeResourceClaim('c')], [having('half-2')]))).toEqual([
      ['r:half-1'],
    ]);
    expect(
      names(await allocate([slice], [makeResourceClaim('c', [request('r', { count: 2 })])])),
    ).toEqual([['r:half-1', 'r:half-2']]);
    expect(
      await allocate([slice], [makeResourceClaim('c', [request('r', { count: 3 })])]),
    ).toBeUndefined();
    expect(await allocate([slice], [makeResourceClaim('c')], [having('whole')])).toBeUndefined();
  });

  test('shares devices up to their capacity', async () => {
    const bandwidth = {
      value: '10',
      requestPolicy: { default: '2', validRange: { min: '2', step: '2', max: '8' } },
    };
    const nic = device('nic', { allowMultipleAllocations: true, capacity: { bandwidth } });
    const slice = makeSlice('p', 'n', [nic]);
    const wants = (name: string, amount?: string) =>
      makeResourceClaim(name, [
        request('r', amount === undefined ? {} : { capacity: { requests: { bandwidth: amount } } }),
      ]);
    const found = await allocate([slice], [wants('a', '3'), wants('b')]);
    expect(found?.map(({ devices }) => devices.results?.[0])).toEqual([
      {
        request: 'r',
        driver: DRIVER,
        pool: 'p',
        device: 'nic',
        shareID: 'share-0',
        consumedCapacity: { bandwidth: '4' },
      },
      {
        request: 'r',
        driver: DRIVER,
        pool: 'p',
        device: 'nic',
        shareID: 'share-1',
        consumedCapacity: { bandwidth: '2' },
      },
    ]);
    expect(names(await allocate([slice], [wants('c', '4')], found))).toEqual([['r:nic']]);
    expect(await allocate([slice], [wants('c', '5')], found)).toBeUndefined();
    expect(await allocate([slice], [wants('c', '9')])).toBeUndefined();
    expect(
      await allocate(
        [slice],
        [makeResourceClaim('c', [request('r', { capacity: { requests: { other: '1' } } })])],
      ),
    ).toBeUndefined();
  });

  test('uses the latest generation of a pool, and no incomplete or invalid pool', async () => {
    const old = makeSlice('old', 'n', [device('gone')], {
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    });
    const next = makeSlice('new', 'n', [device('a')], {
      pool: { name: 'p', generation: 2, resourceSliceCount: 2 },
    });
    const more = makeSlice('more', 'n', [device('b')], {
      pool: { name: 'p', generation: 2, resourceSliceCount: 2 },
    });
    const two = makeResourceClaim('c', [request('r', { count: 2 })]);
    expect(await allocate([old, next], [makeResourceClaim('c')])).toBeUndefined();
    expect(names(await allocate([more], [two]))).toEqual([['r:b', 'r:a']]);
    world.put(
      resourceSlices,
      makeSlice('more', 'n', [device('a')], {
        pool: { name: 'p', generation: 2, resourceSliceCount: 2 },
      }),
    );
    await expect(allocate([], [makeResourceClaim('c')])).rejects.toThrow(
      'invalid resource pools were encountered',
    );
  });

  test('gives up after its timeout', async () => {
    const many = Array.from({ length: 40 }, (_, i) => numa(`d${i}`, i));
    const pools = await poolsOf(makeSlice('p', 'n', many));
    const claim = makeResourceClaim('c', [request('r', { count: 20 })], {
      constraints: [{ matchAttribute: `${DRIVER}/numa` }],
    });
    const allocator = new Allocator({
      inUse: new DeviceTracker(),
      classOf: (name) => classes.get(name),
      maxTried: 500,
    });
    const steps = allocator.allocate(pools.of(node), [claim]);
    expect(steps.next().done).toBe(false);
    expect(() => runSteps(steps)).toThrow(AllocationTimeout);
  });

  test('finds devices if and only if an allocation exists, in any order', async () => {
    const kinds = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 5 });
    const wanted = fc.array(
      fc.record({ least: fc.integer({ min: 0, max: 3 }), count: fc.integer({ min: 1, max: 2 }) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    const pools = new Pools(world);
    await world.sync();
    await fc.assert(
      fc.asyncProperty(kinds, wanted, async (kinds_, wanted_) => {
        world.put(
          resourceSlices,
          makeSlice(
            'p',
            'n',
            kinds_.map((kind, i) => numa(`d${i}`, kind)),
          ),
        );
        await world.sync();
        const claims = wanted_.map(({ least, count }, i) =>
          makeResourceClaim(`c${i}`, [
            request('r', { count, ...selector(`device.attributes["${DRIVER}"].numa >= ${least}`) }),
          ]),
        );
        const allocator = new Allocator({
          inUse: new DeviceTracker(),
          classOf: (name) => classes.get(name),
        });
        const picks = runSteps(allocator.allocate(pools.of(node), claims));
        // Serving the most restrictive request first, each with the least suitable device, finds a
        // solution if there is one.
        const free = [...kinds_].sort((a, b) => a - b);
        const possible = wanted_
          .flatMap(({ least, count }) => Array.from({ length: count }, () => least))
          .sort((a, b) => b - a)
          .every((least) => {
            const index = free.findLastIndex((kind) => kind >= least);
            if (index < 0) return false;
            free.splice(index, 1);
            return true;
          });
        expect(picks !== undefined).toBe(possible);
        const used = (picks ?? []).flat().map(({ pooled }) => pooled.key);
        expect(new Set(used).size).toBe(used.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe('allocationOf', () => {
  test('contains the nodes that can use the devices', async () => {
    const anywhere = makeSlice('p', undefined, [device('a')], { allNodes: true });
    const [everywhere] = (await allocate([anywhere], [makeResourceClaim('c')])) ?? [];
    expect(everywhere).toEqual({
      devices: { results: [{ request: 'r', driver: DRIVER, pool: 'p', device: 'a' }] },
    });
    const zone = {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'zone', operator: 'In' as const, values: ['z1'] }] },
      ],
    };
    world.put(resourceSlices, makeSlice('p', undefined, [device('a')], { nodeSelector: zone }));
    const [there] = (await allocate([], [makeResourceClaim('c')])) ?? [];
    expect(there?.nodeSelector).toEqual(zone);
    world.put(
      resourceSlices,
      makeSlice('p', undefined, [device('a', { nodeSelector: zone, bindsToNode: true })], {
        perDeviceNodeSelection: true,
      }),
    );
    const [here] = (await allocate([], [makeResourceClaim('c')])) ?? [];
    expect(here?.nodeSelector?.nodeSelectorTerms[0]?.matchFields?.[0]?.values).toEqual(['n']);
    const other = {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'zone', operator: 'In' as const, values: ['z2'] }] },
      ],
    };
    world.put(resourceSlices, makeSlice('p', undefined, [device('a')], { nodeSelector: other }));
    expect(await allocate([], [makeResourceClaim('c')])).toBeUndefined();
  });

  test('contains the configuration of classes and claim', async () => {
    const opaque = (value: string) => ({ opaque: { driver: DRIVER, parameters: { value } } });
    classes.set('configured', makeDeviceClass('configured', 'true', { config: [opaque('class')] }));
    const slice = makeSlice('p', 'n', [device('a'), device('b'), device('c')]);
    const of = (name: string): DeviceRequest => request(name, { deviceClassName: 'configured' });
    const claim = makeResourceClaim('c', [of('x'), of('y'), request('z')], {
      config: [{ ...opaque('all') }, { requests: ['z'], ...opaque('some') }],
    });
    const [allocation] = (await allocate([slice], [claim])) ?? [];
    expect(allocation?.devices.config).toEqual([
      { source: 'FromClass', requests: ['x', 'y'], ...opaque('class') },
      { source: 'FromClaim', ...opaque('all') },
      { source: 'FromClaim', requests: ['z'], ...opaque('some') },
    ]);
  });
});
