// The resource services.

import { services as serviceType } from '../../../../api/core/v1/index.ts';
import { validateService, validateServiceUpdate } from '../../../../api/core/v1/validation/index.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList } from '../../../../machinery/field.ts';
import { serviceTable } from '../../../printers/service.ts';
import { dns1035LabelName } from '../../metadata-validation.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';
import { hasClusterIP, type Service, ServiceReservations } from './reservations.ts';

const SPEC = field.path('spec');

/** Only IPv4 addresses are given out: a service that insists on others is refused. */
function validateFamilies(service: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  (service.spec.ipFamilies ?? []).forEach((family, index) => {
    if (family !== 'IPv4')
      errors.push(field.invalid(SPEC.child('ipFamilies').index(index), family, 'not configured on this cluster'));
  });
  if (service.spec.ipFamilyPolicy === 'RequireDualStack') {
    errors.push(
      field.invalid(
        SPEC.child('ipFamilyPolicy'),
        service.spec.ipFamilyPolicy,
        'this cluster is not configured for dual-stack services',
      ),
    );
  }
  return errors;
}

/** What was given out once stays, unless the client names another or the new type has no use for it. */
function keepAllocated(service: Service, old: Service): Service {
  let { spec } = service;
  if (spec.type !== 'ExternalName' && hasClusterIP(old) && (spec.clusterIP ?? '') === '' && old.spec.clusterIP !== undefined) {
    spec = { ...spec, clusterIP: old.spec.clusterIP, clusterIPs: old.spec.clusterIPs };
  }
  if ((spec.type === 'NodePort' || spec.type === 'LoadBalancer') && spec.ports !== undefined) {
    const before = new Map((old.spec.ports ?? []).map((port) => [`${port.protocol}/${port.port}`, port.nodePort]));
    spec = {
      ...spec,
      ports: spec.ports.map((port) => {
        const nodePort = port.nodePort ?? before.get(`${port.protocol}/${port.port}`);
        return nodePort === undefined || nodePort === 0 ? port : { ...port, nodePort };
      }),
    };
  }
  if (
    spec.type === 'ClusterIP' &&
    (old.spec.type === 'NodePort' || old.spec.type === 'LoadBalancer') &&
    spec.ports !== undefined
  ) {
    // The node ports that came from the old type go, if the client only sends back what it has read.
    const before = new Set((old.spec.ports ?? []).map((port) => port.nodePort));
    spec = {
      ...spec,
      ports: spec.ports.map((port) => {
        if (port.nodePort === undefined || !before.has(port.nodePort)) return port;
        const { nodePort: _, ...rest } = port;
        return rest;
      }),
    };
    if ((spec.externalIPs ?? []).length === 0) {
      const { externalTrafficPolicy: _, allocateLoadBalancerNodePorts: _2, ...rest } = spec;
      spec = rest;
    }
  }
  if (spec.type === 'ExternalName' && old.spec.type !== 'ExternalName') {
    // The addresses of the old type go, if the client only sends back what it has read.
    if (spec.clusterIP === old.spec.clusterIP) {
      const { clusterIP: _, clusterIPs: _2, ipFamilies: _3, ipFamilyPolicy: _4, ...rest } = spec;
      spec = rest;
    }
  }
  return spec === service.spec ? service : { ...service, spec };
}

/** clusterIP and the first of clusterIPs are one field under two names. */
function withClusterIPs(service: Service): Service {
  const { clusterIP, clusterIPs } = service.spec;
  if (clusterIP !== undefined && clusterIPs === undefined)
    return { ...service, spec: { ...service.spec, clusterIPs: [clusterIP] } };
  return service;
}

function serviceStrategy(reservations: ServiceReservations): ResourceStrategy<Service> {
  return {
    validateName: dns1035LabelName,
    returnDeletedObject: true,
    prepareForCreate: (service) => ({ ...withClusterIPs(service), status: { loadBalancer: {} } }),
    validate: (service) => [...validateService(service), ...validateFamilies(service)],
    prepareForUpdate: (service, old) => ({ ...keepAllocated(withClusterIPs(service), old), status: old.status }),
    validateUpdate: (service, old) => [...validateServiceUpdate(service, old), ...validateFamilies(service)],
    reserveForCreate: (service) => reservations.reserve(service, undefined),
    reserveForUpdate: (service, old) => reservations.reserve(service, old),
    afterDelete: (service) => reservations.release(service),
    selectableFieldNames: ['spec.clusterIP', 'spec.type'],
    selectableFields: (service) => ({ 'spec.clusterIP': service.spec.clusterIP ?? '', 'spec.type': service.spec.type ?? '' }),
  };
}

const serviceStatusStrategy: SubresourceStrategy<Service> = {
  prepareForUpdate: (service, old) => ({ ...service, spec: old.spec }),
  validateUpdate: () => [],
};

export function serviceResource(services: RegistryServices): ServedResource {
  const reservations = new ServiceReservations({
    serviceCidr: services.serviceCidr,
    random: services.random.derive('services'),
    listServices: () => store.findAll(''),
  });
  const store = new ResourceStore<Service>({ ...services, type: serviceType, strategy: serviceStrategy(reservations) });
  return {
    type: serviceType,
    rest: store,
    table: serviceTable,
    subresources: [
      { name: 'status', kind: { group: '', version: 'v1', kind: 'Service' }, rest: store.view(serviceStatusStrategy) },
    ],
  };
}
