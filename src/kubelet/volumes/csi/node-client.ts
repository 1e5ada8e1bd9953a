// The node service of a CSI driver, as the kubelet calls it.

import { type CsiInput, type CsiMessage, csiSchema } from '#csi/schema.ts';
import type { Clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';

export type NodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'VOLUME_CONDITION'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

/** Every call rejects with an RpcError, after two minutes at the latest. */
export interface CsiNodeService {
  info(): Promise<CsiMessage<'NodeGetInfoResponse'>>;
  capabilities(): Promise<ReadonlySet<NodeCapability>>;
  stage(request: CsiInput<'NodeStageVolumeRequest'>): Promise<void>;
  publish(request: CsiInput<'NodePublishVolumeRequest'>): Promise<void>;
  unpublish(volumeId: string, targetPath: string): Promise<void>;
  unstage(volumeId: string, stagingTargetPath: string): Promise<void>;
  stats(
    volumeId: string,
    volumePath: string,
    signal: AbortSignal,
  ): Promise<CsiMessage<'NodeGetVolumeStatsResponse'>>;
  expand(request: CsiInput<'NodeExpandVolumeRequest'>): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 120_000;

/** Connects to a driver's socket. Calls end with the signal. */
export function csiNodeService(
  endpoint: string,
  clock: Clock,
  signal: AbortSignal,
): CsiNodeService {
  const connection = new RpcConnection(csiSchema, endpoint, clock);
  const options = { timeoutMs: TIMEOUT_MS, signal };
  return {
    info: () => connection.call('Node', 'NodeGetInfo', {}, options),
    async capabilities() {
      const { capabilities } = await connection.call('Node', 'NodeGetCapabilities', {}, options);
      return new Set(
        capabilities.flatMap(({ rpc }) =>
          rpc === undefined || rpc.type === 'UNKNOWN' ? [] : [rpc.type],
        ),
      );
    },
    stage: async (request) =>
      void (await connection.call('Node', 'NodeStageVolume', request, options)),
    publish: async (request) =>
      void (await connection.call('Node', 'NodePublishVolume', request, options)),
    unpublish: async (volumeId, targetPath) =>
      void (await connection.call(
        'Node',
        'NodeUnpublishVolume',
        { volumeId, targetPath },
        options,
      )),
    unstage: async (volumeId, stagingTargetPath) =>
      void (await connection.call(
        'Node',
        'NodeUnstageVolume',
        { volumeId, stagingTargetPath },
        options,
      )),
    stats: (volumeId, volumePath, caller) =>
      connection.call(
        'Node',
        'NodeGetVolumeStats',
        { volumeId, volumePath },
        { ...options, signal: AbortSignal.any([signal, caller]) },
      ),
    expand: async (request) =>
      void (await connection.call('Node', 'NodeExpandVolume', request, options)),
    close: () => connection.close(),
  };
}
