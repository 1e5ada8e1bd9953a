// Explains the state of a claim for devices (DRA): allocated by the scheduler when a pod needs it.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type Cause, cause } from './cause.ts';
import type { Context } from './context.ts';

const GROUP = 'resource.k8s.io';

export function explainDeviceClaim(object: KubeObject, context: Context): readonly Cause[] {
  const claim = object as Immutable<ResourceClaim>;
  const users = usersOf(claim, context).map((pod) => `pod/${pod.metadata.name}`);
  const used = users.length === 0 ? [] : [cause('info', `used by ${users.join(', ')}`)];
  const broken = brokenDevices(claim);
  const { allocation } = claim.status ?? {};
  if (allocation !== undefined) {
    const devices = (allocation.devices.results ?? []).map(
      ({ driver, pool, device }) => `${driver}/${pool}/${device}`,
    );
    return [
      cause('ok', `has the devices ${devices.join(', ') || 'of no driver'}`, { source: 'status' }),
      ...broken,
      ...used,
    ];
  }
  const missing = missingClass(claim, context);
  if (missing !== undefined)
    return [
      cause('problem', `has no devices: the device class ${missing} does not exist`, {
        source: 'spec',
      }),
      ...used,
    ];
  const text =
    users.length === 0
      ? 'has no devices: it gets them when a pod that uses it is scheduled'
      : 'has no devices yet: the scheduler has found no node that has them';
  return [cause('waiting', text, { source: 'status' }), ...used];
}

/**
 * Returns what is wrong with a claim. Undefined: nothing, or no pod uses it, and it gets its devices
 * only then.
 */
export function deviceClaimProblem(object: KubeObject, context: Context): Cause | undefined {
  const claim = object as Immutable<ResourceClaim>;
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  const causes = explainDeviceClaim(object, context);
  return (
    causes.find(({ severity }) => severity === 'problem') ??
    (usersOf(claim, context).length > 0
      ? causes.find(({ severity }) => severity === 'waiting')
      : undefined)
  );
}

/** Returns the devices that their drivers report as broken. */
function brokenDevices({ status }: Immutable<ResourceClaim>): readonly Cause[] {
  return (status?.devices ?? []).flatMap(({ device, conditions }) =>
    (conditions ?? [])
      .filter((condition) => condition.type === 'Ready' && condition.status === 'False')
      .map(({ reason, message }) =>
        cause('problem', `the device ${device} is not ready: ${message || reason}`, {
          source: 'status of the driver',
        }),
      ),
  );
}

function usersOf(
  { metadata: { namespace = '', name } }: Immutable<ResourceClaim>,
  { objects }: Context,
): readonly Immutable<Pod>[] {
  return objects.ofKind<Pod>('', 'Pod', namespace).filter(
    ({ spec, status }) =>
      (spec.resourceClaims ?? []).some(({ resourceClaimName }) => resourceClaimName === name) ||
      // Claims that are made from a template have generated names.
      (status?.resourceClaimStatuses ?? []).some(
        ({ resourceClaimName }) => resourceClaimName === name,
      ),
  );
}

/** Returns the first class of a request that does not exist. A request with alternatives needs one of them. */
function missingClass(
  { spec }: Immutable<ResourceClaim>,
  { objects }: Context,
): string | undefined {
  const isAbsent = (name: string): boolean =>
    objects.lookup({ group: GROUP, kind: 'DeviceClass', name }).state === 'absent';
  for (const { exactly, firstAvailable = [] } of spec.devices.requests ?? []) {
    const classes = [...(exactly === undefined ? [] : [exactly]), ...firstAvailable].map(
      ({ deviceClassName }) => deviceClassName,
    );
    if (classes.length > 0 && classes.every(isAbsent)) return classes[0];
  }
  return undefined;
}
