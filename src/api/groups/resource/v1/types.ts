// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface ResourceSlice extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ResourceSliceSpec;
}

export interface ResourceSliceSpec {
  driver: string;
  pool: ResourcePool;
  nodeName?: string;
  nodeSelector?: core.NodeSelector;
  allNodes?: boolean;
  devices?: Device[];
  perDeviceNodeSelection?: boolean;
  sharedCounters?: CounterSet[];
}

export interface CounterSet {
  name: string;
  counters?: Record<string, Counter>;
}

export interface ResourcePool {
  name: string;
  generation: number;
  resourceSliceCount: number;
}

export interface Device {
  name: string;
  attributes?: Record<string, DeviceAttribute>;
  capacity?: Record<string, DeviceCapacity>;
  consumesCounters?: DeviceCounterConsumption[];
  nodeName?: string;
  nodeSelector?: core.NodeSelector;
  allNodes?: boolean;
  taints?: DeviceTaint[];
  bindsToNode?: boolean;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  allowMultipleAllocations?: boolean;
  nodeAllocatableResourceMappings?: Record<string, NodeAllocatableResourceMapping>;
}

export interface NodeAllocatableResourceMapping {
  capacityKey?: string;
  allocationMultiplier?: string;
}

export interface DeviceCounterConsumption {
  counterSet: string;
  counters?: Record<string, Counter>;
}

export interface DeviceCapacity {
  value: string;
  requestPolicy?: CapacityRequestPolicy;
}

export interface Counter {
  value: string;
}

export interface CapacityRequestPolicy {
  default: string | null;
  validValues?: string[];
  validRange?: CapacityRequestPolicyRange;
}

export interface CapacityRequestPolicyRange {
  min?: string;
  max?: string;
  step?: string;
}

export interface DeviceAttribute {
  int?: number;
  bool?: boolean;
  string?: string;
  version?: string;
  ints?: number[];
  bools?: boolean[];
  strings?: string[];
  versions?: string[];
}

export interface DeviceTaint {
  key: string;
  value?: string;
  effect: DeviceTaintEffect;
  timeAdded?: string;
}

export type DeviceTaintEffect = 'None' | 'NoSchedule' | 'NoExecute';

export interface ResourceSliceList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ResourceSlice[];
}

export interface ResourceClaim extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ResourceClaimSpec;
  status: ResourceClaimStatus;
}

export interface ResourceClaimSpec {
  devices: DeviceClaim;
}

export interface DeviceClaim {
  requests: DeviceRequest[] | null;
  constraints?: DeviceConstraint[];
  config?: DeviceClaimConfiguration[];
}

export interface DeviceRequest {
  name: string;
  exactly?: ExactDeviceRequest;
  firstAvailable?: DeviceSubRequest[];
}

export interface ExactDeviceRequest {
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: string;
  count?: number;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
}

export interface DeviceSubRequest {
  name: string;
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: string;
  count?: number;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
}

export interface CapacityRequirements {
  requests?: Record<string, string>;
}

export interface DeviceSelector {
  cel?: CELDeviceSelector;
}

export interface CELDeviceSelector {
  expression: string;
}

export interface DeviceConstraint {
  requests?: string[];
  matchAttribute?: string;
  distinctAttribute?: string;
}

export interface DeviceClaimConfiguration extends DeviceConfiguration {
  requests?: string[];
}

export interface DeviceConfiguration {
  opaque?: OpaqueDeviceConfiguration;
}

export interface OpaqueDeviceConfiguration {
  driver: string;
  parameters: Record<string, unknown>;
}

export interface DeviceToleration {
  key?: string;
  operator?: DeviceTolerationOperator;
  value?: string;
  effect?: DeviceTaintEffect;
  tolerationSeconds?: number;
}

export type DeviceTolerationOperator = 'Exists' | 'Equal';

export interface ResourceClaimStatus {
  allocation?: AllocationResult;
  reservedFor?: ResourceClaimConsumerReference[];
  devices?: AllocatedDeviceStatus[];
}

export interface ResourceClaimConsumerReference {
  apiGroup?: string;
  resource: string;
  name: string;
  uid: string;
}

export interface AllocationResult {
  devices: DeviceAllocationResult;
  nodeSelector?: core.NodeSelector;
  allocationTimestamp?: string;
}

export interface DeviceAllocationResult {
  results?: DeviceRequestAllocationResult[];
  config?: DeviceAllocationConfiguration[];
}

export interface DeviceRequestAllocationResult {
  request: string;
  driver: string;
  pool: string;
  device: string;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  shareID?: string;
  consumedCapacity?: Record<string, string>;
}

export interface DeviceAllocationConfiguration extends DeviceConfiguration {
  source: AllocationConfigSource;
  requests?: string[];
}

export type AllocationConfigSource = 'FromClass' | 'FromClaim';

export interface ResourceClaimList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ResourceClaim[];
}

export interface DeviceClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: DeviceClassSpec;
}

export interface DeviceClassSpec {
  selectors?: DeviceSelector[];
  config?: DeviceClassConfiguration[];
  extendedResourceName?: string;
}

export interface DeviceClassConfiguration extends DeviceConfiguration {}

export interface DeviceClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: DeviceClass[];
}

export interface ResourceClaimTemplate extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ResourceClaimTemplateSpec;
}

export interface ResourceClaimTemplateSpec {
  metadata: meta.ObjectMeta;
  spec: ResourceClaimSpec;
}

export interface ResourceClaimTemplateList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ResourceClaimTemplate[];
}

export interface AllocatedDeviceStatus {
  driver: string;
  pool: string;
  device: string;
  shareID?: string;
  conditions: meta.Condition[] | null;
  data?: Record<string, unknown>;
  networkData?: NetworkDeviceData;
}

export interface NetworkDeviceData {
  interfaceName?: string;
  ips?: string[];
  hardwareAddress?: string;
}
