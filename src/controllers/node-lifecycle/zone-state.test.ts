import { describe, expect, it } from 'vitest';
import type { Node } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import { evictionRates, zoneOf, zoneState } from './zone-state.ts';

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
  it.each([
    [0, 0, 'Normal'],
    [3, 0, 'Normal'],
    [0, 1, 'FullDisruption'],
    [1, 2, 'Normal'],
    [2, 3, 'PartialDisruption'],
    [4, 3, 'Normal'],
  ])('%i ready and %i not: %s', (ready, notReady, state) => {
    expect(zoneState(zone(ready, notReady))).toBe(state);
  });

  it('slow down with the damage, and stop when there is nothing else', () => {
    const rates = (zones: Record<string, Immutable<Node>[]>) => {
      const found = evictionRates(new Map(Object.entries(zones)));
      return found && Object.fromEntries(found);
    };
    expect(rates({})).toEqual({});
    expect(rates({ a: zone(3, 1), b: zone(0, 3), c: zone(2, 3), d: zone(20, 40) })).toEqual({ a: 0.1, b: 0.1, c: 0, d: 0.01 });
    expect(rates({ a: zone(0, 1), b: zone(0, 3) })).toBeUndefined();
  });

  it('are told apart by region and zone', () => {
    expect(zoneOf(node(true))).toBe(':');
    expect(zoneOf(node(true, { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'z' }))).toBe('r:z');
  });
});
