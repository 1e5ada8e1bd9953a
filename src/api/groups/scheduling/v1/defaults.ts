// Defaults of the scheduling group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh
// draft, straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { PriorityClass } from './types.ts';

function setPriorityClassDefaults(priorityClass: PriorityClass): void {
  priorityClass.preemptionPolicy ??= 'PreemptLowerPriority';
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  PriorityClass: setPriorityClassDefaults,
};
