// The group controller service: snapshots of several volumes at one moment.
//
// The file systems of the volumes do not change while they are copied, so what was written to one
// volume after something on another one is in the group only together with that. Directories and
// devices cannot be held still: a group that has one is rejected.

import type { CsiInput, CsiSchema } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import type { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { required } from './capability.ts';
import type { GroupRecord, Records, SnapshotRecord, VolumeRecord } from './records.ts';
import { dataPath, type DriverSettings, idOf } from './settings.ts';
import { snapshotMessage, timestamp } from './snapshot-message.ts';

const MAX_NAME = 1024;
/** All volumes stand still until the last one is copied. */
const MAX_VOLUMES = 100;

export interface GroupControllerParts {
  readonly settings: DriverSettings;
  readonly volumes: Records<VolumeRecord>;
  readonly snapshots: Records<SnapshotRecord>;
  readonly groups: Records<GroupRecord>;
  /** Operations on a volume, snapshot or group, by its id. */
  readonly mutex: KeyedMutex;
}

/**
 * The name of a field of group snapshot classes. Upstream's suite repeats it among the parameters;
 * the controllers, not the driver, act on the field.
 */
const DELETION_POLICY = 'deletionPolicy';

export function groupControllerService(
  parts: GroupControllerParts,
): RpcHandlers<CsiSchema, 'GroupController'> {
  const { settings, volumes, snapshots, groups, mutex } = parts;
  const { host, clock } = settings;

  const find = (id: string): VolumeRecord => {
    const volume = volumes.get(id);
    if (volume === undefined) throw new RpcError('NOT_FOUND', `volume ${id} does not exist`);
    if (volume.backing !== 'image' || volume.isBlock)
      throw new RpcError(
        'FAILED_PRECONDITION',
        `volume ${id} is a ${volume.isBlock ? 'device' : 'directory'}, which cannot be part of a ` +
          'group snapshot: only volumes with a file system of their own (backing: image) can',
      );
    return volume;
  };
  const pathOf = ({ id, backing }: VolumeRecord): string =>
    dataPath(volumes.directoryOf(id), backing);
  const snapshotPath = ({ id, backing }: SnapshotRecord): string =>
    dataPath(snapshots.directoryOf(id), backing);

  /** Copies all volumes at one moment. Removes the copies if one fails. */
  const copyAll = async (
    sources: readonly VolumeRecord[],
    members: readonly SnapshotRecord[],
  ): Promise<void> => {
    const thaw = await host.freeze(sources.map(pathOf));
    try {
      for (const [index, source] of sources.entries())
        await host.copy(pathOf(source), snapshotPath(members[index]!));
    } catch (error) {
      await thaw();
      for (const member of members) await host.remove(snapshots.directoryOf(member.id));
      throw error;
    }
    await thaw();
  };

  const create = async (name: string, volumeIds: readonly string[]): Promise<GroupRecord> => {
    const id = idOf('group', name);
    const present = groups.get(id);
    if (present !== undefined) {
      if (!hasMembers(present, 'volumeId', volumeIds))
        throw new RpcError('ALREADY_EXISTS', `group snapshot ${name} is of other volumes`);
      // The creation may have ended before the snapshots were recorded.
      for (const member of present.members)
        if (snapshots.get(member.id) === undefined) await snapshots.put(member);
      return present;
    }
    const sources = volumeIds.map(find);
    const createdAt = clock.now();
    const members = sources.map(({ id: volumeId, capacityBytes, backing, isBlock }) => {
      const own = `${id}/${volumeId}`;
      const record = { volumeId, sizeBytes: capacityBytes, backing, isBlock, createdAt };
      return { ...record, id: idOf('snap', own), name: own, groupId: id };
    });
    await copyAll(sources, members);
    const group = { id, name, createdAt, members };
    await groups.put(group);
    for (const member of members) await snapshots.put(member);
    return group;
  };

  return {
    GroupControllerGetCapabilities: () => ({
      capabilities: [{ rpc: { type: 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT' } }],
    }),

    CreateVolumeGroupSnapshot: async ({ name, sourceVolumeIds, parameters }) => {
      required(name, 'name');
      if (name.length > MAX_NAME) throw new RpcError('INVALID_ARGUMENT', 'the name is too long');
      const unknown = Object.keys(parameters).find((key) => key !== DELETION_POLICY);
      if (unknown !== undefined)
        throw new RpcError('INVALID_ARGUMENT', `parameter ${unknown} does not exist`);
      const ids = new Set(sourceVolumeIds);
      if (ids.size === 0 || ids.has(''))
        throw new RpcError('INVALID_ARGUMENT', 'source volume ids are missing');
      if (ids.size < sourceVolumeIds.length)
        throw new RpcError('INVALID_ARGUMENT', 'a source volume is given twice');
      if (ids.size > MAX_VOLUMES)
        throw new RpcError('INVALID_ARGUMENT', `a group has at most ${MAX_VOLUMES} volumes`);
      const keys = [idOf('group', name), ...ids];
      const group = await mutex.runAll(keys, () => create(name, sourceVolumeIds));
      return { groupSnapshot: groupMessage(group) };
    },

    GetVolumeGroupSnapshot: ({ groupSnapshotId, snapshotIds }) => {
      const group = groups.get(required(groupSnapshotId, 'group snapshot id'));
      if (group === undefined)
        throw new RpcError('NOT_FOUND', `group snapshot ${groupSnapshotId} does not exist`);
      checkMembers(group, snapshotIds);
      return { groupSnapshot: groupMessage(group) };
    },

    DeleteVolumeGroupSnapshot: async ({ groupSnapshotId, snapshotIds }) => {
      required(groupSnapshotId, 'group snapshot id');
      await mutex.run(groupSnapshotId, async () => {
        const group = groups.get(groupSnapshotId);
        if (group === undefined) return;
        checkMembers(group, snapshotIds);
        for (const member of group.members) {
          await mutex.run(member.id, async () => {
            await host.remove(snapshotPath(member));
            await snapshots.delete(member.id);
            await host.remove(snapshots.directoryOf(member.id));
          });
        }
        await groups.delete(group.id);
        await host.remove(groups.directoryOf(group.id));
      });
      return {};
    },
  };
}

function hasMembers(
  { members }: GroupRecord,
  what: 'id' | 'volumeId',
  ids: readonly string[],
): boolean {
  const own = new Set(members.map((member) => member[what]));
  return own.size === new Set(ids).size && ids.every((id) => own.has(id));
}

/** Throws InvalidArgument if the caller knows other snapshots of the group. */
function checkMembers(group: GroupRecord, snapshotIds: readonly string[]): void {
  if (snapshotIds.length > 0 && !hasMembers(group, 'id', snapshotIds))
    throw new RpcError('INVALID_ARGUMENT', `group snapshot ${group.id} has other snapshots`);
}

function groupMessage({ id, createdAt, members }: GroupRecord): CsiInput<'VolumeGroupSnapshot'> {
  return {
    groupSnapshotId: id,
    snapshots: members.map(snapshotMessage),
    creationTime: timestamp(createdAt),
    readyToUse: true,
  };
}
