// Every type of resource.k8s.io/v1beta1: those of v1, but for requests and devices. `npm run
// generate` makes types.ts and index.ts from it.

import { atomic, f, groupVersion, message, optional } from '#api/machinery/schema/builder.ts';
import { types } from '../v1/schema.ts';

const { ExactDeviceRequest: _, ...shared } = types;

export const schema = groupVersion('resource.k8s.io', 'v1beta1', 'io.k8s.api.resource.v1beta1', {
  ...shared,
  ResourceSliceSpec: message(() => [
    f('driver', 1, 'string'),
    f('pool', 2, 'ResourcePool'),
    f('nodeName?', 3, 'string'),
    f('nodeSelector?', 4, '*core/v1.NodeSelector'),
    f('allNodes?', 5, 'bool'),
    f('devices?', 6, '[]Device', atomic),
    f('perDeviceNodeSelection?', 7, '*bool'),
    f('sharedCounters?', 8, '[]CounterSet', atomic),
  ]),
  Device: message(() => [f('name', 1, 'string'), f('basic?', 2, '*BasicDevice')]),
  BasicDevice: message(() => [
    f('attributes?', 1, '{}DeviceAttribute'),
    f('capacity?', 2, '{}DeviceCapacity'),
    f('consumesCounters?', 3, '[]DeviceCounterConsumption', atomic),
    f('nodeName?', 4, '*string'),
    f('nodeSelector?', 5, '*core/v1.NodeSelector'),
    f('allNodes?', 6, '*bool'),
    f('taints?', 7, '[]DeviceTaint', atomic),
    f('bindsToNode?', 8, '*bool'),
    f('bindingConditions?', 9, '[]string', atomic),
    f('bindingFailureConditions?', 10, '[]string', atomic),
    f('allowMultipleAllocations?', 11, '*bool'),
    f('nodeAllocatableResourceMappings?', 12, '{}NodeAllocatableResourceMapping'),
  ]),
  DeviceRequest: message(() => [
    f('name', 1, 'string'),
    f('deviceClassName', 2, 'string', optional),
    f('selectors?', 3, '[]DeviceSelector', atomic),
    f('allocationMode?', 4, 'DeviceAllocationMode'),
    f('count?', 5, 'int64'),
    f('adminAccess?', 6, '*bool'),
    f('firstAvailable?', 7, '[]DeviceSubRequest', atomic),
    f('tolerations?', 8, '[]DeviceToleration', atomic),
    f('capacity?', 9, '*CapacityRequirements'),
  ]),
  DeviceSubRequest: message(() => [
    f('name', 1, 'string'),
    f('deviceClassName', 2, 'string'),
    f('selectors?', 3, '[]DeviceSelector', atomic),
    f('allocationMode?', 4, 'DeviceAllocationMode'),
    f('count?', 5, 'int64'),
    f('tolerations?', 7, '[]DeviceToleration', atomic),
    f('capacity?', 8, '*CapacityRequirements'),
  ]),
});
