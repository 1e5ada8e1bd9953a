// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const statefulSets: ResourceType<types.StatefulSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'statefulsets',
  singular: 'statefulset',
  kind: 'StatefulSet',
  namespaced: true,
  shortNames: ['sts'],
  categories: ['all'],
  subresources: ['scale', 'status'],
};

export const deployments: ResourceType<types.Deployment> = {
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  singular: 'deployment',
  kind: 'Deployment',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  subresources: ['scale', 'status'],
};

export const daemonSets: ResourceType<types.DaemonSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'daemonsets',
  singular: 'daemonset',
  kind: 'DaemonSet',
  namespaced: true,
  shortNames: ['ds'],
  categories: ['all'],
  subresources: ['status'],
};

export const replicaSets: ResourceType<types.ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  resource: 'replicasets',
  singular: 'replicaset',
  kind: 'ReplicaSet',
  namespaced: true,
  shortNames: ['rs'],
  categories: ['all'],
  subresources: ['scale', 'status'],
};

export const controllerRevisions: ResourceType<types.ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  resource: 'controllerrevisions',
  singular: 'controllerrevision',
  kind: 'ControllerRevision',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};
