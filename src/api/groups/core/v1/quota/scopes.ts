// The objects that a quota counts: it limits their resource, and they are in all of its scopes.

import * as labels from '#machinery/selectors/labels.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { podQosClass } from '../qos.ts';
import type * as core from '../types.ts';
import type { GroupResource, QuotaEvaluator } from './evaluator.ts';
import type { ExtendedResources } from './extended-resources.ts';
import { isTerminating } from './pods.ts';

type ReadPod = Immutable<core.Pod>;
type Requirement = Immutable<core.ScopedResourceSelectorRequirement>;

export function scopesOf({
  scopes,
  scopeSelector,
}: Immutable<core.ResourceQuotaSpec>): readonly Requirement[] {
  const named = (scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' as const }));
  return [...named, ...(scopeSelector?.matchExpressions ?? [])];
}

/**
 * Reports whether an object of the resource is in all scopes of the quota: those of `scopes` and
 * those of `scopeSelector`.
 */
export function isInScopes(
  spec: Immutable<core.ResourceQuotaSpec>,
  { group, resource }: GroupResource,
  object: unknown,
): boolean {
  return scopesOf(spec).every((scope) => isInScope(scope, { group, resource }, object));
}

/** Returns those of the scopes that an object of the resource is in. */
export function matchingScopes(
  scopes: readonly Requirement[],
  resource: GroupResource,
  object: unknown,
): readonly Requirement[] {
  return scopes.filter((scope) => isInScope(scope, resource, object));
}

function isInScope(
  scope: Requirement,
  { group, resource }: GroupResource,
  object: unknown,
): boolean {
  if (group !== '') return false;
  if (resource === 'pods') return podIsIn(object as ReadPod, scope);
  return (
    resource === 'persistentvolumeclaims' &&
    claimIsIn(object as Immutable<core.PersistentVolumeClaim>, scope)
  );
}

/** Returns the names of the quota's limits for such objects, according to its status. */
export function limitedNames(
  quota: Immutable<core.ResourceQuota>,
  { tracks }: QuotaEvaluator,
  extendedResources: ExtendedResources,
): readonly string[] {
  return Object.keys(quota.status.hard ?? {}).filter((name) => tracks(name, extendedResources));
}

function podIsIn(pod: ReadPod, requirement: Requirement): boolean {
  switch (requirement.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return podQosClass(pod.spec) === 'BestEffort';
    case 'NotBestEffort':
      return podQosClass(pod.spec) !== 'BestEffort';
    case 'PriorityClass':
      return holds(requirement, pod.spec.priorityClassName);
    case 'CrossNamespacePodAffinity':
      return looksAcrossNamespaces(pod);
    default:
      return false;
  }
}

function claimIsIn(
  { spec, status }: Immutable<core.PersistentVolumeClaim>,
  requirement: Requirement,
): boolean {
  if (requirement.scopeName !== 'VolumeAttributesClass') return false;
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined && name !== '');
  return names.length === 0
    ? holds(requirement, undefined)
    : names.some((name) => holds(requirement, name));
}

function holds({ scopeName, operator, values }: Requirement, value: string | undefined): boolean {
  const selector = labels.labelSelectorAsSelector({
    matchExpressions: [
      { key: scopeName, operator, ...(values !== undefined && { values: [...values] }) },
    ],
  });
  return selector.matches(value === undefined || value === '' ? {} : { [scopeName]: value });
}

function looksAcrossNamespaces({ spec: { affinity } }: ReadPod): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((each) => {
    const preferred = each?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const terms = [
      ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...preferred.map((term) => term.podAffinityTerm),
    ];
    return terms.some(
      ({ namespaces, namespaceSelector }) =>
        (namespaces?.length ?? 0) > 0 || namespaceSelector !== undefined,
    );
  });
}
