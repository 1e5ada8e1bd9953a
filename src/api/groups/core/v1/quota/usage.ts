// The usage of a namespace's quota by an object, for each kind. Pods, services and claims (for
// volumes and devices) are measured; other objects are counted (`count/deployments.apps`), some
// also under an older, shorter name.

import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from '../types.ts';
import type { Amounts } from './amounts.ts';
import { DEVICE_CLAIMS, deviceClaimEvaluator } from './device-claims.ts';
import {
  countName,
  createsOrUpdates,
  type GroupResource,
  ONE,
  type QuotaEvaluator,
} from './evaluator.ts';
import type { ExtendedResources } from './extended-resources.ts';
import { podEvaluator } from './pods.ts';

const NONE = newQuantity(0, 'DecimalSI');

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
  handles: createsOrUpdates,
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
  handles: createsOrUpdates,
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

/** Returns the resources whose objects a limit counts. */
export function resourcesOfLimit(
  name: string,
  extendedResources: ExtendedResources,
): readonly GroupResource[] {
  if (name.startsWith('count/')) {
    const [resource = '', ...group] = name.slice('count/'.length).split('.');
    return [{ group: group.join('.'), resource }];
  }
  if (SHORT_NAMES.has(name)) return [{ group: '', resource: name }];
  const measured: readonly (readonly [GroupResource, QuotaEvaluator])[] = [
    [{ group: '', resource: 'services' }, serviceEvaluator],
    [{ group: '', resource: 'persistentvolumeclaims' }, claimEvaluator],
    [{ group: '', resource: 'pods' }, podEvaluator],
    [DEVICE_CLAIMS, deviceClaimEvaluator],
  ];
  return measured
    .filter(([, { tracks }]) => tracks(name, extendedResources))
    .map(([resource]) => resource);
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
