// Tolerations of taints.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export function tolerates(
  toleration: Immutable<v1.Toleration>,
  taint: Immutable<Pick<v1.Taint, 'key' | 'value' | 'effect'>>,
): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  if (toleration.key !== undefined && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  return toleration.key !== undefined && (toleration.value ?? '') === (taint.value ?? '');
}
