import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeSelectorTerm, Taint, Toleration } from '#api/groups/core/v1/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import { Snapshot } from '../cache/snapshot.ts';
import { CycleState } from '../framework/cycle-state.ts';
import {
  ActionType,
  assignedPodAdd,
  assignedPodDelete,
  type EventObjects,
  matchesEvent,
  nodeAdd,
} from '../framework/events.ts';
import { nodeUpdateEvent, podUpdateEvent } from '../framework/changes.ts';
import type { Handle } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type {
  FilterPlugin,
  Plugin,
  PreEnqueuePlugin,
  PreFilterPlugin,
  PreScorePlugin,
  ScorePlugin,
} from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { makeHandle, snapshotOf } from '../testing/handle.ts';
import {
  makeNode,
  makeNodeInfo,
  makePod,
  makePodInfo,
  type NodeOptions,
} from '../testing/objects.ts';
import { normalizedName } from './image-locality.ts';
import { inTreeRegistry } from './registry.ts';

type AnyPlugin = Plugin &
  Partial<PreEnqueuePlugin & PreFilterPlugin & FilterPlugin & PreScorePlugin & ScorePlugin>;

function make(name: string, args?: unknown, handle: Partial<Handle> = {}): AnyPlugin {
  const registration = inTreeRegistry.get(name)!;
  return registration.create({ value: args, path: 'args' }, makeHandle(handle));
}

/** Runs PreFilter, then Filter on each node. Returns codes and reasons, or 'ok'. */
function filtered(plugin: AnyPlugin, pod: PodInfo, nodes: readonly NodeInfo[]): readonly string[] {
  const state = new CycleState();
  const pre = plugin.preFilter?.(state, pod, nodes);
  if (pre instanceof Status && pre.code === 'Skip') return nodes.map(() => 'ok');
  if (pre instanceof Status) return nodes.map(() => `${pre.code}: ${pre.message}`);
  return nodes.map((node) => {
    const status = plugin.filter?.(state, pod, node);
    return status === undefined ? 'ok' : `${status.code}: ${status.message}`;
  });
}

/** Runs PreScore, Score and NormalizeScore. Returns 'skip' if PreScore does. */
function scored(
  plugin: AnyPlugin,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): readonly number[] | 'skip' {
  const state = new CycleState();
  if (plugin.preScore?.(state, pod, nodes)?.code === 'Skip') return 'skip';
  const scores = nodes.map((node) => plugin.score?.(state, pod, node) ?? Number.NaN);
  plugin.normalizeScore?.(state, pod, scores, nodes);
  return scores;
}

/** Reports whether an event requeues a pod that the plugin rejected. */
function wakes(
  plugin: Plugin,
  pod: PodInfo,
  event: Parameters<typeof matchesEvent>[1] | undefined,
  objects: EventObjects,
): boolean {
  if (event === undefined) return false;
  return (plugin.eventsToRegister?.() ?? []).some(
    (registration) =>
      matchesEvent(registration.event, event) && (registration.hint?.(pod.pod, objects) ?? true),
  );
}

function nodeUpdated(
  plugin: Plugin,
  pod: PodInfo,
  before: NodeOptions,
  after: NodeOptions,
): boolean {
  const nodes = { before: makeNode('n', before), after: makeNode('n', after) };
  return wakes(plugin, pod, nodeUpdateEvent(nodes.before, nodes.after), nodes);
}

