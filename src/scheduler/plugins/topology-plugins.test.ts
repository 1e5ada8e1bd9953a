// InterPodAffinity and PodTopologySpread: arguments, events that requeue a rejected pod, and keys
// of labels.

import { describe, expect, test } from 'vitest';
import type {
  Affinity,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '#api/groups/core/v1/index.ts';
import { affinityTermsOf, termMatches } from '../framework/affinity-terms.ts';
import { nodeUpdateEvent, podUpdateEvent } from '../framework/changes.ts';
import {
  ActionType,
  assignedPodAdd,
  assignedPodDelete,
  type ClusterEvent,
  clusterEvent,
  type EventObjects,
  matchesEvent,
  nodeAdd,
  UPDATE,
} from '../framework/events.ts';
import type { Pod } from '../framework/objects.ts';
import type { Plugin } from '../framework/plugin.ts';
import { PodInfo } from '../framework/pod-info.ts';
import { makeHandle } from '../testing/handle.ts';
import { makeNode, makePod } from '../testing/objects.ts';
import { inTreeRegistry } from './registry.ts';

const ZONE = 'topology.kubernetes.io/zone';
const required = 'requiredDuringSchedulingIgnoredDuringExecution';

function make(name: string, args?: unknown): Plugin {
  const plugin = inTreeRegistry.get(name)?.create({ value: args, path: 'args' }, makeHandle());
  if (plugin === undefined) throw new Error(`there is no plugin ${name}`);
  return plugin;
}

function wakes(
  plugin: Plugin,
  pod: Pod,
  event: ClusterEvent | undefined,
  objects: EventObjects,
): boolean {
  if (event === undefined) return false;
  return (plugin.eventsToRegister?.() ?? []).some(
    (registration) =>
      matchesEvent(registration.event, event) && (registration.hint?.(pod, objects) ?? true),
  );
}

const placed = (
  labels: Record<string, string>,
  more: { readonly deleting?: boolean; readonly affinity?: Affinity } = {},
): Pod =>
  makePod('other', {
    labels,
    spec: { nodeName: 'n', ...(more.affinity && { affinity: more.affinity }) },
    ...(more.deleting !== undefined && { deleting: more.deleting }),
  });
const updated = (plugin: Plugin, pod: Pod, before: Pod, after: Pod): boolean =>
  wakes(plugin, pod, podUpdateEvent(new PodInfo(before), new PodInfo(after)), { before, after });

const term = (app: string, more: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
  topologyKey: ZONE,
  labelSelector: { matchLabels: { app } },
  ...more,
});
const affinity = (...terms: PodAffinityTerm[]): Affinity => ({
  podAffinity: { [required]: terms },
});
const antiAffinity = (...terms: PodAffinityTerm[]): Affinity => ({
  podAntiAffinity: { [required]: terms },
});

