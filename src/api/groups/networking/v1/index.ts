// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const networkPolicies: ResourceType<types.NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'networkpolicies',
  singular: 'networkpolicy',
  kind: 'NetworkPolicy',
  namespaced: true,
  shortNames: ['netpol'],
  categories: [],
  subresources: [],
};

export const ingresses: ResourceType<types.Ingress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ingresses',
  singular: 'ingress',
  kind: 'Ingress',
  namespaced: true,
  shortNames: ['ing'],
  categories: [],
  subresources: ['status'],
};

export const ingressClasses: ResourceType<types.IngressClass> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ingressclasses',
  singular: 'ingressclass',
  kind: 'IngressClass',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const ipAddresses: ResourceType<types.IPAddress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'ipaddresses',
  singular: 'ipaddress',
  kind: 'IPAddress',
  namespaced: false,
  shortNames: ['ip'],
  categories: [],
  subresources: [],
};

export const serviceCIDRs: ResourceType<types.ServiceCIDR> = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'servicecidrs',
  singular: 'servicecidr',
  kind: 'ServiceCIDR',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};