describe('NodeResourcesFit', () => {
  const plugin = make('NodeResourcesFit');
  const small: NodeOptions = {
    allocatable: {
      cpu: '2',
      memory: '4Gi',
      'ephemeral-storage': '10Gi',
      pods: '3',
      'example.com/gpu': '1',
    },
  };
  const busy = makePodInfo('busy', { requests: { cpu: '1500m', memory: '3Gi' } });

  test.each([
    ['what fits exactly', { cpu: '500m', memory: '1Gi' }, 'ok'],
    ['what asks for nothing', undefined, 'ok'],
    ['too much cpu', { cpu: '501m' }, 'Unschedulable: Insufficient cpu'],
    [
      'too much of several',
      { cpu: '1', memory: '2Gi' },
      'Unschedulable: Insufficient cpu, Insufficient memory',
    ],
    [
      'more than there is at all',
      { memory: '5Gi' },
      'UnschedulableAndUnresolvable: Insufficient memory',
    ],
    [
      'too much storage',
      { 'ephemeral-storage': '11Gi' },
      'UnschedulableAndUnresolvable: Insufficient ephemeral-storage',
    ],
    [
      'too many of an extended resource',
      { 'example.com/gpu': '2' },
      'UnschedulableAndUnresolvable: Insufficient example.com/gpu',
    ],
    [
      'an unknown extended resource',
      { 'example.com/tpu': '1' },
      'UnschedulableAndUnresolvable: Insufficient example.com/tpu',
    ],
    ['none of an unknown one', { 'example.com/tpu': '0' }, 'ok'],
  ])('judges %s', (_what, requests, expected) => {
    expect(
      filtered(plugin, makePodInfo('p', { requests }), [makeNodeInfo('n', small, [busy])]),
    ).toEqual([expected]);
  });

  test('counts pods', () => {
    const pods = ['a', 'b', 'c'].map((name) => makePodInfo(name));
    expect(filtered(plugin, makePodInfo('p'), [makeNodeInfo('n', small, pods)])).toEqual([
      'Unschedulable: Too many pods',
    ]);
  });

  test('ignores resources that are managed elsewhere', () => {
    const pod = makePodInfo('p', {
      requests: { 'example.com/tpu': '1', 'other.org/x': '1', 'third.net/y': '1' },
    });
    const ignoring = make('NodeResourcesFit', {
      ignoredResources: ['example.com/tpu'],
      ignoredResourceGroups: ['other.org'],
    });
    expect(filtered(ignoring, pod, [makeNodeInfo('n', small)])).toEqual([
      'UnschedulableAndUnresolvable: Insufficient third.net/y',
    ]);
  });

  test('prefers emptier nodes', () => {
    const nodes = [
      makeNodeInfo('empty'),
      makeNodeInfo('half', {}, [makePodInfo('x', { requests: { cpu: '2', memory: '16Gi' } })]),
    ];
    // (4000-1000)/4000 and (32-8)/32, both 75; (4000-3000)/4000 and (32-24)/32, both 25.
    expect(
      scored(plugin, makePodInfo('p', { requests: { cpu: '1', memory: '8Gi' } }), nodes),
    ).toEqual([75, 25]);
  });

  test('counts 100m and 200MB for containers without requests', () => {
    const node = makeNodeInfo('n', { allocatable: { cpu: '1', memory: '800Mi', pods: '10' } });
    expect(scored(plugin, makePodInfo('p'), [node])).toEqual([(90 + 75) / 2 - 0.5]);
  });

  test('prefers fuller nodes with MostAllocated', () => {
    const most = make('NodeResourcesFit', {
      scoringStrategy: {
        type: 'MostAllocated',
        resources: [
          { name: 'cpu', weight: 3 },
          { name: 'memory', weight: 1 },
        ],
      },
    });
    const nodes = [
      makeNodeInfo('empty'),
      makeNodeInfo('half', {}, [makePodInfo('x', { requests: { cpu: '2', memory: '16Gi' } })]),
    ];
    expect(scored(most, makePodInfo('p', { requests: { cpu: '1', memory: '0' } }), nodes)).toEqual([
      18, 68,
    ]);
  });

  test('follows a curve with RequestedToCapacityRatio', () => {
    const shape = [
      { utilization: 0, score: 0 },
      { utilization: 50, score: 10 },
      { utilization: 100, score: 5 },
    ];
    const ratio = make('NodeResourcesFit', {
      scoringStrategy: {
        type: 'RequestedToCapacityRatio',
        resources: [{ name: 'cpu', weight: 1 }],
        requestedToCapacityRatio: { shape },
      },
    });
    const node = makeNodeInfo('n');
    const scores = ['1', '2', '3', '4'].map((cpu) =>
      scored(ratio, makePodInfo('p', { requests: { cpu } }), [node]),
    );
    expect(scores).toEqual([[50], [100], [75], [50]]);
  });

  test('scores extended resources only for pods that request them', () => {
    const gpu = make('NodeResourcesFit', {
      scoringStrategy: {
        type: 'LeastAllocated',
        resources: [{ name: 'example.com/gpu', weight: 1 }],
      },
    });
    const node = makeNodeInfo('n', {
      allocatable: { cpu: '1', 'example.com/gpu': '4', pods: '10' },
    });
    expect(scored(gpu, makePodInfo('p'), [node])).toEqual([0]);
    expect(scored(gpu, makePodInfo('p', { requests: { 'example.com/gpu': '1' } }), [node])).toEqual(
      [75],
    );
  });

  test('is woken by events that may free resources', () => {
    const pod = makePodInfo('p', { requests: { cpu: '3' } });
    expect(
      wakes(plugin, pod, assignedPodDelete, { before: makePod('x', { spec: { nodeName: 'n' } }) }),
    ).toBe(true);
    expect(
      wakes(plugin, pod, assignedPodAdd, { after: makePod('x', { spec: { nodeName: 'n' } }) }),
    ).toBe(false);
    expect(wakes(plugin, pod, nodeAdd, { after: makeNode('big') })).toBe(true);
    expect(wakes(plugin, pod, nodeAdd, { after: makeNode('small', small) })).toBe(false);
    const with_ = (cpu: string, memory: string): NodeOptions => ({
      allocatable: { cpu, memory, pods: '10' },
    });
    expect(nodeUpdated(plugin, pod, with_('2', '1Gi'), with_('4', '1Gi'))).toBe(true);
    expect(nodeUpdated(plugin, pod, with_('4', '1Gi'), with_('4', '2Gi'))).toBe(false);
    expect(nodeUpdated(plugin, pod, with_('1', '1Gi'), with_('2', '1Gi'))).toBe(false);
    expect(
      nodeUpdated(plugin, pod, with_('4', '1Gi'), { ...with_('4', '1Gi'), labels: { a: 'b' } }),
    ).toBe(false);
  });

  test('is woken by a pod that reduces its requests', () => {
    const pod = makePodInfo('p', { requests: { cpu: '3' } });
    const shrunk = (before: Record<string, string>, after: Record<string, string>): boolean => {
      const [old, now] = [
        makePodInfo('x', { requests: before, spec: { nodeName: 'n' } }),
        makePodInfo('x', { requests: after, spec: { nodeName: 'n' } }),
      ];
      return wakes(plugin, pod, podUpdateEvent(old, now), { before: old.pod, after: now.pod });
    };
    expect(shrunk({ cpu: '2', memory: '2Gi' }, { cpu: '1', memory: '2Gi' })).toBe(true);
    expect(shrunk({ cpu: '2', memory: '2Gi' }, { cpu: '2', memory: '1Gi' })).toBe(false);
  });

  test.each([
    [
      'a field that there is not',
      { ignoreResources: [] },
      /args\.ignoreResources: Forbidden: unknown field "ignoreResources"/,
    ],
    [
      'an unknown strategy',
      { scoringStrategy: { type: 'Best' } },
      /scoringStrategy\.type: Unsupported value: "Best"/,
    ],
    [
      'a weight out of range',
      { scoringStrategy: { resources: [{ name: 'cpu', weight: 101 }] } },
      /resource weight of cpu not in valid range \(0, 100\]/,
    ],
    [
      'a shape for another strategy',
      { scoringStrategy: { requestedToCapacityRatio: { shape: [] } } },
      /must be nil when type is not RequestedToCapacityRatio/,
    ],
    [
      'no shape',
      { scoringStrategy: { type: 'RequestedToCapacityRatio' } },
      /must be specified when type is RequestedToCapacityRatio/,
    ],
    [
      'an empty shape',
      {
        scoringStrategy: {
          type: 'RequestedToCapacityRatio',
          requestedToCapacityRatio: { shape: [] },
        },
      },
      /at least one point/,
    ],
    [
      'a name that is none',
      { ignoredResources: ['a b'] },
      /ignoredResources\[0\]: Invalid value: "a b"/,
    ],
    [
      'an unsorted shape',
      {
        scoringStrategy: {
          type: 'RequestedToCapacityRatio',
          requestedToCapacityRatio: {
            shape: [
              { utilization: 5, score: 1 },
              { utilization: 5, score: 2 },
            ],
          },
        },
      },
      /sorted in increasing order/,
    ],
    ['a kind of another plugin', { kind: 'NodeAffinityArgs' }, /args\.kind: Unsupported value/],
  ])('refuses %s', (_what, args, message) => {
    expect(() => make('NodeResourcesFit', args)).toThrow(message);
  });
});

