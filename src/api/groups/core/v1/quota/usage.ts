// The usage of a namespace's quota by an object, for each kind. Pods, services and claims (for
// volumes and devices) are measured; other objects are counted (`count/deployments.apps`), some
// also under an older, shorter name.

import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ExactDeviceRequest, ResourceClaim } from '#api/groups/resource/v1/index.ts';
import { aggregateContainerResources, isHugePages, isNativeResource } from '../pod-resources.ts';
import type * as core from '../types.ts';
import { addAmounts, amountsOf, type Amounts } from './amounts.ts';

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** Measures objects of one resource. `object`: of that resource. */
export interface QuotaEvaluator {
  /** Reports whether a limit of that name applies to these objects. */
  readonly tracks: (name: string) => boolean;
  readonly usage: (object: unknown, nowMs: number) => Amounts;
  /** Reports whether a write may have to be charged. `subresource`: '' for the object itself. */
  readonly handles: (operation: string, subresource: string) => boolean;
  /** Reports whether an update has to be charged. Absent: each update that `handles` accepts. */
  readonly handlesUpdate?: (subresource: string, object: unknown, oldObject: unknown) => boolean;
  /**
   * Returns the error for an object that lacks values which limits of these names require;
   * undefined if it has them.
   */
  readonly problem?: (object: unknown, limited: readonly string[]) => string | undefined;
}

const ONE = newQuantity(1, 'DecimalSI');
const NONE = newQuantity(0, 'DecimalSI');
const REQUESTS = 'requests.';

/** Returns 'count/pods' or 'count/deployments.apps'. */
export function countName({ group, resource }: GroupResource): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

const POD_NAMES: ReadonlySet<string> = new Set([
  'count/pods',
  'pods',
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [
    name,
    `requests.${name}`,
    `limits.${name}`,
  ]),
]);
/** Limits on these resources require an explicit value in every container. */
const REQUIRED_IN_CONTAINERS: ReadonlySet<string> = new Set(
  ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);

const podEvaluator: QuotaEvaluator = {
  tracks: (name) =>
    POD_NAMES.has(name) ||
    isHugePages(name) ||
    name.startsWith('requests.hugepages-') ||
    (!isNativeResource(name) && name.startsWith(REQUESTS)),
  usage: (object, nowMs) => podUsage(object as Immutable<core.Pod>, nowMs),
  handles: (operation, subresource) =>
    subresource === ''
      ? operation === 'CREATE' || operation === 'UPDATE'
      : subresource === 'resize' && operation === 'UPDATE',
  // An active deadline can be set later. It moves the pod from the scope NotTerminating to the
  // scope Terminating.
  handlesUpdate: (subresource, object, oldObject) =>
    subresource === 'resize' ||
    isTerminating(object as Immutable<core.Pod>) !==
      isTerminating(oldObject as Immutable<core.Pod>),
  problem: (object, limited) => missingValues(object as Immutable<core.Pod>, limited),
};

/** Reports whether the pod is in the scope Terminating: it has an active deadline. */
export function isTerminating({ spec }: Immutable<core.Pod>): boolean {
  return spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;
}

/**
 * Returns the usage of a pod. A pod that has ended, or whose deletion is overdue, counts as an
 * object without resources.
 */
