// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface NetworkPolicy extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: NetworkPolicySpec;
}

export type PolicyType = 'Ingress' | 'Egress';

export interface NetworkPolicySpec {
  podSelector: meta.LabelSelector;
  ingress?: NetworkPolicyIngressRule[];
  egress?: NetworkPolicyEgressRule[];
  policyTypes?: PolicyType[];
}

export interface NetworkPolicyIngressRule {
  ports?: NetworkPolicyPort[];
  from?: NetworkPolicyPeer[];
}

export interface NetworkPolicyEgressRule {
  ports?: NetworkPolicyPort[];
  to?: NetworkPolicyPeer[];
}

export interface NetworkPolicyPort {
  protocol?: core.Protocol;
  port?: number | string;
  endPort?: number;
}

export interface IPBlock {
  cidr: string;
  except?: string[];
}

export interface NetworkPolicyPeer {
  podSelector?: meta.LabelSelector;
  namespaceSelector?: meta.LabelSelector;
  ipBlock?: IPBlock;
}

export interface NetworkPolicyList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: NetworkPolicy[];
}

export interface Ingress extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: IngressSpec;
  status: IngressStatus;
}

export interface IngressList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Ingress[];
}

export interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: IngressBackend;
  tls?: IngressTLS[];
  rules?: IngressRule[];
}

export interface IngressTLS {
  hosts?: string[];
  secretName?: string;
}

export interface IngressStatus {
  loadBalancer: IngressLoadBalancerStatus;
}

export interface IngressLoadBalancerStatus {
  ingress?: IngressLoadBalancerIngress[];
}

export interface IngressLoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ports?: IngressPortStatus[];
}

export interface IngressPortStatus {
  port: number;
  protocol: core.Protocol;
  error?: string;
}

export interface IngressRule extends IngressRuleValue {
  host?: string;
}

export interface IngressRuleValue {
  http?: HTTPIngressRuleValue;
}

export interface HTTPIngressRuleValue {
  paths: HTTPIngressPath[];
}

export interface HTTPIngressPath {
  path?: string;
  pathType: string;
  backend: IngressBackend;
}

export interface IngressBackend {
  service?: IngressServiceBackend;
  resource?: core.TypedLocalObjectReference;
}

export interface IngressServiceBackend {
  name: string;
  port: ServiceBackendPort;
}

export interface ServiceBackendPort {
  name?: string;
  number?: number;
}

export interface IngressClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: IngressClassSpec;
}

export interface IngressClassSpec {
  controller?: string;
  parameters?: IngressClassParametersReference;
}

export interface IngressClassParametersReference {
  apiGroup?: string;
  kind: string;
  name: string;
  scope: string | null;
  namespace?: string;
}

export interface IngressClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: IngressClass[];
}

export interface IPAddress extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: IPAddressSpec;
}

export interface IPAddressSpec {
  parentRef?: ParentReference;
}

export interface ParentReference {
  group?: string;
  resource?: string;
  namespace?: string;
  name?: string;
}

export interface IPAddressList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: IPAddress[];
}

export interface ServiceCIDR extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ServiceCIDRSpec;
  status: ServiceCIDRStatus;
}

export interface ServiceCIDRSpec {
  cidrs?: string[];
}

export interface ServiceCIDRStatus {
  conditions?: meta.Condition[];
}

export interface ServiceCIDRList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ServiceCIDR[];
}
