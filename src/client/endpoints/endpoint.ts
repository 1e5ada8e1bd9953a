// An endpoint of a service port, whichever object it was read from.

import type { ObjectReference } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

/** The label that names the service of an EndpointSlice. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** Set on slices of headless services. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

export type Protocol = 'tcp' | 'udp' | 'sctp';

export interface Endpoint {
  /** In canonical form. */
  readonly ip: string;
  readonly port: number;
  /** '' if it is on no node. */
  readonly nodeName: string;
  /** On the node that was asked for. */
  readonly local: boolean;
  /** An endpoint that terminates is never ready, unless its service publishes addresses that are not ready. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  /** Zones and nodes that should use this endpoint. Empty: no hints. */
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
  /** The object that the endpoint names as its own; anyone may write it. */
  readonly targetRef: Immutable<ObjectReference> | undefined;
}

/** Endpoints by port, as portKey writes it: 'http/tcp'. */
export type EndpointsByPort = ReadonlyMap<string, readonly Endpoint[]>;

/** @param name the port's name in the service; '' for a port without one */
export const portKey = (name: string, protocol: Protocol): string => `${name}/${protocol}`;

/** A service port with more endpoints uses the first ones; the API itself allows 1,000 per slice. */
export const MAX_ENDPOINTS = 10_000;

/** Returns the protocol of a port of the API; undefined for one that services do not have. */
export function protocolOf(protocol = 'TCP'): Protocol | undefined {
  const lower = protocol.toLowerCase();
  return lower === 'tcp' || lower === 'udp' || lower === 'sctp' ? lower : undefined;
}