function podUsage(pod: Immutable<core.Pod>, nowMs: number): Amounts {
  const counted: Amounts = new Map([['count/pods', ONE]]);
  if (pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded') return counted;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const isOverdue =
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds !== undefined &&
    nowMs > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
  if (isOverdue) return counted;
  return addAmounts(counted, computeUsage(podAmounts(pod, 'requests'), podAmounts(pod, 'limits')));
}

/** Returns the total resources of a pod, with its overhead. */
export function podAmounts({ spec }: Immutable<core.Pod>, of: 'requests' | 'limits'): Amounts {
  // The resources of the pod as a whole take precedence over those of its containers.
  const total = new Map([
    ...aggregateContainerResources(spec, of),
    ...amountsOf(spec.resources?.[of]),
  ]);
  for (const [name, amount] of amountsOf(spec.overhead)) {
    const sum = total.get(name);
    if (of === 'requests' || sum !== undefined) total.set(name, sum?.add(amount) ?? amount);
  }
  return total;
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage = new Map<string, Quantity>([['pods', ONE]]);
  for (const name of ['cpu', 'memory', 'ephemeral-storage']) {
    const request = requests.get(name);
    const limit = limits.get(name);
    if (request !== undefined) usage.set(name, request).set(`${REQUESTS}${name}`, request);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (isHugePages(name)) usage.set(name, request).set(`${REQUESTS}${name}`, request);
    else if (!isNativeResource(name) && !name.startsWith(REQUESTS))
      usage.set(`${REQUESTS}${name}`, request);
  }
  return usage;
}

function missingValues(
  { spec }: Immutable<core.Pod>,
  limited: readonly string[],
): string | undefined {
  const podLevelUsage = computeUsage(
    amountsOf(spec.resources?.requests),
    amountsOf(spec.resources?.limits),
  );
  const missing = limited
    .filter((name) => REQUIRED_IN_CONTAINERS.has(name) && !podLevelUsage.has(name))
    .toSorted();
  const containersWithout = (name: string): readonly string[] =>
    [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) => {
      const containerUsage = computeUsage(
        amountsOf(container.resources.requests),
        amountsOf(container.resources.limits),
      );
      return containerUsage.has(name) ? [] : [container.name];
    });
  const problems = missing.flatMap((name) => {
    const containers = containersWithout(name);
    return containers.length === 0
      ? []
      : [`${name} for: ${[...new Set(containers)].toSorted().join(',')}`];
  });
  return problems.length === 0 ? undefined : `must specify ${problems.join('; ')}`;
}

const SERVICE_NAMES: ReadonlySet<string> = new Set([
  'count/services',
  'services',
  'services.nodeports',
  'services.loadbalancers',
]);

const serviceEvaluator: QuotaEvaluator = {
  tracks: (name) => SERVICE_NAMES.has(name),
  usage: (object) => {
    const { spec } = object as Immutable<core.Service>;
    const ports = spec.ports ?? [];
    const balanced = spec.type === 'LoadBalancer';
    const all =
      spec.type === 'NodePort' || (balanced && spec.allocateLoadBalancerNodePorts !== false);
    const nodePorts = all
      ? ports.length
      : balanced
        ? ports.filter(({ nodePort }) => nodePort !== undefined).length
        : 0;
    return new Map([
      ['count/services', ONE],
      ['services', ONE],
      ['services.nodeports', newQuantity(nodePorts, 'DecimalSI')],
      ['services.loadbalancers', balanced ? ONE : NONE],
    ]);
  },
  handles: (operation, subresource) =>
    subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
};

const CLAIM_NAMES: ReadonlySet<string> = new Set([
  'count/persistentvolumeclaims',
  'persistentvolumeclaims',
  'requests.storage',
]);
const OF_CLASS = '.storageclass.storage.k8s.io/';
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

const claimEvaluator: QuotaEvaluator = {
  tracks: (name) =>
    CLAIM_NAMES.has(name) ||
    name.endsWith(`${OF_CLASS}requests.storage`) ||
    name.endsWith(`${OF_CLASS}persistentvolumeclaims`),
  usage: (object) => {
    const { metadata, spec, status } = object as Immutable<core.PersistentVolumeClaim>;
    const usage = new Map<string, Quantity>([
      ['count/persistentvolumeclaims', ONE],
      ['persistentvolumeclaims', ONE],
    ]);
    const ofClass = metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName;
    if (ofClass) usage.set(`${ofClass}${OF_CLASS}persistentvolumeclaims`, ONE);
    // During a resize, the allocated size counts if it is larger.
    const sizes = [spec.resources.requests?.storage, status.allocatedResources?.storage].flatMap(
      (text) => (text === undefined ? [] : [parseQuantity(text)]),
    );
    const [first, second] = sizes;
    const size =
      first !== undefined && second !== undefined && second.cmp(first) > 0 ? second : first;
    if (size !== undefined) {
      usage.set('requests.storage', size);
      if (ofClass) usage.set(`${ofClass}${OF_CLASS}requests.storage`, size);
    }
    return usage;
  },
  handles: (operation, subresource) =>
    subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
};

