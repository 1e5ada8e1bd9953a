// When pods have to leave the devices that a claim has been given.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type {
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
} from '#api/groups/resource/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';

type Result = NonNullable<
  NonNullable<Immutable<ResourceClaim>['status']['allocation']>['devices']
>['results'];
export type AllocatedDevice = NonNullable<Result>[number];
type ReadTaint = Immutable<DeviceTaint>;

/**
 * Milliseconds since the epoch; undefined: never. `taintsOf`: the device's, as its driver says now.
 */
export function claimEvictionTime(
  { status }: Immutable<ResourceClaim>,
  taintsOf: (device: AllocatedDevice) => readonly ReadTaint[],
): number | undefined {
  let earliest: number | undefined;
  for (const device of status.allocation?.devices?.results ?? []) {
    for (const taint of taintsOf(device)) {
      const at = taintEvictionTime(taint, device.tolerations ?? []);
      if (at !== undefined && (earliest === undefined || at < earliest)) earliest = at;
    }
  }
  return earliest;
}

/** The time counts from when the taint was added, not from when pods came to use the device. */
function taintEvictionTime(
  taint: ReadTaint,
  tolerations: readonly Immutable<DeviceToleration>[],
): number | undefined {
  if (taint.effect !== 'NoExecute') return undefined;
  const added = parseTime(taint.timeAdded ?? '') ?? 0;
  const tolerated = tolerations.filter((toleration) => tolerates(toleration, taint));
  if (tolerated.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return undefined;
  const seconds = tolerated.map(({ tolerationSeconds = 0 }) => Math.max(tolerationSeconds, 0));
  return added + (seconds.length === 0 ? 0 : Math.min(...seconds) * 1000);
}

/**
 * To keep pods running, a toleration has to name the effect: one for every effect only lets them be
 * scheduled, as in Kubernetes.
 */
function tolerates(
  { effect, key, operator, value }: Immutable<DeviceToleration>,
  taint: ReadTaint,
): boolean {
  if (effect !== 'NoExecute' || (key !== undefined && key !== '' && key !== taint.key))
    return false;
  return operator === 'Exists' || (value ?? '') === (taint.value ?? '');
}