describe('NodeResourcesFit, for any pods', () => {
  const amount = fc.record({
    cpu: fc.integer({ min: 0, max: 5 }),
    memory: fc.integer({ min: 0, max: 5 }),
    gpu: fc.integer({ min: 0, max: 2 }),
  });
  const list = ({ cpu, memory, gpu }: { cpu: number; memory: number; gpu: number }) => ({
    cpu: String(cpu),
    memory: `${memory}Gi`,
    'example.com/gpu': String(gpu),
  });

  test('lets a pod on a node if and only if no sum exceeds the node’s resources', () => {
    const plugin = make('NodeResourcesFit');
    fc.assert(
      fc.property(
        amount,
        fc.array(amount, { maxLength: 4 }),
        amount,
        fc.integer({ min: 0, max: 5 }),
        (node, running, wanted, pods) => {
          const info = makeNodeInfo(
            'n',
            { allocatable: { ...list(node), pods: String(pods) } },
            running.map((a, i) => makePodInfo(`r${i}`, { requests: list(a) })),
          );
          const sum = (key: 'cpu' | 'memory' | 'gpu'): number =>
            running.reduce((total, a) => total + a[key], wanted[key]);
          // A resource that the pod does not request may be overcommitted by others.
          const fitting = (['cpu', 'memory', 'gpu'] as const).every(
            (key) => wanted[key] === 0 || sum(key) <= node[key],
          );
          const expected = fitting && running.length + 1 <= pods;
          expect(
            filtered(plugin, makePodInfo('p', { requests: list(wanted) }), [info])[0] === 'ok',
          ).toBe(expected);
        },
      ),
    );
  });
});

