// Devices that have to be made ready for a node after they were allocated: their drivers tell by
// conditions.

import type { Condition } from '#api/machinery/meta/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { claimText, deviceKey, type ResourceClaim } from './objects.ts';

/** Whether any of the claim's devices has to be made ready. */
export function hasBindingConditions({ status }: ResourceClaim): boolean {
  return (status.allocation?.devices.results ?? []).some(
    ({ bindingConditions }) => (bindingConditions?.length ?? 0) > 0,
  );
}

/** Whether all of them are ready; a text: one will not be, and why. */
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

/** `now`: milliseconds since the epoch. */
export function isOverdue({ status }: ResourceClaim, now: number, timeoutMs: number): boolean {
  const since = parseTime(status.allocation?.allocationTimestamp);
  return since !== undefined && now - since > timeoutMs;
}
