// The controller service: creates, copies, expands and deletes volumes and snapshots.

import type { CsiInput, CsiMessage, CsiSchema } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import type { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { attributesOf } from './attributes.ts';
import { checkCapabilities, required, requireCapability, unsupported } from './capability.ts';
import { pageOf } from './paging.ts';
import type { Records, SnapshotRecord, SourceRecord, VolumeRecord } from './records.ts';
import { snapshotMessage } from './snapshot-message.ts';
import { dataPath, type DriverSettings, idOf, topologyKey } from './settings.ts';

type Capability = CsiMessage<'VolumeCapability'>;

const CAPABILITIES = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'PUBLISH_READONLY',
  'LIST_VOLUMES',
  'LIST_VOLUMES_PUBLISHED_NODES',
  'GET_VOLUME',
  'GET_CAPACITY',
  'CREATE_DELETE_SNAPSHOT',
  'LIST_SNAPSHOTS',
  'CLONE_VOLUME',
  'EXPAND_VOLUME',
  'MODIFY_VOLUME',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

const DEFAULT_BYTES = 1024 ** 3;
const MIB = 1024 ** 2;
/**
 * The smallest images: ext4 of less than 2 MiB has no journal; mkfs makes no journal of ext3, which
 * has to have one, and no XFS, on a smaller device.
 */
const MIN_IMAGE_BYTES = MIB;
const MIN_BYTES: Readonly<Record<string, number>> = { ext3: 2 * MIB, xfs: 300 * MIB };
const MAX_NAME = 1024;
const IMAGE_ALIGNMENT = 4096;

export interface ControllerParts {
  readonly settings: DriverSettings;
  readonly volumes: Records<VolumeRecord>;
  readonly snapshots: Records<SnapshotRecord>;
  /** Operations on a volume, by its id: also those of the node service. */
  readonly mutex: KeyedMutex;
}

export function controllerService(parts: ControllerParts): RpcHandlers<CsiSchema, 'Controller'> {
  const { settings, volumes, snapshots, mutex } = parts;
  const { host, nodeName, clock, maxVolumes } = settings;
  const topology = { segments: { [topologyKey(settings.name)]: nodeName } };

  const find = (id: string): VolumeRecord => {
    const volume = volumes.get(required(id, 'volume id'));
    if (volume === undefined) throw new RpcError('NOT_FOUND', `volume ${id} does not exist`);
    return volume;
  };
  const pathOf = ({ id, backing }: VolumeRecord): string =>
    dataPath(volumes.directoryOf(id), backing);
  const snapshotPath = ({ id, backing }: SnapshotRecord): string =>
    dataPath(snapshots.directoryOf(id), backing);

  /** Returns the data that a volume starts with. */
  const sourceOf = (source: SourceRecord | undefined): SourceData | undefined => {
    if (source === undefined) return undefined;
    if (source.kind === 'snapshot') {
      const found = snapshots.get(source.id);
      if (found === undefined)
        throw new RpcError('NOT_FOUND', `snapshot ${source.id} does not exist`);
      return { ...found, bytes: found.sizeBytes, path: snapshotPath(found) };
    }
    const found = volumes.get(source.id);
    if (found === undefined) throw new RpcError('NOT_FOUND', `volume ${source.id} does not exist`);
    return { ...found, bytes: found.capacityBytes, path: pathOf(found) };
  };

  const create = async (request: CsiMessage<'CreateVolumeRequest'>): Promise<VolumeRecord> => {
    const { name, capacityRange, volumeCapabilities, parameters } = request;
    const id = idOf('vol', name);
    const present = volumes.get(id);
    const source = sourceRecord(request.volumeContentSource);
    const isBlock = volumeCapabilities[0]?.block !== undefined;
    if (present !== undefined) {
      if (!isCompatible(present, request, source, isBlock))
        throw new RpcError('ALREADY_EXISTS', `volume ${name} exists with other properties`);
      return present;
    }
    const data = sourceOf(source);
    const backing = data?.backing ?? backingOf(parameters, volumeCapabilities, isBlock);
    if (data !== undefined && data.isBlock !== isBlock)
      throw new RpcError('INVALID_ARGUMENT', 'the source has another volume mode');
    const attributes = attributesOf(request.mutableParameters, backing);
    const bytes = sizeOf(
      capacityRange,
      data?.bytes ?? 0,
      backing === 'image' ? minImageBytes(volumeCapabilities) : 0,
    );
    const { available } = (await host.usage(settings.directory)).bytes;
    if (bytes > available)
      throw new RpcError('OUT_OF_RANGE', `${bytes} bytes are more than the ${available} available`);
    const record: VolumeRecord = {
      id,
      name,
      capacityBytes: bytes,
      backing,
      isBlock,
      source,
      publishedTo: {},
      ...(Object.keys(attributes).length > 0 && { attributes }),
    };
    const path = pathOf(record);
    if (data === undefined) {
      if (backing === 'directory') await host.makeDirectory(path);
      else await host.makeImage(path, bytes);
    } else {
      await host.copy(data.path, path);
      if (backing === 'image') await host.growImage(path, bytes);
    }
    await volumes.put(record);
    return record;
  };

  return {
    ControllerGetCapabilities: () => ({
      capabilities: CAPABILITIES.map((type) => ({ rpc: { type } })),
    }),

    CreateVolume: async (request) => {
      const name = required(request.name, 'name');
      if (name.length > MAX_NAME) throw new RpcError('INVALID_ARGUMENT', 'the name is too long');
      checkCapabilities(request.volumeCapabilities);
      checkParameters(request);
      checkTopology(request.accessibilityRequirements, topology.segments);
      // The source must not be deleted meanwhile.
      const source = sourceRecord(request.volumeContentSource)?.id;
      const keys = [idOf('vol', name), ...(source === undefined ? [] : [source])];
      const volume = await mutex.runAll(keys, () => create(request));
      return { volume: volumeMessage(volume, topology) };
    },

    DeleteVolume: async ({ volumeId }) => {
      required(volumeId, 'volume id');
      await mutex.run(volumeId, async () => {
        const volume = volumes.get(volumeId);
        if (volume === undefined) return;
        if (volume.backing === 'image') await host.detach(pathOf(volume));
        await host.remove(pathOf(volume));
        await volumes.delete(volumeId);
        await host.remove(volumes.directoryOf(volumeId));
      });
      return {};
    },

    ControllerPublishVolume: async (request) => {
      const { volumeId, nodeId, readonly } = request;
      required(volumeId, 'volume id');
      required(nodeId, 'node id');
      const capability = JSON.stringify(requireCapability(request.volumeCapability));
      return await mutex.run(volumeId, async () => {
        const volume = find(volumeId);
        if (nodeId !== nodeName) throw new RpcError('NOT_FOUND', `node ${nodeId} is not this one`);
        const present = volume.publishedTo[nodeId];
        if (present !== undefined) {
          if (present.readonly !== readonly || present.capability !== capability)
            throw new RpcError('ALREADY_EXISTS', 'the volume is published differently');
          return {};
        }
        const published = volumes.list().filter(({ publishedTo }) => nodeId in publishedTo);
        if (maxVolumes > 0 && published.length >= maxVolumes)
          throw new RpcError('RESOURCE_EXHAUSTED', `the node has ${maxVolumes} volumes already`);
        await volumes.put({
          ...volume,
          publishedTo: { ...volume.publishedTo, [nodeId]: { readonly, capability } },
        });
        return {};
      });
    },

    ControllerUnpublishVolume: async ({ volumeId, nodeId }) => {
      required(volumeId, 'volume id');
      await mutex.run(volumeId, async () => {
        const volume = volumes.get(volumeId);
        if (volume === undefined) return;
        const { [nodeId]: _, ...rest } = volume.publishedTo;
        await volumes.put({ ...volume, publishedTo: nodeId === '' ? {} : rest });
      });
      return {};
    },

    ValidateVolumeCapabilities: (request) => {
      const volume = find(request.volumeId);
      const { volumeCapabilities, volumeContext, parameters } = request;
      if (volumeCapabilities.length === 0)
        throw new RpcError('INVALID_ARGUMENT', 'volume capabilities are missing');
      const reason = volumeCapabilities
        .map((each) =>
          (each.block !== undefined) === volume.isBlock
            ? unsupported(each)
            : 'the volume has another volume mode',
        )
        .find((each) => each !== undefined);
      return reason === undefined
        ? { confirmed: { volumeCapabilities, volumeContext, parameters } }
        : { message: reason };
    },

    ListVolumes: ({ maxEntries, startingToken }) => {
      const { entries, nextToken } = pageOf(volumes.list(), maxEntries, startingToken);
      return {
        entries: entries.map((volume) => ({
          volume: volumeMessage(volume, topology),
          status: { publishedNodeIds: Object.keys(volume.publishedTo) },
        })),
        nextToken,
      };
    },

    ControllerGetVolume: ({ volumeId }) => {
      const volume = find(volumeId);
      return {
        volume: volumeMessage(volume, topology),
        status: { publishedNodeIds: Object.keys(volume.publishedTo) },
      };
    },

    GetCapacity: async ({ accessibleTopology, volumeCapabilities }) => {
      const isElsewhere = Object.entries(accessibleTopology?.segments ?? {}).some(
        ([key, value]) => key === topologyKey(settings.name) && value !== nodeName,
      );
      if (isElsewhere || volumeCapabilities.some((each) => unsupported(each) !== undefined))
        return { availableCapacity: 0 };
      return { availableCapacity: (await host.usage(settings.directory)).bytes.available };
    },

    ControllerExpandVolume: async ({ volumeId, capacityRange }) => {
      required(volumeId, 'volume id');
      if (capacityRange === undefined)
        throw new RpcError('INVALID_ARGUMENT', 'capacity range is missing');
      return await mutex.run(volumeId, async () => {
        const volume = find(volumeId);
        const bytes = sizeOf(
          capacityRange,
          volume.capacityBytes,
          volume.backing === 'image' ? MIN_IMAGE_BYTES : 0,
        );
        if (bytes > volume.capacityBytes) {
          const { available } = (await host.usage(settings.directory)).bytes;
          if (bytes - volume.capacityBytes > available)
            throw new RpcError('OUT_OF_RANGE', `only ${available} bytes are available`);
          if (volume.backing === 'image') await host.growImage(pathOf(volume), bytes);
          await volumes.put({ ...volume, capacityBytes: bytes });
        }
        return { capacityBytes: bytes, nodeExpansionRequired: volume.backing === 'image' };
      });
    },

    ControllerModifyVolume: async ({ volumeId, mutableParameters }) => {
      required(volumeId, 'volume id');
      await mutex.run(volumeId, async () => {
        const volume = find(volumeId);
        const attributes = {
          ...volume.attributes,
          ...attributesOf(mutableParameters, volume.backing),
        };
        if (volume.backing === 'image') await host.tune(pathOf(volume), attributes);
        await volumes.put({ ...volume, attributes });
      });
      return {};
    },

    CreateSnapshot: async ({ name, sourceVolumeId }) => {
      required(name, 'name');
      required(sourceVolumeId, 'source volume id');
      if (name.length > MAX_NAME) throw new RpcError('INVALID_ARGUMENT', 'the name is too long');
      const id = idOf('snap', name);
      return await mutex.runAll([id, sourceVolumeId], async () => {
        const present = snapshots.get(id);
        if (present !== undefined) {
          if (present.volumeId !== sourceVolumeId)
            throw new RpcError('ALREADY_EXISTS', `snapshot ${name} is of another volume`);
          return { snapshot: snapshotMessage(present) };
        }
        const volume = find(sourceVolumeId);
        const { backing, isBlock, capacityBytes } = volume;
        const record: SnapshotRecord = {
          id,
          name,
          volumeId: volume.id,
          sizeBytes: capacityBytes,
          backing,
          isBlock,
          createdAt: clock.now(),
        };
        await host.copy(pathOf(volume), snapshotPath(record));
        await snapshots.put(record);
        return { snapshot: snapshotMessage(record) };
      });
    },

    DeleteSnapshot: async ({ snapshotId }) => {
      required(snapshotId, 'snapshot id');
      await mutex.run(snapshotId, async () => {
        const snapshot = snapshots.get(snapshotId);
        if (snapshot === undefined) return;
        if (snapshot.groupId !== undefined)
          throw new RpcError(
            'FAILED_PRECONDITION',
            `snapshot ${snapshotId} is part of the group snapshot ${snapshot.groupId}, and deleted with it`,
          );
        await host.remove(snapshotPath(snapshot));
        await snapshots.delete(snapshotId);
        await host.remove(snapshots.directoryOf(snapshotId));
      });
      return {};
    },

    ListSnapshots: ({ maxEntries, startingToken, snapshotId, sourceVolumeId }) => {
      const wanted = snapshots
        .list()
        .filter(
          ({ id, volumeId }) =>
            (snapshotId === '' || id === snapshotId) &&
            (sourceVolumeId === '' || volumeId === sourceVolumeId),
        );
      const { entries, nextToken } = pageOf(wanted, maxEntries, startingToken);
      return { entries: entries.map((each) => ({ snapshot: snapshotMessage(each) })), nextToken };
    },
  };
}

interface SourceData {
  readonly backing: VolumeRecord['backing'];
  readonly isBlock: boolean;
  readonly bytes: number;
  readonly path: string;
}

type Range = CsiMessage<'CapacityRange'>;

function sourceRecord(
  source: CsiMessage<'VolumeContentSource'> | undefined,
): SourceRecord | undefined {
  if (source?.snapshot !== undefined)
    return { kind: 'snapshot', id: required(source.snapshot.snapshotId, 'snapshot id') };
  if (source?.volume !== undefined)
    return { kind: 'volume', id: required(source.volume.volumeId, 'source volume id') };
  return undefined;
}

/** Reports whether a volume that exists is the one that is requested. */
function isCompatible(
  volume: VolumeRecord,
  { capacityRange }: CsiMessage<'CreateVolumeRequest'>,
  source: SourceRecord | undefined,
  isBlock: boolean,
): boolean {
  const { requiredBytes = 0, limitBytes = 0 } = capacityRange ?? {};
  return (
    volume.isBlock === isBlock &&
    volume.source?.kind === source?.kind &&
    volume.source?.id === source?.id &&
    volume.capacityBytes >= requiredBytes &&
    (limitBytes === 0 || volume.capacityBytes <= limitBytes)
  );
}

const minImageBytes = (capabilities: readonly Capability[]): number =>
  Math.max(
    MIN_IMAGE_BYTES,
    ...capabilities.map(({ mount }) => ownValue(MIN_BYTES, mount?.fsType ?? '') ?? 0),
  );

/**
 * Returns the size, at least `leastBytes`. `minImage`: the smallest size of an image; 0 for a
 * directory. Throws OutOfRange if the limits do not allow it.
 */
function sizeOf(range: Range | undefined, leastBytes: number, minImage: number): number {
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  if (requiredBytes < 0 || limitBytes < 0)
    throw new RpcError('INVALID_ARGUMENT', 'the capacity range is negative');
  if (!Number.isSafeInteger(requiredBytes) || !Number.isSafeInteger(limitBytes))
    throw new RpcError('OUT_OF_RANGE', 'the capacity range is too large');
  const least = Math.max(requiredBytes, leastBytes, minImage);
  const wanted = requiredBytes === 0 && leastBytes === 0 ? Math.max(DEFAULT_BYTES, least) : least;
  const bytes = limitBytes === 0 ? wanted : Math.max(least, Math.min(wanted, limitBytes));
  const aligned = minImage > 0 ? Math.ceil(bytes / IMAGE_ALIGNMENT) * IMAGE_ALIGNMENT : bytes;
  if (limitBytes !== 0 && aligned > limitBytes)
    throw new RpcError('OUT_OF_RANGE', `no volume of at most ${limitBytes} bytes is possible`);
  return aligned;
}

/**
 * Parameters of storage classes: `backing` is 'directory' (the default: as large as the disk) or
 * 'image' (a file with a file system of its own, which enforces the size).
 */
function backingOf(
  parameters: Readonly<Record<string, string>>,
  capabilities: readonly Capability[],
  isBlock: boolean,
): VolumeRecord['backing'] {
  const chosen = parameters['backing'];
  if (isBlock) return 'image';
  if (chosen !== undefined) return chosen as VolumeRecord['backing'];
  return capabilities.some(({ mount }) => (mount?.fsType ?? '') !== '') ? 'image' : 'directory';
}

function checkParameters({ parameters }: CsiMessage<'CreateVolumeRequest'>): void {
  for (const [key, value] of Object.entries(parameters)) {
    if (key.startsWith('csi.storage.k8s.io/')) continue;
    if (key !== 'backing')
      throw new RpcError('INVALID_ARGUMENT', `parameter ${key} does not exist`);
    if (value !== 'directory' && value !== 'image')
      throw new RpcError('INVALID_ARGUMENT', `backing must be "directory" or "image"`);
  }
}

/** Throws ResourceExhausted if the volume would have to be on another node. */
function checkTopology(
  requirement: CsiMessage<'TopologyRequirement'> | undefined,
  own: Readonly<Record<string, string>>,
): void {
  const requisite = requirement?.requisite ?? [];
  if (requisite.length === 0) return;
  const isHere = requisite.some(({ segments }) =>
    Object.entries(segments).every(([key, value]) => own[key] === undefined || own[key] === value),
  );
  if (!isHere)
    throw new RpcError('RESOURCE_EXHAUSTED', 'the volume would have to be on another node');
}

function volumeMessage(
  { id, capacityBytes, source }: VolumeRecord,
  topology: CsiInput<'Topology'>,
): CsiInput<'Volume'> {
  return {
    volumeId: id,
    capacityBytes,
    accessibleTopology: [topology],
    ...(source !== undefined && {
      contentSource:
        source.kind === 'snapshot'
          ? { snapshot: { snapshotId: source.id } }
          : { volume: { volumeId: source.id } },
    }),
  };
}
