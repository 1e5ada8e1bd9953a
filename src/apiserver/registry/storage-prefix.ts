// Where the objects of a resource are in the store: as in Kubernetes, so that tools which look into etcd find them.

import { allSchemas } from '#api/all-schemas.ts';

/** Resources of groups that come with the server are filed without their group, some under an older name. */
const SPECIAL: Readonly<Record<string, string>> = {
  replicationcontrollers: 'controllers',
  endpoints: 'services/endpoints',
  nodes: 'minions',
  services: 'services/specs',
  'ingresses.networking.k8s.io': 'ingress',
  'customresourcedefinitions.apiextensions.k8s.io':
    'apiextensions.k8s.io/customresourcedefinitions',
  'apiservices.apiregistration.k8s.io': 'apiregistration.k8s.io/apiservices',
};

let builtIn: ReadonlySet<string> | undefined;

/** Keys of the resource begin with this; it ends in '/'. */
export function storagePrefix({
  group,
  resource,
}: {
  readonly group: string;
  readonly resource: string;
}): string {
  // Metrics are a server's of its own.
  builtIn ??= new Set(
    allSchemas.schemas
      .map((schema) => schema.group)
      .filter((each) => !each.endsWith('metrics.k8s.io')),
  );
  const special = SPECIAL[group === '' ? resource : `${resource}.${group}`];
  // Names of custom resources are their own: with their group nobody takes them for others.
  const within = special ?? (builtIn.has(group) ? resource : `${group}/${resource}`);
  return `/registry/${within}/`;
}
