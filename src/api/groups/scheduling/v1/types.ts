// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A priority that pods can refer to by name. */
export interface PriorityClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The priority. Pods with a higher one are scheduled first, and may preempt others. */
  value: number;
  /** Whether pods without a class have this priority. One class at most should be the default. */
  globalDefault?: boolean;
  /** When to use the class, for people. */
  description?: string;
  /** PreemptLowerPriority, or Never to wait instead of evicting others. Default: PreemptLowerPriority. */
  preemptionPolicy?: core.PreemptionPolicy;
}

/** A list of PriorityClass objects. */
export interface PriorityClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PriorityClass[];
}
