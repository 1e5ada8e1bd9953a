import { describe, expect, test } from 'vitest';
import { formatCpuSet, NO_CPUS, parseCpuSet } from '../cpu-set.ts';
import { maskOf } from '../hints/numa-mask.ts';
import { guaranteedPod, pinnedContainer } from '../testing/guaranteed-pod.ts';
import { makeCpus } from '../testing/make-topology.ts';
import { CpuAssignments } from './cpu-assignments.ts';
import { parseCpuPolicyOptions } from './options.ts';
import { SmtAlignmentError, StaticCpuPolicy } from './static-policy.ts';

// CPU n and n + 8 are threads of one core; 0 to 3 are on NUMA node 0, 4 to 7 on node 1.
const topology = makeCpus({ sockets: 2, numaNodes: 1, cores: 4, threads: 2 });

function start(options: Readonly<Record<string, string>> = {}, assignments = new CpuAssignments()) {
  const policy = new StaticCpuPolicy({
    topology,
    options: parseCpuPolicyOptions(options, true),
    reservedCount: 1,
    reserved: NO_CPUS,
    assignments,
  });
  policy.start();
  const allocate = (pod: ReturnType<typeof guaranteedPod>, mask?: number): readonly string[] =>
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((container) => {
      policy.allocate(pod, container, mask);
      return formatCpuSet(assignments.cpusOf(pod.metadata.uid, container.name));
    });
  return { policy, assignments, allocate };
}

test('whole CPUs are exclusive, and leave the shared ones', () => {
  const { assignments, allocate, policy } = start();
  expect(formatCpuSet(policy.allocatable)).toBe('1-15');
  expect(allocate(guaranteedPod('one', ['2']))).toEqual(['1,9']);
  expect(formatCpuSet(assignments.shared)).toBe('0,2-8,10-15');
});

test('parts of a CPU, and pods that are not Guaranteed, share', () => {
  const { assignments, allocate } = start();
  expect(allocate(guaranteedPod('one', ['1500m']))).toEqual(['0-15']);
  const burstable = guaranteedPod('two', ['2']);
  const [container] = burstable.spec.containers;
  const pod = {
    ...burstable,
    spec: {
      ...burstable.spec,
      containers: [{ ...container!, resources: { requests: { cpu: '2' } } }],
    },
  };
  expect(allocate(pod)).toEqual(['0-15']);
  expect(assignments.allExclusive.size).toBe(0);
});

test('the NUMA nodes of the hint come first', () => {
  const { allocate } = start();
  expect(allocate(guaranteedPod('one', ['2']), maskOf([0]))).toEqual(['1,9']);
  expect(allocate(guaranteedPod('two', ['6']), maskOf([0]))).toEqual(
    ['2-3,8,10-11,4'].map((list) => formatCpuSet(parseCpuSet(list))),
  );
});

test('a container gets the CPUs of init containers before it', () => {
  const { assignments, allocate } = start();
  const init = pinnedContainer('init', { cpu: '4', memory: '1Gi' });
  const sidecar = pinnedContainer('side', { cpu: '1', memory: '1Gi' }, { restartPolicy: 'Always' });
  const [first, second, main] = allocate(guaranteedPod('one', ['2'], [init, sidecar]));
  expect([first, second, main]).toEqual(['1-2,9-10', '8', '1,9']);
  assignments.release('one', 'init');
  // The others still have theirs.
  expect(formatCpuSet(assignments.shared)).toBe('0,2-7,10-15');
});

test('released CPUs are shared again', () => {
  const { assignments, allocate } = start();
  allocate(guaranteedPod('one', ['3']));
  assignments.release('one', 'c0');
  expect(formatCpuSet(assignments.shared)).toBe('0-15');
});

test('more CPUs than are left are an error', () => {
  const { allocate } = start();
  expect(() => allocate(guaranteedPod('one', ['16']))).toThrow(
    'not enough cpus available to satisfy request: requested=16, available=15',
  );
});

describe('full-pcpus-only', () => {
  test('rejects half a core', () => {
    const { allocate } = start({ 'full-pcpus-only': 'true' });
    expect(() => allocate(guaranteedPod('one', ['3']))).toThrow(
      new SmtAlignmentError('requested 3 cpus not multiple cpus per core = 2'),
    );
  });

  test('does not count cores with a reserved CPU', () => {
    const { allocate } = start({ 'full-pcpus-only': 'true' });
    expect(() => allocate(guaranteedPod('one', ['16']))).toThrow(
      'not enough free physical CPUs: available physical CPUs = 14, requested CPUs = 16, ' +
        'CPUs per core = 2',
    );
  });
});

test('with strict-cpu-reservation no container runs on reserved CPUs', () => {
  const { assignments } = start({ 'strict-cpu-reservation': 'true' });
  expect(formatCpuSet(assignments.shared)).toBe('1-15');
});

test.each([
  [{ 'align-by-socket': 'true' }, 'Alpha-level Options not enabled'],
  [{ nothing: 'true' }, 'unknown CPU Manager Policy option: "nothing"'],
  [{ 'full-pcpus-only': 'yes' }, 'bad value for option "full-pcpus-only"'],
])('the options %j are rejected', (options, message) => {
  expect(() => parseCpuPolicyOptions(options, false)).toThrow(message);
});

describe('the state of the last run', () => {
  const withState = (shared: string, exclusive: string): CpuAssignments => {
    const assignments = new CpuAssignments();
    assignments.shared = parseCpuSet(shared);
    assignments.assign('one', 'c0', parseCpuSet(exclusive));
    return assignments;
  };

  test('is taken over', () => {
    const { allocate } = start({}, withState('0-14', '15'));
    expect(allocate(guaranteedPod('one', ['1']))).toEqual(['15']);
  });

  test.each([
    ['other CPUs', '0-13', '15', "doesn't match with CPUs in state"],
    ['CPUs twice', '0-15', '15', 'overlaps with default cpuset'],
    ['exclusive reserved CPUs', '1-15', '0', 'not all reserved cpus'],
  ])('with %s is an error', (_, shared, exclusive, message) => {
    expect(() => start({}, withState(shared, exclusive))).toThrow(message);
  });
});
