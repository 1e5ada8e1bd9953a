// Matches tolerations of a pod with taints of a node.

import type { Taint, Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Tolerations = readonly Immutable<Toleration>[] | undefined;

/**
 * Reports whether the toleration matches. An empty effect matches all effects; an empty key with
 * operator Exists matches all keys and values.
 */
export function toleratesTaint(
  toleration: Immutable<Toleration>,
  taint: Pick<Immutable<Taint>, 'key' | 'value' | 'effect'>,
): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      // The API rejects a toleration without a key and with operator Equal; it matches nothing.
      return (
        (toleration.key ?? '') === taint.key && (toleration.value ?? '') === (taint.value ?? '')
      );
    default:
      return false;
  }
}

export function tolerated(
  taint: Pick<Immutable<Taint>, 'key' | 'value' | 'effect'>,
  tolerations: Tolerations,
): boolean {
  return (
    tolerations !== undefined && tolerations.some((toleration) => toleratesTaint(toleration, taint))
  );
}

export function allTolerated(
  taints: readonly Immutable<Taint>[],
  tolerations: Tolerations,
): boolean {
  for (const taint of taints) if (!tolerated(taint, tolerations)) return false;
  return true;
}
