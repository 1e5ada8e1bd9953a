// Validation of resource quotas.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { ResourceList, ResourceQuota, ResourceQuotaSpec } from './types.ts';
import { isQuotaOfHugePages, resourceName, resourceQuantity } from './resources.ts';

const SPEC = field.path('spec');
const STATUS = field.path('status');

const POD_COUNTS = ['pods'];
const POD_RESOURCES = [
  'cpu',
  'memory',
  'limits.cpu',
  'limits.memory',
  'requests.cpu',
  'requests.memory',
];
const CLAIM_RESOURCES = ['persistentvolumeclaims', 'requests.storage'];
/** The limits of a quota without a domain. */
const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...POD_COUNTS,
  ...POD_RESOURCES,
  ...CLAIM_RESOURCES,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);
const isQuotaResource = (name: string): boolean =>
  QUOTA_RESOURCES.has(name) || isQuotaOfHugePages(name);

/** The resources that can be limited within a scope. */
const RESOURCES_OF_SCOPE: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    Terminating: [...POD_COUNTS, ...POD_RESOURCES],
    NotTerminating: [...POD_COUNTS, ...POD_RESOURCES],
    BestEffort: POD_COUNTS,
    NotBestEffort: [...POD_COUNTS, ...POD_RESOURCES],
    PriorityClass: [...POD_COUNTS, ...POD_RESOURCES],
    CrossNamespacePodAffinity: [...POD_COUNTS, ...POD_RESOURCES],
    VolumeAttributesClass: CLAIM_RESOURCES,
  }).map(([scope, names]) => [scope, new Set(names)]),
);
const EXISTING_SCOPES: ReadonlySet<string> = new Set([
  'BestEffort',
  'NotBestEffort',
  'Terminating',
  'NotTerminating',
  'CrossNamespacePodAffinity',
]);
const CONTRARIES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

export function validateResourceQuota(quota: ResourceQuota): FieldErrorList {
  return [...quotaSpec(quota.spec), ...validateResourceQuotaStatus(quota)];
}

export function validateResourceQuotaUpdate(
  { spec }: ResourceQuota,
  old: ResourceQuota,
): FieldErrorList {
  const errors = quotaSpec(spec);
  const scopes = new Set<string>(spec.scopes);
  const before = new Set<string>(old.spec.scopes);
  if (scopes.size !== before.size || [...scopes].some((scope) => !before.has(scope))) {
    errors.push(field.invalid(SPEC.child('scopes'), spec.scopes ?? null, 'field is immutable'));
  }
  return errors;
}

export function validateResourceQuotaStatus({ status }: ResourceQuota): FieldErrorList {
  return [
    ...quotaAmounts(status.hard, STATUS.child('hard')),
    ...quotaAmounts(status.used, STATUS.child('used')),
  ];
}

function quotaSpec(spec: ResourceQuotaSpec): FieldErrorList {
  return [...quotaAmounts(spec.hard, SPEC.child('hard')), ...scopes(spec), ...scopeSelector(spec)];
}

function quotaAmounts(list: ResourceList | undefined, at: FieldPath): FieldErrorList {
  return Object.entries(list ?? {}).flatMap(([name, amount]) => [
    ...quotaResourceName(name, at.key(name)),
    ...resourceQuantity(name, parseQuantity(amount), at.key(name)),
  ]);
}

function quotaResourceName(name: string, at: FieldPath): FieldErrorList {
  const errors = resourceName(name, at);
  if (!name.includes('/') && !isQuotaResource(name)) {
    errors.push(field.invalid(at, name, 'must be a standard resource for quota'));
  }
  return errors;
}

/**
 * Validates a scope with the limits in it. `value`: the value in the error for an unsuitable limit.
 */
function scope(
  name: string,
  { hard }: ResourceQuotaSpec,
  at: FieldPath,
  value: unknown,
): FieldErrorList {
  return Object.keys(hard ?? {})
    .filter(
      (resource) =>
        isQuotaResource(resource) && RESOURCES_OF_SCOPE.get(name)?.has(resource) === false,
    )
    .map(() => field.invalid(at, value, 'unsupported scope applied to resource'));
}

function contraries(
  names: readonly string[],
  { scopes: shown }: ResourceQuotaSpec,
  at: FieldPath,
): FieldErrorList {
  return CONTRARIES.filter((pair) => pair.every((name) => names.includes(name))).map(() =>
    field.invalid(at, shown ?? null, 'conflicting scopes'),
  );
}

function scopes(spec: ResourceQuotaSpec): FieldErrorList {
  const at = SPEC.child('scopes');
  const names = spec.scopes ?? [];
  return [
    ...names.flatMap((name) => [
      ...(RESOURCES_OF_SCOPE.has(name) ? [] : [field.invalid(at, names, 'unsupported scope')]),
      ...scope(name, spec, at, names),
    ]),
    ...contraries(names, spec, at),
  ];
}

function scopeSelector(spec: ResourceQuotaSpec): FieldErrorList {
  const { scopeSelector: selector } = spec;
  if (selector === undefined) return [];
  const at = SPEC.child('scopeSelector', 'matchExpressions');
  const errors: FieldErrorList = [];
  const list = selector.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of list) {
    if (!RESOURCES_OF_SCOPE.has(scopeName))
      errors.push(field.invalid(at.child('scopeName'), scopeName, 'unsupported scope'));
    errors.push(...scope(scopeName, spec, at, selector));
    if (EXISTING_SCOPES.has(scopeName) && operator !== 'Exists') {
      const message =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
        'ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ' +
        'ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity';
      errors.push(field.invalid(at.child('operator'), operator, message));
    }
    switch (operator) {
      case 'In':
      case 'NotIn':
        if (values.length === 0) {
          const message =
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
          errors.push(field.required(at.child('values'), message));
        }
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (values.length > 0) {
          const message =
            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
          errors.push(field.invalid(at.child('values'), values, message));
        }
        break;
      default:
        errors.push(field.invalid(at.child('operator'), operator, 'not a valid selector operator'));
    }
  }
  return [
    ...errors,
    ...contraries(
      list.map(({ scopeName }) => scopeName),
      spec,
      at,
    ),
  ];
}
