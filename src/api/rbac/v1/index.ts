// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const roles: ResourceType<types.Role> = resourceType(schema, 'Role');
export const roleBindings: ResourceType<types.RoleBinding> = resourceType(schema, 'RoleBinding');
export const clusterRoles: ResourceType<types.ClusterRole> = resourceType(schema, 'ClusterRole');
export const clusterRoleBindings: ResourceType<types.ClusterRoleBinding> = resourceType(schema, 'ClusterRoleBinding');
