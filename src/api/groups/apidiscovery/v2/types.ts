// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface APIGroupDiscoveryList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: APIGroupDiscovery[];
}

export interface APIGroupDiscovery extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  versions?: APIVersionDiscovery[];
}

export interface APIVersionDiscovery {
  version: string;
  resources?: APIResourceDiscovery[];
  freshness?: DiscoveryFreshness;
}

export interface APIResourceDiscovery {
  resource: string;
  responseKind?: meta.GroupVersionKind;
  scope: ResourceScope;
  singularResource: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources?: APISubresourceDiscovery[];
}

export type ResourceScope = 'Cluster' | 'Namespaced' | (string & {});

export type DiscoveryFreshness = 'Current' | 'Stale' | (string & {});

export interface APISubresourceDiscovery {
  subresource: string;
  responseKind?: meta.GroupVersionKind;
  acceptedTypes?: meta.GroupVersionKind[];
  verbs: string[];
}
