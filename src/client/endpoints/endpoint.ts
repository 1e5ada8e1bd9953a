// An endpoint of a service port. It does not depend on the object it was read from.

import type { ObjectReference } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

/** The label of an EndpointSlice that names its service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** A label on slices of headless services. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

export type Protocol = 'tcp' | 'udp' | 'sctp';

export interface Endpoint {
  /** In canonical form. */
  readonly ip: string;
  readonly port: number;
  /** '' if the endpoint is on no node. */
  readonly nodeName: string;
  /** The endpoint is on the node in the options. */
  readonly local: boolean;
  /**
   * A terminating endpoint is never ready, unless its service publishes addresses that are not
   * ready.
   */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  /** Zones and nodes that should use this endpoint. Empty: no hints. */
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
  /** The object behind the endpoint. Any writer of the slice may set it, so it is not verified. */
  readonly targetRef: Immutable<ObjectReference> | undefined;
}

/** Endpoints by the result of portKey, such as 'http/tcp'. */
export type EndpointsByPort = ReadonlyMap<string, readonly Endpoint[]>;

/**
 * Returns the key of a service port.
 *
 * @param name the port's name in the service; '' for a port without a name
 */
export const portKey = (name: string, protocol: Protocol): string => `${name}/${protocol}`;

/**
 * The maximum number of endpoints per service port; the first ones are used. The API itself allows
 * 1,000 per slice.
 */
export const MAX_ENDPOINTS = 10_000;

/** Returns the protocol of a port in the API; undefined for one that services do not support. */
export function protocolOf(protocol = 'TCP'): Protocol | undefined {
  const lower = protocol.toLowerCase();
  return lower === 'tcp' || lower === 'udp' || lower === 'sctp' ? lower : undefined;
}
