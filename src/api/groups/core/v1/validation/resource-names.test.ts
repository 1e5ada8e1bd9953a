// Names of resources in containers, in pods as a whole, in limit ranges and in quotas; and the
// status of expanding volumes.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import {
  validateLimitRange,
  validatePersistentVolumeClaimStatusUpdate,
  validatePod,
  validateResourceQuota,
} from './index.ts';
import { containerResourceName, resourceName } from './resources.ts';
import { FieldPath } from '#machinery/validation/field.ts';

const AT = new FieldPath('name');
const LONG = 'a'.repeat(63);

describe('names', () => {
  const STANDARD = [
    'memory',
    'cpu',
    'storage',
    'requests.cpu',
    'requests.memory',
    'limits.cpu',
    'limits.memory',
    'ephemeral-storage',
    'pods',
  ];
  test.each([
    ...STANDARD,
    'hugepages-2Mi',
    'requests.hugepages-2Mi',
    'a.b/c',
    'kubernetes.io/foo',
    'foo.bar/my-resource',
  ])('%s', (name) => {
    expect(resourceName(name, AT)).toEqual([]);
  });
  test.each([
    '',
    'my.favorite.app.co',
    '.',
    '..',
    'my favorite',
    'my.favorite.app.co/',
    'a/b/c',
    '/a',
    'a/',
    'disk',
    `a.b/${LONG}a`,
  ])('not %j', (name) => {
    expect(resourceName(name, AT)).not.toEqual([]);
  });

  test.each([
    'memory',
    'cpu',
    'ephemeral-storage',
    'hugepages-2Mi',
    'my.favorite.app.co/12345',
    `my.favorite.app.co/${LONG}`,
    'kubernetes.io/batch',
  ])('of containers: %s', (name) => {
    expect(containerResourceName(name, AT)).toEqual([]);
  });
  test.each<[name: string, ...problems: string[]]>([
    ['storage', 'must be a standard resource for containers'],
    ['requests.cpu', 'must be a standard resource for containers'],
    ['pods', 'must be a standard resource for containers'],
    [
      'disk',
      'must be a standard resource type or fully qualified',
      'must be a standard resource for containers',
    ],
    // With the prefix of quotas it is too long.
    [`${'a.'.repeat(125)}b/c`, "doesn't follow extended resource name standard"],
    ['requests.example.com/a', "doesn't follow extended resource name standard"],
  ])('not of containers: %s', (name, ...problems) => {
    expect(containerResourceName(name, AT).map(({ detail }) => detail)).toEqual(problems);
  });
});

/** Returns the errors of a pod; paths begin at its spec. */
function errorsOf(spec: string): string[] {
  const pod = manifest<core.Pod>('core/v1.Pod', `metadata: {name: p}\nspec:\n${indent(spec)}`);
  return validatePod(pod).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );
}

