// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export type DeviceAllocationMode = 'ExactCount' | 'All';

/** Devices that a driver offers, as part of a pool. */
export interface ResourceSlice extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ResourceSliceSpec;
}

/** The devices of a slice. */
export interface ResourceSliceSpec {
  /** The driver. */
  driver: string;
  /** The pool that the slice is part of. */
  pool: ResourcePool;
  /** The node from which the devices can be used. */
  nodeName?: string;
  /** The nodes from which the devices can be used. */
  nodeSelector?: core.NodeSelector;
  /** Whether all nodes can use the devices. */
  allNodes?: boolean;
  /** The devices, at most 128. */
  devices?: Device[];
  /** Whether each device names its nodes. */
  perDeviceNodeSelection?: boolean;
  /** Counters that devices of the pool share. */
  sharedCounters?: CounterSet[];
}

/** Counters that devices consume. */
export interface CounterSet {
  /** The name, unique in the list. */
  name: string;
  /** The counters. */
  counters?: Record<string, Counter>;
}

/** The pool of a slice. */
export interface ResourcePool {
  /** The name, unique for the driver. */
  name: string;
  /** The generation of the pool. Only slices of the highest one count. */
  generation: number;
  /** The number of slices in the pool. */
  resourceSliceCount: number;
}

/** A device. */
export interface Device {
  /** The name, unique in the list. */
  name: string;
  /** Attributes that claims can select by. */
  attributes?: Record<string, DeviceAttribute>;
  /** Capacities of the device. */
  capacity?: Record<string, DeviceCapacity>;
  /** The shared counters that the device consumes. */
  consumesCounters?: DeviceCounterConsumption[];
  /** The node from which the devices can be used. */
  nodeName?: string;
  /** The nodes from which the devices can be used. */
  nodeSelector?: core.NodeSelector;
  /** Whether all nodes can use the devices. */
  allNodes?: boolean;
  /** Taints of the device. */
  taints?: DeviceTaint[];
  /** Whether the claim is bound to the node that was chosen. */
  bindsToNode?: boolean;
  /** Conditions that must be true before the pod is bound. */
  bindingConditions?: string[];
  /** Conditions that mean that the pod cannot be bound. */
  bindingFailureConditions?: string[];
  /** Whether several claims can share the device. */
  allowMultipleAllocations?: boolean;
  /** Resources of the node that the device stands for. */
  nodeAllocatableResourceMappings?: Record<string, NodeAllocatableResourceMapping>;
}

/** The resource of a node that a device stands for. */
export interface NodeAllocatableResourceMapping {
  /** The capacity of the device that is counted. */
  capacityKey?: string;
  /** The amount for each device, or for each unit of the capacity. */
  allocationMultiplier?: string;
}

/** Amounts of a counter set that a device consumes. */
export interface DeviceCounterConsumption {
  /** The name of the counter set. */
  counterSet: string;
  /** The amounts. */
  counters?: Record<string, Counter>;
}

/** A capacity of a device. */
export interface DeviceCapacity {
  /** The amount. */
  value: string;
  /** How shares of it can be requested. Absent: it is consumed as a whole. */
  requestPolicy?: CapacityRequestPolicy;
}

/** A counter. */
export interface Counter {
  /** The amount that exists, or is consumed. */
  value: string;
}

/** How shares of a capacity can be requested. Values or a range are set. */
export interface CapacityRequestPolicy {
  /** The share of a request that names none. */
  default: string | null;
  /** The allowed shares. Others are rounded up. */
  validValues?: string[];
  /** The range of allowed shares. */
  validRange?: CapacityRequestPolicyRange;
}

/** A range of shares. */
export interface CapacityRequestPolicyRange {
  /** The smallest share. */
  min?: string;
  /** The largest share. */
  max?: string;
  /** The distance between shares. */
  step?: string;
}

/** An attribute of a device. Exactly one field is set. */
export interface DeviceAttribute {
  /** A number. */
  int?: number;
  /** True or false. */
  bool?: boolean;
  /** A text, at most 64 characters. */
  string?: string;
  /** A semantic version. */
  version?: string;
  /** Several numbers. */
  ints?: number[];
  /** Several booleans. */
  bools?: boolean[];
  /** Several texts. */
  strings?: string[];
  /** Several semantic versions. */
  versions?: string[];
}

