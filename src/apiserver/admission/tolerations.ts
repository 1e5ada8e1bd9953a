// Merges two lists of tolerations, without those that another one covers.

import { semanticEqual } from '#machinery/deep.ts';
import type { Toleration as MutableToleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Toleration = Immutable<MutableToleration>;

/** Returns the merged list. Of equal tolerations the first stays. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): readonly Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  all.forEach((toleration, index) => {
    if (merged.some((wider) => covers(wider, toleration))) return;
    const later = all.slice(index + 1);
    if (later.some((wider) => !semanticEqual(wider, toleration) && covers(wider, toleration)))
      return;
    merged.push(toleration);
  });
  return merged;
}

/** Reports whether `wide` tolerates everything that `toleration` does, for at least as long. */
export function covers(wide: Toleration, toleration: Toleration): boolean {
  if (semanticEqual(wide, toleration)) return true;
  const { key = '', operator = 'Equal', effect = '', value = '', tolerationSeconds } = wide;
  const matchesAllKeys = key === '' && operator === 'Exists';
  if (!matchesAllKeys && key !== (toleration.key ?? '')) return false;
  if (effect !== '' && effect !== (toleration.effect ?? '')) return false;
  if (effect === 'NoExecute' && tolerationSeconds !== undefined) {
    if (
      toleration.tolerationSeconds === undefined ||
      toleration.tolerationSeconds > tolerationSeconds
    )
      return false;
  }
  switch (operator) {
    case 'Equal':
      return (toleration.operator ?? 'Equal') === 'Equal' && (toleration.value ?? '') === value;
    case 'Exists':
      return true;
    default:
      return false;
  }
}
