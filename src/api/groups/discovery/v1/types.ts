// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface EndpointSlice extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  addressType: string;
  endpoints: Endpoint[] | null;
  ports: EndpointPort[] | null;
}

export interface Endpoint {
  addresses: string[];
  conditions: EndpointConditions;
  hostname?: string;
  targetRef?: core.ObjectReference;
  deprecatedTopology?: Record<string, string>;
  nodeName?: string;
  zone?: string;
  hints?: EndpointHints;
}

export interface EndpointConditions {
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
}

export interface EndpointHints {
  forZones?: ForZone[];
  forNodes?: ForNode[];
}

export interface ForZone {
  name: string;
}

export interface ForNode {
  name: string;
}

export interface EndpointPort {
  name?: string;
  protocol?: core.Protocol;
  port?: number;
  appProtocol?: string;
}

export interface EndpointSliceList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: EndpointSlice[];
}
