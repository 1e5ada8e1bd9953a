// How long pods get to end when the machine shuts down, by their priority.

import type { Pod } from '../types.ts';

export interface ShutdownPeriod {
  /** The smallest priority of the group. */
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Returns the periods of ordinary and of critical pods: together they take `total`. Both in
 * milliseconds.
 */
export function periodsOf(total: number, critical: number): readonly ShutdownPeriod[] {
  if (total === 0 || critical > total) return [];
  return [
    { priority: 0, seconds: Math.floor((total - critical) / 1000) },
    { priority: SYSTEM_CRITICAL_PRIORITY, seconds: Math.floor(critical / 1000) },
  ];
}

/** Returns the time of all groups together, in milliseconds. */
export function totalMs(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { seconds }) => sum + seconds, 0) * 1000;
}

/**
 * Divides the pods into groups, which end one after the other: those of the lowest priority first. A
 * pod below all priorities is in the first group.
 */
export function groupByPriority(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const ordered = periods.toSorted((a, b) => a.priority - b.priority);
  const indexOf = ({ spec }: Pod): number => {
    const priority = spec.priority ?? 0;
    return Math.max(
      0,
      ordered.findLastIndex((period) => period.priority <= priority),
    );
  };
  return ordered.map((period, index) => ({
    ...period,
    pods: pods.filter((pod) => indexOf(pod) === index),
  }));
}
