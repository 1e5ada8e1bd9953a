// Whether tolerations of a pod cover a taint of a node.

import type { Taint, Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from '../framework/objects.ts';

type Tolerations = readonly Immutable<Toleration>[] | undefined;

/** An empty effect covers all effects; an empty key, with operator Exists, all keys and values. */
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
      // A toleration without key and with operator Equal is refused by the API; it covers nothing.
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

/** The same text for pods that tolerate the same. */
export function tolerationsText({ spec: { tolerations } }: Pod): string {
  return tolerations === undefined || tolerations.length === 0 ? '' : JSON.stringify(tolerations);
}
