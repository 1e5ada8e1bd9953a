// Conditions of pods that the API server itself sets.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';

type Condition = Immutable<core.PodCondition>;

/** The list with the condition in it, in place of the one of its type. Its time is that of the last change of its status. */
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

/** Who writes conditions need not know which generation of the pod they are about: what others have said of that stays. */
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
    const given = (condition.observedGeneration ?? 0) !== 0;
    return given || observedGeneration === undefined
      ? condition
      : { ...condition, observedGeneration };
  });
}
