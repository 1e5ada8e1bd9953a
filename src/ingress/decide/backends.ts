// From a Service's port to the endpoints that requests go to.

import type { Service, ServicePort } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isGlobalUnicast } from '#machinery/net/ip.ts';
import type { Backend, BackendProtocol, Endpoint } from '../model.ts';
import { compareText } from './objects.ts';

/** A port with more endpoints uses the first ones. */
const MAX_ENDPOINTS = 10_000;

/**
 * Returns the back end of a service's port. Its endpoints are those that are ready; without one, those that terminate and still serve.
 * Addresses that cannot belong to a pod or another machine (loopback, link-local …) are left out, whoever wrote them: a service must not
 * lead to what listens for this machine alone.
 */
export function backendOf(
  service: Immutable<Service>,
  port: Immutable<ServicePort>,
  slices: readonly Immutable<EndpointSlice>[],
  protocol: BackendProtocol,
): Backend {
  const { namespace = '', name = '' } = service.metadata;
  const ready = new Map<string, Endpoint>();
  const terminating = new Map<string, Endpoint>();
  for (const slice of slices) {
    if (slice.addressType === 'FQDN') continue;
    const numbers = (slice.ports ?? []).flatMap(({ name: portName = '', port: number, protocol: transport = 'TCP' }) =>
      portName === (port.name ?? '') && number !== undefined && transport === 'TCP' ? [number] : [],
    );
    for (const { addresses, conditions } of slice.endpoints ?? []) {
      const ip = addresses[0];
      if (ip === undefined || !isGlobalUnicast(ip)) continue;
      const usable = conditions?.ready !== false ? ready : terminating;
      if (usable === terminating && !(conditions?.serving === true && conditions.terminating === true)) continue;
      if (usable.size >= MAX_ENDPOINTS) continue;
      for (const number of numbers) usable.set(`${ip} ${number}`, { ip, port: number });
    }
  }
  const chosen = ready.size > 0 ? ready : terminating;
  const endpoints = [...chosen].sort(([a], [b]) => compareText(a, b)).map(([, endpoint]) => endpoint);
  return { key: `${namespace}/${name}:${port.port}`, protocol, endpoints };
}

/** Returns how the back end is spoken to; undefined: this proxy does not speak the application protocol. */
export function protocolOf(appProtocol: string | undefined, grpc: boolean): BackendProtocol | undefined {
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
      // A hint that this proxy does not know, such as a vendor's own.
      return grpc ? 'h2c' : 'http';
  }
}