describe('NodeResourcesBalancedAllocation', () => {
  const plugin = make('NodeResourcesBalancedAllocation');

  test('prefers nodes with even utilization', () => {
    const nodes = [
      makeNodeInfo('even', {}, [makePodInfo('x', { requests: { cpu: '1', memory: '8Gi' } })]),
      makeNodeInfo('uneven', {}, [makePodInfo('x', { requests: { cpu: '3' } })]),
    ];
    // Even: 50% and 50%; uneven: 100% and 25%.
    expect(
      scored(plugin, makePodInfo('p', { requests: { cpu: '1', memory: '8Gi' } }), nodes),
    ).toEqual([100, 62]);
  });

  test('skips pods without requests', () => {
    expect(scored(plugin, makePodInfo('p'), [makeNodeInfo('n')])).toBe('skip');
  });
});

describe('TaintToleration', () => {
  const plugin = make('TaintToleration');
  const taint = (key: string, effect: Taint['effect'], value?: string): Taint => ({
    key,
    effect,
    ...(value !== undefined && { value }),
  });
  const pod = (...tolerations: Toleration[]): PodInfo =>
    makePodInfo('p', { spec: { tolerations } });
  const REFUSED = 'UnschedulableAndUnresolvable: node(s) had untolerated taint(s)';

  test.each([
    ['no toleration', [taint('k', 'NoSchedule')], pod(), REFUSED],
    ['NoExecute', [taint('k', 'NoExecute')], pod(), REFUSED],
    ['PreferNoSchedule', [taint('k', 'PreferNoSchedule')], pod(), 'ok'],
    [
      'the same',
      [taint('k', 'NoSchedule', 'v')],
      pod({ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }),
      'ok',
    ],
    [
      'Equal without saying so',
      [taint('k', 'NoSchedule', 'v')],
      pod({ key: 'k', value: 'v' }),
      'ok',
    ],
    ['another value', [taint('k', 'NoSchedule', 'v')], pod({ key: 'k', value: 'w' }), REFUSED],
    ['another effect', [taint('k', 'NoSchedule')], pod({ key: 'k', effect: 'NoExecute' }), REFUSED],
    ['Exists', [taint('k', 'NoSchedule', 'v')], pod({ key: 'k', operator: 'Exists' }), 'ok'],
    [
      'Exists for everything',
      [taint('k', 'NoSchedule'), taint('l', 'NoExecute')],
      pod({ operator: 'Exists' }),
      'ok',
    ],
    [
      'one of two',
      [taint('k', 'NoSchedule'), taint('l', 'NoSchedule')],
      pod({ key: 'k', operator: 'Exists' }),
      REFUSED,
    ],
    [
      'no value and no value',
      [taint('k', 'NoSchedule')],
      pod({ key: 'k', operator: 'Equal' }),
      'ok',
    ],
  ])('judges %s', (_what, taints, info, expected) => {
    expect(filtered(plugin, info, [makeNodeInfo('n', { taints })])).toEqual([expected]);
  });

  test('prefers nodes with fewer untolerated soft taints', () => {
    const soft = (...keys: string[]): NodeInfo =>
      makeNodeInfo('n', { taints: keys.map((key) => taint(key, 'PreferNoSchedule')) });
    const scoredAmong = (info: PodInfo, nodes: readonly NodeInfo[]) =>
      scored(
        make('TaintToleration', undefined, { snapshot: snapshotOf([...nodes, soft('z')]) }),
        info,
        nodes,
      );
    expect(
      scoredAmong(pod({ key: 'a', operator: 'Exists' }), [soft(), soft('a', 'b'), soft('b', 'c')]),
    ).toEqual([100, 50, 0]);
    expect(
      scoredAmong(pod({ key: 'a', operator: 'Exists', effect: 'NoSchedule' }), [soft(), soft('a')]),
    ).toEqual([100, 0]);
    // Other nodes have soft taints, but none of these.
    expect(scoredAmong(pod(), [soft(), makeNodeInfo('m')])).toBe('skip');
    expect(scored(plugin, pod(), [soft()])).toBe('skip');
  });

  test('is woken by removed taints and added tolerations', () => {
    const tainted: NodeOptions = { taints: [taint('k', 'NoSchedule')] };
    expect(nodeUpdated(plugin, pod(), tainted, {})).toBe(true);
    expect(nodeUpdated(plugin, pod(), {}, tainted)).toBe(false);
    expect(nodeUpdated(plugin, pod(), tainted, { taints: [taint('l', 'NoSchedule')] })).toBe(false);
    expect(wakes(plugin, pod(), nodeAdd, { after: makeNode('n') })).toBe(true);
    const [before, after] = [pod(), pod({ operator: 'Exists' })];
    expect(
      wakes(plugin, after, podUpdateEvent(before, after), { before: before.pod, after: after.pod }),
    ).toBe(true);
    expect(
      wakes(plugin, makePodInfo('other'), podUpdateEvent(before, after), {
        before: before.pod,
        after: after.pod,
      }),
    ).toBe(false);
  });
});

