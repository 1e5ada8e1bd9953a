import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container } from '#api/groups/core/v1/index.ts';
import { newMilliQuantity, newQuantity } from '#machinery/text/quantity.ts';
import { makePod } from '../testing/objects.ts';
import { ASSUMED, slowRequest } from '../testing/reference-requests.ts';
import type { Pod } from './objects.ts';
import { DEFAULT_MEMORY, DEFAULT_MILLI_CPU, podRequests } from './pod-requests.ts';

const MIB = 1024 * 1024;

function container(
  name: string,
  requests?: Record<string, string>,
  more: Partial<Container> = {},
): Container {
  return { name, resources: requests === undefined ? {} : { requests }, ...more };
}

function requestsOf(spec: Partial<Pod['spec']>, status: Partial<Pod['status']> = {}) {
  const pod = makePod('p');
  return podRequests({
    ...pod,
    spec: { ...pod.spec, ...spec },
    status: { ...pod.status, ...status },
  });
}

describe('podRequests', () => {
  test('sums containers', () => {
    const { requests } = requestsOf({
      containers: [
        container('a', {
          cpu: '100m',
          memory: '1Gi',
          'ephemeral-storage': '1Gi',
          'example.com/gpu': '1',
        }),
        container('b', {
          cpu: '2',
          memory: '512Mi',
          'hugepages-2Mi': '4Mi',
          'example.com/gpu': '2',
        }),
      ],
    });
    expect(requests.milliCpu).toBe(2100);
    expect(requests.memory).toBe(1536 * MIB);
    expect(requests.ephemeralStorage).toBe(1024 * MIB);
    expect(requests.scalars).toEqual(
      new Map([
        ['example.com/gpu', 3],
        ['hugepages-2Mi', 4 * MIB],
      ]),
    );
  });

  test('takes the maximum of the containers and any init container', () => {
    const { requests } = requestsOf({
      containers: [container('a', { cpu: '1', memory: '1Gi' })],
      initContainers: [
        container('i', { cpu: '500m', memory: '3Gi' }),
        container('j', { cpu: '2', memory: '1Gi' }),
      ],
    });
    expect([requests.milliCpu, requests.memory]).toEqual([2000, 3 * 1024 * MIB]);
  });

  test('counts sidecars with the containers and with later init containers', () => {
    const sidecar = { restartPolicy: 'Always' };
    const { requests } = requestsOf({
      containers: [container('a', { cpu: '1' })],
      initContainers: [
        container('before', { cpu: '3' }),
        container('s1', { cpu: '500m' }, sidecar),
        container('between', { cpu: '3' }),
        container('s2', { cpu: '1' }, sidecar),
      ],
    });
    // During initialization: 3 with s1's 0.5; afterwards 1 + 0.5 + 1.
    expect(requests.milliCpu).toBe(3500);
  });

  test('adds overhead', () => {
    const { requests, nonZeroMilliCpu } = requestsOf({
      containers: [container('a', { cpu: '1' })],
      overhead: { cpu: '250m', memory: '100Mi' },
    });
    expect([requests.milliCpu, requests.memory, nonZeroMilliCpu]).toEqual([1250, 100 * MIB, 1250]);
  });

  test('replaces the sum by requests at pod level, and adds overhead to those, too', () => {
    const { requests, nonZeroMilliCpu, nonZeroMemory } = requestsOf({
      containers: [container('a', { cpu: '1', 'ephemeral-storage': '1Gi' })],
      resources: { requests: { cpu: '3', 'ephemeral-storage': '5Gi' } },
      overhead: { cpu: '100m' },
    });
    expect(requests.milliCpu).toBe(3100);
    // Ephemeral storage cannot be set at pod level.
    expect(requests.ephemeralStorage).toBe(1024 * MIB);
    expect([nonZeroMilliCpu, nonZeroMemory]).toEqual([3100, DEFAULT_MEMORY]);
  });

  test('counts a default for each container without requests, in scoring only', () => {
    const { requests, nonZeroMilliCpu, nonZeroMemory } = requestsOf({
      containers: [
        container('a'),
        container('b', { cpu: '1' }),
        container('c', { cpu: '0', memory: '0' }),
      ],
    });
    expect([requests.milliCpu, requests.memory]).toEqual([1000, 0]);
    expect([nonZeroMilliCpu, nonZeroMemory]).toEqual([
      1000 + DEFAULT_MILLI_CPU,
      2 * DEFAULT_MEMORY,
    ]);
  });

  test('counts the maximum of desired, allocated and actual resources during a resize', () => {
    const status = (requests: Record<string, string>, allocated: Record<string, string>) => ({
      containerStatuses: [
        {
          name: 'a',
          state: {},
          lastState: {},
          ready: true,
          restartCount: 0,
          image: '',
          imageID: '',
          resources: { requests },
          allocatedResources: allocated,
        },
      ],
    });
    const spec = { containers: [container('a', { cpu: '1', memory: '1Gi' })] };
    expect(
      requestsOf(spec, status({ cpu: '2' }, { cpu: '3', memory: '512Mi' })).requests.milliCpu,
    ).toBe(3000);
    const infeasible = {
      ...status({ cpu: '500m' }, { cpu: '500m' }),
      conditions: [
        {
          type: 'PodResizePending',
          status: 'True' as const,
          reason: 'Infeasible',
          lastProbeTime: null,
          lastTransitionTime: null,
        },
      ],
    };
    expect(requestsOf(spec, infeasible).requests.milliCpu).toBe(500);
  });

  test('leaves out resources that are not counted', () => {
    expect(
      requestsOf({ containers: [container('a', { storage: '1Gi' })] }).requests.scalars,
    ).toBeUndefined();
  });
});

