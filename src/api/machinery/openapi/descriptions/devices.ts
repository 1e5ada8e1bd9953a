// Descriptions of devices and their claims (resource.k8s.io), and of priority and fairness.

import type { Descriptions } from './form.ts';

const REQUEST = {
  deviceClassName: 'The class of the devices.',
  selectors: 'Conditions that each device must meet.',
  allocationMode: 'ExactCount or All. Default: ExactCount.',
  count: 'The number of devices, for ExactCount. Default: 1.',
  tolerations: 'Taints of devices that are tolerated.',
  capacity: 'The capacity that is needed of each device.',
};
const NAME = 'The name, unique in the list.';
const NODES = {
  nodeName: 'The node from which the devices can be used.',
  nodeSelector: 'The nodes from which the devices can be used.',
  allNodes: 'Whether all nodes can use the devices.',
};
const SELECTION = { verbs: 'The verbs. "*": all.' };

export const devices: Descriptions = {
  'resource/v1.ResourceSlice': { type: 'Devices that a driver offers, as part of a pool.' },
  'resource/v1.ResourceSliceSpec': {
    type: 'The devices of a slice.',
    fields: {
      driver: 'The driver.',
      pool: 'The pool that the slice is part of.',
      ...NODES,
      devices: 'The devices, at most 128.',
      perDeviceNodeSelection: 'Whether each device names its nodes.',
      sharedCounters: 'Counters that devices of the pool share.',
    },
  },
  'resource/v1.CounterSet': {
    type: 'Counters that devices consume.',
    fields: { name: NAME, counters: 'The counters.' },
  },
  'resource/v1.Counter': {
    type: 'A counter.',
    fields: { value: 'The amount that exists, or is consumed.' },
  },
  'resource/v1.ResourcePool': {
    type: 'The pool of a slice.',
    fields: {
      name: 'The name, unique for the driver.',
      generation: 'The generation of the pool. Only slices of the highest one count.',
      resourceSliceCount: 'The number of slices in the pool.',
    },
  },
  'resource/v1.Device': {
    type: 'A device.',
    fields: {
      name: NAME,
      attributes: 'Attributes that claims can select by.',
      capacity: 'Capacities of the device.',
      consumesCounters: 'The shared counters that the device consumes.',
      ...NODES,
      taints: 'Taints of the device.',
      bindsToNode: 'Whether the claim is bound to the node that was chosen.',
      bindingConditions: 'Conditions that must be true before the pod is bound.',
      bindingFailureConditions: 'Conditions that mean that the pod cannot be bound.',
      allowMultipleAllocations: 'Whether several claims can share the device.',
      nodeAllocatableResourceMappings: 'Resources of the node that the device stands for.',
    },
  },
  'resource/v1.NodeAllocatableResourceMapping': {
    type: 'The resource of a node that a device stands for.',
    fields: {
      capacityKey: 'The capacity of the device that is counted.',
      allocationMultiplier: 'The amount for each device, or for each unit of the capacity.',
    },
  },
  'resource/v1.DeviceCounterConsumption': {
    type: 'Amounts of a counter set that a device consumes.',
    fields: { counterSet: 'The name of the counter set.', counters: 'The amounts.' },
  },
  'resource/v1.DeviceCapacity': {
    type: 'A capacity of a device.',
    fields: {
      value: 'The amount.',
      requestPolicy: 'How shares of it can be requested. Absent: it is consumed as a whole.',
    },
  },
  'resource/v1.CapacityRequestPolicy': {
    type: 'How shares of a capacity can be requested. Values or a range are set.',
    fields: {
      default: 'The share of a request that names none.',
      validValues: 'The allowed shares. Others are rounded up.',
      validRange: 'The range of allowed shares.',
    },
  },
  'resource/v1.CapacityRequestPolicyRange': {
    type: 'A range of shares.',
    fields: {
      min: 'The smallest share.',
      max: 'The largest share.',
      step: 'The distance between shares.',
    },
  },
  'resource/v1.DeviceAttribute': {
    type: 'An attribute of a device. Exactly one field is set.',
    fields: {
      int: 'A number.',
      bool: 'True or false.',
      string: 'A text, at most 64 characters.',
      version: 'A semantic version.',
      ints: 'Several numbers.',
      bools: 'Several booleans.',
      strings: 'Several texts.',
      versions: 'Several semantic versions.',
    },
  },
  'resource/v1.DeviceTaint': {
    type: 'A taint of a device. Claims that do not tolerate it do not get the device.',
    fields: {
      key: 'The key.',
      value: 'The value.',
      effect: 'None, NoSchedule or NoExecute.',
      timeAdded: 'When the taint was added.',
    },
  },
  'resource/v1.ResourceClaim': { type: 'A request for devices, and their allocation.' },
  'resource/v1.ResourceClaimSpec': {
    type: 'The devices that are requested. They cannot be changed.',
    fields: { devices: 'The devices.' },
  },
  'resource/v1.DeviceClaim': {
    type: 'Devices that are requested.',
    fields: {
      requests: 'The requests.',
      constraints: 'Conditions for the devices of several requests together.',
      config: 'Configuration for the drivers.',
    },
  },
  'resource/v1.DeviceRequest': {
    type: 'One request. Either exactly or firstAvailable is set.',
    fields: {
      name: NAME,
      exactly: 'A request for devices of one class.',
      firstAvailable: 'Alternatives. The first that can be met is used.',
    },
  },
  'resource/v1.ExactDeviceRequest': {
    type: 'A request for devices of one class.',
    fields: {
      ...REQUEST,
      adminAccess:
        'Access for monitoring, also to devices that are in use. Only in namespaces that are labelled for it.',
    },
  },
  'resource/v1.DeviceSubRequest': {
    type: 'An alternative of a request.',
    fields: { name: NAME, ...REQUEST },
  },
  'resource/v1.CapacityRequirements': {
    type: 'Capacity that is needed.',
    fields: { requests: 'The amounts, by capacity.' },
  },
  'resource/v1.DeviceSelector': {
    type: 'A condition for devices.',
    fields: { cel: 'A CEL expression.' },
  },
  'resource/v1.CELDeviceSelector': {
    type: 'A CEL expression about a device.',
    fields: { expression: 'The expression. device has driver, attributes and capacity.' },
  },
  'resource/v1.DeviceConstraint': {
    type: 'A condition for several devices together.',
    fields: {
      requests: 'The requests whose devices are compared. Empty: all.',
      matchAttribute: 'An attribute that must be the same for all.',
      distinctAttribute: 'An attribute that must differ for all.',
    },
  },
  'resource/v1.DeviceClaimConfiguration': {
    type: 'Configuration of devices.',
    fields: {
      requests: 'The requests that it is for. Empty: all.',
      opaque: 'Configuration that the driver understands.',
    },
  },
  'resource/v1.DeviceConfiguration': {
    type: 'Configuration of devices.',
    fields: { opaque: 'Configuration that the driver understands.' },
  },
  'resource/v1.OpaqueDeviceConfiguration': {
    type: 'Configuration that only a driver understands.',
    fields: {
      driver: 'The driver.',
      parameters: 'The configuration, an object with kind and apiVersion.',
    },
  },
  'resource/v1.DeviceToleration': {
    type: 'A taint of devices that is tolerated.',
    fields: {
      key: 'The key of the taint. Empty with Exists: all.',
      operator: 'Exists or Equal. Default: Equal.',
      value: 'The value of the taint.',
      effect: 'The effect of the taint. Empty: all.',
      tolerationSeconds: 'How long NoExecute is tolerated. Absent: forever.',
    },
  },
  'resource/v1.ResourceClaimStatus': {
    type: 'The state of a claim.',
    fields: {
      allocation: 'The devices that the claim has.',
      reservedFor: 'Consumers that may use the claim, at most 256.',
      devices: 'Status of the devices, reported by their drivers.',
    },
  },
  'resource/v1.ResourceClaimConsumerReference': {
    type: 'An object that may use a claim, usually a pod.',
    fields: {
      apiGroup: 'The API group.',
      resource: 'The resource, such as pods.',
      name: 'The name.',
      uid: 'The UID.',
    },
  },
  'resource/v1.AllocationResult': {
    type: 'The devices that a claim has.',
    fields: {
      devices: 'The devices.',
      nodeSelector: 'The nodes from which they can be used.',
      allocationTimestamp: 'When they were allocated.',
    },
  },
  'resource/v1.DeviceAllocationResult': {
    type: 'Allocated devices.',
    fields: {
      results: 'The devices.',
      config: 'Their configuration, of the class and of the claim.',
    },
  },
  'resource/v1.DeviceRequestAllocationResult': {
    type: 'An allocated device.',
    fields: {
      request: 'The request, or request/alternative.',
      driver: 'The driver.',
      pool: 'The pool.',
      device: 'The name of the device.',
      adminAccess: 'Whether the access is for monitoring.',
      tolerations: 'The tolerations of the request.',
      bindingConditions: 'Conditions that must be true before the pod is bound.',
      bindingFailureConditions: 'Conditions that mean that the pod cannot be bound.',
      shareID: 'The ID of this share of the device.',
      consumedCapacity: 'The capacity that this share consumes.',
    },
  },
  'resource/v1.DeviceAllocationConfiguration': {
    type: 'Configuration of allocated devices.',
    fields: {
      source: 'FromClass or FromClaim.',
      requests: 'The requests that it is for. Empty: all.',
      opaque: 'Configuration that the driver understands.',
    },
  },
  'resource/v1.DeviceClass': { type: 'A class of devices, with conditions and configuration.' },
  'resource/v1.DeviceClassSpec': {
    type: 'The conditions and configuration of a class.',
    fields: {
      selectors: 'Conditions that each device must meet.',
      config: 'Configuration for the drivers.',
      extendedResourceName: 'The extended resource by which pods can request devices of the class.',
    },
  },
  'resource/v1.DeviceClassConfiguration': {
    type: 'Configuration of a class.',
    fields: { opaque: 'Configuration that the driver understands.' },
  },
  'resource/v1.ResourceClaimTemplate': {
    type: 'A template from which a claim is created for each pod.',
  },
  'resource/v1.ResourceClaimTemplateSpec': {
    type: 'The claims that are created.',
    fields: { metadata: 'Labels and annotations of the claims.', spec: 'The spec of the claims.' },
  },
  'resource/v1.AllocatedDeviceStatus': {
    type: 'Status of an allocated device, reported by its driver.',
    fields: {
      driver: 'The driver.',
      pool: 'The pool.',
      device: 'The name of the device.',
      shareID: 'The ID of the share.',
      conditions: 'Conditions of the device.',
      data: 'Further data of the driver.',
      networkData: 'Data of a network device.',
    },
  },
  'resource/v1.NetworkDeviceData': {
    type: 'Data of a network device.',
    fields: {
      interfaceName: 'The name of the interface in the pod.',
      ips: 'The addresses of the interface, in CIDR form.',
      hardwareAddress: 'The MAC address.',
    },
  },
  'flowcontrol/v1.FlowSchema': {
    type: 'Puts requests into flows, and gives them a priority level.',
  },
  'flowcontrol/v1.FlowSchemaSpec': {
    type: 'The requests and their priority level.',
    fields: {
      priorityLevelConfiguration: 'The priority level.',
      matchingPrecedence:
        'Schemas with a lower number are tried first. From 1 to 10000. Default: 1000.',
      distinguisherMethod: 'How requests are divided into flows.',
      rules: 'The requests. One rule must match.',
    },
  },
  'flowcontrol/v1.FlowDistinguisherMethod': {
    type: 'How requests are divided into flows.',
    fields: { type: 'ByUser or ByNamespace.' },
  },
  'flowcontrol/v1.PriorityLevelConfigurationReference': {
    type: 'A priority level.',
    fields: { name: 'The name of the priority level.' },
  },
  'flowcontrol/v1.PolicyRulesWithSubjects': {
    type: 'Subjects and their requests.',
    fields: {
      subjects: 'The subjects.',
      resourceRules: 'Requests for resources.',
      nonResourceRules: 'Requests for paths.',
    },
  },
  'flowcontrol/v1.Subject': {
    type: 'A subject. The field that the kind names is set.',
    fields: {
      kind: 'User, Group or ServiceAccount.',
      user: 'A user.',
      group: 'A group.',
      serviceAccount: 'A service account.',
    },
  },
  'flowcontrol/v1.UserSubject': { type: 'A user.', fields: { name: 'The name. "*": all.' } },
  'flowcontrol/v1.GroupSubject': { type: 'A group.', fields: { name: 'The name. "*": all.' } },
  'flowcontrol/v1.ServiceAccountSubject': {
    type: 'A service account.',
    fields: { namespace: 'The namespace.', name: 'The name. "*": all.' },
  },
  'flowcontrol/v1.ResourcePolicyRule': {
    type: 'Requests for resources.',
    fields: {
      ...SELECTION,
      apiGroups: 'The API groups. "*": all.',
      resources: 'The resources. "*": all.',
      clusterScope: 'Whether requests without a namespace match.',
      namespaces: 'The namespaces. "*": all.',
    },
  },
  'flowcontrol/v1.NonResourcePolicyRule': {
    type: 'Requests for paths.',
    fields: { ...SELECTION, nonResourceURLs: 'The paths, such as /healthz or /hea*. "*": all.' },
  },
  'flowcontrol/v1.FlowSchemaStatus': {
    type: 'The state of a FlowSchema.',
    fields: { conditions: 'Conditions of the FlowSchema.' },
  },
  'flowcontrol/v1.FlowSchemaCondition': { type: 'A condition of a FlowSchema.' },
  'flowcontrol/v1.PriorityLevelConfiguration': { type: 'A priority level of requests.' },
  'flowcontrol/v1.PriorityLevelConfigurationSpec': {
    type: 'The limits of a priority level.',
    fields: {
      type: 'Exempt for requests without a limit, or Limited.',
      limited: 'Settings of Limited.',
      exempt: 'Settings of Exempt.',
    },
  },
  'flowcontrol/v1.LimitedPriorityLevelConfiguration': {
    type: 'Settings of a limited level.',
    fields: {
      nominalConcurrencyShares: 'The share of the concurrency limit of the server. Default: 30.',
      limitResponse: 'Treatment of requests beyond the limit.',
      lendablePercent: 'How much of the limit others may borrow. Default: 0.',
      borrowingLimitPercent:
        'How much may be borrowed of others, relative to the limit. Absent: any amount.',
    },
  },
  'flowcontrol/v1.ExemptPriorityLevelConfiguration': {
    type: 'Settings of an exempt level.',
    fields: {
      nominalConcurrencyShares: 'The share of the concurrency limit that is reserved. Default: 0.',
      lendablePercent: 'How much of it others may borrow. Default: 0.',
    },
  },
  'flowcontrol/v1.LimitResponse': {
    type: 'Treatment of requests beyond a limit.',
    fields: { type: 'Queue or Reject.', queuing: 'Settings of Queue.' },
  },
  'flowcontrol/v1.QueuingConfiguration': {
    type: 'Settings of queues.',
    fields: {
      queues: 'The number of queues. Default: 64.',
      handSize: 'How many queues a flow can use. Default: 8.',
      queueLengthLimit: 'How many requests wait in a queue at most. Default: 50.',
    },
  },
  'flowcontrol/v1.PriorityLevelConfigurationStatus': {
    type: 'The state of a priority level.',
    fields: { conditions: 'Conditions of the priority level.' },
  },
  'flowcontrol/v1.PriorityLevelConfigurationCondition': {
    type: 'A condition of a priority level.',
  },
};
