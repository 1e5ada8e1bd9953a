// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** All resources, in one document. */
export interface APIGroupDiscoveryList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: APIGroupDiscovery[];
}

/** A group and its resources. */
export interface APIGroupDiscovery extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The versions, the preferred one first. */
  versions?: APIVersionDiscovery[];
}

/** A version and its resources. */
export interface APIVersionDiscovery {
  /** The version. */
  version: string;
  /** The resources. */
  resources?: APIResourceDiscovery[];
  /** Current, or Stale if the server of the version is not reachable. */
  freshness?: DiscoveryFreshness;
}

/** A resource. */
export interface APIResourceDiscovery {
  /** The plural name. */
  resource: string;
  /** The kind of the objects. */
  responseKind?: meta.GroupVersionKind;
  /** Cluster or Namespaced. */
  scope: ResourceScope;
  /** The singular name. */
  singularResource: string;
  /** The verbs. */
  verbs: string[];
  /** Short names for command lines. */
  shortNames?: string[];
  /** Groups of resources for command lines, such as all. */
  categories?: string[];
  /** The subresources. */
  subresources?: APISubresourceDiscovery[];
}

export type ResourceScope = 'Cluster' | 'Namespaced' | (string & {});

export type DiscoveryFreshness = 'Current' | 'Stale' | (string & {});

/** A subresource. */
export interface APISubresourceDiscovery {
  /** The name. */
  subresource: string;
  /** The kind of responses. */
  responseKind?: meta.GroupVersionKind;
  /** The kinds of requests, if they are others. */
  acceptedTypes?: meta.GroupVersionKind[];
  /** The verbs. */
  verbs: string[];
}
