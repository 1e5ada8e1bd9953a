// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Allowed connections of pods. */
export interface NetworkPolicy extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: NetworkPolicySpec;
}

export type PolicyType = 'Ingress' | 'Egress';

export type PathType = 'Exact' | 'Prefix' | 'ImplementationSpecific';

/** The pods and the rules. Connections that no policy of a pod allows are dropped. */
export interface NetworkPolicySpec {
  /** Selects the pods of the namespace that the policy is for. Empty: all. */
  podSelector: meta.LabelSelector;
  /** Rules for connections to the pods. Empty: none are allowed. */
  ingress?: NetworkPolicyIngressRule[];
  /** Rules for connections of the pods. Empty: none are allowed. */
  egress?: NetworkPolicyEgressRule[];
  /** Ingress, Egress or both. Default: Ingress, and Egress if there are egress rules. */
  policyTypes?: PolicyType[];
}

/** Connections to the pods that are allowed. */
export interface NetworkPolicyIngressRule {
  /** Ports of the pods. Empty: all. */
  ports?: NetworkPolicyPort[];
  /** Sources. Empty: all. */
  from?: NetworkPolicyPeer[];
}

/** Connections of the pods that are allowed. */
export interface NetworkPolicyEgressRule {
  /** Destination ports. Empty: all. */
  ports?: NetworkPolicyPort[];
  /** Destinations. Empty: all. */
  to?: NetworkPolicyPeer[];
}

/** A port or a range of ports. */
export interface NetworkPolicyPort {
  /** TCP, UDP or SCTP. Default: TCP. */
  protocol?: core.Protocol;
  /** The port, by number or name. Absent: all. */
  port?: number | string;
  /** The last port of a range that begins at port. */
  endPort?: number;
}

/** A range of addresses. */
export interface IPBlock {
  /** The range, such as 192.168.1.0/24 or 2001:db8::/64. */
  cidr: string;
  /** Ranges within it that are excluded. */
  except?: string[];
}

/** Pods or addresses at the other end. An ipBlock excludes the other fields. */
export interface NetworkPolicyPeer {
  /** Selects pods, in the namespaces of namespaceSelector or in that of the policy. */
  podSelector?: meta.LabelSelector;
  /** Selects namespaces. Empty: all. */
  namespaceSelector?: meta.LabelSelector;
  /** A range of addresses. */
  ipBlock?: IPBlock;
}

/** A list of NetworkPolicy objects. */
export interface NetworkPolicyList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: NetworkPolicy[];
}

/** Routes HTTP requests from outside to services. */
export interface Ingress extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: IngressSpec;
  /** The observed state. */
  status: IngressStatus;
}

/** A list of Ingress objects. */
export interface IngressList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Ingress[];
}

/** The rules of an Ingress. */
export interface IngressSpec {
  /** The class, which names the controller. Default: the default class. */
  ingressClassName?: string;
  /** The backend of requests that no rule matches. */
  defaultBackend?: IngressBackend;
  /** Certificates for hosts. */
  tls?: IngressTLS[];
  /** The rules. */
  rules?: IngressRule[];
}

/** A certificate for hosts. */
export interface IngressTLS {
  /** The hosts in the certificate. */
  hosts?: string[];
  /** The secret with the certificate and key. */
  secretName?: string;
}

/** The state of an Ingress. */
export interface IngressStatus {
  /** The addresses of the Ingress. */
  loadBalancer: IngressLoadBalancerStatus;
}

/** The addresses of an Ingress. */
export interface IngressLoadBalancerStatus {
  /** The addresses. */
  ingress?: IngressLoadBalancerIngress[];
}

/** An address. */
export interface IngressLoadBalancerIngress {
  /** The IP address. */
  ip?: string;
  /** The host name. */
  hostname?: string;
  /** The ports. */
  ports?: IngressPortStatus[];
}

/** A port of a load balancer. */
export interface IngressPortStatus {
  /** The port. */
  port: number;
  /** TCP, UDP or SCTP. */
  protocol: core.Protocol;
  /** The problem with the port, as CamelCase name. */
  error?: string;
}

/** Routes of a host. */
export interface IngressRule extends IngressRuleValue {
  /** The host name, also with a wildcard as the first label. Empty: all. */
  host?: string;
}

/** Routes of a rule. */
export interface IngressRuleValue {
  /** The paths. */
  http?: HTTPIngressRuleValue;
}

/** Paths and their backends. */
export interface HTTPIngressRuleValue {
  /** The paths. The longest match wins. */
  paths: HTTPIngressPath[];
}

/** A path and its backend. */
export interface HTTPIngressPath {
  /** The path. It begins with a slash. */
  path?: string;
  /** Exact, Prefix or ImplementationSpecific. */
  pathType: PathType;
  /** The destination of requests. */
  backend: IngressBackend;
}

/** The destination of requests. One field is set. */
export interface IngressBackend {
  /** A service. */
  service?: IngressServiceBackend;
  /** Another object in the namespace of the Ingress. */
  resource?: core.TypedLocalObjectReference;
}

/** A service and its port. */
export interface IngressServiceBackend {
  /** The name of the service. */
  name: string;
  /** The port. */
  port: ServiceBackendPort;
}

/** A port of a service. One field is set. */
export interface ServiceBackendPort {
  /** The name. */
  name?: string;
  /** The number. */
  number?: number;
}

/** A class of Ingresses, which a controller serves. */
export interface IngressClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: IngressClassSpec;
}

/** The controller of a class. */
export interface IngressClassSpec {
  /** The name of the controller. It cannot be changed. */
  controller?: string;
  /** An object with further configuration. */
  parameters?: IngressClassParametersReference;
}

/** A reference to an object with configuration. */
export interface IngressClassParametersReference {
  /** The API group of the object. */
  apiGroup?: string;
  /** The kind of the object. */
  kind: string;
  /** The name of the object. */
  name: string;
  /** Cluster or Namespace. Default: Cluster. */
  scope: string | null;
  /** The namespace of the object. */
  namespace?: string;
}

/** A list of IngressClass objects. */
export interface IngressClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: IngressClass[];
}

/** An IP address that is in use. Its name is the address. */
export interface IPAddress extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: IPAddressSpec;
}

/** The user of the address. */
export interface IPAddressSpec {
  /** The object that uses the address. */
  parentRef?: ParentReference;
}

/** A reference to an object. */
export interface ParentReference {
  /** The API group. */
  group?: string;
  /** The resource. */
  resource?: string;
  /** The namespace. */
  namespace?: string;
  /** The name. */
  name?: string;
}

/** A list of IPAddress objects. */
export interface IPAddressList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: IPAddress[];
}

/** Ranges of addresses for services. */
export interface ServiceCIDR extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ServiceCIDRSpec;
  /** The observed state. */
  status: ServiceCIDRStatus;
}

/** The ranges. */
export interface ServiceCIDRSpec {
  /** One range, or one of each IP family. They cannot be changed. */
  cidrs?: string[];
}

/** The state of the ranges. */
export interface ServiceCIDRStatus {
  /** Ready, if addresses can be allocated. */
  conditions?: meta.Condition[];
}

/** A list of ServiceCIDR objects. */
export interface ServiceCIDRList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ServiceCIDR[];
}