describe('NodeAffinity', () => {
  const plugin = make('NodeAffinity');
  const REFUSED = "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";
  const node = makeNodeInfo('n1', { labels: { zone: 'a', size: '10', ssd: '' } });
  const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]): PodInfo =>
    makePodInfo('p', {
      spec: {
        affinity: {
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
        },
      },
    });
  const expression = (
    key: string,
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt',
    ...values: string[]
  ): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
  });

  test.each([
    ['In', expression('zone', 'In', 'b', 'a'), 'ok'],
    ['In, another value', expression('zone', 'In', 'b'), REFUSED],
    ['NotIn', expression('zone', 'NotIn', 'b'), 'ok'],
    ['NotIn, without the label', expression('none', 'NotIn', 'b'), 'ok'],
    ['Exists', expression('ssd', 'Exists'), 'ok'],
    ['DoesNotExist', expression('ssd', 'DoesNotExist'), REFUSED],
    ['Gt', expression('size', 'Gt', '9'), 'ok'],
    ['Gt, the same', expression('size', 'Gt', '10'), REFUSED],
    ['Lt', expression('size', 'Lt', '11'), 'ok'],
    ['Gt, no number', expression('zone', 'Gt', '1'), REFUSED],
    [
      'a field',
      { matchFields: [{ key: 'metadata.name', operator: 'NotIn' as const, values: ['n2'] }] },
      'ok',
    ],
    ['nothing at all', {}, REFUSED],
  ])('judges %s', (_what, term, expected) => {
    expect(filtered(plugin, requiring(term), [node])).toEqual([expected]);
  });

  test('requires one of the terms, and all requirements of a term', () => {
    expect(
      filtered(plugin, requiring(expression('zone', 'In', 'b'), expression('ssd', 'Exists')), [
        node,
      ]),
    ).toEqual(['ok']);
    const both = {
      matchExpressions: [
        ...(expression('ssd', 'Exists').matchExpressions ?? []),
        ...(expression('zone', 'In', 'b').matchExpressions ?? []),
      ],
    };
    expect(filtered(plugin, requiring(both), [node])).toEqual([REFUSED]);
  });

  test('requires every label of nodeSelector, in addition to the affinity', () => {
    const selecting = (nodeSelector: Record<string, string>): PodInfo =>
      makePodInfo('p', { spec: { nodeSelector } });
    expect(filtered(plugin, selecting({ zone: 'a', ssd: '' }), [node])).toEqual(['ok']);
    expect(filtered(plugin, selecting({ zone: 'a', ssd: 'x' }), [node])).toEqual([REFUSED]);
    expect(filtered(plugin, selecting({ constructor: 'x' }), [node])).toEqual([REFUSED]);
  });

  test('restricts the nodes by name if every term does', () => {
    const named = (...values: string[]): NodeSelectorTerm => ({
      matchFields: [{ key: 'metadata.name', operator: 'In', values }],
    });
    const preFilter = (pod: PodInfo) => plugin.preFilter?.(new CycleState(), pod, []);
    expect(preFilter(requiring(named('n1'), named('n2', 'n3')))).toEqual({
      nodeNames: new Set(['n1', 'n2', 'n3']),
    });
    expect(preFilter(requiring(named('n1'), expression('a', 'Exists')))).toBeUndefined();
    const contradiction = {
      matchFields: [...(named('n1').matchFields ?? []), ...(named('n2').matchFields ?? [])],
    };
    expect(preFilter(requiring(contradiction))).toMatchObject({
      code: 'UnschedulableAndUnresolvable',
      reasons: ['pod affinity terms conflict'],
    });
    expect(preFilter(makePodInfo('p'))).toMatchObject({ code: 'Skip' });
  });

  test('sums the weights of preferences', () => {
    const pod = makePodInfo('p', {
      spec: {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 10, preference: expression('zone', 'In', 'a') },
              { weight: 30, preference: expression('ssd', 'Exists') },
              { weight: 5, preference: {} },
            ],
          },
        },
      },
    });
    const nodes = [node, makeNodeInfo('n2', { labels: { zone: 'a' } }), makeNodeInfo('n3')];
    expect(scored(plugin, pod, nodes)).toEqual([100, 25, 0]);
    expect(scored(plugin, makePodInfo('p'), nodes)).toBe('skip');
  });

  test('adds the affinity of the profile', () => {
    const added = make('NodeAffinity', {
      addedAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
          ],
        },
      },
    });
    expect(filtered(added, makePodInfo('p'), [node])).toEqual([
      "UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity",
    ]);
    expect(() =>
      make('NodeAffinity', {
        addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} },
      }),
    ).toThrow(/at least one node selector term/);
    const wrong = {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: 'a', operator: 'In' },
            { key: 'b', operator: 'Like' },
          ],
        },
      ],
    };
    expect(() =>
      make('NodeAffinity', {
        addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: wrong },
      }),
    ).toThrow(/values: Required.*operator: Unsupported value: "Like"/);
  });

  test('is woken by matching labels', () => {
    const pod = requiring(expression('zone', 'In', 'a'));
    expect(nodeUpdated(plugin, pod, {}, { labels: { zone: 'a' } })).toBe(true);
    expect(
      nodeUpdated(plugin, pod, { labels: { zone: 'a' } }, { labels: { zone: 'a', x: 'y' } }),
    ).toBe(false);
    expect(wakes(plugin, pod, nodeAdd, { after: makeNode('n', { labels: { zone: 'b' } }) })).toBe(
      false,
    );
  });
});

