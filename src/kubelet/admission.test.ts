import { describe, expect, test } from 'vitest';
import { admitPod } from './admission.ts';
import { podRequests } from './pod/resources.ts';
import { makeContainer, makePod } from './testing/make-pod.ts';
import type { Node, Pod, PodSpec } from './types.ts';

const node: Node = {
  metadata: {
    name: 'node',
    uid: 'n',
    resourceVersion: '1',
    creationTimestamp: '',
    labels: { zone: 'a', size: '4' },
  },
  spec: { taints: [{ key: 'gone', value: 'yes', effect: 'NoExecute' }] },
  status: {
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      osImage: '',
      containerRuntimeVersion: '',
      kubeletVersion: '',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  },
};
const allocatable = { cpu: '2', memory: '4Gi', pods: '2', 'example.com/fpga': '1' };
const tolerations = [{ key: 'gone', operator: 'Exists' as const }];

function judge(spec: Partial<PodSpec>, active: readonly Pod[] = []): string | undefined {
  const pod = makePod({ spec: { tolerations, ...spec } });
  const requested = new Map<string, number>();
  for (const other of active)
    for (const [resource, amount] of podRequests(other))
      requested.set(resource, (requested.get(resource) ?? 0) + amount);
  const activeAtMost = { pods: active.length, requested };
  const rejection = admitPod({ pod, active: () => active, activeAtMost, allocatable, node });
  // Bounds without information change nothing.
  const unbound = {
    pods: Infinity,
    requested: new Map(Object.keys(allocatable).map((resource) => [resource, Infinity])),
  };
  expect(admitPod({ pod, active: () => active, activeAtMost: unbound, allocatable, node })).toEqual(
    rejection,
  );
  return rejection === undefined ? undefined : `${rejection.reason}: ${rejection.message}`;
}

const asking = (requests: Readonly<Record<string, string>>) => ({
  containers: [makeContainer('main', { resources: { requests } })],
});
const affinity = (
  key: string,
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt',
  values: string[] = [],
): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});

describe('resources', () => {
  const other = makePod({ metadata: { uid: 'other' }, spec: asking({ cpu: '1500m' }) });
  test.each<[string, Partial<PodSpec>, readonly Pod[], string | undefined]>([
    ['what fits is admitted', asking({ cpu: '2', memory: '4Gi' }), [], undefined],
    ['what asks for nothing is admitted', {}, [other], undefined],
    [
      'what is left counts',
      asking({ cpu: '501m' }),
      [other],
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    ],
    [
      'memory',
      asking({ memory: '5Gi' }),
      [],
      `OutOfmemory: Node didn't have enough resource: memory, requested: ${5 * 2 ** 30}, ` +
        `used: 0, capacity: ${4 * 2 ** 30}`,
    ],
    [
      'what the node does not have',
      asking({ 'hugepages-2Mi': '2Mi' }),
      [],
      "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: " +
        `${2 * 2 ** 20}, used: 0, capacity: 0`,
    ],
    [
      'what others have put on the Node, of which the kubelet knows nothing',
      asking({ 'example.com/gpu': '1' }),
      [],
      undefined,
    ],
    [
      'extended resources of which it knows',
      asking({ 'example.com/fpga': '2' }),
      [],
      "OutOfexample.com/fpga: Node didn't have enough resource: example.com/fpga, requested: 2, used: 0, capacity: 1",
    ],
    [
      'the number of pods',
      {},
      [other, other],
      "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
    ],
    [
      'an init container may ask for more',
      {
        ...asking({ cpu: '1' }),
        initContainers: [makeContainer('init', { resources: { requests: { cpu: '3' } } })],
      },
      [],
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
    ],
  ])('%s', (_name, spec, active, expected) => {
    expect(judge(spec, active)).toBe(expected);
  });
});

test('extended resources that are devices of a claim need no room on the node', () => {
  const resource = 'deviceclass.resource.kubernetes.io/gpu';
  const spec = { tolerations, ...asking({ [resource]: '1' }) };
  const input = {
    active: () => [],
    activeAtMost: { pods: 0, requested: new Map<string, number>() },
    allocatable,
    node,
  };
  expect(admitPod({ ...input, pod: makePod({ spec }) })?.reason).toBe(`OutOf${resource}`);
  const mapping = { containerName: 'main', resourceName: resource, requestName: 'r' };
  const claimed = (containerName: string) =>
    makePod({
      spec,
      status: {
        extendedResourceClaimStatus: {
          resourceClaimName: 'c',
          requestMappings: [{ ...mapping, containerName }],
        },
      },
    });
  expect(admitPod({ ...input, pod: claimed('main') })).toBeUndefined();
  expect(admitPod({ ...input, pod: claimed('other') })?.reason).toBe(`OutOf${resource}`);
});

describe('the node', () => {
  const mismatch = 'NodeAffinity: Predicate NodeAffinity failed';
  test.each<[string, Partial<PodSpec>, string | undefined]>([
    ['a selector that matches', { nodeSelector: { zone: 'a' } }, undefined],
    ['a selector that does not', { nodeSelector: { zone: 'b' } }, mismatch],
    ['In', affinity('zone', 'In', ['a', 'b']), undefined],
    ['NotIn', affinity('zone', 'NotIn', ['a']), mismatch],
    ['Exists', affinity('zone', 'Exists'), undefined],
    ['DoesNotExist', affinity('zone', 'DoesNotExist'), mismatch],
    ['Gt', affinity('size', 'Gt', ['3']), undefined],
    ['Lt', affinity('size', 'Lt', ['4']), mismatch],
    [
      'a taint that is not tolerated',
      { tolerations: [] },
      'TaintToleration: Predicate TaintToleration failed',
    ],
    [
      'a foreign operating system',
      { os: { name: 'windows' } },
      'PodOSNotSupported: Failed to admit pod as the OS field does not match node OS',
    ],
  ])('%s', (_name, spec, expected) => {
    expect(judge(spec)).toBe(expected);
  });
});

test('two pods cannot use the same host port', () => {
  const on = (hostIP: string, hostPort: number) => ({
    containers: [
      makeContainer('main', {
        ports: [{ containerPort: 80, hostPort, hostIP, protocol: 'TCP' as const }],
      }),
    ],
  });
  const active = [makePod({ spec: on('10.0.0.1', 8080) })];
  expect(judge(on('', 8080), active)).toBe('NodePorts: Predicate NodePorts failed');
  expect(judge(on('10.0.0.2', 8080), active)).toBeUndefined();
  expect(judge(on('', 8081), active)).toBeUndefined();
});

describe.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
  'the label %s, which no node has',
  (key) => {
    const mismatch = 'NodeAffinity: Predicate NodeAffinity failed';
    test.each([
      ['Exists', mismatch],
      ['DoesNotExist', undefined],
      ['In', mismatch],
      ['NotIn', undefined],
      ['Gt', mismatch],
      ['Lt', mismatch],
    ] as const)('%s', (operator, expected) => {
      expect(
        judge(
          affinity(key, operator, operator.endsWith('t') && operator.length === 2 ? ['1'] : ['x']),
        ),
      ).toBe(expected);
      expect(judge({ nodeSelector: JSON.parse(`{"${key}":"x"}`) as Record<string, string> })).toBe(
        mismatch,
      );
    });
  },
);
