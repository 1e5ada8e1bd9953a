// Resource values for kinds without types in this package: custom resources.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';

export interface ResourceDefinition {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural in lower case, as in paths. */
  readonly resource: string;
  /** Default: true. */
  readonly namespaced?: boolean;
}

/**
 * Returns the value by which clients and informers address the resource: `defineResource<Tenant>({
 * group: 'example.com', … })`.
 */
export function defineResource<T extends KubeObject = KubeObject>(
  definition: ResourceDefinition,
): ResourceType<T> {
  const { group, version, kind, resource, namespaced = true } = definition;
  if (version === '' || kind === '' || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(resource)) {
    throw new TypeError(`not a resource: ${JSON.stringify(definition)}`);
  }
  return {
    group,
    version,
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced,
    shortNames: [],
    categories: [],
  };
}
