// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const persistentVolumes: ResourceType<types.PersistentVolume> = resourceType(schema, 'PersistentVolume');
export const persistentVolumeClaims: ResourceType<types.PersistentVolumeClaim> = resourceType(schema, 'PersistentVolumeClaim');
export const pods: ResourceType<types.Pod> = resourceType(schema, 'Pod');
export const podTemplates: ResourceType<types.PodTemplate> = resourceType(schema, 'PodTemplate');
export const replicationControllers: ResourceType<types.ReplicationController> = resourceType(schema, 'ReplicationController');
export const services: ResourceType<types.Service> = resourceType(schema, 'Service');
export const serviceAccounts: ResourceType<types.ServiceAccount> = resourceType(schema, 'ServiceAccount');
export const endpoints: ResourceType<types.Endpoints> = resourceType(schema, 'Endpoints');
export const nodes: ResourceType<types.Node> = resourceType(schema, 'Node');
export const namespaces: ResourceType<types.Namespace> = resourceType(schema, 'Namespace');
export const bindings: ResourceType<types.Binding> = resourceType(schema, 'Binding');
export const events: ResourceType<types.Event> = resourceType(schema, 'Event');
export const limitRanges: ResourceType<types.LimitRange> = resourceType(schema, 'LimitRange');
export const resourceQuotas: ResourceType<types.ResourceQuota> = resourceType(schema, 'ResourceQuota');
export const secrets: ResourceType<types.Secret> = resourceType(schema, 'Secret');
export const configMaps: ResourceType<types.ConfigMap> = resourceType(schema, 'ConfigMap');
export const componentStatuses: ResourceType<types.ComponentStatus> = resourceType(schema, 'ComponentStatus');
