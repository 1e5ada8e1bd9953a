// The resource services.

import { services } from '#api/groups/core/v1/index.ts';
import {
  validateService,
  validateServiceStatusUpdate,
  validateServiceUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import { serviceProxySubresource } from '#apiserver/endpoint-proxy/proxy.ts';
import { labelName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import { ResourceStore, type StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import type { ServiceAllocators } from './allocators.ts';
import { dropUnused, keepAllocated, withClusterIPs, withoutNeedless } from './idempotence.ts';
import { ServiceReservations } from './reservations.ts';
import type { Service } from './service.ts';
import { completeStored } from './stored-services.ts';
import { serviceTable } from './table.ts';
import { serviceStatusWarnings, serviceWarnings } from './warnings.ts';

function serviceStrategy(reservations: ServiceReservations): ResourceStrategy<Service> {
  return {
    validateName: labelName,
    allowCreateOnUpdate: true,
    returnDeletedObject: true,
    prepareForCreate: (service) =>
      withoutNeedless({ ...withClusterIPs(service), status: { loadBalancer: {} } }),
    validate: (service) => validateService(service),
    warningsOnCreate: serviceWarnings,
    prepareForUpdate: (service, old) =>
      withoutNeedless(
        dropUnused(
          withClusterIPs(keepAllocated({ ...service, status: old.status }, old), old),
          old,
        ),
      ),
    validateUpdate: (service, old) => validateServiceUpdate(service, old),
    warningsOnUpdate: serviceWarnings,
    reserveForCreate: (service, { dryRun }) => reservations.reserve(service, undefined, dryRun),
    reserveForUpdate: (service, old, { dryRun }) => reservations.reserve(service, old, dryRun),
    afterDelete: (service) => reservations.release(service),
  };
}

const serviceStatusStrategy: SubresourceStrategy<Service> = {
  prepareForUpdate: (service, old) => ({ ...service, spec: old.spec }),
  validateUpdate: (service, old) => validateServiceStatusUpdate(service, old),
  warningsOnUpdate: serviceStatusWarnings,
};

/** The allocators of addresses and ports. */
export interface ServiceServices extends StoreServices {
  readonly serviceAllocators: ServiceAllocators;
  /** Finds the objects that services/proxy needs. */
  readonly find: Find;
}

export const serviceKind = defineKind<Service, ServiceServices>({
  type: services,
  strategy: ({ serviceAllocators, random }) =>
    serviceStrategy(
      new ServiceReservations({ ...serviceAllocators, random: random.derive('services') }),
    ),
  store: (config, { serviceAllocators: { families } }) => {
    const [standard = 'IPv4'] = families;
    return new ResourceStore({
      ...config,
      normalize: (object) => completeStored(object as Service, standard),
    });
  },
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec.clusterIP ?? '',
    'spec.type': ({ spec }) => spec.type ?? '',
  },
  table: serviceTable,
  subresources: {
    status: { strategy: serviceStatusStrategy },
    proxy: ({ services }) => serviceProxySubresource(services),
  },
});
