// Builds discovery documents: one for each group and version (the older form), and one for all
// groups (the aggregated form).

import { createHash } from 'node:crypto';
import type {
  APIGroupDiscovery,
  APIGroupDiscoveryList,
  APIResourceDiscovery,
} from '#api/groups/apidiscovery/v2/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { APIResource, APIResourceList } from '#api/machinery/meta/v1/index.ts';
import { verbsOf, type Kind } from '../catalog/kind.ts';
import type { GroupIndex, VersionIndex } from '../catalog/snapshot.ts';

/**
 * Returns a hash by which clients detect that their objects would now be stored in another form.
 */
function storageVersionHash({ group, version, kind }: GroupVersionKind): string {
  return createHash('sha256')
    .update(`${group}/${version}/${kind}`)
    .digest()
    .subarray(0, 8)
    .toString('base64');
}

export function apiResourceList({ group, version, published }: VersionIndex): APIResourceList {
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const entries = published.flatMap((served): APIResource[] => {
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
      ...(served.rest.update !== undefined && {
        storageVersionHash: storageVersionHash(served.storedKind ?? type),
      }),
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
    // The core group's document has no apiVersion, since it is older than versions of discovery.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion,
    // The subresources of custom kinds keep the order of their declaration.
    resources: published.some(({ isCustom }) => isCustom === true)
      ? entries
      : entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function aggregatedResource(served: Kind): APIResourceDiscovery {
  const { type } = served;
  // Group and version are empty if they are the resource's own, as upstream.
  const responseKind = ({ group, version, kind }: GroupVersionKind): GroupVersionKind =>
    // Custom kinds always have them.
    served.isCustom !== true && group === type.group && version === type.version
      ? { group: '', version: '', kind }
      : { group, version, kind };
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
        .toSorted((a, b) => (served.isCustom === true ? 0 : a.name < b.name ? -1 : 1))
        .map((subresource) => ({
          subresource: subresource.name,
          responseKind: responseKind(subresource.kind),
          verbs: verbsOf(subresource),
        })),
    }),
  };
}

/** Returns one group in the aggregated form. */
export function apiGroupDiscovery({ name, published }: GroupIndex): APIGroupDiscovery {
  return {
    metadata: (name === '' ? {} : { name }) as APIGroupDiscovery['metadata'],
    versions: published.map(({ version, published: kinds }) => ({
      version,
      resources: kinds.map(aggregatedResource),
      freshness: 'Current',
    })),
  };
}

export function apiGroupDiscoveryList(items: APIGroupDiscovery[]): APIGroupDiscoveryList {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  };
}