describe('NodePorts', () => {
  const plugin = make('NodePorts');
  const REFUSED = "Unschedulable: node(s) didn't have free ports for the requested pod ports";
  const withPort = (
    name: string,
    hostPort: number,
    hostIP?: string,
    protocol: 'TCP' | 'UDP' = 'TCP',
  ): PodInfo =>
    makePodInfo(name, {
      spec: {
        nodeName: 'n',
        containers: [
          {
            name: 'c',
            resources: {},
            ports: [
              {
                containerPort: hostPort,
                hostPort,
                protocol,
                ...(hostIP !== undefined && { hostIP }),
              },
            ],
          },
        ],
      },
    });

  test.each([
    ['another port', withPort('p', 81), 'ok'],
    ['the same port', withPort('p', 80), REFUSED],
    ['another protocol', withPort('p', 80, undefined, 'UDP'), 'ok'],
    ['one address of all', withPort('p', 80, '10.0.0.1'), REFUSED],
    ['no port', makePodInfo('p'), 'ok'],
  ])('judges %s', (_what, pod, expected) => {
    expect(filtered(plugin, pod, [makeNodeInfo('n', {}, [withPort('x', 80)])])).toEqual([expected]);
  });

  test('distinguishes addresses', () => {
    const node = makeNodeInfo('n', {}, [withPort('x', 80, '10.0.0.1')]);
    expect(filtered(plugin, withPort('p', 80, '10.0.0.2'), [node])).toEqual(['ok']);
    expect(filtered(plugin, withPort('p', 80, '0.0.0.0'), [node])).toEqual([REFUSED]);
  });

  test('is woken by a pod that releases its port', () => {
    expect(
      wakes(plugin, withPort('p', 80), assignedPodDelete, { before: withPort('x', 80).pod }),
    ).toBe(true);
    expect(
      wakes(plugin, withPort('p', 80), assignedPodDelete, { before: withPort('x', 81).pod }),
    ).toBe(false);
  });
});

