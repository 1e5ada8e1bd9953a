// Descriptions of services.

import type { Descriptions } from './form.ts';

export const service: Descriptions = {
  'core/v1.Service': {
    type: 'One name and address for a set of pods, whichever they are at the moment.',
  },
  'core/v1.ServiceSpec': {
    type: 'Which pods are meant, and how they are reached.',
    fields: {
      ports: 'The ports at which the service listens.',
      selector:
        'Labels of the pods that traffic goes to. Without a selector, the endpoints are managed by others.',
      clusterIP:
        'The address inside the cluster, given by the server; None for a service without one.',
      clusterIPs:
        'The addresses inside the cluster, one for each IP family; clusterIP is the first.',
      type: 'ClusterIP, NodePort, LoadBalancer or ExternalName: from where the service is reached.',
      externalIPs: 'Addresses outside of the cluster whose traffic nodes take for the service.',
      sessionAffinity: 'ClientIP: one client always reaches the same pod. None: any.',
      sessionAffinityConfig: 'How long a client is remembered.',
      loadBalancerIP: 'An address asked of the load balancer; not every one heeds it.',
      loadBalancerSourceRanges: 'Which clients the load balancer lets in, as CIDRs.',
      loadBalancerClass: 'Which load balancer is to serve it.',
      allocateLoadBalancerNodePorts:
        'Whether a load balancer needs ports of the nodes; true if it is left out.',
      externalName: 'The DNS name that an ExternalName service stands for.',
      externalTrafficPolicy:
        'Local: traffic from outside stays on the node that it came to. Cluster: any pod may serve it.',
      internalTrafficPolicy:
        'Local: traffic from inside stays on its node. Cluster: any pod may serve it.',
      healthCheckNodePort: 'The port at which nodes say whether they have pods of the service.',
      publishNotReadyAddresses: 'Whether pods that are not ready have addresses in DNS, too.',
      ipFamilies: 'IPv4, IPv6 or both.',
      ipFamilyPolicy:
        'How many IP families are wanted: SingleStack, PreferDualStack or RequireDualStack.',
      trafficDistribution: 'Which pods are preferred, such as those nearby.',
    },
  },
  'core/v1.ServicePort': {
    type: 'One port at which a service listens.',
    fields: {
      name: 'The name of the port; may be left out if there is one only.',
      protocol: 'TCP, UDP or SCTP; TCP if it is left out.',
      appProtocol: 'The protocol that is spoken, such as http, as a hint.',
      port: 'The port of the service.',
      targetPort: 'The port of the pods, by number or name; the same as port if it is left out.',
      nodePort: 'The port of every node, given by the server for NodePort and LoadBalancer.',
    },
  },
  'core/v1.ServiceStatus': {
    type: 'How a service is.',
    fields: {
      loadBalancer: 'Where the load balancer listens.',
      conditions: 'How the service is, aspect by aspect.',
    },
  },
};
