// What is served, as discovery tells it: per group and version (the older form, one request each) and all at once (the
// aggregated form). Both are made once from the installed resources.

import { createHash } from 'node:crypto';
import type { APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery } from '#api/groups/apidiscovery/v2/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { APIGroup, APIResource, APIResourceList } from '#api/machinery/meta/v1/index.ts';
import { verbsOf, type Kind } from '../catalog/kind.ts';

/** Groups in the order in which clients that know only the name of a resource try them. Others come behind, by name. */
const GROUP_ORDER = [
  '',
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
];

/** The served resources of each version of each group, groups in their order, the rest as they were installed. */
export function byGroupVersion(resources: readonly Kind[]): ReadonlyMap<string, ReadonlyMap<string, readonly Kind[]>> {
  const groups = new Map<string, Map<string, Kind[]>>();
  for (const served of resources) {
    const { group, version } = served.type;
    const versions = groups.get(group) ?? new Map<string, Kind[]>();
    groups.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), served]);
  }
  const rank = (group: string): number => (GROUP_ORDER.includes(group) ? GROUP_ORDER.indexOf(group) : GROUP_ORDER.length);
  return new Map([...groups].toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
}

/** By which clients see whether objects that they keep would be stored in another form today. */
function storageVersionHash({ group, version, kind }: GroupVersionKind): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

export function apiGroup(name: string, versions: Iterable<string>): APIGroup {
  const list = [...versions].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: list, preferredVersion: list[0] as (typeof list)[number] };
}

export function apiResourceList(group: string, version: string, resources: readonly Kind[]): APIResourceList {
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
      // Kinds that are not stored have no storage hash; they can only be created or read.
      ...(served.rest.update !== undefined && { storageVersionHash: storageVersionHash(served.storedKind ?? type) }),
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
    // Not of the core, whose discovery is older than versions of discovery.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion,
    resources: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function aggregatedResource(served: Kind): APIResourceDiscovery {
  const { type } = served;
  // As upstream, group and version are empty if they are those of the resource.
  const responseKind = ({ group, version, kind }: GroupVersionKind): GroupVersionKind =>
    group === type.group && version === type.version ? { group: '', version: '', kind } : { group, version, kind };
  return {
    resource: type.resource,
    responseKind: responseKind(type),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: verbsOf(served),
    ...(type.shortNames.length > 0 && { shortNames: [...type.shortNames] }),
    ...(type.categories.length > 0 && { categories: [...type.categories] }),
    ...((served.subresources ?? []).length > 0 && {
      subresources: (served.subresources ?? [])
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((subresource) => ({
          subresource: subresource.name,
          responseKind: responseKind(subresource.kind),
          verbs: verbsOf(subresource),
        })),
    }),
  };
}

export function aggregated(groups: Iterable<readonly [string, ReadonlyMap<string, readonly Kind[]>]>): APIGroupDiscoveryList {
  const items = [...groups].map(([name, versions]): APIGroupDiscovery => ({
    metadata: (name === '' ? {} : { name }) as APIGroupDiscovery['metadata'],
    versions: [...versions].map(([version, resources]) => ({
      version,
      resources: resources.toSorted((a, b) => (a.type.resource < b.type.resource ? -1 : 1)).map(aggregatedResource),
      freshness: 'Current',
    })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}