describe('NodeDeclaredFeatures', () => {
  const plugin = make('NodeDeclaredFeatures');
  const RESTART = 'RestartAllContainersOnContainerExits';
  const HOST_USERS = 'UserNamespacesHostNetworkSupport';
  const MISSING = "UnschedulableAndUnresolvable: node(s) didn't match Pod's required features";
  const rules = [
    { action: 'RestartAllContainers', exitCodes: { operator: 'In' as const, values: [1] } },
  ];
  const container = { name: 'c', image: 'image:1', resources: {} };
  const restarting = makePodInfo('p', {
    spec: { containers: [{ ...container, restartPolicyRules: rules }] },
  });
  const inHostNetwork = (hostUsers: boolean) =>
    makePodInfo('p', { spec: { hostNetwork: true, hostUsers } });
  const both = makePodInfo('p', {
    spec: {
      hostNetwork: true,
      hostUsers: false,
      initContainers: [{ ...container, restartPolicyRules: rules }],
    },
  });
  const nodes = [[], [RESTART], [HOST_USERS], [HOST_USERS, RESTART]].map((declaredFeatures) =>
    makeNodeInfo('n', { declaredFeatures }),
  );

  test.each([
    ['anything', makePodInfo('p'), ['ok', 'ok', 'ok', 'ok']],
    ['to restart all containers', restarting, [MISSING, 'ok', MISSING, 'ok']],
    [
      'users of its own in the network of the node',
      inHostNetwork(false),
      [MISSING, MISSING, 'ok', 'ok'],
    ],
    ["the node's users there", inHostNetwork(true), ['ok', 'ok', 'ok', 'ok']],
    ['both', both, [MISSING, MISSING, MISSING, 'ok']],
  ])('lets a pod that needs %s go where that is', (_what, pod, expected) => {
    expect(filtered(plugin, pod, nodes)).toEqual(expected);
    // A remembered result may be used for pods of the same template only.
    expect(plugin.filterTemplate?.(pod) === plugin.filterTemplate?.(makePodInfo('q'))).toBe(
      !expected.includes(MISSING),
    );
  });

  test('is woken by a node that declares the missing feature', () => {
    expect(
      nodeUpdated(
        plugin,
        both,
        { declaredFeatures: [RESTART] },
        { declaredFeatures: [HOST_USERS, RESTART] },
      ),
    ).toBe(true);
    expect(nodeUpdated(plugin, both, {}, { declaredFeatures: [RESTART] })).toBe(false);
    expect(nodeUpdated(plugin, both, {}, { labels: { rack: 'r' } })).toBe(false);
    const update = {
      resource: 'UnscheduledPod' as const,
      action: ActionType.UpdateOther,
      label: 'UnscheduledPodUpdate',
    };
    expect(wakes(plugin, both, update, { before: both.pod, after: restarting.pod })).toBe(true);
    expect(wakes(plugin, both, update, { before: both.pod, after: both.pod })).toBe(false);
  });
});

describe('NodeUnschedulable and NodeName', () => {
  test('keeps pods off a cordoned node, except pods that tolerate it', () => {
    const plugin = make('NodeUnschedulable');
    const nodes = [makeNodeInfo('n', { unschedulable: true }), makeNodeInfo('m')];
    expect(filtered(plugin, makePodInfo('p'), nodes)).toEqual([
      'UnschedulableAndUnresolvable: node(s) were unschedulable',
      'ok',
    ]);
    const tolerant = makePodInfo('p', {
      spec: { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] },
    });
    expect(filtered(plugin, tolerant, nodes)).toEqual(['ok', 'ok']);
    expect(nodeUpdated(plugin, makePodInfo('p'), { unschedulable: true }, {})).toBe(true);
  });

  test('restricts a pod to the node that it names', () => {
    const nodes = [makeNodeInfo('n'), makeNodeInfo('m')];
    expect(
      filtered(make('NodeName'), makePodInfo('p', { spec: { nodeName: 'm' } }), nodes),
    ).toEqual(["UnschedulableAndUnresolvable: node(s) didn't match the requested node name", 'ok']);
    expect(filtered(make('NodeName'), makePodInfo('p'), nodes)).toEqual(['ok', 'ok']);
  });
});

