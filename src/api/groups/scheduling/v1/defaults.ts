// Defaults of the scheduling group, as Kubernetes documents them. A defaulter may modify its
// object, which was just decoded.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { PriorityClass } from './types.ts';

function setPriorityClassDefaults(priorityClass: PriorityClass): void {
  priorityClass.preemptionPolicy ??= 'PreemptLowerPriority';
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  PriorityClass: setPriorityClassDefaults,
};