describe('podRequests, for any pod', () => {
  const cpu = fc
    .integer({ min: 0, max: 8000 })
    .map((milli) => newMilliQuantity(milli, 'DecimalSI').toString());
  const memory = fc
    .integer({ min: 0, max: 2 ** 40 })
    .map((bytes) => newQuantity(bytes, 'BinarySI').toString());
  const list = fc.record({ cpu, memory }, { requiredKeys: [] });
  const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined });
  const anyContainer = fc.record({
    requests: list,
    sidecar: fc.boolean(),
    allocated: maybe(list),
    held: maybe(list),
    known: fc.boolean(),
  });
  const full = fc.record({ cpu, memory });

  test('agrees with a plain implementation, also for pods that are resized in place', () => {
    let withStatus = 0;
    fc.assert(
      fc.property(
        fc.array(anyContainer, { minLength: 1, maxLength: 4 }),
        fc.array(anyContainer, { maxLength: 5 }),
        maybe(list),
        maybe(list),
        fc.record({
          resizing: fc.boolean(),
          infeasible: fc.boolean(),
          ofPod: fc.option(fc.record({ allocated: full, held: full }), { nil: undefined, freq: 3 }),
        }),
        (containers, inits, whole, overhead, { resizing, infeasible, ofPod }) => {
          const statusesOf = (prefix: string, all: typeof containers) =>
            all.flatMap(({ allocated, held, known }, i) =>
              known
                ? [
                    {
                      name: `${prefix}${i}`,
                      state: {},
                      lastState: {},
                      ready: true,
                      restartCount: 0,
                      image: '',
                      imageID: '',
                      ...(allocated !== undefined && { allocatedResources: allocated }),
                      ...(held !== undefined && { resources: { requests: held } }),
                    },
                  ]
                : [],
            );
          if (resizing) withStatus++;
          const pod = makePod('p', {
            spec: {
              containers: containers.map(({ requests }, i) => container(`c${i}`, requests)),
              initContainers: inits.map(({ requests, sidecar }, i) =>
                container(`i${i}`, requests, sidecar ? { restartPolicy: 'Always' } : {}),
              ),
              ...(whole !== undefined && { resources: { requests: whole } }),
              ...(overhead !== undefined && { overhead }),
            },
            ...(resizing && {
              status: {
                containerStatuses: statusesOf('c', containers),
                initContainerStatuses: statusesOf('i', inits),
                ...(infeasible && {
                  conditions: [
                    {
                      type: 'PodResizePending',
                      status: 'True',
                      reason: 'Infeasible',
                      lastProbeTime: null,
                      lastTransitionTime: null,
                    },
                  ],
                }),
                ...(ofPod !== undefined && {
                  allocatedResources: ofPod.allocated,
                  resources: { requests: ofPod.held },
                }),
              },
            }),
          });
          const { requests, nonZeroMilliCpu, nonZeroMemory } = podRequests(pod);
          expect(requests.milliCpu).toBe(slowRequest(pod, 'cpu').milliValue());
          expect(requests.memory).toBe(slowRequest(pod, 'memory').value());
          expect(nonZeroMilliCpu).toBe(slowRequest(pod, 'cpu', ASSUMED['cpu']).milliValue());
          expect(nonZeroMemory).toBe(slowRequest(pod, 'memory', ASSUMED['memory']).value());
        },
      ),
      { numRuns: 400 },
    );
    expect(withStatus).toBeGreaterThan(100);
  });
});
