// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const networkPolicies: ResourceType<types.NetworkPolicy> = resourceType(schema, 'NetworkPolicy');
export const ingresses: ResourceType<types.Ingress> = resourceType(schema, 'Ingress');
export const ingressClasses: ResourceType<types.IngressClass> = resourceType(schema, 'IngressClass');
export const ipAddresses: ResourceType<types.IPAddress> = resourceType(schema, 'IPAddress');
export const serviceCIDRs: ResourceType<types.ServiceCIDR> = resourceType(schema, 'ServiceCIDR');
