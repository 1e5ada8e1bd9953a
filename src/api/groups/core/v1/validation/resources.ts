// Validation of resource names and amounts.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import {
  newQuantity,
  parseQuantity,
  tryParseQuantity,
  type Quantity,
} from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import {
  aggregateContainerResources,
  isHugePages,
  isNativeResource,
  isOvercommitAllowed,
  isPodLevelResource,
} from '../pod-resources.ts';
import type { PodSpec, ResourceList, ResourceRequirements } from './types.ts';
import { invalidEach } from './common.ts';

const STANDARD_CONTAINER_RESOURCES = new Set(['cpu', 'memory', 'ephemeral-storage']);
const STANDARD_RESOURCES = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
  'requests.storage',
  'storage',
]);
/** Resources with integer amounts. */
const INTEGER_RESOURCES = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);
const POD_LEVEL_RESOURCES = ['cpu', 'hugepages-', 'memory'];

/** Reports whether the resource is extended, such as example.com/gpu. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return validation.isQualifiedName(`requests.${name}`).length === 0;
}

/**
 * Reports whether the name is one of huge pages in a quota: their name in pods, or with the prefix
 * of requests.
 */
export const isQuotaOfHugePages = (name: string): boolean =>
  isHugePages(name) || name.startsWith('requests.hugepages-');

type NameRule = (name: string, at: FieldPath) => FieldErrorList;

export const resourceName: NameRule = (name, at) => {
  const errors = invalidEach(at, name, validation.isQualifiedName(name));
  if (errors.length > 0) return errors;
  if (!name.includes('/') && !STANDARD_RESOURCES.has(name) && !isQuotaOfHugePages(name)) {
    errors.push(field.invalid(at, name, 'must be a standard resource type or fully qualified'));
  }
  return errors;
};

export const containerResourceName: NameRule = (name, at) => {
  const errors = resourceName(name, at);
  if (!name.includes('/')) {
    if (!STANDARD_CONTAINER_RESOURCES.has(name) && !isHugePages(name)) {
      errors.push(field.invalid(at, name, 'must be a standard resource for containers'));
    }
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    errors.push(field.invalid(at, name, "doesn't follow extended resource name standard"));
  }
  return errors;
};

const podResourceName: NameRule = (name, at) => {
  const errors = resourceName(name, at);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [field.notSupported(at, name, POD_LEVEL_RESOURCES)];
};

/** Validates an amount: not negative, and an integer if the resource requires it. */
export function resourceQuantity(name: string, value: Quantity, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  if (value.sign() < 0)
    errors.push(field.invalid(at, value.toString(), validation.IS_NEGATIVE_MESSAGE));
  if (
    (INTEGER_RESOURCES.has(name) || isExtendedResource(name)) &&
    !value.equals(value.roundUp(0))
  ) {
    errors.push(field.invalid(at, value.toString(), 'must be an integer'));
  }
  return errors;
}

export function containerResourceRequirements(
  resources: ResourceRequirements,
  at: FieldPath,
  claimNames: ReadonlySet<string>,
): FieldErrorList {
  return resourceRequirements(resources, at, claimNames, containerResourceName);
}

/** Validates the overhead of a pod by the rules of limits. */
export function overhead(list: ResourceList | undefined, at: FieldPath): FieldErrorList {
  return list === undefined
    ? []
    : resourceRequirements({ limits: list }, at, new Set(), containerResourceName);
}

/**
 * Returns the amount of a resource. Names of inherited members, such as 'constructor', are allowed.
 */
function amountOf(list: ResourceList | undefined, name: string): string | undefined {
  return list !== undefined && Object.hasOwn(list, name) ? list[name] : undefined;
}

/** Validates the resources of the pod as a whole. */
export function podResources(
  spec: PodSpec,
  at: FieldPath,
  claimNames: ReadonlySet<string>,
): FieldErrorList {
  const { resources } = spec;
  if (resources === undefined) return [];
  if (spec.os?.name === 'windows') return [field.forbidden(at, 'may not be set for a windows pod')];
  const errors: FieldErrorList = [];
  if (resources.claims !== undefined) {
    errors.push(
      field.forbidden(at.child('claims'), 'claims may not be set for Resources at pod-level'),
    );
  }
  errors.push(...resourceRequirements(resources, at, claimNames, podResourceName));
  for (const [name, together] of aggregateContainerResources(spec, 'requests')) {
    const requested = amountOf(resources.requests, name);
    if (requested === undefined || together.cmp(parseQuantity(requested)) <= 0) continue;
    const message = `must be greater than or equal to aggregate container requests of ${together.toString()}`;
    errors.push(field.invalid(at.child('requests').key(name), requested, message));
  }
  for (const [name, together] of aggregateContainerResources(spec, 'limits')) {
    const limit = isHugePages(name) ? amountOf(resources.limits, name) : undefined;
    if (limit === undefined || together.cmp(parseQuantity(limit)) <= 0) continue;
    const message = `must be greater than or equal to aggregate container limits of ${together.toString()}`;
    errors.push(field.invalid(at.child('limits').key(name), limit, message));
  }
  spec.containers.forEach((container, index) => {
    for (const [name, amount] of Object.entries(container.resources.limits ?? {})) {
      const limit = amountOf(resources.limits, name);
      if (limit === undefined || parseQuantity(amount).cmp(parseQuantity(limit)) <= 0) continue;
      const path = at.child('containers').index(index).key(name).child('limits');
      errors.push(
        field.invalid(path, amount, `must be less than or equal to pod limits of ${limit}`),
      );
    }
  });
  return errors;
}