describe('of a pod as a whole', () => {
  const whole = (list: string): string =>
    `containers: [{name: c, image: x}]\nresources: {limits: {${list}}}`;
  test.each([
    'cpu: 1',
    'memory: 1Gi',
    'cpu: 1, hugepages-2Mi: 2Mi',
    'memory: 1Gi, hugepages-1Gi: 1Gi',
  ])('%s', (list) => {
    expect(errorsOf(whole(list))).toEqual([]);
  });

  // Limits are the default of requests for pods as a whole.
  test.each<[list: string, ...errors: string[]]>([
    ['storage: 1', 'resources.limits[storage] NotSupported'],
    ['ephemeral-storage: 1', 'resources.limits[ephemeral-storage] NotSupported'],
    ['requests.cpu: 1', 'resources.limits[requests.cpu] NotSupported'],
    ['limits.memory: 1', 'resources.limits[limits.memory] NotSupported'],
    ['pods: 1', 'resources.limits[pods] NotSupported'],
    ['my.favorite.app.co/12345: 1', 'resources.limits[my.favorite.app.co/12345] NotSupported'],
    ['kubernetesio/cpu: 2', 'resources.limits[kubernetesio/cpu] NotSupported'],
    [`kubernetes.io/${LONG}: 2`, `resources.limits[kubernetes.io/${LONG}] NotSupported`],
    [
      'kubernetes.io/: 2',
      'resources.limits[kubernetes.io/] Invalid',
      'resources.limits[kubernetes.io/] Invalid',
    ],
    ['kubernetes.io: 2', 'resources.limits[kubernetes.io] Invalid'],
    ['disk: 2', 'resources.limits[disk] Invalid'],
    ['my favorite: 2', 'resources.limits[my favorite] Invalid'],
    ['"..": 2', 'resources.limits[..] Invalid'],
    ['hugepages-2Mi: 2Mi', 'resources Forbidden'],
  ])('not %s', (list, ...errors) => {
    const found = errorsOf(whole(list)).filter((error) => !error.startsWith('resources.requests'));
    expect(found).toEqual(errors);
  });

  const lists = (requests: string, limits = ''): string =>
    `{requests: {${requests}}, limits: {${limits}}}`;
  const spec = (pod: string, ...containers: string[]): string => {
    const items = containers.map(
      (given, index) => `{name: c${index}, image: x, resources: ${given}}`,
    );
    return `containers: [${items.join(', ')}]\nresources: ${pod}`;
  };
  test.each<[what: string, spec: string, ...errors: string[]]>([
    [
      'as much as its containers',
      spec(
        lists('cpu: 2, memory: 2Gi'),
        lists('cpu: 1, memory: 1Gi'),
        lists('cpu: 1, memory: 1Gi'),
      ),
    ],
    [
      'more than its containers',
      spec(lists('cpu: 10', 'cpu: 10'), lists('cpu: 1'), lists('cpu: 1')),
    ],
    ['containers without', spec(lists('cpu: 1', 'cpu: 2'), '{}', '{}')],
    [
      'less than its containers',
      spec(lists('cpu: 1'), lists('cpu: 1'), lists('cpu: 1')),
      'resources.requests[cpu] Invalid',
    ],
    [
      'less of all than its containers',
      spec(
        lists('cpu: 1, memory: 1Gi'),
        lists('cpu: 1, memory: 1Gi'),
        lists('cpu: 1, memory: 1Gi'),
      ),
      'resources.requests[cpu] Invalid',
      'resources.requests[memory] Invalid',
    ],
    [
      'limits of its containers above its own, together',
      spec(lists('cpu: 1', 'cpu: 2'), lists('', 'cpu: 1'), lists('', 'cpu: 1')),
      'resources.requests[cpu] Invalid',
    ],
    [
      'limits of its containers below its own, together',
      spec(lists('cpu: 2', 'cpu: 2'), lists('cpu: 1', 'cpu: 2'), lists('cpu: 1', 'cpu: 2')),
    ],
    [
      'the limit of one container above its own',
      spec(lists('cpu: 2', 'cpu: 2'), lists('cpu: 1', 'cpu: 3')),
      'resources.containers[0][cpu].limits Invalid',
    ],
    [
      'limits of two containers above its own',
      spec(
        lists('memory: 2Gi', 'memory: 2Gi'),
        lists('memory: 1', 'memory: 3Gi'),
        lists('memory: 1', 'memory: 4Gi'),
      ),
      'resources.containers[0][memory].limits Invalid',
      'resources.containers[1][memory].limits Invalid',
    ],
    [
      'huge pages',
      spec(
        lists('cpu: 1, hugepages-2Mi: 4Mi', 'cpu: 1, hugepages-2Mi: 4Mi'),
        lists('cpu: 1, hugepages-2Mi: 2Mi', 'cpu: 1, hugepages-2Mi: 2Mi'),
      ),
    ],
    [
      'more huge pages in its containers',
      spec(
        lists('cpu: 2, hugepages-2Mi: 2Mi', 'cpu: 2, hugepages-2Mi: 2Mi'),
        lists('cpu: 1, hugepages-2Mi: 2Mi', 'cpu: 1, hugepages-2Mi: 2Mi'),
        lists('cpu: 1, hugepages-2Mi: 2Mi', 'cpu: 1, hugepages-2Mi: 2Mi'),
      ),
      'resources.requests[hugepages-2Mi] Invalid',
      'resources.limits[hugepages-2Mi] Invalid',
    ],
    [
      'huge pages without a limit',
      spec(lists('memory: 1Gi, hugepages-2Mi: 2Mi'), '{}'),
      'resources.limits Required',
    ],
  ])('%s', (_what, given, ...errors) => {
    expect(errorsOf(given)).toEqual(errors);
  });
});

