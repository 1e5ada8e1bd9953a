// The priority classes of every cluster, and their values.

/** The highest value for classes of users. */
export const HIGHEST_USER_DEFINABLE_PRIORITY = 1_000_000_000;
export const SYSTEM_PRIORITY_CLASS_PREFIX = 'system-';

export interface SystemPriorityClass {
  readonly name: string;
  readonly value: number;
  readonly description: string;
}

export const SYSTEM_PRIORITY_CLASSES: readonly SystemPriorityClass[] = [
  {
    name: 'system-node-critical',
    value: 2 * HIGHEST_USER_DEFINABLE_PRIORITY + 1000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2 * HIGHEST_USER_DEFINABLE_PRIORITY,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
];
