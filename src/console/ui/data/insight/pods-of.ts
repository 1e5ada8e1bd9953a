// The pods of an object: of a pod itself, of a workload by its selector.

import type { KubeObject } from '../lists/live-object.ts';
import { selectorOf } from './related.ts';
import { type ResourceType, typeId } from '../server/resource-type.ts';

const WORKLOADS: ReadonlySet<string> = new Set([
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'replicationcontrollers',
  'services',
]);

/** Returns the query that lists the pods of the object; undefined if it has none. */
export function podQuery(
  type: ResourceType,
  object: KubeObject,
): Readonly<Record<string, string>> | undefined {
  const id = typeId(type);
  if (id === 'pods') return { fieldSelector: `metadata.name=${object.metadata.name}` };
  if (id === 'nodes') return { fieldSelector: `spec.nodeName=${object.metadata.name}` };
  const selector = WORKLOADS.has(id) ? selectorOf(object) : undefined;
  return selector === undefined ? undefined : { labelSelector: selector };
}

/** Reports whether the page of the kind has logs. */
export const hasLogs = (type: ResourceType): boolean =>
  typeId(type) === 'pods' || WORKLOADS.has(typeId(type));

export interface ContainerName {
  readonly name: string;
  readonly kind: 'container' | 'init' | 'ephemeral';
  readonly image: string;
}

/** Returns the containers of a pod: the main ones first. */
export function containersOf({ spec }: KubeObject): readonly ContainerName[] {
  const of = (field: string, kind: ContainerName['kind']): ContainerName[] =>
    ((spec?.[field] ?? []) as readonly { name: string; image?: string }[]).map(
      ({ name, image = '' }) => ({ name, kind, image }),
    );
  return [
    ...of('containers', 'container'),
    ...of('initContainers', 'init'),
    ...of('ephemeralContainers', 'ephemeral'),
  ];
}
