import { beforeEach, expect, test } from 'vitest';
import { maskOf } from '../hints/numa-mask.ts';
import { guaranteedPod, pinnedContainer } from '../testing/guaranteed-pod.ts';
import { makeMachine } from '../testing/make-topology.ts';
import { makePod } from '../../testing/make-pod.ts';
import type { Pod } from '../../types.ts';
import { initialState, type MachineState } from './machine-state.ts';
import { StaticMemoryPolicy } from './static-policy.ts';

const { nodes } = makeMachine({ sockets: 2, numaNodes: 1, cores: 1, threads: 1 });
const Gi = 2 ** 30;

let state: MachineState;
let policy: StaticMemoryPolicy;

beforeEach(() => {
  // 7 GiB are left on node 0, 8 on node 1.
  state = initialState(nodes, new Map([[0, new Map([['memory', Gi]])]]));
  policy = new StaticMemoryPolicy(state, new Map());
});

function podWith(uid: string, ...memory: readonly string[]): Pod {
  const containers = memory.map((amount, i) =>
    pinnedContainer(`c${i}`, { cpu: '1', memory: amount }),
  );
  return makePod({ metadata: { uid }, spec: { containers } });
}

const free = (node: number): number => (state.get(node)?.memoryMap.get('memory')?.free ?? 0) / Gi;

function allocate(pod: Pod, mask?: number): void {
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    policy.allocate(pod, container, { ...(mask !== undefined && { mask }), preferred: false });
}

test('memory is on one node, if it fits', () => {
  allocate(podWith('one', '5Gi'));
  expect([free(0), free(1)]).toEqual([2, 8]);
  allocate(podWith('two', '5Gi'));
  expect([free(0), free(1)]).toEqual([2, 3]);
  expect(policy.blocks('two', 'c0')).toEqual([{ nodes: [1], resource: 'memory', size: 5 * Gi }]);
});

test('what no single node has is on a group of nodes', () => {
  allocate(podWith('one', '10Gi'));
  expect(policy.blocks('one', 'c0')?.[0]?.nodes).toEqual([0, 1]);
  // The nodes of a group are not used alone.
  allocate(podWith('two', '1Gi'), maskOf([0]));
  expect(policy.blocks('two', 'c0')?.[0]?.nodes).toEqual([0, 1]);
  expect(free(0) + free(1)).toBe(4);
  policy.release('one', 'c0');
  policy.release('two', 'c0');
  expect([free(0), free(1)]).toEqual([7, 8]);
});

test('a node that is used alone is in no group', () => {
  allocate(podWith('one', '1Gi'));
  expect(() => allocate(podWith('two', '14Gi'))).toThrow(
    'no NUMA nodes with enough memory is available',
  );
});

test('containers have the memory of init containers that have ended', () => {
  const init = pinnedContainer('init', { cpu: '1', memory: '4Gi' });
  allocate(guaranteedPod('one', ['1'], [init]));
  expect(free(0)).toBe(3);
  policy.release('one', 'init');
  expect(free(0)).toBe(6);
});

test('hints prefer as few nodes as the machine needs', () => {
  const pod = podWith('one', '8Gi');
  const hints = policy.hints(pod, pod.spec.containers[0]!)?.get('memory');
  expect(hints).toEqual([
    { mask: maskOf([1]), preferred: true },
    { mask: maskOf([0, 1]), preferred: false },
  ]);
});

test('pods that are not Guaranteed are not managed', () => {
  const pod = makePod({ metadata: { uid: 'one' } });
  expect(policy.hints(pod, pod.spec.containers[0]!)).toBeUndefined();
  allocate(pod);
  expect(policy.blocks('one', 'main')).toBeUndefined();
});