describe('InterPodAffinity is woken by', () => {
  const plugin = make('InterPodAffinity');
  const near = makePod('p', { labels: { app: 'a' }, spec: { affinity: affinity(term('db')) } });
  const apart = makePod('p', {
    labels: { app: 'a' },
    spec: { affinity: antiAffinity(term('db')) },
  });

  test('a pod that its affinity requires', () => {
    expect(wakes(plugin, near, assignedPodAdd, { after: placed({ app: 'db' }) })).toBe(true);
    expect(wakes(plugin, near, assignedPodAdd, { after: placed({ app: 'web' }) })).toBe(false);
    expect(updated(plugin, near, placed({ app: 'web' }), placed({ app: 'db' }))).toBe(true);
    expect(updated(plugin, near, placed({ app: 'db' }), placed({ app: 'web' }))).toBe(false);
    expect(wakes(plugin, near, assignedPodDelete, { before: placed({ app: 'db' }) })).toBe(false);
  });

  test('the end of the only pod of its own kind, since it may then be the first', () => {
    const own = makePod('p', { labels: { app: 'a' }, spec: { affinity: affinity(term('a')) } });
    expect(wakes(plugin, own, assignedPodDelete, { before: placed({ app: 'a' }) })).toBe(true);
    expect(
      wakes(plugin, own, clusterEvent('Node', ActionType.Delete, ''), { before: makeNode('n') }),
    ).toBe(true);
    expect(
      wakes(plugin, near, clusterEvent('Node', ActionType.Delete, ''), { before: makeNode('n') }),
    ).toBe(false);
  });

  test('the end of a pod that its anti-affinity, or whose anti-affinity, excludes it', () => {
    expect(wakes(plugin, apart, assignedPodDelete, { before: placed({ app: 'db' }) })).toBe(true);
    expect(wakes(plugin, apart, assignedPodDelete, { before: placed({ app: 'web' }) })).toBe(false);
    expect(updated(plugin, apart, placed({ app: 'db' }), placed({ app: 'web' }))).toBe(true);
    const hostile = placed({ app: 'web' }, { affinity: antiAffinity(term('a')) });
    expect(
      wakes(plugin, makePod('p', { labels: { app: 'a' } }), assignedPodDelete, { before: hostile }),
    ).toBe(true);
    expect(
      wakes(plugin, makePod('p', { labels: { app: 'b' } }), assignedPodDelete, { before: hostile }),
    ).toBe(false);
  });

  test('nodes with the topology of its affinity', () => {
    expect(wakes(plugin, near, nodeAdd, { after: makeNode('n') })).toBe(false);
    expect(
      wakes(plugin, near, nodeAdd, { after: makeNode('n', { labels: { [ZONE]: 'z' } }) }),
    ).toBe(true);
    expect(wakes(plugin, apart, nodeAdd, { after: makeNode('n') })).toBe(true);
    const nodes = { before: makeNode('n'), after: makeNode('n', { labels: { [ZONE]: 'z' } }) };
    expect(wakes(plugin, near, nodeUpdateEvent(nodes.before, nodes.after), nodes)).toBe(true);
  });

  test('labels of namespaces, if its terms select by them or it is in the namespace', () => {
    const event = clusterEvent('Namespace', UPDATE, 'NamespaceUpdate');
    const namespace = (name: string, labels: Record<string, string>) => ({
      metadata: { name, labels },
    });
    const change = (name: string) => ({
      before: namespace(name, {}),
      after: namespace(name, { a: 'b' }),
    });
    const selecting = makePod('p', {
      spec: { affinity: affinity(term('db', { namespaceSelector: {} })) },
    });
    expect(wakes(plugin, selecting, event, change('far'))).toBe(true);
    expect(wakes(plugin, near, event, change('far'))).toBe(false);
    expect(wakes(plugin, near, event, change('default'))).toBe(true);
    expect(
      wakes(plugin, selecting, event, {
        before: namespace('far', {}),
        after: namespace('far', {}),
      }),
    ).toBe(false);
  });
});

describe('label keys of affinity terms', () => {
  const none = (): undefined => undefined;
  const withKeys = (labels: Record<string, string>, more: Partial<PodAffinityTerm>): Pod =>
    makePod('p', { labels, spec: { affinity: affinity(term('a', more)) } });
  const means = (pod: Pod, labels: Record<string, string>): boolean =>
    affinityTermsOf(pod).requiredAffinity.every((read) =>
      termMatches(read, makePod('o', { labels }), none),
    );

  test('restrict to, or exclude, the pod’s own values', () => {
    const same = withKeys({ app: 'a', version: '1' }, { matchLabelKeys: ['version', 'missing'] });
    expect([
      means(same, { app: 'a', version: '1' }),
      means(same, { app: 'a', version: '2' }),
    ]).toEqual([true, false]);
    const other = withKeys({ app: 'a', version: '1' }, { mismatchLabelKeys: ['version'] });
    expect([
      means(other, { app: 'a', version: '1' }),
      means(other, { app: 'a', version: '2' }),
    ]).toEqual([false, true]);
  });

  test('are not applied again if they were applied when the pod was created', () => {
    const labelSelector = {
      matchLabels: { app: 'a' },
      matchExpressions: [{ key: 'version', operator: 'In', values: ['1'] }],
    };
    // The pod's label has changed since.
    const pod = withKeys(
      { app: 'a', version: '2' },
      { matchLabelKeys: ['version'], labelSelector },
    );
    expect([
      means(pod, { app: 'a', version: '1' }),
      means(pod, { app: 'a', version: '2' }),
    ]).toEqual([true, false]);
  });
});

