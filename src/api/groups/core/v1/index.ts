// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const persistentVolumes: ResourceType<types.PersistentVolume> = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumes',
  singular: 'persistentvolume',
  kind: 'PersistentVolume',
  namespaced: false,
  shortNames: ['pv'],
  categories: [],
  subresources: ['status'],
};

export const persistentVolumeClaims: ResourceType<types.PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  shortNames: ['pvc'],
  categories: [],
  subresources: ['status'],
};

export const pods: ResourceType<types.Pod> = {
  group: '',
  version: 'v1',
  resource: 'pods',
  singular: 'pod',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  subresources: [
    'attach',
    'binding',
    'ephemeralcontainers',
    'eviction',
    'exec',
    'log',
    'portforward',
    'proxy',
    'resize',
    'status',
  ],
};

export const podTemplates: ResourceType<types.PodTemplate> = {
  group: '',
  version: 'v1',
  resource: 'podtemplates',
  singular: 'podtemplate',
  kind: 'PodTemplate',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const replicationControllers: ResourceType<types.ReplicationController> = {
  group: '',
  version: 'v1',
  resource: 'replicationcontrollers',
  singular: 'replicationcontroller',
  kind: 'ReplicationController',
  namespaced: true,
  shortNames: ['rc'],
  categories: ['all'],
  subresources: ['scale', 'status'],
};

export const services: ResourceType<types.Service> = {
  group: '',
  version: 'v1',
  resource: 'services',
  singular: 'service',
  kind: 'Service',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  subresources: ['proxy', 'status'],
};

export const serviceAccounts: ResourceType<types.ServiceAccount> = {
  group: '',
  version: 'v1',
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  categories: [],
  subresources: ['token'],
};

export const endpoints: ResourceType<types.Endpoints> = {
  group: '',
  version: 'v1',
  resource: 'endpoints',
  singular: 'endpoints',
  kind: 'Endpoints',
  namespaced: true,
  shortNames: ['ep'],
  categories: [],
  subresources: [],
};

export const nodes: ResourceType<types.Node> = {
  group: '',
  version: 'v1',
  resource: 'nodes',
  singular: 'node',
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  categories: [],
  subresources: ['proxy', 'status'],
};

export const namespaces: ResourceType<types.Namespace> = {
  group: '',
  version: 'v1',
  resource: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  categories: [],
  subresources: ['finalize', 'status'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
};

export const bindings: ResourceType<types.Binding> = {
  group: '',
  version: 'v1',
  resource: 'bindings',
  singular: 'binding',
  kind: 'Binding',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};

export const events: ResourceType<types.Event> = {
  group: '',
  version: 'v1',
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  categories: [],
  subresources: [],
};

export const limitRanges: ResourceType<types.LimitRange> = {
  group: '',
  version: 'v1',
  resource: 'limitranges',
  singular: 'limitrange',
  kind: 'LimitRange',
  namespaced: true,
  shortNames: ['limits'],
  categories: [],
  subresources: [],
};

export const resourceQuotas: ResourceType<types.ResourceQuota> = {
  group: '',
  version: 'v1',
  resource: 'resourcequotas',
  singular: 'resourcequota',
  kind: 'ResourceQuota',
  namespaced: true,
  shortNames: ['quota'],
  categories: [],
  subresources: ['status'],
};

export const secrets: ResourceType<types.Secret> = {
  group: '',
  version: 'v1',
  resource: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const configMaps: ResourceType<types.ConfigMap> = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  categories: [],
  subresources: [],
};

export const componentStatuses: ResourceType<types.ComponentStatus> = {
  group: '',
  version: 'v1',
  resource: 'componentstatuses',
  singular: 'componentstatus',
  kind: 'ComponentStatus',
  namespaced: false,
  shortNames: ['cs'],
  categories: [],
  subresources: [],
  verbs: ['get', 'list'],
};
