// Creates the ResourceType constants (`pods`, `replicaSets` …) from a schema. Separate from
// schema-set.ts, so that a module that needs one constant does not load every schema.

import type { ResourceType } from '../descriptor.ts';
import type { GroupVersionSchema } from './builder.ts';

/**
 * Returns the resource of a kind of this group and version. A kind without a REST path is a
 * programming error.
 */
export function resourceType<T = unknown>(
  schema: GroupVersionSchema,
  kind: string,
): ResourceType<T> {
  const spec = schema.types[kind];
  if (spec === undefined || !('fields' in spec) || spec.resource === undefined)
    throw new Error(`${schema.key}.${kind} is not a resource`);
  const { resource, scope, singular, shortNames, categories, subresources, verbs } = spec.resource;
  return {
    group: schema.group,
    version: schema.version,
    resource,
    singular: singular ?? kind.toLowerCase(),
    kind,
    namespaced: scope === 'Namespaced',
    shortNames: shortNames ?? [],
    categories: categories ?? [],
    subresources: subresources ?? [],
    ...(verbs === undefined ? {} : { verbs }),
  };
}
