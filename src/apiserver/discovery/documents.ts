// What is served, as discovery tells it: per group and version (the older form, one request each) and all at once (the
// aggregated form). Both are made once from the installed resources.

import { createHash } from 'node:crypto';
import type { APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery } from '../../api/apidiscovery/v2/index.ts';
import type { GroupVersionKind } from '../../api/descriptor.ts';
import type { APIGroup, APIResource, APIResourceList } from '../../api/meta/v1/index.ts';
import { verbsOf, type ServedResource } from '../registry/rest.ts';

/** A document as bytes, with the tag by which a client asks whether it has changed. */
export interface Document {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

export function documentOf(object: unknown): Document {
  const bytes = Buffer.from(JSON.stringify(object), 'utf8');
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').toUpperCase()}"` };
}

/** The served resources of each version of each group, in the order in which they were installed. */
export function byGroupVersion(
  resources: readonly ServedResource[],
): ReadonlyMap<string, ReadonlyMap<string, readonly ServedResource[]>> {
  const groups = new Map<string, Map<string, ServedResource[]>>();
  for (const served of resources) {
    const { group, version } = served.type;
    const versions = groups.get(group) ?? new Map<string, ServedResource[]>();
    groups.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), served]);
  }
  return groups;
}

export function apiGroup(name: string, versions: Iterable<string>): APIGroup {
  const list = [...versions].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: list, preferredVersion: list[0] as (typeof list)[number] };
}

export function apiResourceList(group: string, version: string, resources: readonly ServedResource[]): APIResourceList {
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const entries = resources.flatMap((served): APIResource[] => {
    const { type } = served;
    const own: APIResource = {
      name: type.resource,
      singularName: type.singular,
      namespaced: type.namespaced,
      kind: type.kind,
      verbs: verbsOf(served),
      ...(type.shortNames.length > 0 && { shortNames: [...type.shortNames] }),
      ...(type.categories.length > 0 && { categories: [...type.categories] }),
    };
    const subresources = (served.subresources ?? []).map((subresource): APIResource => {
      const { kind } = subresource;
      const foreign = kind.group !== group || kind.version !== version;
      return {
        name: `${type.resource}/${subresource.name}`,
        singularName: '',
        namespaced: type.namespaced,
        ...(foreign && { group: kind.group, version: kind.version }),
        kind: kind.kind,
        verbs: verbsOf(subresource),
      };
    });
    return [own, ...subresources];
  });
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

const responseKind = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({ group, version, kind });

function aggregatedResource(served: ServedResource): APIResourceDiscovery {
  const { type } = served;
  return {
    resource: type.resource,
    responseKind: responseKind(type),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: verbsOf(served),
    ...(type.shortNames.length > 0 && { shortNames: [...type.shortNames] }),
    ...(type.categories.length > 0 && { categories: [...type.categories] }),
    ...((served.subresources ?? []).length > 0 && {
      subresources: (served.subresources ?? []).map((subresource) => ({
        subresource: subresource.name,
        responseKind: responseKind(subresource.kind),
        verbs: verbsOf(subresource),
      })),
    }),
  };
}

export function aggregated(
  groups: Iterable<readonly [string, ReadonlyMap<string, readonly ServedResource[]>]>,
): APIGroupDiscoveryList {
  const items = [...groups].map(
    ([name, versions]): APIGroupDiscovery =>
      ({
        metadata: name === '' ? { creationTimestamp: null } : { name, creationTimestamp: null },
        versions: [...versions].map(([version, resources]) => ({
          version,
          resources: resources.toSorted((a, b) => (a.type.resource < b.type.resource ? -1 : 1)).map(aggregatedResource),
          freshness: 'Current',
        })),
      }) as unknown as APIGroupDiscovery,
  );
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  };
}
