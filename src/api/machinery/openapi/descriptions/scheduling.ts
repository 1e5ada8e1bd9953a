// Descriptions of scheduling: affinity, spreading, priorities, and resources of containers.

import type { Descriptions } from './form.ts';

const REQUIREMENT = {
  key: 'The label key.',
  operator: 'How the label is compared: In, NotIn, Exists, DoesNotExist, and for nodes Gt and Lt.',
  values:
    'The values to compare with. Empty for Exists and DoesNotExist, one integer for Gt and Lt.',
};
const REQUIRED = 'Terms that must be met when the pod is scheduled. Later changes do not evict it.';
const PREFERRED = 'Terms with weights. The scheduler prefers nodes with the highest sum.';

export const scheduling: Descriptions = {
  'core/v1.NodeSelector': {
    type: 'Selects nodes. The terms are ORed.',
    fields: { nodeSelectorTerms: 'The terms. One of them must match.' },
  },
  'core/v1.NodeSelectorTerm': {
    type: 'A term that selects nodes. The requirements are ANDed; a term without any selects no node.',
    fields: {
      matchExpressions: 'Requirements for labels of the node.',
      matchFields: 'Requirements for fields of the node: metadata.name.',
    },
  },
  'core/v1.NodeSelectorRequirement': {
    type: 'A requirement for a label or field of a node.',
    fields: REQUIREMENT,
  },
  'core/v1.TopologySelectorTerm': {
    type: 'Selects topologies.',
    fields: { matchLabelExpressions: 'Requirements for topology labels. All must be met.' },
  },
  'core/v1.TopologySelectorLabelRequirement': {
    type: 'A requirement for a topology label.',
    fields: { key: 'The label key.', values: 'The values, one of which the label must have.' },
  },
  'core/v1.NodeAffinity': {
    type: 'The nodes on which a pod must or should run.',
    fields: {
      requiredDuringSchedulingIgnoredDuringExecution: REQUIRED,
      preferredDuringSchedulingIgnoredDuringExecution: PREFERRED,
    },
  },
  'core/v1.PodAffinity': {
    type: 'The pods near which a pod must or should run.',
    fields: {
      requiredDuringSchedulingIgnoredDuringExecution: REQUIRED,
      preferredDuringSchedulingIgnoredDuringExecution: PREFERRED,
    },
  },
  'core/v1.PodAntiAffinity': {
    type: 'The pods near which a pod must not or should not run.',
    fields: {
      requiredDuringSchedulingIgnoredDuringExecution: REQUIRED,
      preferredDuringSchedulingIgnoredDuringExecution: PREFERRED,
    },
  },
  'core/v1.WeightedPodAffinityTerm': {
    type: 'A preferred term.',
    fields: {
      weight: 'How much the term counts, from 1 to 100.',
      podAffinityTerm: 'The pods, and what near means.',
    },
  },
  'core/v1.PreferredSchedulingTerm': {
    type: 'A preferred term.',
    fields: {
      weight: 'How much the term counts, from 1 to 100.',
      preference: 'The nodes that are preferred.',
    },
  },
  'core/v1.PodAffinityTerm': {
    type: 'Pods, and the topology in which they count as near.',
    fields: {
      labelSelector: 'Selects pods by labels. Absent: none.',
      namespaces:
        'The namespaces of the pods. With namespaceSelector, both count. Neither: the namespace of this pod.',
      topologyKey:
        'The node label that makes a topology: nodes with the same value are near each other.',
      namespaceSelector: 'Selects namespaces of the pods by labels. Empty: all.',
      matchLabelKeys: 'Labels of this pod whose values other pods must have, too.',
      mismatchLabelKeys: 'Labels of this pod whose values other pods must not have.',
    },
  },
  'core/v1.TopologySpreadConstraint': {
    type: 'How evenly pods are spread over a topology.',
    fields: {
      maxSkew: 'How much the number of pods in two domains may differ.',
      topologyKey:
        'The node label that makes a domain: nodes with the same value are in the same one.',
      whenUnsatisfiable: 'DoNotSchedule to wait, ScheduleAnyway to prefer an even spread only.',
      labelSelector: 'Selects the pods that are counted, in the namespace of this pod.',
      minDomains: 'The number of domains below which the global minimum counts as 0. Default: 1.',
      nodeAffinityPolicy:
        'Honor counts only nodes that the affinity of the pod allows, Ignore counts all. ' +
        'Default: Honor.',
      nodeTaintsPolicy:
        'Honor leaves out nodes whose taints the pod does not tolerate, Ignore counts all. Default: Ignore.',
      matchLabelKeys: 'Labels of this pod whose values counted pods must have, too.',
    },
  },
  'core/v1.PodReadinessGate': {
    type: 'A condition that must be true for the pod to be ready.',
    fields: { conditionType: 'The type of the condition in the status of the pod.' },
  },
  'core/v1.PodSchedulingGate': {
    type: 'A gate that keeps a pod from being scheduled.',
    fields: { name: 'The name of the gate.' },
  },
  'core/v1.PodSchedulingGroup': {
    type: 'The group that a pod is scheduled with.',
    fields: { podGroupName: 'The name of the group.' },
  },
  'core/v1.PodOS': { type: 'An operating system.', fields: { name: 'linux or windows.' } },
  'core/v1.PodResourceClaim': {
    type: 'A claim to devices that the containers of a pod can use. Exactly one source is set.',
    fields: {
      name: 'The name by which containers refer to the claim.',
      resourceClaimName: 'An existing claim in the namespace of the pod.',
      resourceClaimTemplateName: 'A template from which a claim is created for this pod.',
    },
  },
  'core/v1.PodResourceClaimStatus': {
    type: 'The claim that was created for an entry of the pod.',
    fields: {
      name: 'The name of the entry.',
      resourceClaimName: 'The name of the claim. Absent: no claim was needed.',
    },
  },
  'core/v1.PodExtendedResourceClaimStatus': {
    type: 'The claim that was created for extended resources of a pod.',
    fields: {
      requestMappings: 'The mapping of resources of containers to requests of the claim.',
      resourceClaimName: 'The name of the claim.',
    },
  },
  'core/v1.ContainerExtendedResourceRequest': {
    type: 'The request of a claim for an extended resource of a container.',
    fields: {
      containerName: 'The container.',
      resourceName: 'The extended resource.',
      requestName: 'The request in the claim.',
    },
  },
  'core/v1.NodeAllocatableResourceClaimStatus': {
    type: 'Resources of the node that a claim of the pod uses.',
    fields: {
      resourceClaimName: 'The name of the claim.',
      containers: 'The containers that use it.',
      resources: 'The amounts.',
    },
  },
  'core/v1.ResourceClaim': {
    type: 'A claim of the pod that a container uses.',
    fields: {
      name: 'The name of the entry in the resource claims of the pod.',
      request: 'One request of the claim. Empty: all of them.',
    },
  },
  'core/v1.ResourceStatus': {
    type: 'The health of the devices of one resource.',
    fields: {
      name: 'The name of the resource, or claim:NAME/REQUEST.',
      resources: 'The health of each device.',
    },
  },
  'core/v1.ResourceHealth': {
    type: 'The health of a device.',
    fields: {
      resourceID: 'The ID of the device.',
      health: 'Healthy, Unhealthy or Unknown.',
      message: 'Details, for people.',
    },
  },
  'core/v1.ContainerResizePolicy': {
    type: 'Effect of a change of a resource on a running container.',
    fields: {
      resourceName: 'cpu or memory.',
      restartPolicy: 'NotRequired or RestartContainer. Default: NotRequired.',
    },
  },
  'scheduling/v1.PriorityClass': {
    type: 'A priority that pods can refer to by name.',
    fields: {
      value: 'The priority. Pods with a higher one are scheduled first, and may preempt others.',
      globalDefault:
        'Whether pods without a class have this priority. One class at most should be the default.',
      description: 'When to use the class, for people.',
      preemptionPolicy:
        'PreemptLowerPriority, or Never to wait instead of evicting others. Default: PreemptLowerPriority.',
    },
  },
  'node/v1.RuntimeClass': {
    type: 'A way to run containers that nodes support.',
    fields: {
      handler: 'The name of the configuration in the container runtime.',
      overhead: 'Resources that pods of this class use beyond their containers.',
      scheduling: 'The nodes that support the class.',
    },
  },
  'node/v1.Overhead': {
    type: 'Resources that running a pod costs.',
    fields: { podFixed: 'The fixed resources of each pod.' },
  },
  'node/v1.Scheduling': {
    type: 'The nodes that support a RuntimeClass.',
    fields: {
      nodeSelector: 'Labels of the nodes. They are added to the node selector of the pods.',
      tolerations: 'Tolerations that are added to the pods.',
    },
  },
};
