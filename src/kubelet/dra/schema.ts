// The APIs of DRA drivers on a node: preparing claims, versions v1 and v1beta1 (which differ in their
// package only: v1 adds a field), and the health of devices, version v1alpha1.

import type { Input, Message } from '#machinery/grpc/schema.ts';

const messages = {
  NodePrepareResourcesRequest: { claims: [1, 'Claim[]'] },
  NodePrepareResourcesResponse: { claims: [1, 'map<string,NodePrepareResourceResponse>'] },
  NodePrepareResourceResponse: { devices: [1, 'Device[]'], error: [2, 'string'] },
  Device: {
    requestNames: [1, 'string[]'],
    poolName: [2, 'string'],
    deviceName: [3, 'string'],
    cdiDeviceIds: [4, 'string[]'],
    shareId: [5, 'string', 'optional'],
  },
  NodeUnprepareResourcesRequest: { claims: [1, 'Claim[]'] },
  NodeUnprepareResourcesResponse: { claims: [1, 'map<string,NodeUnprepareResourceResponse>'] },
  NodeUnprepareResourceResponse: { error: [1, 'string'] },
  Claim: { namespace: [1, 'string'], uid: [2, 'string'], name: [3, 'string'] },
} as const;

const services = {
  DRAPlugin: {
    NodePrepareResources: ['NodePrepareResourcesRequest', 'NodePrepareResourcesResponse'],
    NodeUnprepareResources: ['NodeUnprepareResourcesRequest', 'NodeUnprepareResourcesResponse'],
  },
} as const;

export const draSchemaV1 = {
  package: 'k8s.io.kubelet.pkg.apis.dra.v1',
  enums: {},
  messages,
  services,
} as const;

export const draSchemaV1beta1 = {
  package: 'k8s.io.kubelet.pkg.apis.dra.v1beta1',
  enums: {},
  messages,
  services,
} as const;

export type DraSchema = typeof draSchemaV1;
export type ClaimReference = Input<DraSchema, 'Claim'>;
export type PrepareDevice = Message<DraSchema, 'Device'>;
export type PrepareResponse = Message<DraSchema, 'NodePrepareResourcesResponse'>;
export type UnprepareResponse = Message<DraSchema, 'NodeUnprepareResourcesResponse'>;

export const draHealthSchema = {
  package: 'v1alpha1',
  enums: { HealthStatus: { UNKNOWN: 0, HEALTHY: 1, UNHEALTHY: 2 } },
  messages: {
    NodeWatchResourcesRequest: {},
    DeviceIdentifier: { poolName: [1, 'string'], deviceName: [2, 'string'] },
    DeviceHealth: {
      device: [1, 'DeviceIdentifier'],
      health: [2, 'HealthStatus'],
      lastUpdatedTime: [3, 'int64'],
      healthCheckTimeoutSeconds: [4, 'int64'],
      message: [5, 'string'],
    },
    NodeWatchResourcesResponse: { devices: [1, 'DeviceHealth[]'] },
  },
  services: {
    DRAResourceHealth: {
      NodeWatchResources: ['NodeWatchResourcesRequest', 'NodeWatchResourcesResponse', 'stream'],
    },
  },
} as const;

export type ReportedHealth = Message<typeof draHealthSchema, 'DeviceHealth'>;

/** The services that a driver may list when it registers, the preferred one first. */
export const DRA_SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;
export type DraService = (typeof DRA_SERVICES)[number];
