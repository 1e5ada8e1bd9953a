// Descriptions of nodes.

import type { Descriptions } from './form.ts';

export const node: Descriptions = {
  'core/v1.Node': { type: 'A machine, real or not, that pods run on.' },
  'core/v1.NodeSpec': {
    type: 'The desired state of a node.',
    fields: {
      podCIDR: 'The addresses that pods of the node are given.',
      podCIDRs: 'The same for each IP family; podCIDR is the first.',
      providerID: 'Identifier of the machine in its cloud.',
      unschedulable: 'Whether no new pods are put on the node.',
      taints: 'Taints: pods that do not tolerate them are kept away.',
      configSource: 'No longer used.',
      externalID: 'No longer used.',
    },
  },
  'core/v1.NodeStatus': {
    type: 'How a node is.',
    fields: {
      capacity: 'Resources of the node.',
      allocatable: 'Resources of the node that pods may use.',
      phase: 'No longer used.',
      conditions: 'How the node is, aspect by aspect; Ready says whether pods can run on it.',
      addresses: 'Names and addresses at which the node is reached.',
      daemonEndpoints: 'Where the node itself listens.',
      nodeInfo: 'The machine, and the software that runs it.',
      images: 'Container images that are on the node.',
      volumesInUse: 'Volumes that pods on the node use.',
      volumesAttached: 'Volumes that are attached to the node.',
      config: 'No longer used.',
      runtimeHandlers: 'The handlers of the container runtime, and what each can do.',
      features: 'Features of the container runtime.',
      declaredFeatures: 'Features that the node says it has.',
    },
  },
  'core/v1.NodeCondition': {
    type: 'One aspect of the state of a node.',
    fields: {
      type: 'The name of the aspect.',
      status: 'Whether it holds: True, False or Unknown.',
      lastHeartbeatTime: 'When the node last reported the condition.',
      reason: 'Why, as one word for programs.',
      message: 'Why, for people.',
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
    type: 'A machine, and the software that runs it.',
    fields: {
      machineID: 'Tells the machine from others.',
      systemUUID: 'The same, from its firmware.',
      bootID: 'Changes at every start of the machine.',
      kernelVersion: 'The version of the kernel.',
      osImage: 'The name of the operating system, as it calls itself.',
      containerRuntimeVersion: 'The name and version of the container runtime.',
      kubeletVersion: 'The version of the kubelet.',
      kubeProxyVersion: 'No longer used.',
      operatingSystem: 'linux or windows.',
      architecture: 'The architecture of the machine, such as amd64.',
      swap: 'Swap space of the machine.',
    },
  },
  'core/v1.Taint': {
    type: 'Keeps pods away from a node that do not tolerate it.',
    fields: {
      key: 'The name of the taint.',
      value: 'Its value.',
      effect:
        'NoSchedule: no new pods. PreferNoSchedule: rather none. NoExecute: running ones must go, too.',
      timeAdded: 'When the taint was put on the node.',
    },
  },
};
