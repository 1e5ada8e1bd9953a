// The controller services of a CSI driver, as the controllers of this folder call it. The capabilities
// of a driver do not change while it runs, so they are asked for once.

import { type CsiInput, type CsiMessage, type CsiSchema, csiSchema } from '#csi/schema.ts';
import type { Clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';

export type ControllerCapability = Exclude<
  keyof CsiSchema['enums']['ControllerServiceCapabilityRPCType'],
  'UNKNOWN'
>;

/** Every call rejects with an RpcError, after the time limit at the latest. */
export interface CsiControllerService {
  capabilities(): Promise<ReadonlySet<ControllerCapability>>;
  create(request: CsiInput<'CreateVolumeRequest'>): Promise<CsiMessage<'CreateVolumeResponse'>>;
  delete(request: CsiInput<'DeleteVolumeRequest'>): Promise<void>;
  publish(
    request: CsiInput<'ControllerPublishVolumeRequest'>,
  ): Promise<Readonly<Record<string, string>>>;
  unpublish(request: CsiInput<'ControllerUnpublishVolumeRequest'>): Promise<void>;
  expand(
    request: CsiInput<'ControllerExpandVolumeRequest'>,
  ): Promise<CsiMessage<'ControllerExpandVolumeResponse'>>;
  modify(request: CsiInput<'ControllerModifyVolumeRequest'>): Promise<void>;
  capacity(request: CsiInput<'GetCapacityRequest'>): Promise<CsiMessage<'GetCapacityResponse'>>;
  createSnapshot(
    request: CsiInput<'CreateSnapshotRequest'>,
  ): Promise<CsiMessage<'CreateSnapshotResponse'>>;
  deleteSnapshot(request: CsiInput<'DeleteSnapshotRequest'>): Promise<void>;
  listSnapshots(
    request: CsiInput<'ListSnapshotsRequest'>,
  ): Promise<CsiMessage<'ListSnapshotsResponse'>>;
  createGroupSnapshot(
    request: CsiInput<'CreateVolumeGroupSnapshotRequest'>,
  ): Promise<CsiMessage<'CreateVolumeGroupSnapshotResponse'>>;
  getGroupSnapshot(
    request: CsiInput<'GetVolumeGroupSnapshotRequest'>,
  ): Promise<CsiMessage<'GetVolumeGroupSnapshotResponse'>>;
  deleteGroupSnapshot(request: CsiInput<'DeleteVolumeGroupSnapshotRequest'>): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 60_000;

/** Connects to the driver's socket. Calls end with the signal. */
export function csiControllerService(
  endpoint: string,
  clock: Clock,
  signal: AbortSignal,
): CsiControllerService {
  const connection = new RpcConnection(csiSchema, endpoint, clock);
  const options = { timeoutMs: TIMEOUT_MS, signal };
  let capabilities: ReadonlySet<ControllerCapability> | undefined;
  return {
    async capabilities() {
      if (capabilities === undefined) {
        const response = await connection.call(
          'Controller',
          'ControllerGetCapabilities',
          {},
          options,
        );
        capabilities = new Set(
          response.capabilities.flatMap(({ rpc }) =>
            rpc === undefined || rpc.type === 'UNKNOWN' ? [] : [rpc.type],
          ),
        );
      }
      return capabilities;
    },
    create: (request) => connection.call('Controller', 'CreateVolume', request, options),
    delete: async (request) =>
      void (await connection.call('Controller', 'DeleteVolume', request, options)),
    publish: async (request) =>
      (await connection.call('Controller', 'ControllerPublishVolume', request, options))
        .publishContext,
    unpublish: async (request) =>
      void (await connection.call('Controller', 'ControllerUnpublishVolume', request, options)),
    expand: (request) => connection.call('Controller', 'ControllerExpandVolume', request, options),
    modify: async (request) =>
      void (await connection.call('Controller', 'ControllerModifyVolume', request, options)),
    capacity: (request) => connection.call('Controller', 'GetCapacity', request, options),
    createSnapshot: (request) => connection.call('Controller', 'CreateSnapshot', request, options),
    deleteSnapshot: async (request) =>
      void (await connection.call('Controller', 'DeleteSnapshot', request, options)),
    listSnapshots: (request) => connection.call('Controller', 'ListSnapshots', request, options),
    createGroupSnapshot: (request) =>
      connection.call('GroupController', 'CreateVolumeGroupSnapshot', request, options),
    getGroupSnapshot: (request) =>
      connection.call('GroupController', 'GetVolumeGroupSnapshot', request, options),
    deleteGroupSnapshot: async (request) =>
      void (await connection.call(
        'GroupController',
        'DeleteVolumeGroupSnapshot',
        request,
        options,
      )),
    close: () => connection.close(),
  };
}
