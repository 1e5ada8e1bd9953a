// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const customResourceDefinitions: ResourceType<types.CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  kind: 'CustomResourceDefinition',
  namespaced: false,
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  subresources: ['status'],
};
