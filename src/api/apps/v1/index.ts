// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const statefulSets: ResourceType<types.StatefulSet> = resourceType(schema, 'StatefulSet');
export const deployments: ResourceType<types.Deployment> = resourceType(schema, 'Deployment');
export const daemonSets: ResourceType<types.DaemonSet> = resourceType(schema, 'DaemonSet');
export const replicaSets: ResourceType<types.ReplicaSet> = resourceType(schema, 'ReplicaSet');
export const controllerRevisions: ResourceType<types.ControllerRevision> = resourceType(schema, 'ControllerRevision');
