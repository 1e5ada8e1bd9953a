// Taints of devices: drivers keep devices from being allocated, except to requests that tolerate
// the taint.

import type { DeviceTaint, DeviceToleration } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Device } from './objects.ts';

export function isTolerated(
  { taints }: Device,
  tolerations: readonly Immutable<DeviceToleration>[],
): boolean {
  return (taints ?? []).every(
    (taint) =>
      (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') ||
      tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

function tolerates(
  toleration: Immutable<DeviceToleration>,
  taint: Immutable<DeviceTaint>,
): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if ((toleration.operator || 'Equal') === 'Exists') return true;
  return (toleration.value ?? '') === (taint.value ?? '');
}
