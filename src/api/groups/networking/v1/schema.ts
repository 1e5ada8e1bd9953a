// Every type of networking.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  atomicMessage,
  f,
  groupVersion,
  inline,
  kind,
  mapList,
  merge,
  message,
  oneOf,
  optional,
  protoName,
  required,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('networking.k8s.io', 'v1', 'io.k8s.api.networking.v1', {
  NetworkPolicy: resource(
    { resource: 'networkpolicies', scope: 'Namespaced', shortNames: ['netpol'] },
    () => [f('metadata?', 1, 'meta/v1.ObjectMeta'), f('spec?', 2, 'NetworkPolicySpec')],
  ),
  PolicyType: oneOf('Ingress', 'Egress'),
  PathType: oneOf('Exact', 'Prefix', 'ImplementationSpecific'),
  NetworkPolicySpec: message(() => [
    f('podSelector', 1, 'meta/v1.LabelSelector', optional),
    f('ingress?', 2, '[]NetworkPolicyIngressRule', atomic),
    f('egress?', 3, '[]NetworkPolicyEgressRule', atomic),
    f('policyTypes?', 4, '[]PolicyType', atomic),
  ]),
  NetworkPolicyIngressRule: message(() => [
    f('ports?', 1, '[]NetworkPolicyPort', atomic),
    f('from?', 2, '[]NetworkPolicyPeer', atomic),
  ]),
  NetworkPolicyEgressRule: message(() => [
    f('ports?', 1, '[]NetworkPolicyPort', atomic),
    f('to?', 2, '[]NetworkPolicyPeer', atomic),
  ]),
  NetworkPolicyPort: message(() => [
    f('protocol?', 1, '*core/v1.Protocol'),
    f('port?', 2, '*intOrString'),
    f('endPort?', 3, '*int32'),
  ]),
  IPBlock: message(() => [f('cidr', 1, 'string'), f('except?', 2, '[]string', atomic)]),
  NetworkPolicyPeer: message(() => [
    f('podSelector?', 1, '*meta/v1.LabelSelector'),
    f('namespaceSelector?', 2, '*meta/v1.LabelSelector'),
    f('ipBlock?', 3, '*IPBlock'),
  ]),
  NetworkPolicyList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]NetworkPolicy'),
  ]),
  Ingress: resource(
    { resource: 'ingresses', scope: 'Namespaced', shortNames: ['ing'], subresources: ['status'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec?', 2, 'IngressSpec'),
      f('status?', 3, 'IngressStatus'),
    ],
  ),
  IngressList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]Ingress')]),
  IngressSpec: message(() => [
    f('ingressClassName?', 4, '*string'),
    f('defaultBackend?', 1, '*IngressBackend'),
    f('tls?', 2, '[]IngressTLS', atomic),
    f('rules?', 3, '[]IngressRule', atomic),
  ]),
  IngressTLS: message(() => [f('hosts?', 1, '[]string', atomic), f('secretName?', 2, 'string')]),
  IngressStatus: message(() => [f('loadBalancer?', 1, 'IngressLoadBalancerStatus')]),
  IngressLoadBalancerStatus: message(() => [
    f('ingress?', 1, '[]IngressLoadBalancerIngress', atomic),
  ]),
  IngressLoadBalancerIngress: message(() => [
    f('ip?', 1, 'string'),
    f('hostname?', 2, 'string'),
    f('ports?', 4, '[]IngressPortStatus', atomic),
  ]),
  IngressPortStatus: message(() => [
    f('port', 1, 'int32'),
    f('protocol', 2, 'core/v1.Protocol'),
    f('error?', 3, '*string'),
  ]),
  IngressRule: message(() => [f('host?', 1, 'string'), inline('IngressRuleValue', 2)]),
  IngressRuleValue: message(() => [f('http?', 1, '*HTTPIngressRuleValue')]),
  HTTPIngressRuleValue: message(() => [f('paths', 1, '[]HTTPIngressPath', atomic)]),
  HTTPIngressPath: message(() => [
    f('path?', 1, 'string'),
    f('pathType', 3, '*PathType'),
    f('backend', 2, 'IngressBackend'),
  ]),
  IngressBackend: message(() => [
    f('service?', 4, '*IngressServiceBackend'),
    f('resource?', 3, '*core/v1.TypedLocalObjectReference'),
  ]),
  IngressServiceBackend: message(() => [
    f('name', 1, 'string'),
    f('port?', 2, 'ServiceBackendPort'),
  ]),
  ServiceBackendPort: atomicMessage(() => [f('name?', 1, 'string'), f('number?', 2, 'int32')]),
  IngressClass: resource({ resource: 'ingressclasses', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec?', 2, 'IngressClassSpec'),
  ]),
  IngressClassSpec: message(() => [
    f('controller?', 1, 'string'),
    f('parameters?', 2, '*IngressClassParametersReference'),
  ]),
  IngressClassParametersReference: message(() => [
    f('apiGroup?', 1, '*string', protoName('aPIGroup')),
    f('kind', 2, 'string'),
    f('name', 3, 'string'),
    f('scope', 4, '*string', optional),
    f('namespace?', 5, '*string'),
  ]),
  IngressClassList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]IngressClass'),
  ]),
  IPAddress: resource({ resource: 'ipaddresses', scope: 'Cluster', shortNames: ['ip'] }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec?', 2, 'IPAddressSpec', required),
  ]),
  IPAddressSpec: message(() => [f('parentRef?', 1, '*ParentReference', required)]),
  ParentReference: message(() => [
    f('group?', 1, 'string'),
    f('resource?', 2, 'string', required),
    f('namespace?', 3, 'string'),
    f('name?', 4, 'string', required),
  ]),
  IPAddressList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]IPAddress')]),
  ServiceCIDR: resource(
    { resource: 'servicecidrs', scope: 'Cluster', subresources: ['status'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec?', 2, 'ServiceCIDRSpec'),
      f('status?', 3, 'ServiceCIDRStatus'),
    ],
  ),
  ServiceCIDRSpec: message(() => [f('cidrs?', 1, '[]string', atomic)]),
  ServiceCIDRStatus: message(() => [
    f('conditions?', 1, '[]meta/v1.Condition', mapList('type'), merge('type')),
  ]),
  ServiceCIDRList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]ServiceCIDR'),
  ]),
});
