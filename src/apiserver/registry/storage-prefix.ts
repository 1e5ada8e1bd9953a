// The keys of a resource's objects in the store: the same as in Kubernetes, so that tools which
// read etcd find them.

import { allSchemas } from '#api/all-schemas.ts';

/**
 * Prefixes of built-in resources that are not just their names. Built-in groups are not part of the
 * prefix.
 */
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

/** Returns the prefix of the resource's keys, which ends in '/'. */
export function storagePrefix({
  group,
  resource,
}: {
  readonly group: string;
  readonly resource: string;
}): string {
  // Another server serves the metrics groups, so they are not built-in.
  builtIn ??= new Set(
    allSchemas.schemas
      .map((schema) => schema.group)
      .filter((each) => !each.endsWith('metrics.k8s.io')),
  );
  const special = SPECIAL[group === '' ? resource : `${resource}.${group}`];
  // Prefixes of custom resources include their group, so that they cannot collide.
  const within = special ?? (builtIn.has(group) ? resource : `${group}/${resource}`);
  return `/registry/${within}/`;
}
