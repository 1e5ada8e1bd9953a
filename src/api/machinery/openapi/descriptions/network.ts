// Descriptions of networking, discovery and endpoints.

import type { Descriptions } from './form.ts';

const PORT_STATUS = {
  port: 'The port.',
  protocol: 'TCP, UDP or SCTP.',
  error: 'The problem with the port, as CamelCase name.',
};

export const network: Descriptions = {
  'networking/v1.NetworkPolicy': { type: 'Allowed connections of pods.' },
  'networking/v1.NetworkPolicySpec': {
    type: 'The pods and the rules. Connections that no policy of a pod allows are dropped.',
    fields: {
      podSelector: 'Selects the pods of the namespace that the policy is for. Empty: all.',
      ingress: 'Rules for connections to the pods. Empty: none are allowed.',
      egress: 'Rules for connections of the pods. Empty: none are allowed.',
      policyTypes:
        'Ingress, Egress or both. Default: Ingress, and Egress if there are egress rules.',
    },
  },
  'networking/v1.NetworkPolicyIngressRule': {
    type: 'Connections to the pods that are allowed.',
    fields: { ports: 'Ports of the pods. Empty: all.', from: 'Sources. Empty: all.' },
  },
  'networking/v1.NetworkPolicyEgressRule': {
    type: 'Connections of the pods that are allowed.',
    fields: { ports: 'Destination ports. Empty: all.', to: 'Destinations. Empty: all.' },
  },
  'networking/v1.NetworkPolicyPort': {
    type: 'A port or a range of ports.',
    fields: {
      protocol: 'TCP, UDP or SCTP. Default: TCP.',
      port: 'The port, by number or name. Absent: all.',
      endPort: 'The last port of a range that begins at port.',
    },
  },
  'networking/v1.IPBlock': {
    type: 'A range of addresses.',
    fields: {
      cidr: 'The range, such as 192.168.1.0/24 or 2001:db8::/64.',
      except: 'Ranges within it that are excluded.',
    },
  },
  'networking/v1.NetworkPolicyPeer': {
    type: 'Pods or addresses at the other end. An ipBlock excludes the other fields.',
    fields: {
      podSelector: 'Selects pods, in the namespaces of namespaceSelector or in that of the policy.',
      namespaceSelector: 'Selects namespaces. Empty: all.',
      ipBlock: 'A range of addresses.',
    },
  },
  'networking/v1.Ingress': { type: 'Routes HTTP requests from outside to services.' },
  'networking/v1.IngressSpec': {
    type: 'The rules of an Ingress.',
    fields: {
      ingressClassName: 'The class, which names the controller. Default: the default class.',
      defaultBackend: 'The backend of requests that no rule matches.',
      tls: 'Certificates for hosts.',
      rules: 'The rules.',
    },
  },
  'networking/v1.IngressTLS': {
    type: 'A certificate for hosts.',
    fields: {
      hosts: 'The hosts in the certificate.',
      secretName: 'The secret with the certificate and key.',
    },
  },
  'networking/v1.IngressStatus': {
    type: 'The state of an Ingress.',
    fields: { loadBalancer: 'The addresses of the Ingress.' },
  },
  'networking/v1.IngressLoadBalancerStatus': {
    type: 'The addresses of an Ingress.',
    fields: { ingress: 'The addresses.' },
  },
  'networking/v1.IngressLoadBalancerIngress': {
    type: 'An address.',
    fields: { ip: 'The IP address.', hostname: 'The host name.', ports: 'The ports.' },
  },
  'networking/v1.IngressPortStatus': { type: 'A port of a load balancer.', fields: PORT_STATUS },
  'networking/v1.IngressRule': {
    type: 'Routes of a host.',
    fields: {
      host: 'The host name, also with a wildcard as the first label. Empty: all.',
      http: 'The paths.',
    },
  },
  'networking/v1.IngressRuleValue': { type: 'Routes of a rule.', fields: { http: 'The paths.' } },
  'networking/v1.HTTPIngressRuleValue': {
    type: 'Paths and their backends.',
    fields: { paths: 'The paths. The longest match wins.' },
  },
  'networking/v1.HTTPIngressPath': {
    type: 'A path and its backend.',
    fields: {
      path: 'The path. It begins with a slash.',
      pathType: 'Exact, Prefix or ImplementationSpecific.',
      backend: 'The destination of requests.',
    },
  },
  'networking/v1.IngressBackend': {
    type: 'The destination of requests. One field is set.',
    fields: { service: 'A service.', resource: 'Another object in the namespace of the Ingress.' },
  },
  'networking/v1.IngressServiceBackend': {
    type: 'A service and its port.',
    fields: { name: 'The name of the service.', port: 'The port.' },
  },
  'networking/v1.ServiceBackendPort': {
    type: 'A port of a service. One field is set.',
    fields: { name: 'The name.', number: 'The number.' },
  },
  'networking/v1.IngressClass': { type: 'A class of Ingresses, which a controller serves.' },
  'networking/v1.IngressClassSpec': {
    type: 'The controller of a class.',
    fields: {
      controller: 'The name of the controller. It cannot be changed.',
      parameters: 'An object with further configuration.',
    },
  },
  'networking/v1.IngressClassParametersReference': {
    type: 'A reference to an object with configuration.',
    fields: {
      apiGroup: 'The API group of the object.',
      kind: 'The kind of the object.',
      name: 'The name of the object.',
      scope: 'Cluster or Namespace. Default: Cluster.',
      namespace: 'The namespace of the object.',
    },
  },
  'networking/v1.IPAddress': { type: 'An IP address that is in use. Its name is the address.' },
  'networking/v1.IPAddressSpec': {
    type: 'The user of the address.',
    fields: { parentRef: 'The object that uses the address.' },
  },
  'networking/v1.ParentReference': {
    type: 'A reference to an object.',
    fields: {
      group: 'The API group.',
      resource: 'The resource.',
      namespace: 'The namespace.',
      name: 'The name.',
    },
  },
  'networking/v1.ServiceCIDR': { type: 'Ranges of addresses for services.' },
  'networking/v1.ServiceCIDRSpec': {
    type: 'The ranges.',
    fields: { cidrs: 'One range, or one of each IP family. They cannot be changed.' },
  },
  'networking/v1.ServiceCIDRStatus': {
    type: 'The state of the ranges.',
    fields: { conditions: 'Ready, if addresses can be allocated.' },
  },
  'discovery/v1.EndpointSlice': {
    type: 'A part of the endpoints of a service.',
    fields: {
      addressType: 'IPv4, IPv6 or FQDN. It cannot be changed.',
      endpoints: 'The endpoints, at most 1,000.',
      ports: 'The ports of each endpoint, at most 100.',
    },
  },
  'discovery/v1.Endpoint': {
    type: 'One endpoint.',
    fields: {
      addresses: 'The addresses. Consumers use the first.',
      conditions: 'The state of the endpoint.',
      hostname: 'The host name, for DNS.',
      targetRef: 'The object behind the endpoint, usually a pod.',
      deprecatedTopology: 'Topology of former versions. It is read only.',
      nodeName: 'The node of the endpoint.',
      zone: 'The zone of the endpoint.',
      hints: 'Which consumers should use the endpoint.',
    },
  },
  'discovery/v1.EndpointConditions': {
    type: 'The state of an endpoint.',
    fields: {
      ready: 'Whether the endpoint accepts connections and is not being terminated. Absent: true.',
      serving:
        'Whether the endpoint accepts connections, also while it is terminated. Absent: as ready.',
      terminating: 'Whether the endpoint is being terminated. Absent: false.',
    },
  },
  'discovery/v1.EndpointHints': {
    type: 'Which consumers should use an endpoint.',
    fields: {
      forZones: 'Zones whose consumers should use it.',
      forNodes: 'Nodes whose consumers should use it.',
    },
  },
  'discovery/v1.ForZone': { type: 'A zone.', fields: { name: 'The name of the zone.' } },
  'discovery/v1.ForNode': { type: 'A node.', fields: { name: 'The name of the node.' } },
  'discovery/v1.EndpointPort': {
    type: 'A port of the endpoints of a slice.',
    fields: {
      name: 'The name, unique in the slice.',
      protocol: 'TCP, UDP or SCTP. Default: TCP.',
      port: 'The number. Absent: all ports.',
      appProtocol: 'The application protocol, such as http or kubernetes.io/h2c.',
    },
  },
  'core/v1.SessionAffinityConfig': {
    type: 'Settings of session affinity.',
    fields: { clientIP: 'Settings of affinity by client address.' },
  },
  'core/v1.ClientIPConfig': {
    type: 'Settings of affinity by client address.',
    fields: {
      timeoutSeconds:
        'How many seconds a client keeps its endpoint. From 1 to 86400. Default: 10800.',
    },
  },
  'core/v1.LoadBalancerStatus': {
    type: 'The state of a load balancer.',
    fields: { ingress: 'The addresses of the load balancer.' },
  },
  'core/v1.LoadBalancerIngress': {
    type: 'An address of a load balancer.',
    fields: {
      ip: 'The IP address.',
      hostname: 'The host name.',
      ipMode: 'VIP if packets keep the address as destination, Proxy if not. Default: VIP.',
      ports: 'The ports.',
    },
  },
  'core/v1.PortStatus': { type: 'A port of a load balancer.', fields: PORT_STATUS },
  'core/v1.Endpoints': {
    type: 'The endpoints of a service. Deprecated: use EndpointSlices.',
    fields: { subsets: 'Addresses with common ports.' },
  },
  'core/v1.EndpointSubset': {
    type: 'Addresses with common ports.',
    fields: {
      addresses: 'Addresses that are ready.',
      notReadyAddresses: 'Addresses that are not ready.',
      ports: 'The ports of each address.',
    },
  },
  'core/v1.EndpointAddress': {
    type: 'An address.',
    fields: {
      ip: 'The IP address.',
      hostname: 'The host name, for DNS.',
      nodeName: 'The node of the endpoint.',
      targetRef: 'The object behind the endpoint, usually a pod.',
    },
  },
  'core/v1.EndpointPort': {
    type: 'A port.',
    fields: {
      name: 'The name of the port in the service.',
      port: 'The number.',
      protocol: 'TCP, UDP or SCTP. Default: TCP.',
      appProtocol: 'The application protocol, such as http or kubernetes.io/h2c.',
    },
  },
};
