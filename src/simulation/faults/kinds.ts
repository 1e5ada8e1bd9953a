// The kinds that a selector names: 'Pod', 'pods', 'Deployment.apps', or the value of a resource.

import { allSchemas } from '#api/all-schemas.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';

/** A resource in its group. */
export interface SelectedKind {
  readonly group: string;
  readonly resource: string;
}

/** A kind of the API, the name of one, or that of its resource. With several groups: 'Event.events.k8s.io'. */
export type KindName = string | Pick<ResourceType, 'group' | 'resource'>;

let byWord: ReadonlyMap<string, SelectedKind> | undefined;

/**
 * The kinds of the server by their names in lower case, with and without their group. The first group has the short
 * name.
 */
function builtInKinds(): ReadonlyMap<string, SelectedKind> {
  if (byWord !== undefined) return byWord;
  const words = new Map<string, SelectedKind>();
  for (const { group, resource, singular } of allSchemas.resources()) {
    for (const word of [resource, singular])
      for (const name of [word, `${word}.${group}`])
        if (!words.has(name)) words.set(name, { group, resource });
  }
  byWord = words;
  return words;
}

/** Throws TypeError for a name that no kind of the server has. */
export function selectedKind(kind: KindName): SelectedKind {
  if (typeof kind !== 'string') {
    if (typeof kind?.resource !== 'string' || typeof kind.group !== 'string')
      throw new TypeError('fault: kind must be the name of a kind, or a resource such as `pods`');
    return { group: kind.group, resource: kind.resource };
  }
  const found = builtInKinds().get(kind.toLowerCase());
  if (found !== undefined) return found;
  const dot = kind.indexOf('.');
  // A custom resource has its group behind the first dot. Its plural cannot be derived from its kind.
  if (dot > 0 && kind === kind.toLowerCase())
    return { group: kind.slice(dot + 1), resource: kind.slice(0, dot) };
  throw new TypeError(
    `fault: the server has no kind ${JSON.stringify(kind)}; name a custom resource as 'RESOURCE.GROUP', ` +
      `such as 'tenants.example.com', or give the value of defineResource()`,
  );
}
