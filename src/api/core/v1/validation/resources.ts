// Rules of resource names and amounts.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { parseQuantity, type Quantity } from '../../../../machinery/quantity.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { ResourceList, ResourceRequirements } from './types.ts';
import { invalidEach } from './common.ts';

const HUGE_PAGES = 'hugepages-';
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
/** Amounts of these are whole numbers. */
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

/** Resources of Kubernetes itself: without a domain, or under kubernetes.io. */
export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** Resources of others, such as example.com/gpu. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return validation.isQualifiedName(`requests.${name}`).length === 0;
}

/** Resources of which more than there is can never be promised. */
const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !name.startsWith(HUGE_PAGES);

function containerResourceName(name: string, at: FieldPath): FieldErrorList {
  const errors = resourceName(name, at);
  if (!name.includes('/')) {
    if (!STANDARD_CONTAINER_RESOURCES.has(name) && !name.startsWith(HUGE_PAGES)) {
      errors.push(field.invalid(at, name, 'must be a standard resource for containers'));
    }
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    errors.push(field.invalid(at, name, "doesn't follow extended resource name standard"));
  }
  return errors;
}

export function resourceName(name: string, at: FieldPath): FieldErrorList {
  const errors = invalidEach(at, name, validation.isQualifiedName(name));
  if (errors.length > 0) return errors;
  if (!name.includes('/') && !STANDARD_RESOURCES.has(name) && !name.startsWith(HUGE_PAGES)) {
    errors.push(field.invalid(at, name, 'must be a standard resource type or fully qualified'));
  }
  return errors;
}

export function nonNegativeQuantity(value: Quantity, at: FieldPath): FieldErrorList {
  return value.sign() < 0 ? [field.invalid(at, value.toString(), validation.IS_NEGATIVE_MESSAGE)] : [];
}

/** An amount of a resource: not negative, and whole where only whole ones make sense. */
export function resourceQuantity(name: string, value: Quantity, at: FieldPath): FieldErrorList {
  const errors = nonNegativeQuantity(value, at);
  if ((INTEGER_RESOURCES.has(name) || isExtendedResource(name)) && !value.equals(value.roundUp(0))) {
    errors.push(field.invalid(at, value.toString(), 'must be an integer'));
  }
  return errors;
}

/** A list of resources with nothing else to hold between them: capacities, overheads. */
export function resourceList(list: ResourceList | undefined, at: FieldPath): FieldErrorList {
  return Object.entries(list ?? {}).flatMap(([name, amount]) => [
    ...resourceName(name, at.key(name)),
    ...resourceQuantity(name, parseQuantity(amount), at.key(name)),
  ]);
}

export function resourceRequirements(
  resources: ResourceRequirements,
  at: FieldPath,
  claimNames: ReadonlySet<string>,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const limits = new Map(Object.entries(resources.limits ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
  const requests = new Map(Object.entries(resources.requests ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
  const limitsPath = at.child('limits');
  const requestsPath = at.child('requests');
  let cpuOrMemory = false;
  let hugePages = false;
  const note = (name: string): void => {
    if (name === 'cpu' || name === 'memory') cpuOrMemory = true;
    if (name.startsWith(HUGE_PAGES)) hugePages = true;
  };
  for (const [name, limit] of limits) {
    errors.push(...containerResourceName(name, limitsPath));
    errors.push(...resourceQuantity(name, limit, limitsPath.key(name)));
    note(name);
  }
  for (const [name, request] of requests) {
    errors.push(...containerResourceName(name, requestsPath));
    errors.push(...resourceQuantity(name, request, requestsPath.key(name)));
    note(name);
    const limit = limits.get(name);
    if (limit !== undefined) {
      if (request.cmp(limit) !== 0 && !isOvercommitAllowed(name)) {
        errors.push(field.invalid(requestsPath, request.toString(), `must be equal to ${name} limit of ${limit.toString()}`));
      } else if (request.cmp(limit) > 0) {
        errors.push(
          field.invalid(requestsPath, request.toString(), `must be less than or equal to ${name} limit of ${limit.toString()}`),
        );
      }
    } else if (!isOvercommitAllowed(name)) {
      errors.push(field.required(limitsPath, 'Limit must be set for non overcommitable resources'));
    }
  }
  if (hugePages && !cpuOrMemory) errors.push(field.forbidden(at, 'HugePages require cpu or memory'));
  const seen = new Set<string>();
  (resources.claims ?? []).forEach((claim, index) => {
    const claimPath = at.child('claims').index(index);
    if (claim.name === '') errors.push(field.required(claimPath));
    else {
      const key = `${claim.name}/${claim.request ?? ''}`;
      if (seen.has(key)) errors.push(field.duplicate(claimPath, claim.name));
      seen.add(key);
      if (!claimNames.has(claim.name)) errors.push(field.notFound(claimPath, claim.name));
    }
  });
  return errors;
}
