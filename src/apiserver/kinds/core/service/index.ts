// The resource services.

import { services as serviceType } from '#api/groups/core/v1/index.ts';
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from '#api/groups/core/v1/validation/index.ts';
import { serviceProxySubresource } from '#apiserver/endpoint-proxy/proxy.ts';
import { serviceTable } from '#apiserver/printers/service.ts';
import { labelName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { dropUnused, keepAllocated, withClusterIPs, withoutNeedless } from './idempotence.ts';
import { ServiceReservations } from './reservations.ts';
import type { Service } from './service.ts';
import { serviceStatusWarnings, serviceWarnings } from './warnings.ts';

function serviceStrategy(reservations: ServiceReservations): ResourceStrategy<Service> {
  return {
    validateName: labelName,
    checksNameOnUpdate: true,
    allowCreateOnUpdate: true,
    returnDeletedObject: true,
    prepareForCreate: (service) => withoutNeedless({ ...withClusterIPs(service), status: { loadBalancer: {} } }),
    validate: (service) => validateService(service),
    warningsOnCreate: serviceWarnings,
    prepareForUpdate: (service, old) =>
      withoutNeedless(dropUnused(withClusterIPs(keepAllocated({ ...service, status: old.status }, old), old), old)),
    validateUpdate: (service, old) => validateServiceUpdate(service, old),
    warningsOnUpdate: serviceWarnings,
    reserveForCreate: (service, { dryRun }) => reservations.reserve(service, undefined, dryRun),
    reserveForUpdate: (service, old, { dryRun }) => reservations.reserve(service, old, dryRun),
    afterDelete: (service) => reservations.release(service),
    selectableFieldNames: ['spec.clusterIP', 'spec.type'],
    selectableFields: (service) => ({ 'spec.clusterIP': service.spec.clusterIP ?? '', 'spec.type': service.spec.type ?? '' }),
  };
}

const serviceStatusStrategy: SubresourceStrategy<Service> = {
  prepareForUpdate: (service, old) => ({ ...service, spec: old.spec }),
  validateUpdate: (service, old) => validateServiceStatusUpdate(service, old),
  warningsOnUpdate: serviceStatusWarnings,
};

export function serviceResource(services: RegistryServices): Kind {
  const { serviceAllocators } = services;
  const reservations = new ServiceReservations({ ...serviceAllocators, random: services.random.derive('services') });
  const store = new ResourceStore<Service>({ ...services, type: serviceType, strategy: serviceStrategy(reservations) });
  return {
    type: serviceType,
    rest: store,
    table: serviceTable,
    subresources: [
      { name: 'status', kind: { group: '', version: 'v1', kind: 'Service' }, rest: store.view(serviceStatusStrategy) },
      serviceProxySubresource(services),
    ],
  };
}