const DEVICE_CLAIMS: GroupResource = { group: 'resource.k8s.io', resource: 'resourceclaims' };
const DEVICES_OF_CLASS = '.deviceclass.resource.k8s.io/devices';
/** The maximum number of devices of a claim. A claim for all devices is charged for this many. */
const MOST_DEVICES = 32;

type DeviceRequest = Pick<
  Immutable<ExactDeviceRequest>,
  'deviceClassName' | 'allocationMode' | 'count'
>;

function devicesOf({ allocationMode, count = 0 }: DeviceRequest): number {
  if (allocationMode === 'All') return MOST_DEVICES;
  return allocationMode === 'ExactCount' ? count : 0;
}

const deviceClaimEvaluator: QuotaEvaluator = {
  tracks: (name) => name === countName(DEVICE_CLAIMS) || name.endsWith(DEVICES_OF_CLASS),
  usage: (object) => {
    const { spec } = object as Immutable<ResourceClaim>;
    let usage: Amounts = new Map([[countName(DEVICE_CLAIMS), ONE]]);
    for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
      // One of several alternatives is allocated: each class is charged with its maximum.
      const most = new Map<string, number>();
      for (const request of exactly === undefined ? firstAvailable : [exactly]) {
        const name = `${request.deviceClassName}${DEVICES_OF_CLASS}`;
        most.set(name, Math.max(most.get(name) ?? 0, devicesOf(request)));
      }
      usage = addAmounts(
        usage,
        new Map([...most].map(([name, count]) => [name, newQuantity(count, 'DecimalSI')])),
      );
    }
    return usage;
  },
  handles: (operation, subresource) =>
    subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
};

/** Kinds of the core group that also have a limit with their plain name. */
const SHORT_NAMES: ReadonlySet<string> = new Set([
  'configmaps',
  'resourcequotas',
  'replicationcontrollers',
  'secrets',
]);

/** Evaluators by group and resource, cached because every write needs one. */
const evaluators = new Map<string, QuotaEvaluator>([
  ['/pods', podEvaluator],
  ['/services', serviceEvaluator],
  ['/persistentvolumeclaims', claimEvaluator],
  [`${DEVICE_CLAIMS.group}/${DEVICE_CLAIMS.resource}`, deviceClaimEvaluator],
]);

export function evaluatorOf(type: GroupResource): QuotaEvaluator {
  const key = `${type.group}/${type.resource}`;
  let evaluator = evaluators.get(key);
  if (evaluator === undefined) evaluators.set(key, (evaluator = countingEvaluator(type)));
  return evaluator;
}

function countingEvaluator({ group, resource }: GroupResource): QuotaEvaluator {
  const names = [
    countName({ group, resource }),
    ...(group === '' && SHORT_NAMES.has(resource) ? [resource] : []),
  ];
  const usage: Amounts = new Map(names.map((name) => [name, ONE]));
  return {
    tracks: (name) => names.includes(name),
    usage: () => usage,
    handles: (operation, subresource) => subresource === '' && operation === 'CREATE',
  };
}

/** Returns the resource whose objects a limit counts. */
export function resourceOfLimit(name: string): GroupResource | undefined {
  if (name.startsWith('count/')) {
    const [resource = '', ...group] = name.slice('count/'.length).split('.');
    return { group: group.join('.'), resource };
  }
  if (SHORT_NAMES.has(name)) return { group: '', resource: name };
  if (serviceEvaluator.tracks(name)) return { group: '', resource: 'services' };
  if (claimEvaluator.tracks(name)) return { group: '', resource: 'persistentvolumeclaims' };
  if (deviceClaimEvaluator.tracks(name)) return DEVICE_CLAIMS;
  return podEvaluator.tracks(name) ? { group: '', resource: 'pods' } : undefined;
}

/**
 * Reports whether objects of the resource are not counted: they are short-lived or never stored.
 */
export function isUncounted({ group, resource }: GroupResource): boolean {
  return (
    resource === 'events' ||
    (group === '' && resource === 'bindings') ||
    group.startsWith('authorization.')
  );
}
