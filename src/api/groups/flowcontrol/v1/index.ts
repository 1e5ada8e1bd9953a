// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const flowSchemas: ResourceType<types.FlowSchema> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  resource: 'flowschemas',
  singular: 'flowschema',
  kind: 'FlowSchema',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};

export const priorityLevelConfigurations: ResourceType<types.PriorityLevelConfiguration> = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  resource: 'prioritylevelconfigurations',
  singular: 'prioritylevelconfiguration',
  kind: 'PriorityLevelConfiguration',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};
