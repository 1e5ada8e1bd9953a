// A kind that the server serves, and the paths of its objects.

export interface ResourceType {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural, as in paths. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly string[];
}

/** Returns the name that tells the type from all others: 'pods', 'deployments.apps'. */
export const typeId = ({ resource, group }: Pick<ResourceType, 'resource' | 'group'>): string =>
  group === '' ? resource : `${resource}.${group}`;

export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

const groupPath = (type: Pick<ResourceType, 'group' | 'version'>): string =>
  type.group === ''
    ? `/api/${encodeURIComponent(type.version)}`
    : `/apis/${encodeURIComponent(type.group)}/${encodeURIComponent(type.version)}`;

/** Returns the path of the type's objects in a namespace, or in all of them for ''. */
export function collectionPath(type: ResourceType, namespace: string): string {
  const base = groupPath(type);
  return type.namespaced && namespace !== ''
    ? `${base}/namespaces/${encodeURIComponent(namespace)}/${type.resource}`
    : `${base}/${type.resource}`;
}

export function objectPath(
  type: ResourceType,
  namespace: string | undefined,
  name: string,
  subresource?: string,
): string {
  const path = `${collectionPath(type, namespace ?? '')}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