/** A taint of a device. Claims that do not tolerate it do not get the device. */
export interface DeviceTaint {
  /** The key. */
  key: string;
  /** The value. */
  value?: string;
  /** None, NoSchedule or NoExecute. */
  effect: DeviceTaintEffect;
  /** When the taint was added. */
  timeAdded?: string;
}

export type DeviceTaintEffect = 'None' | 'NoSchedule' | 'NoExecute';

/** A list of ResourceSlice objects. */
export interface ResourceSliceList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ResourceSlice[];
}

/** A request for devices, and their allocation. */
export interface ResourceClaim extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ResourceClaimSpec;
  /** The observed state. */
  status: ResourceClaimStatus;
}

/** The devices that are requested. They cannot be changed. */
export interface ResourceClaimSpec {
  /** The devices. */
  devices: DeviceClaim;
}

/** Devices that are requested. */
export interface DeviceClaim {
  /** The requests. */
  requests: DeviceRequest[] | null;
  /** Conditions for the devices of several requests together. */
  constraints?: DeviceConstraint[];
  /** Configuration for the drivers. */
  config?: DeviceClaimConfiguration[];
}

/** One request. Either exactly or firstAvailable is set. */
export interface DeviceRequest {
  /** The name, unique in the list. */
  name: string;
  /** A request for devices of one class. */
  exactly?: ExactDeviceRequest;
  /** Alternatives. The first that can be met is used. */
  firstAvailable?: DeviceSubRequest[];
}

/** A request for devices of one class. */
export interface ExactDeviceRequest {
  /** The class of the devices. */
  deviceClassName: string;
  /** Conditions that each device must meet. */
  selectors?: DeviceSelector[];
  /** ExactCount or All. Default: ExactCount. */
  allocationMode?: DeviceAllocationMode;
  /** The number of devices, for ExactCount. Default: 1. */
  count?: number;
  /** Access for monitoring, also to devices that are in use. Only in namespaces that are labelled for it. */
  adminAccess?: boolean;
  /** Taints of devices that are tolerated. */
  tolerations?: DeviceToleration[];
  /** The capacity that is needed of each device. */
  capacity?: CapacityRequirements;
}

/** An alternative of a request. */
export interface DeviceSubRequest {
  /** The name, unique in the list. */
  name: string;
  /** The class of the devices. */
  deviceClassName: string;
  /** Conditions that each device must meet. */
  selectors?: DeviceSelector[];
  /** ExactCount or All. Default: ExactCount. */
  allocationMode?: DeviceAllocationMode;
  /** The number of devices, for ExactCount. Default: 1. */
  count?: number;
  /** Taints of devices that are tolerated. */
  tolerations?: DeviceToleration[];
  /** The capacity that is needed of each device. */
  capacity?: CapacityRequirements;
}

/** Capacity that is needed. */
export interface CapacityRequirements {
  /** The amounts, by capacity. */
  requests?: Record<string, string>;
}

/** A condition for devices. */
export interface DeviceSelector {
  /** A CEL expression. */
  cel?: CELDeviceSelector;
}

/** A CEL expression about a device. */
export interface CELDeviceSelector {
  /** The expression. device has driver, attributes and capacity. */
  expression: string;
}

/** A condition for several devices together. */
export interface DeviceConstraint {
  /** The requests whose devices are compared. Empty: all. */
  requests?: string[];
  /** An attribute that must be the same for all. */
  matchAttribute?: string;
  /** An attribute that must differ for all. */
  distinctAttribute?: string;
}

/** Configuration of devices. */
export interface DeviceClaimConfiguration extends DeviceConfiguration {
  /** The requests that it is for. Empty: all. */
  requests?: string[];
}

/** Configuration of devices. */
export interface DeviceConfiguration {
  /** Configuration that the driver understands. */
  opaque?: OpaqueDeviceConfiguration;
}

/** Configuration that only a driver understands. */
export interface OpaqueDeviceConfiguration {
  /** The driver. */
  driver: string;
  /** The configuration, an object with kind and apiVersion. */
  parameters: Record<string, unknown>;
}

/** A taint of devices that is tolerated. */
export interface DeviceToleration {
  /** The key of the taint. Empty with Exists: all. */
  key?: string;
  /** Exists or Equal. Default: Equal. */
  operator?: DeviceTolerationOperator;
  /** The value of the taint. */
  value?: string;
  /** The effect of the taint. Empty: all. */
  effect?: DeviceTaintEffect;
  /** How long NoExecute is tolerated. Absent: forever. */
  tolerationSeconds?: number;
}

