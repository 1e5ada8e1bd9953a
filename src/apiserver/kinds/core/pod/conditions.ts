// Helpers for pod conditions that the API server sets.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';

type Condition = Immutable<core.PodCondition>;

/**
 * Returns the list with the condition in the place of the one of its type. Its transition time
 * changes only with its status.
 */
export function withCondition(
  list: readonly Condition[] = [],
  condition: Omit<Condition, 'lastProbeTime' | 'lastTransitionTime'>,
  now: number,
): Condition[] {
  const index = list.findIndex(({ type }) => type === condition.type);
  const old = list[index];
  const lastTransitionTime =
    old?.status === condition.status ? old.lastTransitionTime : formatTime(now);
  const set: Condition = { ...condition, lastProbeTime: null, lastTransitionTime };
  return old === undefined ? [...list, set] : list.with(index, set);
}

/**
 * Returns the conditions with stored observedGenerations filled in, for clients that do not set
 * them.
 */
export function withObservedGenerations(
  list: readonly Condition[] | undefined,
  old: readonly Condition[] = [],
): typeof list {
  const before = new Map<string, number[]>();
  for (const { type, observedGeneration = 0 } of old) {
    if (observedGeneration !== 0)
      before.set(type, [...(before.get(type) ?? []), observedGeneration]);
  }
  return list?.map((condition) => {
    const observedGeneration = before.get(condition.type)?.shift();
    const hasGeneration = (condition.observedGeneration ?? 0) !== 0;
    return hasGeneration || observedGeneration === undefined
      ? condition
      : { ...condition, observedGeneration };
  });
}
