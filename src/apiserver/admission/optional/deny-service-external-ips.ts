// Rejects new external IPs of Services. A user who may create Services could otherwise take over
// the traffic of nodes and pods to any address (CVE-2020-8554).

import type { Service } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

export class DenyServiceExternalIPs implements AdmissionPlugin {
  readonly name = 'DenyServiceExternalIPs';

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      (operation === 'CREATE' || operation === 'UPDATE') &&
      resource.group === '' &&
      resource.resource === 'services' &&
      subresource === ''
    );
  }

  /** Rejects addresses that the Service did not have before. */
  validate({ object, oldObject, resource }: AdmissionAttributes): void {
    const before = addressesOf(oldObject);
    if (addressesOf(object).every((address) => before.includes(address))) return;
    const why = 'Use of external IPs is denied by admission control';
    throw apierrors.forbidden(resource, object?.metadata.name ?? '', why);
  }
}

const addressesOf = (object: AdmissionAttributes['object']): readonly string[] =>
  (object as Immutable<Service> | undefined)?.spec.externalIPs ?? [];
