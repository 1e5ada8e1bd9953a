// Conditions in statuses of the Gateway API.

import type { Condition } from '#api/machinery/meta/v1/index.ts';

/** A decided condition. The time of its last change depends on the condition in the status. */
export type DecidedCondition = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

export function condition(
  type: string,
  ok: boolean,
  reason: string,
  message = '',
): DecidedCondition {
  return { type, status: ok ? 'True' : 'False', reason, message };
}

/**
 * Returns the conditions of a status: the decided ones, with the time of each one's last change,
 * and conditions of other types that the status has.
 *
 * @param now in the format of the API
 */
export function mergeConditions(
  present: readonly Condition[],
  decided: readonly DecidedCondition[],
  observedGeneration: number,
  now: string,
): Condition[] {
  const types = new Set(decided.map(({ type }) => type));
  return [
    ...decided.map((next) => {
      const before = present.find(({ type }) => type === next.type);
      const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : now;
      return { ...next, observedGeneration, lastTransitionTime };
    }),
    ...present.filter(({ type }) => !types.has(type)),
  ];
}
