// Finds resources by the names that users type: plural, singular, short name or kind, with or without the group.

import type { APIGroupDiscoveryList } from '#api/groups/apidiscovery/v2/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '../client.ts';

export type ServedResource = ResourceType<KubeObject> & { readonly verbs: readonly string[] };

/** The forms of aggregated discovery; servers before 1.30 have the second one. */
const ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/** Returns every resource of the server in its preferred version, in the order of discovery. Two requests. */
export async function servedResources(
  client: Client,
  signal?: AbortSignal,
): Promise<readonly ServedResource[]> {
  const lists = await Promise.all(
    ['/api', '/apis'].map((path) =>
      client.transport.request<Immutable<APIGroupDiscoveryList>>({
        method: 'GET',
        path,
        accept: ACCEPT,
        ...(signal && { signal }),
      }),
    ),
  );
  const resources = new Map<string, ServedResource>();
  for (const { metadata, versions = [] } of lists.flatMap(({ items }) => items ?? [])) {
    const group = metadata?.name ?? '';
    for (const { version = '', resources: listed = [] } of versions) {
      for (const each of listed) {
        const id = `${each.resource}.${group}`;
        // Versions are in the order of preference.
        if (resources.has(id)) continue;
        resources.set(id, {
          group,
          version,
          resource: each.resource,
          singular: each.singularResource || (each.responseKind?.kind ?? '').toLowerCase(),
          kind: each.responseKind?.kind ?? '',
          namespaced: each.scope === 'Namespaced',
          shortNames: each.shortNames ?? [],
          categories: each.categories ?? [],
          verbs: each.verbs ?? [],
        });
      }
    }
  }
  return [...resources.values()];
}

/**
 * Returns the resource that a user means by 'pod', 'po', 'deployments.apps', 'Widget.example.com' or
 * 'widgets.v1.example.com'. Undefined if there is none. Where several groups have the name, the first one in the
 * order of discovery.
 */
export function findResource(
  resources: readonly ServedResource[],
  typed: string,
): ServedResource | undefined {
  const [name = '', ...rest] = typed.toLowerCase().split('.');
  const named = resources.filter(
    ({ resource, singular, kind, shortNames }) =>
      resource === name ||
      singular === name ||
      kind.toLowerCase() === name ||
      shortNames.includes(name),
  );
  if (rest.length === 0) return named[0];
  const group = rest.join('.');
  const [version, ...groupAfterVersion] = rest;
  return (
    named.find((each) => each.group === group) ??
    named.find((each) => each.version === version && each.group === groupAfterVersion.join('.')) ??
    // A beginning of the group is enough, as for kubectl.
    named.find((each) => each.group.startsWith(group))
  );
}
