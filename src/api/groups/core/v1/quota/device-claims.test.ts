import { describe, expect, test } from 'vitest';
import type { DeviceClass, ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from '../types.ts';
import {
  amountsText,
  evaluatorOf,
  DEVICE_CLAIMS,
  extendedResourcesOf,
  factsAt,
  NO_EXTENDED_RESOURCES,
  type QuotaFacts,
  resourcesOfLimit,
} from './index.ts';

const extendedResources = extendedResourcesOf([
  { metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } },
  { metadata: { name: 'nic' }, spec: {} },
] as unknown as readonly Immutable<DeviceClass>[]);
const { tracks, usage } = evaluatorOf(DEVICE_CLAIMS);

const OF_GPU = 'gpu.deviceclass.resource.k8s.io/devices';
const IMPLICIT = 'requests.deviceclass.resource.kubernetes.io/';

describe('limits of devices', () => {
  test.each<[string, boolean]>([
    [OF_GPU, true],
    ['unknown.deviceclass.resource.k8s.io/devices', true],
    ['count/resourceclaims.resource.k8s.io', true],
    [`${IMPLICIT}gpu`, true],
    [`${IMPLICIT}nic`, true],
    [`${IMPLICIT}unknown`, false],
    ['requests.example.com/gpu', true],
    ['requests.example.com/unknown', false],
    ['example.com/gpu', false],
    ['requests.cpu', false],
    ['pods', false],
  ])('%s applies to claims: %s', (name, applies) => {
    expect(tracks(name, extendedResources)).toBe(applies);
  });

  test.each<[string, readonly string[]]>([
    [OF_GPU, ['resourceclaims']],
    ['requests.example.com/gpu', ['pods', 'resourceclaims']],
    ['requests.example.com/unknown', ['pods']],
    [`${IMPLICIT}nic`, ['pods', 'resourceclaims']],
    ['requests.cpu', ['pods']],
    ['requests.storage', ['persistentvolumeclaims']],
    ['services.nodeports', ['services']],
    ['count/resourceclaims.resource.k8s.io', ['resourceclaims']],
    ['nonsense', []],
  ])('%s counts %j', (name, resources) => {
    const found = resourcesOfLimit(name, extendedResources).map(({ resource }) => resource);
    expect(found).toEqual(resources);
  });
});

interface ClaimOptions {
  readonly name?: string;
  readonly createdAt?: string;
  readonly owner?: object;
  readonly annotation?: string;
}

const OWNER = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };

const claim = (
  requests: readonly object[],
  { name = 'c', createdAt = '2026-01-01T00:00:01Z', owner, annotation = 'true' }: ClaimOptions = {},
) =>
  ({
    metadata: {
      name,
      namespace: 'ns',
      creationTimestamp: createdAt,
      ...(owner !== undefined && {
        ownerReferences: [owner],
        annotations: { 'resource.kubernetes.io/extended-resource-claim': annotation },
      }),
    },
    spec: { devices: { requests } },
  }) as unknown as Immutable<ResourceClaim>;

const exactly = (deviceClassName: string, count: number) => ({
  exactly: { deviceClassName, allocationMode: 'ExactCount', count },
});

/** A pod that requests a device of the class in both ways, in a container and in a sidecar. */
const pod = (status: object = {}, uid = 'u') => {
  const requests = { 'example.com/gpu': '1', 'deviceclass.resource.kubernetes.io/gpu': '1' };
  return {
    metadata: { name: 'p', namespace: 'ns', uid },
    spec: {
      containers: [{ name: 'c', resources: { requests } }],
      initContainers: [
        { name: 'i', resources: { requests } },
        { name: 's', restartPolicy: 'Always', resources: { requests } },
      ],
    },
    status,
  } as unknown as Immutable<core.Pod>;
};

const facts = (
  one?: Immutable<core.Pod>,
  claims: readonly Immutable<ResourceClaim>[] = [],
): QuotaFacts => ({
  ...factsAt(Date.parse('2026-01-01T00:00:00Z')),
  extendedResources,
  pod: (namespace, name) => (namespace === 'ns' && name === 'p' ? one : undefined),
  claims: () => claims,
});

describe('the usage of a claim', () => {
  test('has the extended resources of the classes that it requests', () => {
    expect(
      amountsText(usage(claim([exactly('gpu', 2), exactly('nic', 1), exactly('gpu', 1)]), facts())),
    ).toBe(
      `count/resourceclaims.resource.k8s.io=1,${OF_GPU}=3,` +
        'nic.deviceclass.resource.k8s.io/devices=1,' +
        `${IMPLICIT}gpu=3,${IMPLICIT}nic=1,requests.example.com/gpu=3`,
    );
  });

  test('has only the class of a device whose class is unknown, and its implicit name', () => {
    const unknown = { ...facts(), extendedResources: NO_EXTENDED_RESOURCES };
    expect([...usage(claim([exactly('gpu', 1)]), unknown).keys()]).toEqual([
      'count/resourceclaims.resource.k8s.io',
      OF_GPU,
      `${IMPLICIT}gpu`,
    ]);
  });

  const ofPod = (options: ClaimOptions = {}) =>
    claim([exactly('gpu', 4)], { owner: OWNER, ...options });
  const older = ofPod({ name: 'z', createdAt: '2026-01-01T00:00:00Z' });
  const named = { extendedResourceClaimStatus: { resourceClaimName: 'c' } };

  test.each<[string, Immutable<ResourceClaim>, QuotaFacts, string | undefined]>([
    ['named by the status', ofPod(), facts(pod(named)), '2'],
    ['without a status', ofPod(), facts(pod(), [ofPod()]), '2'],
    ['the first of two', older, facts(pod(), [ofPod(), older]), '2'],
    ['the second of two', ofPod(), facts(pod(), [ofPod(), older]), '4'],
    ['the second by name', ofPod(), facts(pod(), [ofPod({ name: 'a' })]), '4'],
    ['not yet stored', ofPod({ createdAt: '' }), facts(pod(), [older]), '4'],
    ['of an ended pod', ofPod(), facts(pod({ ...named, phase: 'Succeeded' })), '4'],
    ['not named by the status', ofPod({ name: 'd' }), facts(pod(named)), '4'],
    ['of a pod that is gone', ofPod(), facts(), '4'],
    ['of an earlier pod of that name', ofPod(), facts(pod(named, 'other')), '4'],
    ['without the annotation', ofPod({ annotation: 'false' }), facts(pod(named)), '4'],
    ['of another kind', ofPod({ owner: { ...OWNER, kind: 'Job' } }), facts(pod(named)), '4'],
    [
      'without a controller',
      ofPod({ owner: { ...OWNER, controller: false } }),
      facts(pod(named)),
      '4',
    ],
  ])('for the extended resources of a pod, %s', (_, object, known, expected) => {
    const used = usage(object, known);
    expect(used.get(OF_GPU)?.toString()).toBe('4');
    expect(used.get('requests.example.com/gpu')?.toString()).toBe(expected);
    expect(used.get(`${IMPLICIT}gpu`)?.toString()).toBe(expected);
  });

  test('has no extended resources if the pod counts them all', () => {
    const one = claim([exactly('gpu', 1)], { owner: OWNER });
    expect([...usage(one, facts(pod(named))).keys()]).toEqual([
      'count/resourceclaims.resource.k8s.io',
      OF_GPU,
    ]);
  });
});
