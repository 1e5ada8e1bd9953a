// Descriptions of nodes.

import type { Descriptions } from './form.ts';

export const node: Descriptions = {
  'core/v1.Node': { type: 'A machine, physical or virtual, that runs pods.' },
  'core/v1.NodeSpec': {
    type: 'The desired state of a node.',
    fields: {
      podCIDR: 'The range of pod addresses of the node.',
      podCIDRs: 'The ranges of pod addresses for each IP family. The first is podCIDR.',
      providerID: 'Identifier of the machine in its cloud.',
      unschedulable: 'Whether new pods are kept off the node.',
      taints: 'Taints of the node. Pods that do not tolerate them do not run on it.',
      configSource: 'No longer used.',
      externalID: 'No longer used.',
    },
  },
  'core/v1.NodeStatus': {
    type: 'The observed state of a node.',
    fields: {
      capacity: 'Resources of the node.',
      allocatable: 'Resources of the node that pods may use.',
      phase: 'No longer used.',
      conditions: 'Conditions of the node. Ready means that it can run pods.',
      addresses: 'Names and addresses at which the node is reached.',
      daemonEndpoints: "Ports of the node's own daemons.",
      nodeInfo: 'Information about the machine and its software.',
      images: 'Container images that are on the node.',
      volumesInUse: 'Volumes that pods on the node use.',
      volumesAttached: 'Volumes that are attached to the node.',
      config: 'No longer used.',
      runtimeHandlers: 'The handlers of the container runtime, with their features.',
      features: 'Features of the container runtime.',
      declaredFeatures: 'Features that the node declares.',
    },
  },
  'core/v1.NodeCondition': {
    type: 'A condition of a node.',
    fields: {
      type: 'The type of the condition.',
      status: 'True, False or Unknown.',
      lastHeartbeatTime: 'When the node last reported the condition.',
      reason: 'The reason, as one word for programs.',
      message: 'The reason, for people.',
    },
  },
  'core/v1.NodeAddress': {
    type: 'A name or address of a node.',
    fields: {
      type: 'Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.',
      address: 'The name or address.',
    },
  },
  'core/v1.NodeSystemInfo': {
    type: 'Information about a machine and its software.',
    fields: {
      machineID: 'The ID of the machine.',
      systemUUID: 'The ID of the machine in its firmware.',
      bootID: 'An ID that changes with every boot.',
      kernelVersion: 'The version of the kernel.',
      osImage: 'The name of the operating system.',
      containerRuntimeVersion: 'The name and version of the container runtime.',
      kubeletVersion: 'The version of the kubelet.',
      kubeProxyVersion: 'No longer used.',
      operatingSystem: 'linux or windows.',
      architecture: 'The architecture of the machine, such as amd64.',
      swap: 'Swap space of the machine.',
    },
  },
  'core/v1.Taint': {
    type: 'A property of a node that keeps pods away unless they tolerate it.',
    fields: {
      key: 'The key of the taint.',
      value: 'Its value.',
      effect:
        'NoSchedule rejects new pods, PreferNoSchedule avoids them, NoExecute evicts running ' +
        'ones, too.',
      timeAdded: 'When the taint was added to the node.',
    },
  },
};
