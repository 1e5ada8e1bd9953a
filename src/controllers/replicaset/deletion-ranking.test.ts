import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { choosePodsToDelete } from './deletion-ranking.ts';

const NOW = Date.UTC(2026, 0, 10);
const ago = (ms: number) => formatTime(NOW - ms);
const HOUR = 3_600_000;

interface Traits {
  readonly uid?: string;
  readonly node?: string;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly readyAgoMs?: number;
  readonly createdAgoMs?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly sidecarRestarts?: number;
  readonly deleted?: boolean;
}

const pod = (name: string, traits: Traits = {}): Immutable<Pod> => {
  const {
    node = 'n1',
    phase = 'Running',
    ready = true,
    readyAgoMs = HOUR,
    createdAgoMs = HOUR,
    cost,
    restarts = 0,
    sidecarRestarts = 0,
  } = traits;
  return {
    metadata: {
      name,
      uid: traits.uid ?? name,
      creationTimestamp: ago(createdAgoMs),
      ...(cost !== undefined && {
        annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost },
      }),
      ...(traits.deleted && { deletionTimestamp: ago(0) }),
    },
    spec: {
      nodeName: node,
      containers: [],
      initContainers: [{ name: 'side', restartPolicy: 'Always' }, { name: 'init' }],
    },
    status: {
      phase,
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: ago(readyAgoMs) },
      ],
      containerStatuses: [{ name: 'c', restartCount: restarts }],
      initContainerStatuses: [
        { name: 'side', restartCount: sidecarRestarts },
        { name: 'init', restartCount: 99 },
      ],
    },
  } as unknown as Immutable<Pod>;
};

/** Returns the names of the pods in the order of their deletion. */
const order = (pods: Immutable<Pod>[], related = pods): string[] => {
  const names: string[] = [];
  let left = pods;
  while (left.length > 1) {
    const [first] = choosePodsToDelete(left, related, 1, NOW) as [Immutable<Pod>];
    names.push(first.metadata.name);
    left = left.filter((other) => other !== first);
  }
  return [...names, ...left.map(({ metadata }) => metadata.name)];
};

describe('choosePodsToDelete', () => {
  test.each([
    [
      'unassigned before assigned',
      { node: '', phase: 'Running' },
      { phase: 'Pending', ready: false },
    ],
    ['Pending before Unknown', { phase: 'Pending' }, { phase: 'Unknown', ready: false }],
    ['Unknown before Running', { phase: 'Unknown' }, { phase: 'Running', ready: false }],
    ['an unknown phase like Pending', { phase: 'constructor' }, { phase: 'Running', ready: false }],
    ['not ready before ready', { ready: false, cost: '10' }, { cost: '-10' }],
    ['lower deletion cost before higher', { cost: '-5' }, {}],
    ['a cost that cannot be read counts as 0', {}, { cost: '1' }],
    ['more restarts before fewer', { restarts: 3 }, { restarts: 1, sidecarRestarts: 9 }],
    ['more restarts of sidecars before fewer', { sidecarRestarts: 2 }, { sidecarRestarts: 1 }],
    [
      'shorter ready before longer',
      { readyAgoMs: 1000, restarts: 0 },
      { readyAgoMs: 5 * HOUR, restarts: 5 },
    ],
    ['younger before older', { createdAgoMs: 1000 }, { createdAgoMs: 5 * HOUR }],
  ] as [string, Traits, Traits][])('%s', (_, first, second) => {
    const [a, b] = [pod('a', { uid: 'z', ...first }), pod('b', { uid: 'y', ...second })];
    expect(order([a, b])).toEqual(['a', 'b']);
    expect(order([b, a])).toEqual(['a', 'b']);
  });

  test('prefers nodes with many related pods, of any related ReplicaSet', () => {
    const [a, b, c] = [
      pod('a', { node: 'n1' }),
      pod('b', { node: 'n2' }),
      pod('c', { node: 'n2' }),
    ];
    const others = [
      pod('x', { node: 'n1' }),
      pod('y', { node: 'n1' }),
      pod('z', { node: 'n1', deleted: true }),
    ];
    expect(order([a, b, c])[2]).toBe('a');
    expect(order([a, b, c], [a, b, c, ...others])[0]).toBe('a');
    expect(order([a, b, c], [a, b, c, others[2]!])[2]).toBe('a');
  });

  test('decides by UID among pods with ages of the same magnitude', () => {
    const young = pod('young', { uid: '2', readyAgoMs: 10 * HOUR });
    const old = pod('old', { uid: '1', readyAgoMs: 11 * HOUR });
    expect(order([young, old])).toEqual(['old', 'young']);
    expect(order([pod('young', { uid: '2', readyAgoMs: HOUR }), old])).toEqual(['young', 'old']);
  });

  test('returns all pods if all are to be deleted, and is stable for equal pods', () => {
    const all = [pod('a', { uid: '1' }), pod('b', { uid: '2' })];
    expect(choosePodsToDelete(all, all, 2, NOW)).toBe(all);
    expect(order(all)).toEqual(['a', 'b']);
  });
});
