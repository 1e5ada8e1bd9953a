// Descriptions of services.

import type { Descriptions } from './form.ts';

export const service: Descriptions = {
  'core/v1.Service': {
    type: 'A stable name and address for a changing set of pods.',
  },
  'core/v1.ServiceList': {
    type: 'A list of Service objects.',
    // Upstream's test of the document looks for these words.
    fields: { items: 'List of services.' },
  },
  'core/v1.ServiceSpec': {
    type: 'The desired state of a service.',
    fields: {
      ports: 'The ports at which the service listens.',
      selector:
        'Labels of the destination pods. Without a selector, other clients manage the endpoints.',
      clusterIP: 'The address inside the cluster, set by the server. None for a headless service.',
      clusterIPs:
        'The addresses inside the cluster, one for each IP family. The first is clusterIP.',
      type: 'ClusterIP, NodePort, LoadBalancer or ExternalName: how the service is exposed.',
      externalIPs: 'Addresses outside of the cluster whose traffic nodes accept for the service.',
      sessionAffinity: 'ClientIP to send each client to the same pod, or None. Default: None.',
      sessionAffinityConfig: 'Settings of session affinity.',
      loadBalancerIP:
        'The requested address of the load balancer. Not every load balancer supports it.',
      loadBalancerSourceRanges: 'The ranges of clients that the load balancer accepts, as CIDRs.',
      loadBalancerClass: 'The class of the load balancer.',
      allocateLoadBalancerNodePorts:
        'Whether ports of the nodes are allocated for a load balancer. Default: true.',
      externalName: 'The DNS name of an ExternalName service.',
      externalTrafficPolicy:
        'Local to keep external traffic on the node that receives it, Cluster to send it to ' +
        'any pod.',
      internalTrafficPolicy:
        'Local to keep internal traffic on its node, Cluster to send it to any pod.',
      healthCheckNodePort: 'The port at which nodes report whether they have pods of the service.',
      publishNotReadyAddresses: 'Whether pods that are not ready have addresses in DNS, too.',
      ipFamilies: 'IPv4, IPv6 or both.',
      ipFamilyPolicy:
        'The number of IP families: SingleStack, PreferDualStack or RequireDualStack.',
      trafficDistribution: 'The preferred pods, such as those nearby.',
    },
  },
  'core/v1.ServicePort': {
    type: 'A port of a service.',
    fields: {
      name: 'The name of the port. Optional if there is only one.',
      protocol: 'TCP, UDP or SCTP. Default: TCP.',
      appProtocol: 'The application protocol, such as http, as a hint.',
      port: 'The port of the service.',
      targetPort: 'The port of the pods, by number or name. Default: the same as port.',
      nodePort: 'The port of every node, set by the server for NodePort and LoadBalancer.',
    },
  },
  'core/v1.ServiceStatus': {
    type: 'The observed state of a service.',
    fields: {
      loadBalancer: 'The state of the load balancer.',
      conditions: 'Conditions of the service.',
    },
  },
};
