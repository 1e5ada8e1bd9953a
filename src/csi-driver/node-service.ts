// The node service: makes volumes available on this node.
//
// A directory is bound to the path of each pod. An image is attached as a device; a file system on it
// is mounted once, at the staging path, and bound from there, and the device of a block volume is
// bound as a file.

import type { CsiMessage, CsiSchema } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import type { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { isReadOnly, required, requireCapability } from './capability.ts';
import type { Records, VolumeRecord } from './records.ts';
import { dataPath, type DriverSettings, topologyKey } from './settings.ts';

const CAPABILITIES = [
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

export interface NodeParts {
  readonly settings: DriverSettings;
  readonly volumes: Records<VolumeRecord>;
  readonly mutex: KeyedMutex;
}

/** The attributes of volumes that exist only as long as a pod. */
const EPHEMERAL = 'csi.storage.k8s.io/ephemeral';
const EPHEMERAL_BYTES = 1024 ** 3;

export function nodeService(parts: NodeParts): RpcHandlers<CsiSchema, 'Node'> {
  const { settings, volumes, mutex } = parts;
  const { host, nodeName, maxVolumes } = settings;

  const find = (id: string): VolumeRecord => {
    const volume = volumes.get(id);
    if (volume === undefined) throw new RpcError('NOT_FOUND', `volume ${id} does not exist`);
    return volume;
  };
  const pathOf = ({ id, backing }: VolumeRecord): string =>
    dataPath(volumes.directoryOf(id), backing);

  /** Creates the volume of a pod, which is deleted when it is unpublished. */
  const makeEphemeral = async (id: string): Promise<void> => {
    if (volumes.get(id) !== undefined) return;
    if (!/^csi-[0-9a-f]{64}$/.test(id))
      throw new RpcError('INVALID_ARGUMENT', `${id} is not the handle of an inline volume`);
    const record: VolumeRecord = {
      id,
      name: id,
      capacityBytes: EPHEMERAL_BYTES,
      backing: 'directory',
      isBlock: false,
      source: undefined,
      publishedTo: {},
    };
    await host.makeDirectory(pathOf(record));
    await volumes.put(record);
  };

  const publish = async (request: CsiMessage<'NodePublishVolumeRequest'>): Promise<void> => {
    const { volumeId, targetPath, stagingTargetPath, volumeContext } = request;
    const capability = requireCapability(request.volumeCapability);
    const { mount } = capability;
    const readonly = request.readonly || isReadOnly(capability);
    if (volumeContext[EPHEMERAL] === 'true') await makeEphemeral(volumeId);
    const volume = find(volumeId);
    if ((mount === undefined) !== volume.isBlock)
      throw new RpcError('INVALID_ARGUMENT', 'the volume has another volume mode');
    if (await host.isMounted(targetPath)) return;
    if (volume.isBlock) {
      const device = await host.attach(pathOf(volume), isReadOnly(capability));
      await host.bind(device, targetPath, readonly, []);
      return;
    }
    let source = pathOf(volume);
    if (volume.backing === 'image') {
      if (stagingTargetPath === '' || !(await host.isMounted(stagingTargetPath)))
        throw new RpcError('FAILED_PRECONDITION', `volume ${volumeId} is not staged`);
      source = stagingTargetPath;
    }
    // Flags of an image belong to its file system, which is mounted already.
    const flags = volume.backing === 'directory' ? (mount?.mountFlags ?? []) : [];
    await host.bind(source, targetPath, readonly, flags);
  };

  return {
    NodeGetCapabilities: () => ({ capabilities: CAPABILITIES.map((type) => ({ rpc: { type } })) }),

    NodeGetInfo: () => ({
      nodeId: nodeName,
      maxVolumesPerNode: maxVolumes,
      accessibleTopology: { segments: { [topologyKey(settings.name)]: nodeName } },
    }),

    NodeStageVolume: async (request) => {
      const { volumeId, stagingTargetPath } = request;
      required(volumeId, 'volume id');
      required(stagingTargetPath, 'staging target path');
      const capability = requireCapability(request.volumeCapability);
      const { mount } = capability;
      await mutex.run(volumeId, async () => {
        const volume = find(volumeId);
        if ((mount === undefined) !== volume.isBlock)
          throw new RpcError('INVALID_ARGUMENT', 'the volume has another volume mode');
        if (volume.backing === 'directory') return;
        // A read-only bind mount of a device does not keep its user from writing to the device. A
        // file system is made or repaired before its read-only bind mount.
        const device = await host.attach(pathOf(volume), volume.isBlock && isReadOnly(capability));
        await host.grow(device, undefined);
        await host.tune(pathOf(volume), volume.attributes ?? {});
        if (mount === undefined || (await host.isMounted(stagingTargetPath))) return;
        await host.mountDevice(device, stagingTargetPath, {
          fsType: mount.fsType === '' ? 'ext4' : mount.fsType,
          flags: mount.mountFlags,
        });
      });
      return {};
    },

    NodeUnstageVolume: async ({ volumeId, stagingTargetPath }) => {
      required(volumeId, 'volume id');
      required(stagingTargetPath, 'staging target path');
      await mutex.run(volumeId, async () => {
        await host.unmount(stagingTargetPath);
        const volume = volumes.ifIntact(volumeId);
        if (volume?.backing === 'image') await host.detach(pathOf(volume));
      });
      return {};
    },

    NodePublishVolume: async (request) => {
      required(request.volumeId, 'volume id');
      required(request.targetPath, 'target path');
      requireCapability(request.volumeCapability);
      await mutex.run(request.volumeId, () => publish(request));
      return {};
    },

    NodeUnpublishVolume: async ({ volumeId, targetPath }) => {
      required(volumeId, 'volume id');
      required(targetPath, 'target path');
      await mutex.run(volumeId, async () => {
        await host.unmount(targetPath);
        const volume = volumes.ifIntact(volumeId);
        // Only inline volumes have the name that is their handle.
        if (volume === undefined || volume.name !== volume.id) return;
        await host.remove(pathOf(volume));
        await volumes.delete(volumeId);
        await host.remove(volumes.directoryOf(volumeId));
      });
      return {};
    },

    NodeGetVolumeStats: async ({ volumeId, volumePath }) => {
      required(volumeId, 'volume id');
      required(volumePath, 'volume path');
      const volume = find(volumeId);
      if (!(await host.isMounted(volumePath)))
        throw new RpcError('NOT_FOUND', `volume ${volumeId} is not at ${volumePath}`);
      if (volume.isBlock) return { usage: [{ unit: 'BYTES', total: volume.capacityBytes }] };
      const { bytes, inodes } = await host.usage(volumePath);
      return {
        usage: [
          { unit: 'BYTES', ...bytes },
          { unit: 'INODES', ...inodes },
        ],
      };
    },

    NodeExpandVolume: async ({ volumeId, volumePath, stagingTargetPath }) => {
      required(volumeId, 'volume id');
      required(volumePath, 'volume path');
      return await mutex.run(volumeId, async () => {
        const volume = find(volumeId);
        if (!(await host.exists(volumePath)))
          throw new RpcError('NOT_FOUND', `volume ${volumeId} is not at ${volumePath}`);
        if (volume.backing === 'image') {
          const mountPoint = stagingTargetPath === '' ? volumePath : stagingTargetPath;
          await host.grow(
            await host.attach(pathOf(volume), false),
            volume.isBlock ? undefined : mountPoint,
          );
        }
        return { capacityBytes: volume.capacityBytes };
      });
    },
  };
}
