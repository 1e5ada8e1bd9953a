// How the usage of a quota by the objects of one resource is measured.

import { newQuantity } from '#machinery/text/quantity.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type * as core from '../types.ts';
import type { Amounts } from './amounts.ts';
import { type ExtendedResources, NO_EXTENDED_RESOURCES } from './extended-resources.ts';

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** The time and the other objects that the usage of an object depends on. */
export interface QuotaFacts {
  readonly nowMs: number;
  readonly extendedResources: ExtendedResources;
  /** Returns the pod of that name; undefined if it does not exist. */
  readonly pod: (namespace: string, name: string) => Immutable<core.Pod> | undefined;
  /** Returns the claims of the namespace. */
  readonly claims: (namespace: string) => readonly Immutable<ResourceClaim>[];
}

/** Returns the facts for objects whose usage does not depend on other objects. */
export const factsAt = (nowMs: number): QuotaFacts => ({
  nowMs,
  extendedResources: NO_EXTENDED_RESOURCES,
  pod: () => undefined,
  claims: () => [],
});

/** Measures objects of one resource. `object`: of that resource. */
export interface QuotaEvaluator {
  /** Reports whether a limit of that name applies to these objects. */
  readonly tracks: (name: string, extendedResources: ExtendedResources) => boolean;
  readonly usage: (object: unknown, facts: QuotaFacts) => Amounts;
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

export const ONE = newQuantity(1, 'DecimalSI');

/** Returns 'count/pods' or 'count/deployments.apps'. */
export function countName({ group, resource }: GroupResource): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

/** Reports whether the write creates or changes the object itself. */
export const createsOrUpdates = (operation: string, subresource: string): boolean =>
  subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