describe('ImageLocality', () => {
  const MIB = 1024 * 1024;
  const image = (name: string, mib: number) => ({ names: [name], sizeBytes: mib * MIB });

  test('prefers nodes that have the image, by its size and spread', () => {
    const nodes = [
      makeNodeInfo('has', { images: [image('image:1', 511.5)] }),
      makeNodeInfo('other', { images: [image('image:2', 900)] }),
    ];
    const plugin = make('ImageLocality', undefined, {
      snapshot: snapshotOf([nodes[0]!]),
    });
    // (511.5 - 23) / (1000 - 23) of 100.
    expect(scored(plugin, makePodInfo('p'), nodes)).toEqual([50, 0]);
    const spread = make('ImageLocality', undefined, { snapshot: snapshotOf(nodes) });
    // One of two nodes has the image: half the size counts.
    expect(scored(spread, makePodInfo('p'), nodes)).toEqual([23, 0]);
  });

  test('scores by position as by node, while nodes change', () => {
    const random = new SeededRandom('images');
    const some = () =>
      makeNodeInfo(`n${random.int(1000)}`, {
        images: ['image:1', 'sidecar:1', 'other:1'].flatMap((name) =>
          random.int(2) === 0 ? [] : [image(name, 100 + random.int(900))],
        ),
      });
    const snapshot = new Snapshot();
    snapshot.nodes = Array.from({ length: 6 }, some);
    snapshot.changes.restructure();
    const plugin = make('ImageLocality', undefined, { snapshot });
    const containers = ['image:1', 'sidecar:1'].map((name) => ({
      name,
      image: name,
      resources: {},
    }));
    const pod = makePodInfo('p', { spec: { containers } });
    let skipped = 0;
    for (let round = 0; round < 200; round++) {
      const at = random.int(6);
      snapshot.nodes[at] = some();
      snapshot.changes.add(at, 6);
      const positions = [0, 1, 2, 3, 4, 5].filter(() => random.int(3) === 0);
      const nodes = positions.map((position) => snapshot.nodes[position]!);
      const expected = scored(plugin, pod, nodes);
      const state = new CycleState();
      // The array of a search is longer than its result.
      const longer = [...positions, 0, 0];
      if (plugin.preScore?.(state, pod, nodes, longer)?.code === 'Skip') {
        skipped++;
        expect(expected).toBe('skip');
        continue;
      }
      const scores = nodes.map(() => Number.NaN);
      expect(plugin.scoreByPosition?.(state, pod, nodes, longer, scores)).toBe(true);
      expect(scores).toEqual(expected);
    }
    expect(skipped).toBeGreaterThan(0);
    expect(skipped).toBeLessThan(150);
  });

  test('skips if no node has an image', () => {
    expect(scored(make('ImageLocality'), makePodInfo('p'), [makeNodeInfo('n')])).toBe('skip');
  });

  test.each([
    ['busybox', 'busybox:latest'],
    ['localhost:5000/busybox', 'localhost:5000/busybox:latest'],
    ['busybox:1.36', 'busybox:1.36'],
    ['a/b@sha256:00', 'a/b@sha256:00'],
  ])('reads %s as %s', (given, name) => expect(normalizedName(given)).toBe(name));
});

describe('SchedulingGates', () => {
  test('lists the gates', () => {
    const plugin = make('SchedulingGates');
    const pod = makePodInfo('p', { spec: { schedulingGates: [{ name: 'a' }, { name: 'b' }] } });
    expect(plugin.preEnqueue?.(pod)).toMatchObject({
      code: 'UnschedulableAndUnresolvable',
      reasons: ['waiting for scheduling gates: [a b]'],
    });
    expect(plugin.preEnqueue?.(makePodInfo('p'))).toBeUndefined();
  });
});

describe('Random', () => {
  test('returns scores within the range, and each of them eventually', () => {
    const plugin = make('Random');
    const scores = Array.from(
      { length: 5000 },
      () => plugin.score?.(new CycleState(), makePodInfo('p'), makeNodeInfo('n')) ?? -1,
    );
    expect(new Set(scores).size).toBe(101);
    expect([Math.min(...scores), Math.max(...scores)]).toEqual([0, 100]);
  });
});