describe('PodTopologySpread is woken by', () => {
  const plugin = make('PodTopologySpread');
  const constraint: TopologySpreadConstraint = {
    maxSkew: 1,
    topologyKey: ZONE,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'a' } },
  };
  const pod = makePod('p', {
    labels: { app: 'a' },
    spec: { topologySpreadConstraints: [constraint] },
  });

  test('counted pods, when they are added, removed, changed or terminating', () => {
    for (const [event, key] of [
      [assignedPodAdd, 'after'],
      [assignedPodDelete, 'before'],
    ] as const) {
      expect(wakes(plugin, pod, event, { [key]: placed({ app: 'a' }) })).toBe(true);
      expect(wakes(plugin, pod, event, { [key]: placed({ app: 'b' }) })).toBe(false);
    }
    expect(updated(plugin, pod, placed({ app: 'a' }), placed({ app: 'b' }))).toBe(true);
    expect(updated(plugin, pod, placed({ app: 'b' }), placed({ app: 'c' }))).toBe(false);
    expect(
      updated(plugin, pod, placed({ app: 'a' }), placed({ app: 'a' }, { deleting: true })),
    ).toBe(true);
  });

  test('nodes in its topologies', () => {
    const inZone = (zone: string) => makeNode('n', { labels: { [ZONE]: zone } });
    expect(wakes(plugin, pod, nodeAdd, { after: makeNode('n') })).toBe(false);
    expect(wakes(plugin, pod, nodeAdd, { after: inZone('z') })).toBe(true);
    expect(
      wakes(plugin, pod, clusterEvent('Node', ActionType.Delete, ''), { before: inZone('z') }),
    ).toBe(true);
    const nodes = { before: inZone('y'), after: inZone('z') };
    expect(wakes(plugin, pod, nodeUpdateEvent(nodes.before, nodes.after), nodes)).toBe(true);
  });
});

describe('arguments', () => {
  const list = (constraint: Record<string, unknown>) => ({
    defaultingType: 'List',
    defaultConstraints: [constraint],
  });
  const good = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'ScheduleAnyway' };

  test.each([
    [
      'InterPodAffinity',
      { hardPodAffinityWeight: 101 },
      /args\.hardPodAffinityWeight: Invalid value: 101: not in valid range \[0, 100\]/,
    ],
    ['InterPodAffinity', { hardPodAffinity: 1 }, /unknown field "hardPodAffinity"/],
    [
      'PodTopologySpread',
      { defaultingType: 'Some' },
      /args\.defaultingType: Unsupported value: "Some"/,
    ],
    [
      'PodTopologySpread',
      { defaultConstraints: [good] },
      /args\.defaultingType: .*when \.defaultConstraints are not empty/,
    ],
    ['PodTopologySpread', list({ ...good, maxSkew: 0 }), /args\.defaultConstraints\[0\]\.maxSkew/],
    [
      'PodTopologySpread',
      list({ ...good, topologyKey: '' }),
      /args\.defaultConstraints\[0\]\.topologyKey: Required value/,
    ],
    [
      'PodTopologySpread',
      list({ ...good, whenUnsatisfiable: 'Never' }),
      /whenUnsatisfiable: Unsupported value: "Never"/,
    ],
    [
      'PodTopologySpread',
      list({ ...good, labelSelector: {} }),
      /labelSelector: Forbidden: constraint must not define a selector/,
    ],
    [
      'PodTopologySpread',
      list({ ...good, minDomains: 2 }),
      /minDomains: .*whenUnsatisfiable=DoNotSchedule/,
    ],
    ['PodTopologySpread', { ...list(good), defaultConstraints: [good, good] }, /Duplicate value/],
    [
      'DefaultPreemption',
      { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 },
      /Percentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute/,
    ],
    ['DefaultPreemption', { minCandidateNodesPercentage: 101 }, /not in valid range \[0, 100\]/],
  ])('of %s: refuses %j', (plugin, args, message) => {
    expect(() => make(plugin, args)).toThrow(message);
  });

  test('may be omitted, or equal the defaults', () => {
    for (const plugin of ['InterPodAffinity', 'PodTopologySpread', 'DefaultPreemption'])
      expect(make(plugin).name).toBe(plugin);
    expect(make('PodTopologySpread', list(good)).name).toBe('PodTopologySpread');
    expect(
      make('InterPodAffinity', {
        hardPodAffinityWeight: 0,
        ignorePreferredTermsOfExistingPods: true,
      }).name,
    ).toBeDefined();
  });
});
