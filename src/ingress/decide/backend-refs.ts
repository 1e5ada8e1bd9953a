// References of routes to back ends.

import type { BackendRef } from '../gateway-api/types.ts';
import type { Backend } from '../model.ts';
import { backendOf, protocolOf, tcpPort } from './backends.ts';
import type { Grants } from './grants.ts';
import type { IngressObjects } from './objects.ts';

/** Why a reference does not resolve to a back end, for the condition ResolvedRefs. */
export interface UnresolvedRef {
  readonly reason: 'InvalidKind' | 'RefNotPermitted' | 'BackendNotFound' | 'UnsupportedProtocol';
  readonly message: string;
}

export interface BackendRefContext {
  readonly objects: Pick<IngressObjects, 'service' | 'endpointSlices'>;
  readonly grants: Grants;
  /** The kind and namespace of the route. */
  readonly kind: 'HTTPRoute' | 'GRPCRoute';
  readonly namespace: string;
}

export function resolveBackend(
  ref: BackendRef,
  { objects, grants, kind, namespace }: BackendRefContext,
): Backend | UnresolvedRef {
  const { group = '', kind: refKind = 'Service', name, port } = ref;
  if (group !== '' || refKind !== 'Service') {
    const message = `back ends of the kind ${[refKind, group].filter(Boolean).join('.')} are not supported`;
    return { reason: 'InvalidKind', message };
  }
  const at = ref.namespace ?? namespace;
  const id = `${at}/${name}`;
  if (
    !grants.allow({ from: { kind, namespace }, to: { group, kind: refKind, namespace: at, name } })
  ) {
    return {
      reason: 'RefNotPermitted',
      message: `no ReferenceGrant allows the reference to Service ${id}`,
    };
  }
  const service = objects.service(at, name);
  if (service === undefined)
    return { reason: 'BackendNotFound', message: `Service ${id} not found` };
  if (service.spec.type === 'ExternalName') {
    return {
      reason: 'BackendNotFound',
      message: `Service ${id} has the type ExternalName, which is not supported`,
    };
  }
  const servicePort = tcpPort(service, (candidate) => candidate.port === port);
  if (servicePort === undefined)
    return { reason: 'BackendNotFound', message: `Service ${id} has no port ${port ?? ''}` };
  const protocol = protocolOf(servicePort.appProtocol, kind === 'GRPCRoute');
  if (protocol === undefined) {
    const message = `port ${port} of Service ${id} has the protocol ${servicePort.appProtocol}, which is not supported`;
    return { reason: 'UnsupportedProtocol', message };
  }
  return backendOf(service, servicePort, objects.endpointSlices(at, name), protocol);
}
