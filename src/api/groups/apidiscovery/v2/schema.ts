// Every type of apidiscovery.k8s.io/v2: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  message,
  set,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('apidiscovery.k8s.io', 'v2', 'io.k8s.api.apidiscovery.v2', {
  APIGroupDiscoveryList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]APIGroupDiscovery'),
  ]),
  APIGroupDiscovery: kind(() => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('versions?', 2, '[]APIVersionDiscovery', mapList('version')),
  ]),
  APIVersionDiscovery: message(() => [
    f('version', 1, 'string'),
    f('resources?', 2, '[]APIResourceDiscovery', mapList('resource')),
    f('freshness?', 3, 'DiscoveryFreshness'),
  ]),
  APIResourceDiscovery: message(() => [
    f('resource', 1, 'string'),
    f('responseKind?', 2, '*meta/v1.GroupVersionKind'),
    f('scope', 3, 'ResourceScope'),
    f('singularResource', 4, 'string'),
    f('verbs', 5, '[]string', set),
    f('shortNames?', 6, '[]string', set),
    f('categories?', 7, '[]string', set),
    f('subresources?', 8, '[]APISubresourceDiscovery', mapList('subresource')),
  ]),
  ResourceScope: openEnum('Cluster', 'Namespaced'),
  DiscoveryFreshness: openEnum('Current', 'Stale'),
  APISubresourceDiscovery: message(() => [
    f('subresource', 1, 'string'),
    f('responseKind?', 2, '*meta/v1.GroupVersionKind'),
    f('acceptedTypes?', 3, '[]meta/v1.GroupVersionKind', mapList('group', 'version', 'kind')),
    f('verbs', 4, '[]string', set),
  ]),
});
