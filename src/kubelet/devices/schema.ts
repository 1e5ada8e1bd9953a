// The API of device plugins, version v1beta1 (k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1).

import type { Message } from '#machinery/grpc/schema.ts';

export const devicePluginSchema = {
  package: 'v1beta1',
  enums: {},
  messages: {
    DevicePluginOptions: {
      preStartRequired: [1, 'bool'],
      getPreferredAllocationAvailable: [2, 'bool'],
    },
    RegisterRequest: {
      version: [1, 'string'],
      endpoint: [2, 'string'],
      resourceName: [3, 'string'],
      options: [4, 'DevicePluginOptions'],
    },
    Empty: {},
    ListAndWatchResponse: { devices: [1, 'Device[]'] },
    TopologyInfo: { nodes: [1, 'NUMANode[]'] },
    NUMANode: { id: [1, 'int64'] },
    Device: { id: [1, 'string'], health: [2, 'string'], topology: [3, 'TopologyInfo'] },
    PreStartContainerRequest: { devicesIds: [1, 'string[]'] },
    PreStartContainerResponse: {},
    PreferredAllocationRequest: {
      containerRequests: [1, 'ContainerPreferredAllocationRequest[]'],
    },
    ContainerPreferredAllocationRequest: {
      availableDeviceIds: [1, 'string[]'],
      mustIncludeDeviceIds: [2, 'string[]'],
      allocationSize: [3, 'int32'],
    },
    PreferredAllocationResponse: {
      containerResponses: [1, 'ContainerPreferredAllocationResponse[]'],
    },
    ContainerPreferredAllocationResponse: { deviceIds: [1, 'string[]'] },
    AllocateRequest: { containerRequests: [1, 'ContainerAllocateRequest[]'] },
    ContainerAllocateRequest: { devicesIds: [1, 'string[]'] },
    CDIDevice: { name: [1, 'string'] },
    AllocateResponse: { containerResponses: [1, 'ContainerAllocateResponse[]'] },
    ContainerAllocateResponse: {
      envs: [1, 'map<string,string>'],
      mounts: [2, 'Mount[]'],
      devices: [3, 'DeviceSpec[]'],
      annotations: [4, 'map<string,string>'],
      cdiDevices: [5, 'CDIDevice[]'],
    },
    Mount: { containerPath: [1, 'string'], hostPath: [2, 'string'], readOnly: [3, 'bool'] },
    DeviceSpec: {
      containerPath: [1, 'string'],
      hostPath: [2, 'string'],
      permissions: [3, 'string'],
    },
  },
  services: {
    Registration: { Register: ['RegisterRequest', 'Empty'] },
    DevicePlugin: {
      GetDevicePluginOptions: ['Empty', 'DevicePluginOptions'],
      ListAndWatch: ['Empty', 'ListAndWatchResponse', 'stream'],
      GetPreferredAllocation: ['PreferredAllocationRequest', 'PreferredAllocationResponse'],
      Allocate: ['AllocateRequest', 'AllocateResponse'],
      PreStartContainer: ['PreStartContainerRequest', 'PreStartContainerResponse'],
    },
  },
} as const;

export type DevicePluginSchema = typeof devicePluginSchema;
export type Device = Message<DevicePluginSchema, 'Device'>;
export type PluginOptions = Message<DevicePluginSchema, 'DevicePluginOptions'>;
export type AllocateResponse = Message<DevicePluginSchema, 'ContainerAllocateResponse'>;

export const API_VERSION = 'v1beta1';
export const HEALTHY = 'Healthy';
