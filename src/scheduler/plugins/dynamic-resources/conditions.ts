// Devices that must be made ready for a node after their allocation: their drivers report it by
// conditions.

import type { Condition, Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { claimText, deviceKey, type ResourceClaim } from './objects.ts';

/** Reports whether any device of the claim must be made ready. */
export function hasBindingConditions({ status }: ResourceClaim): boolean {
  return (status.allocation?.devices.results ?? []).some(
    ({ bindingConditions }) => (bindingConditions?.length ?? 0) > 0,
  );
}

/** Reports whether all devices are ready; returns a text with the reason if one failed. */
export function readiness(claim: ResourceClaim): boolean | string {
  let ready = true;
  for (const result of claim.status.allocation?.devices.results ?? []) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const device = claim.status.devices?.find(
      (one) => deviceKey(one) === deviceKey(result) && one.shareID === result.shareID,
    );
    const conditions = device?.conditions ?? [];
    const failed = bindingFailureConditions.find((type) => isTrue(conditions, type));
    if (failed !== undefined) {
      const { reason = '', message = '' } = conditions.find(({ type }) => type === failed) ?? {};
      return `claim ${claimText(claim)} binding failed: reason=${reason}, message="${message}"`;
    }
    if (!bindingConditions.every((type) => isTrue(conditions, type))) ready = false;
  }
  return ready;
}

function isTrue(conditions: readonly Immutable<Condition>[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

/** Reports whether the devices should be ready by now. `now`: milliseconds since the epoch. */
export function isOverdue({ status }: ResourceClaim, now: number, timeoutMs: number): boolean {
  const since = parseTime(status.allocation?.allocationTimestamp);
  return since !== undefined && now - since > timeoutMs;
}