function resourceRequirements(
  resources: ResourceRequirements,
  at: FieldPath,
  claimNames: ReadonlySet<string>,
  nameRule: NameRule,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const limits = quantitiesOf(resources.limits);
  const requests = quantitiesOf(resources.requests);
  const limitsPath = at.child('limits');
  const requestsPath = at.child('requests');
  for (const [name, limit] of limits)
    errors.push(...namedQuantity(name, limit, limitsPath.key(name), nameRule));
  for (const [name, request] of requests) {
    const path = requestsPath.key(name);
    errors.push(...nameRule(name, path), ...resourceQuantity(name, request, path));
    const limit = limits.get(name);
    if (limit === undefined) {
      if (!isOvercommitAllowed(name)) {
        errors.push(
          field.required(limitsPath, 'Limit must be set for non overcommitable resources'),
        );
      }
    } else if (request.cmp(limit) !== 0 && !isOvercommitAllowed(name)) {
      errors.push(
        field.invalid(
          requestsPath,
          request.toString(),
          `must be equal to ${name} limit of ${limit.toString()}`,
        ),
      );
    } else if (request.cmp(limit) > 0) {
      const message = `must be less than or equal to ${name} limit of ${limit.toString()}`;
      errors.push(field.invalid(requestsPath, request.toString(), message));
    }
    errors.push(...hugePages(name, request, path));
  }
  const names = [...limits.keys(), ...requests.keys()];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(field.forbidden(at, 'HugePages require cpu or memory'));
  }
  errors.push(...claims(resources, at.child('claims'), claimNames));
  return errors;
}

function quantitiesOf(list: ResourceList | undefined): ReadonlyMap<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
}

function namedQuantity(
  name: string,
  amount: Quantity,
  at: FieldPath,
  nameRule: NameRule,
): FieldErrorList {
  return [
    ...nameRule(name, at),
    ...resourceQuantity(name, amount, at),
    ...hugePages(name, amount, at),
  ];
}

const HUGE_PAGES_PREFIX = 'hugepages-';
const ONE = newQuantity(1, 'DecimalSI');

/** Validates that the amount is a multiple of the page size. */
function hugePages(name: string, amount: Quantity, at: FieldPath): FieldErrorList {
  if (!isHugePages(name)) return [];
  const size = tryParseQuantity(name.slice(HUGE_PAGES_PREFIX.length));
  if (
    size !== undefined &&
    size.cmp(ONE) >= 0 &&
    BigInt(amount.value()) % BigInt(size.value()) === 0n
  )
    return [];
  return [
    field.invalid(
      at,
      amount.toString(),
      `${amount.toString()} is not positive integer multiple of ${name}`,
    ),
  ];
}

function claims(
  { claims: list }: ResourceRequirements,
  at: FieldPath,
  claimNames: ReadonlySet<string>,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  (list ?? []).forEach(({ name, request = '' }, index) => {
    const path = at.index(index);
    if (name === '') {
      errors.push(field.required(path));
      return;
    }
    // A claim is used as a whole or by its requests; neither twice, nor both.
    if (seen.has(name)) errors.push(field.duplicate(path, name));
    else {
      const key = request === '' ? name : `${name}/${request}`;
      if (request !== '')
        errors.push(
          ...invalidEach(path.child('request'), request, validation.isDNS1123Label(request)),
        );
      if (seen.has(key)) errors.push(field.duplicate(path, key));
      else if (request === '') {
        for (const other of seen)
          if (other.startsWith(`${name}/`)) errors.push(field.duplicate(path, name));
      }
      seen.add(key);
    }
    if (!claimNames.has(name)) errors.push(unknownClaim(path, name, claimNames));
  });
  return errors;
}

function unknownClaim(
  at: FieldPath,
  name: string,
  claimNames: ReadonlySet<string>,
): field.FieldError {
  const validNames =
    claimNames.size === 0 ? ' which is empty' : `: ${[...claimNames].sort().join(', ')}`;
  const { type } = field.notFound(at, name);
  return new field.FieldError(
    type,
    at,
    name,
    `must be one of the names in pod.spec.resourceClaims${validNames}`,
  );
}