describe('limit ranges', () => {
  test.each<[what: string, limits: string, ...errors: string[]]>([
    [
      'everything',
      '{type: Pod, max: {cpu: 100m, memory: 10000Mi}, min: {cpu: 5m, memory: 100Mi}, maxLimitRequestRatio: {cpu: 10}}',
    ],
    [
      'no ratio',
      '{type: Container, max: {cpu: 100m}, min: {cpu: 5m}, default: {cpu: 50m}, defaultRequest: {cpu: 10m}}',
    ],
    [
      'bounds of claims',
      '{type: PersistentVolumeClaim, max: {storage: 10Gi}, min: {storage: 5Gi}}',
    ],
    ['at most, of claims', '{type: PersistentVolumeClaim, max: {storage: 10Gi}}'],
    ['at least, of claims', '{type: PersistentVolumeClaim, min: {storage: 5Gi}}'],
    [
      'files',
      '{type: Pod, max: {ephemeral-storage: 10Gi}}, {type: Container, ' +
        'max: {ephemeral-storage: 10Gi}, default: {ephemeral-storage: 1Gi}}',
    ],
    [
      'of others',
      '{type: thirdparty.com/foo, max: {cpu: 100m}, min: {cpu: 5m}, default: {cpu: 50m}, ' +
        'defaultRequest: {cpu: 10m}, maxLimitRequestRatio: {cpu: 10}}',
    ],
    [
      'storage of another type',
      '{type: thirdparty.com/foo, max: {storage: 10000T}, min: {storage: 100T}, ' +
        'default: {storage: 500T}, defaultRequest: {storage: 200T}}',
    ],
    [
      'storage of others',
      '{type: thirdparty.com/foo, max: {storage.thirdparty.com: 10Gi}}',
      'spec.limits[0].max[storage.thirdparty.com] Invalid',
    ],
    [
      'large ones',
      '{type: Container, max: {storage.example.com/gpu: 1e30, cpu: 9223372036854775807}}',
    ],
    [
      'defaults of a pod',
      '{type: Pod, max: {cpu: 100m}, min: {cpu: 0m}, default: {cpu: 50m}}',
      'spec.limits[0].default Forbidden',
    ],
    [
      'what pods do not have',
      '{type: Pod, max: {storage: 1}}',
      'spec.limits[0].max[storage] Invalid',
    ],
    ['another type', '{type: foo}', 'spec.limits[0].type Invalid'],
    ['an impossible type', '{type: "a b"}', 'spec.limits[0].type Invalid'],
    [
      'a type twice',
      '{type: Pod, max: {cpu: 1}}, {type: Container}, {type: Pod, min: {cpu: 1}}',
      'spec.limits[2].type Duplicate',
    ],
    [
      'more at least than at most',
      '{type: Container, min: {cpu: 2}, max: {cpu: 1}}',
      'spec.limits[0].min[cpu] Invalid',
      'spec.limits[0].defaultRequest[cpu] Invalid',
      'spec.limits[0].default[cpu] Invalid',
    ],
    [
      'a ratio below 1',
      '{type: Container, maxLimitRequestRatio: {cpu: 800m}}',
      'spec.limits[0].maxLimitRequestRatio[cpu] Invalid',
    ],
    [
      'a ratio below that of the bounds',
      '{type: Container, min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 10}}',
      'spec.limits[0].maxLimitRequestRatio[cpu] Invalid',
    ],
    [
      'claims of what they do not have',
      '{type: PersistentVolumeClaim, max: {cpu: 1}}',
      'spec.limits[0].limits Required',
    ],
    [
      'claims of a bad name',
      '{type: PersistentVolumeClaim, max: {storage: 1Gi, disk: 1}}',
      'spec.limits[0].max[disk] Invalid',
    ],
  ])('%s', (_what, limits, ...errors) => {
    const range = manifest<core.LimitRange>(
      'core/v1.LimitRange',
      `metadata: {name: l}\nspec: {limits: [${limits}]}`,
    );
    expect(
      validateLimitRange(range).map(
        ({ field, type }) => `${field} ${type.replace('FieldValue', '')}`,
      ),
    ).toEqual(errors);
  });
});

