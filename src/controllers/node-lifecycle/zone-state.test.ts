import { describe, expect, test } from 'vitest';
import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { EvictionLimiters, evictionRates, zoneOf, zoneState } from './zone-state.ts';

const node = (ready: boolean, labels: Record<string, string> = {}): Immutable<Node> =>
  ({
    metadata: { labels },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] },
  }) as unknown as Immutable<Node>;
const zone = (ready: number, notReady: number) => [
  ...Array.from({ length: ready }, () => node(true)),
  ...Array.from({ length: notReady }, () => node(false)),
];

describe('zones', () => {
  test.each([
    [0, 0, 'Normal'],
    [3, 0, 'Normal'],
    [0, 1, 'FullDisruption'],
    [1, 2, 'Normal'],
    [2, 3, 'PartialDisruption'],
    [4, 3, 'Normal'],
  ])('%i ready and %i not: %s', (ready, notReady, state) => {
    expect(zoneState(zone(ready, notReady))).toBe(state);
  });

  test('count nodes that never reported as not ready', () => {
    const silent = { metadata: {}, spec: {}, status: {} } as unknown as Immutable<Node>;
    expect(zoneState([silent])).toBe('FullDisruption');
    expect(zoneState([node(true), silent, silent, silent])).toBe('PartialDisruption');
  });

  test('evict more slowly when many nodes failed, and not at all when every zone failed', () => {
    const rates = (zones: Record<string, Immutable<Node>[]>) => {
      const found = evictionRates(new Map(Object.entries(zones)));
      return found && Object.fromEntries(found);
    };
    expect(rates({})).toEqual({});
    expect(rates({ a: zone(3, 1), b: zone(0, 3), c: zone(2, 3), d: zone(20, 40) })).toEqual({
      a: 0.1,
      b: 0.1,
      c: 0,
      d: 0.01,
    });
    expect(rates({ a: zone(0, 1), b: zone(0, 3) })).toBeUndefined();
  });

  test('have a name of region and zone', () => {
    expect(zoneOf(node(true))).toBe(':');
    expect(
      zoneOf(
        node(true, { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'z' }),
      ),
    ).toBe('r:z');
  });
});

describe('EvictionLimiters', () => {
  const set = (limiters: EvictionLimiters, perSecond: number) =>
    limiters.setRates(new Set(['z']), new Map([['z', perSecond]]));
  const taken = (limiters: EvictionLimiters) => [limiters.tryTake('z'), limiters.tryTake('z')];

  test('let one node through at once in a zone that was never disrupted', () => {
    const limiters = new EvictionLimiters(new VirtualClock());
    set(limiters, 0.1);
    expect(taken(limiters)).toEqual([true, false]);
  });

  test('let no node through at once when a rate of 0 ends, or when the token of the rate before is used', async () => {
    const clock = new VirtualClock();
    const limiters = new EvictionLimiters(clock);
    set(limiters, 0);
    expect([limiters.isOpen('z'), ...taken(limiters)]).toEqual([false, false, false]);
    set(limiters, 0.1);
    expect([limiters.isOpen('z'), ...taken(limiters)]).toEqual([true, false, false]);
    await clock.advance('10s');
    expect(taken(limiters)).toEqual([true, false]);
    set(limiters, 0.01);
    expect(taken(limiters)).toEqual([false, false]);
  });

  test('keep the token that the rate before has left, and stop when all zones are disrupted', () => {
    const limiters = new EvictionLimiters(new VirtualClock());
    set(limiters, 0.01);
    set(limiters, 0.1);
    limiters.setRates(new Set(['z']), new Map([['z', 0.1]]));
    expect(limiters.tryTake('z')).toBe(true);
    limiters.setRates(new Set(['z']), undefined);
    expect(limiters.isOpen('z')).toBe(false);
  });
});
