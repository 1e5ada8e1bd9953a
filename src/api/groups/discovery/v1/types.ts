// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export type AddressType = 'IPv4' | 'IPv6' | 'FQDN';

/** A part of the endpoints of a service. */
export interface EndpointSlice extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** IPv4, IPv6 or FQDN. It cannot be changed. */
  addressType: AddressType;
  /** The endpoints, at most 1,000. */
  endpoints: Endpoint[] | null;
  /** The ports of each endpoint, at most 100. */
  ports: EndpointPort[] | null;
}

/** One endpoint. */
export interface Endpoint {
  /** The addresses. Consumers use the first. */
  addresses: string[];
  /** The state of the endpoint. */
  conditions: EndpointConditions;
  /** The host name, for DNS. */
  hostname?: string;
  /** The object behind the endpoint, usually a pod. */
  targetRef?: core.ObjectReference;
  /** Topology of former versions. It is read only. */
  deprecatedTopology?: Record<string, string>;
  /** The node of the endpoint. */
  nodeName?: string;
  /** The zone of the endpoint. */
  zone?: string;
  /** Which consumers should use the endpoint. */
  hints?: EndpointHints;
}

/** The state of an endpoint. */
export interface EndpointConditions {
  /** Whether the endpoint accepts connections and is not being terminated. Absent: true. */
  ready?: boolean;
  /** Whether the endpoint accepts connections, also while it is terminated. Absent: as ready. */
  serving?: boolean;
  /** Whether the endpoint is being terminated. Absent: false. */
  terminating?: boolean;
}

/** Which consumers should use an endpoint. */
export interface EndpointHints {
  /** Zones whose consumers should use it. */
  forZones?: ForZone[];
  /** Nodes whose consumers should use it. */
  forNodes?: ForNode[];
}

/** A zone. */
export interface ForZone {
  /** The name of the zone. */
  name: string;
}

/** A node. */
export interface ForNode {
  /** The name of the node. */
  name: string;
}

/** A port of the endpoints of a slice. */
export interface EndpointPort {
  /** The name, unique in the slice. */
  name?: string;
  /** TCP, UDP or SCTP. Default: TCP. */
  protocol?: core.Protocol;
  /** The number. Absent: all ports. */
  port?: number;
  /** The application protocol, such as http or kubernetes.io/h2c. */
  appProtocol?: string;
}

/** A list of EndpointSlice objects. */
export interface EndpointSliceList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: EndpointSlice[];
}