describe('quotas', () => {
  const at = (name: string): string => `spec.hard[${name}]`;
  test.each<[what: string, spec: string, ...paths: string[]]>([
    [
      'everything',
      'hard: {cpu: 100, memory: 10000, requests.cpu: 100, requests.memory: 10000, ' +
        'limits.cpu: 100, limits.memory: 10000, pods: 10, services: 0, ' +
        'replicationcontrollers: 10, resourcequotas: 10, configmaps: 10, secrets: 10}',
    ],
    [
      'devices',
      'hard: {count/resourceclaims.resource.k8s.io: 1, gold.deviceclass.resource.k8s.io/devices: 1}',
    ],
    ['services', 'hard: {services.nodeports: 1, services.loadbalancers: 1}'],
    [
      'files',
      'hard: {ephemeral-storage: 1, requests.ephemeral-storage: 1, limits.ephemeral-storage: 1}',
    ],
    ['terminating', 'hard: {cpu: 100, limits.cpu: 200}, scopes: [Terminating]'],
    ['not terminating', 'hard: {cpu: 100}, scopes: [NotTerminating]'],
    ['best effort', 'hard: {pods: 100}, scopes: [BestEffort]'],
    ['not best effort', 'hard: {cpu: 100}, scopes: [NotBestEffort]'],
    ['across namespaces', 'hard: {cpu: 100, limits.cpu: 200}, scopes: [CrossNamespacePodAffinity]'],
    [
      'of a priority',
      'scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [cluster-services]}]}',
    ],
    [
      'less than nothing',
      'hard: {cpu: -100, memory: -10000, pods: -10, services: -10, ' +
        'replicationcontrollers: -10, resourcequotas: -10, configmaps: -10, secrets: -10}',
      ...[
        'cpu',
        'memory',
        'pods',
        'services',
        'replicationcontrollers',
        'resourcequotas',
        'configmaps',
        'secrets',
      ].map(at),
    ],
    ['fractions of cores', 'hard: {cpu: 100m}'],
    [
      'fractions of things',
      'hard: {pods: .1, services: .5, replicationcontrollers: 1.25, resourcequotas: 2.5}',
      ...['pods', 'services', 'replicationcontrollers', 'resourcequotas'].map(at),
    ],
    ['storage', 'hard: {storage: 10}', at('storage')],
    [
      'terminating, and not',
      'hard: {cpu: 100}, scopes: [Terminating, NotTerminating]',
      'spec.scopes',
    ],
    [
      'best effort, and not',
      'hard: {pods: 100}, scopes: [BestEffort, NotBestEffort]',
      'spec.scopes',
    ],
    ['another scope', 'hard: {cpu: 100}, scopes: [foo]', 'spec.scopes'],
    [
      'across some namespaces',
      'scopeSelector: {matchExpressions: [{scopeName: CrossNamespacePodAffinity, operator: In, values: [a]}]}',
      'spec.scopeSelector.matchExpressions.operator',
    ],
  ])('%s', (_what, spec, ...paths) => {
    const quota = manifest<core.ResourceQuota>(
      'core/v1.ResourceQuota',
      `metadata: {name: q}\nspec: {${spec}}`,
    );
    expect(validateResourceQuota(quota).map(({ field }) => field)).toEqual([...paths].sort());
  });
});

describe('expanding volumes', () => {
  const STATUSES = [
    'ControllerResizeInProgress',
    'ControllerResizeInfeasible',
    'NodeResizePending',
    'NodeResizeInProgress',
    'NodeResizeInfeasible',
  ];
  test.each<[what: string, status: string, ...errors: string[]]>([
    ...STATUSES.map((name): [what: string, status: string] => [
      name,
      `allocatedResourceStatuses: {storage: ${name}}`,
    ]),
    [
      'somehow',
      'allocatedResourceStatuses: {storage: foo}',
      'allocatedResourceStatuses NotSupported',
    ],
    ['what is asked for', 'allocatedResources: {storage: 10Gi}'],
    [
      'less than nothing',
      'allocatedResources: {storage: -10Gi}',
      'allocatedResources[storage] Invalid',
    ],
    ['half a byte', 'allocatedResources: {storage: 1500m}'],
    ['of others', 'allocatedResources: {example.com/foo: 10}'],
    ['of others, somehow', 'allocatedResourceStatuses: {example.com/foo: NodeResizeInProgress}'],
    [
      'of Kubernetes',
      'allocatedResources: {kubernetes.io/foo: 10}',
      'allocatedResources NotSupported',
    ],
    [
      'of Kubernetes, somehow',
      'allocatedResourceStatuses: {kubernetes.io/foo: NodeResizePending}',
      'allocatedResourceStatuses NotSupported',
    ],
    ['cores', 'allocatedResources: {cpu: 10}', 'allocatedResources NotSupported'],
    ['an impossible name', 'allocatedResources: {"a b": 10}', 'allocatedResources Invalid'],
    ['both', 'allocatedResources: {storage: 10Gi, example.com/foo: 10}'],
    [
      'both, somehow',
      'allocatedResourceStatuses: {storage: NodeResizePending, example.com/foo: NodeResizePending}',
    ],
    [
      'both, and one somehow else',
      'allocatedResourceStatuses: {storage: NodeResizePending, example.com/foo: foo}',
      'allocatedResourceStatuses NotSupported',
    ],
  ])('%s', (_what, status, ...errors) => {
    const claim = manifest<core.PersistentVolumeClaim>(
      'core/v1.PersistentVolumeClaim',
      'metadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], ' +
        `resources: {requests: {storage: 1Gi}}}\nstatus: {${status}}`,
    );
    const found = validatePersistentVolumeClaimStatusUpdate(claim);
    expect(
      found.map(
        ({ field, type }) => `${field.replace('status.', '')} ${type.replace('FieldValue', '')}`,
      ),
    ).toEqual(errors);
  });
});
