// Defaults of device claims and their templates. (The registry sets the time of a taint.)

import type { Defaulters } from '#api/machinery/scheme.ts';
import type {
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
} from './types.ts';

function setResourceClaimDefaults({ spec, status }: ResourceClaim): void {
  setClaimSpecDefaults(spec);
  setResultDefaults(status);
}

/** Sets the defaults of allocated devices. The functions serve the beta versions, too. */
export function setResultDefaults({
  allocation,
}: Pick<ResourceClaim['status'], 'allocation'>): void {
  for (const { tolerations } of allocation?.devices.results ?? [])
    setTolerationDefaults(tolerations);
}

function setResourceClaimTemplateDefaults({ spec }: ResourceClaimTemplate): void {
  setClaimSpecDefaults(spec.spec);
}

function setClaimSpecDefaults({ devices }: ResourceClaimSpec): void {
  for (const { exactly, firstAvailable } of devices.requests ?? []) {
    if (exactly !== undefined) setRequestDefaults(exactly);
    firstAvailable?.forEach(setRequestDefaults);
  }
}

export function setRequestDefaults(
  request: Pick<ExactDeviceRequest | DeviceSubRequest, 'allocationMode' | 'count' | 'tolerations'>,
): void {
  request.allocationMode ||= 'ExactCount';
  if (request.allocationMode === 'ExactCount') request.count ||= 1;
  setTolerationDefaults(request.tolerations);
}

export function setTolerationDefaults(tolerations: DeviceToleration[] | undefined): void {
  for (const toleration of tolerations ?? []) toleration.operator ||= 'Equal';
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  ResourceClaim: setResourceClaimDefaults,
  ResourceClaimTemplate: setResourceClaimTemplateDefaults,
};
