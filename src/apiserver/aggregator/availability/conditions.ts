// Computes the condition Available of an APIService from the service and its EndpointSlices.
// Reasons and messages are upstream's.

import type { APIServiceCondition } from '#api/groups/apiregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { endpointsOfPort } from '#client/endpoints/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { APIService, ServiceReference } from '../api-services.ts';
import type { ServiceState } from '../service-states.ts';

export interface Availability {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export const LOCAL: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};
export const PASSED: Availability = {
  status: 'True',
  reason: 'Passed',
  message: 'all checks passed',
};

/** Returns the reason why no request can reach the service; undefined if requests may reach it. */
export function serviceProblem(
  reference: ServiceReference,
  { service, slices }: ServiceState,
): Availability | undefined {
  const { name = '', namespace = '', port = 443 } = reference;
  const subject = `service/${name} in ${quote(namespace)}`;
  if (service === undefined) return unavailable('ServiceNotFound', `${subject} is not present`);
  const { type = 'ClusterIP', ports = [] } = service.spec;
  if (type !== 'ClusterIP') return undefined;
  const servicePort = ports.find((candidate) => candidate.port === port);
  if (servicePort === undefined)
    return unavailable('ServicePortError', `${subject} is not listening on port ${port}`);
  if (slices.length === 0)
    return unavailable('EndpointsNotFound', `cannot find endpointslices for ${subject}`);
  const portName = servicePort.name ?? '';
  if (
    endpointsOfPort(service, slices, servicePort, { anyAddress: true })
      .flat()
      .some(({ ready }) => ready)
  )
    return undefined;
  return unavailable(
    'MissingEndpoints',
    `endpointslices for ${subject} have no addresses with port name ${quote(portName)}`,
  );
}

export function failedDiscovery(message: string): Availability {
  return unavailable('FailedDiscoveryCheck', message);
}

function unavailable(reason: string, message: string): Availability {
  return { status: 'False', reason, message };
}

/**
 * Returns the APIService with the condition; the same object if nothing changes. The transition
 * time changes only with the status.
 */
export function withAvailability(
  service: APIService,
  { status, reason, message }: Availability,
  now: number,
): APIService {
  const conditions = service.status?.conditions ?? [];
  const existing = conditions.find(({ type }) => type === 'Available');
  if (existing?.status === status && existing.reason === reason && existing.message === message)
    return service;
  const changed: Immutable<APIServiceCondition> = {
    type: 'Available',
    status,
    lastTransitionTime: existing?.status === status ? existing.lastTransitionTime : formatTime(now),
    reason,
    message,
  };
  const others =
    existing === undefined
      ? [...conditions, changed]
      : conditions.map((each) => (each === existing ? changed : each));
  return { ...service, status: { ...service.status, conditions: others } };
}
