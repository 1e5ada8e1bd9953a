// The order in which deferred resizes of pods get the resources of the node.

import { describe, expect, test } from 'vitest';
import { Allocations, type AllocationsConfig } from './allocations.ts';
import { makePod } from './testing/make-pod.ts';
import { podUid, type Container, type Pod } from './types.ts';

/** A node of 10 CPUs. `pods`: the active pods, by name. */
function node() {
  const pods = new Map<string, Pod>();
  const resized: string[] = [];
  const allocations = new Allocations({
    allocatable: () => ({ cpu: '10', memory: '10Gi' }),
    active: () => [...pods.values()],
    onResized: ({ metadata }, asked) =>
      resized.push(asked ? metadata.name : `${metadata.name} (another)`),
  });
  const set = (name: string, cpu: string, more: { priority?: number; limit?: string } = {}) => {
    const { priority, limit } = more;
    const memory = limit === undefined ? undefined : '1Gi';
    const pod = makePod({
      metadata: { name, uid: name },
      spec: {
        ...(priority !== undefined && { priority }),
        containers: [
          {
            name: 'main',
            image: 'i',
            resources: {
              requests: { cpu, ...(memory !== undefined && { memory }) },
              ...(limit !== undefined && { limits: { cpu: limit, memory: '1Gi' } }),
            },
          },
        ],
      },
    });
    pods.set(name, pod);
    return allocations.allocate(pod);
  };
  const remove = (name: string): void => {
    const pod = pods.get(name);
    pods.delete(name);
    if (pod !== undefined) allocations.forget(podUid(pod));
  };
  return { allocations, pods, resized, set, remove };
}

test('the pod with the higher priority is resized first', () => {
  const { set, remove, resized, allocations, pods } = node();
  set('full', '8');
  set('low', '1');
  set('high', '1', { priority: 1000 });
  expect(set('low', '7').pending?.reason).toBe('Deferred');
  expect(set('high', '7', { priority: 1000 }).pending?.reason).toBe('Deferred');
  expect(allocations.deferred()).toEqual(['low', 'high']);
  remove('full');
  // The pod with the lower priority asks first, and does not get what the other one waits for.
  expect(allocations.allocate(pods.get('low')!).pending?.reason).toBe('Deferred');
  expect(resized).toEqual(['high (another)']);
  expect(allocations.deferred()).toEqual(['low']);
});

test('a guaranteed pod comes before a burstable one, then the one that has waited longer', () => {
  const { set, remove, resized, allocations, pods } = node();
  set('full', '7');
  for (const name of ['first', 'second']) set(name, '1');
  set('guaranteed', '1', { limit: '1' });
  for (const name of ['first', 'second']) set(name, '3');
  set('guaranteed', '3', { limit: '3' });
  expect(allocations.deferred()).toEqual(['first', 'second', 'guaranteed']);
  remove('full');
  set('half', '3');
  allocations.allocate(pods.get('second')!);
  expect(resized).toEqual(['guaranteed (another)', 'first (another)']);
  expect(allocations.deferred()).toEqual(['second']);
});

test('a resize that does not fit does not keep a smaller one from its resources', () => {
  const { set, remove, resized, allocations, pods } = node();
  set('full', '7');
  set('large', '1', { priority: 1000 });
  set('small', '1');
  set('large', '9', { priority: 1000 });
  set('small', '3');
  remove('full');
  set('half', '3');
  allocations.allocate(pods.get('large')!);
  expect(resized).toEqual(['small (another)']);
});

test('a decrease is allocated at once, and makes room for those that wait', () => {
  const { set, resized, allocations } = node();
  set('full', '8');
  set('waiting', '1', { priority: 1000 });
  set('waiting', '5', { priority: 1000 });
  expect(resized).toEqual([]);
  expect(set('full', '4').pending).toBeUndefined();
  expect(resized).toEqual(['full', 'waiting (another)']);
  expect(allocations.deferred()).toEqual([]);
});

test('a pod that is seen again with the same resources is not resized', () => {
  const { set, resized } = node();
  set('web', '1');
  set('web', '1');
  expect(resized).toEqual([]);
});

describe('what is counted and forbidden', () => {
  const pod = (memory: string, more: Partial<Container> = {}): Pod =>
    makePod({
      metadata: { name: 'a', uid: 'a' },
      spec: {
        containers: [
          { name: 'main', image: 'i', resources: { requests: { memory }, limits: {} }, ...more },
        ],
      },
    });

  function counted(config: Partial<AllocationsConfig> = {}) {
    const counts: string[] = [];
    const allocations = new Allocations({
      allocatable: () => ({ cpu: '10', memory: '10Gi' }),
      active: () => [],
      metrics: {
        resizeRequested: ({ spec }, before) => {
          const [from, to] = [before.spec, spec].map(
            ({ containers }) => containers[0]?.resources.requests?.['memory'],
          );
          if (from !== to) counts.push(`${from} to ${to}`);
        },
        resizeInfeasible: (detail) => counts.push(detail),
      },
      ...config,
    });
    return { counts, allocations };
  }

  test('a request is counted once, also while the resize waits', () => {
    const { counts, allocations } = counted();
    allocations.allocate(pod('1Gi'));
    expect(counts).toEqual([]);
    allocations.allocate(pod('2Gi'));
    allocations.allocate(pod('2Gi'));
    expect(counts).toEqual(['1Gi to 2Gi']);
    const tooMuch = pod('20Gi');
    allocations.allocate(tooMuch);
    expect(allocations.countPending()).toEqual({ deferred: 0, infeasible: 1 });
    allocations.allocate(tooMuch);
    allocations.allocate(pod('3Gi'));
    expect(counts.slice(1)).toEqual(['2Gi to 20Gi', '20Gi to 3Gi']);
    expect(allocations.countPending()).toEqual({ deferred: 0, infeasible: 0 });
  });

  test('memory that may be in the swap is resized by a restart only', () => {
    const { counts, allocations } = counted({ maySwap: () => true });
    allocations.allocate(pod('1Gi'));
    const { pending } = allocations.allocate(pod('2Gi'));
    expect(pending).toEqual({
      reason: 'Infeasible',
      message: 'In-place resize of containers with swap is not supported.',
    });
    expect(counts).toEqual(['1Gi to 2Gi', 'swap_limitation']);

    const restarts = {
      resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
    };
    const other = counted({ maySwap: () => true }).allocations;
    other.allocate(pod('1Gi', restarts));
    expect(other.allocate(pod('2Gi', restarts)).pending).toBeUndefined();
  });

  test('with NoSwap, memory is resized', () => {
    const { allocations } = counted({ maySwap: () => false });
    allocations.allocate(pod('1Gi'));
    expect(allocations.allocate(pod('2Gi')).pending).toBeUndefined();
  });
});