export type DeviceTolerationOperator = 'Exists' | 'Equal';

/** The state of a claim. */
export interface ResourceClaimStatus {
  /** The devices that the claim has. */
  allocation?: AllocationResult;
  /** Consumers that may use the claim, at most 256. */
  reservedFor?: ResourceClaimConsumerReference[];
  /** Status of the devices, reported by their drivers. */
  devices?: AllocatedDeviceStatus[];
}

/** An object that may use a claim, usually a pod. */
export interface ResourceClaimConsumerReference {
  /** The API group. */
  apiGroup?: string;
  /** The resource, such as pods. */
  resource: string;
  /** The name. */
  name: string;
  /** The UID. */
  uid: string;
}

/** The devices that a claim has. */
export interface AllocationResult {
  /** The devices. */
  devices: DeviceAllocationResult;
  /** The nodes from which they can be used. */
  nodeSelector?: core.NodeSelector;
  /** When they were allocated. */
  allocationTimestamp?: string;
}

/** Allocated devices. */
export interface DeviceAllocationResult {
  /** The devices. */
  results?: DeviceRequestAllocationResult[];
  /** Their configuration, of the class and of the claim. */
  config?: DeviceAllocationConfiguration[];
}

/** An allocated device. */
export interface DeviceRequestAllocationResult {
  /** The request, or request/alternative. */
  request: string;
  /** The driver. */
  driver: string;
  /** The pool. */
  pool: string;
  /** The name of the device. */
  device: string;
  /** Whether the access is for monitoring. */
  adminAccess?: boolean;
  /** The tolerations of the request. */
  tolerations?: DeviceToleration[];
  /** Conditions that must be true before the pod is bound. */
  bindingConditions?: string[];
  /** Conditions that mean that the pod cannot be bound. */
  bindingFailureConditions?: string[];
  /** The ID of this share of the device. */
  shareID?: string;
  /** The capacity that this share consumes. */
  consumedCapacity?: Record<string, string>;
}

/** Configuration of allocated devices. */
export interface DeviceAllocationConfiguration extends DeviceConfiguration {
  /** FromClass or FromClaim. */
  source: AllocationConfigSource;
  /** The requests that it is for. Empty: all. */
  requests?: string[];
}

export type AllocationConfigSource = 'FromClass' | 'FromClaim';

/** A list of ResourceClaim objects. */
export interface ResourceClaimList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ResourceClaim[];
}

/** A class of devices, with conditions and configuration. */
export interface DeviceClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: DeviceClassSpec;
}

/** The conditions and configuration of a class. */
export interface DeviceClassSpec {
  /** Conditions that each device must meet. */
  selectors?: DeviceSelector[];
  /** Configuration for the drivers. */
  config?: DeviceClassConfiguration[];
  /** The extended resource by which pods can request devices of the class. */
  extendedResourceName?: string;
}

/** Configuration of a class. */
export interface DeviceClassConfiguration extends DeviceConfiguration {}

/** A list of DeviceClass objects. */
export interface DeviceClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: DeviceClass[];
}

/** A template from which a claim is created for each pod. */
export interface ResourceClaimTemplate extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ResourceClaimTemplateSpec;
}

/** The claims that are created. */
export interface ResourceClaimTemplateSpec {
  /** Labels and annotations of the claims. */
  metadata: meta.ObjectMeta;
  /** The spec of the claims. */
  spec: ResourceClaimSpec;
}

/** A list of ResourceClaimTemplate objects. */
export interface ResourceClaimTemplateList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ResourceClaimTemplate[];
}

/** Status of an allocated device, reported by its driver. */
export interface AllocatedDeviceStatus {
  /** The driver. */
  driver: string;
  /** The pool. */
  pool: string;
  /** The name of the device. */
  device: string;
  /** The ID of the share. */
  shareID?: string;
  /** Conditions of the device. */
  conditions: meta.Condition[] | null;
  /** Further data of the driver. */
  data?: Record<string, unknown>;
  /** Data of a network device. */
  networkData?: NetworkDeviceData;
}

/** Data of a network device. */
export interface NetworkDeviceData {
  /** The name of the interface in the pod. */
  interfaceName?: string;
  /** The addresses of the interface, in CIDR form. */
  ips?: string[];
  /** The MAC address. */
  hardwareAddress?: string;
}
