// Defaults of device claims and their templates in v1beta1.

import type { Defaulters } from '#api/machinery/scheme.ts';
import { setRequestDefaults, setResultDefaults, setTolerationDefaults } from '../v1/defaults.ts';
import type { ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate } from './types.ts';

function setResourceClaimDefaults({ spec, status }: ResourceClaim): void {
  setClaimSpecDefaults(spec);
  setResultDefaults(status);
}

function setResourceClaimTemplateDefaults({ spec }: ResourceClaimTemplate): void {
  setClaimSpecDefaults(spec.spec);
}

function setClaimSpecDefaults({ devices }: ResourceClaimSpec): void {
  for (const request of devices.requests ?? []) {
    // A request without a class has alternatives, and none of these fields.
    if (request.deviceClassName === '') setTolerationDefaults(request.tolerations);
    else setRequestDefaults(request);
    request.firstAvailable?.forEach(setRequestDefaults);
  }
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  ResourceClaim: setResourceClaimDefaults,
  ResourceClaimTemplate: setResourceClaimTemplateDefaults,
};
