// Decides when pods have to be evicted because of taints on the devices that their claims have.

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
 * Returns when the claim's pods must be evicted, in milliseconds since the epoch; undefined if
 * never. `taintsOf`: returns the device's current taints, as its driver publishes them.
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

/**
 * Returns the eviction time for one taint. Its tolerationSeconds count from when the taint was
 * added, not from when pods began to use the device.
 */
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
 * Reports whether a toleration keeps pods running. As upstream, the toleration has to name the
 * effect: one without an effect only lets pods be scheduled.
 */
function tolerates(
  { effect, key, operator, value }: Immutable<DeviceToleration>,
  taint: ReadTaint,
): boolean {
  if (effect !== 'NoExecute' || (key !== undefined && key !== '' && key !== taint.key))
    return false;
  return operator === 'Exists' || (value ?? '') === (taint.value ?? '');
}
