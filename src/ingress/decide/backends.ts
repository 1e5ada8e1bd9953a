// Resolves a Service's port to its endpoints.

import type { Service, ServicePort } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { endpointsOfPort, usableEndpoints } from '#client/endpoints/index.ts';
import type { Backend, BackendProtocol } from '../model.ts';

type Port = Immutable<ServicePort>;

/** Returns the port of a service that the predicate selects. Only ports of TCP count. */
export function tcpPort(
  { spec }: Immutable<Service>,
  wanted: (port: Port) => boolean,
): Port | undefined {
  return spec.ports?.find((port) => (port.protocol ?? 'TCP') === 'TCP' && wanted(port));
}

/**
 * Returns the back end of a service's port: the usable endpoints of the service's first family that
 * has some.
 */
export function backendOf(
  service: Immutable<Service>,
  port: Port,
  slices: readonly Immutable<EndpointSlice>[],
  protocol: BackendProtocol,
): Backend {
  const { namespace = '', name = '' } = service.metadata;
  const families = endpointsOfPort(service, slices, port).map((endpoints) =>
    usableEndpoints(endpoints),
  );
  const endpoints = (families.find((usable) => usable.length > 0) ?? []).map(
    ({ ip, port: number }) => ({
      ip,
      port: number,
    }),
  );
  return { key: `${namespace}/${name}:${port.port}`, protocol, endpoints };
}

/**
 * Returns the protocol for the back end; undefined: this proxy does not support the application
 * protocol.
 */
export function protocolOf(
  appProtocol: string | undefined,
  grpc: boolean,
): BackendProtocol | undefined {
  switch (appProtocol) {
    case undefined:
    case '':
      return grpc ? 'h2c' : 'http';
    case 'http':
    case 'kubernetes.io/ws':
      return 'http';
    case 'kubernetes.io/h2c':
    case 'grpc':
      return 'h2c';
    case 'https':
    case 'kubernetes.io/wss':
    case 'tls':
      return undefined;
    default:
      // An unknown hint, such as a vendor's own, is ignored.
      return grpc ? 'h2c' : 'http';
  }
}
