// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const runtimeClasses: ResourceType<types.RuntimeClass> = {
  group: 'node.k8s.io',
  version: 'v1',
  resource: 'runtimeclasses',
  singular: 'runtimeclass',
  kind: 'RuntimeClass',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};
