// A CSI driver in memory that has volumes, snapshots and groups of snapshots, for tests.

import type { CsiInput, CsiMessage } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { CsiControllerService } from '../../csi-controller-service.ts';

/** Returns the driver, with what it was asked and what it has. */
export function fakeDriver() {
  const calls: string[] = [];
  const sources: CsiInput<'VolumeContentSource'>[] = [];
  const taken = new Map<string, CsiMessage<'Snapshot'>>();
  const groups = new Map<string, CsiMessage<'VolumeGroupSnapshot'>>();
  const state = { isReady: true, fault: undefined as Error | undefined };
  const refuse = () => Promise.reject(new RpcError('UNIMPLEMENTED', 'not here'));
  let count = 0;
  const service: CsiControllerService = {
    capabilities: () => Promise.resolve(new Set()),
    create: ({ name = '', volumeContentSource, capacityRange }) => {
      if (volumeContentSource !== undefined) sources.push(volumeContentSource);
      const capacityBytes = capacityRange?.requiredBytes ?? 0;
      return Promise.resolve({
        volume: {
          volumeId: `handle-of-${name}`,
          capacityBytes,
          volumeContext: {},
          accessibleTopology: [],
        },
      });
    },
    delete: () => Promise.resolve(),
    publish: () => Promise.resolve({}),
    unpublish: () => Promise.resolve(),
    expand: refuse,
    modify: () => Promise.resolve(),
    capacity: refuse,
    createSnapshot: ({ name = '', sourceVolumeId = '', parameters = {} }) => {
      calls.push(`create of ${sourceVolumeId} ${JSON.stringify(parameters)}`);
      if (state.fault !== undefined) return Promise.reject(state.fault);
      const snapshotId = [...taken].find(([key]) => key === name)?.[1].snapshotId ?? `s${++count}`;
      const snapshot = {
        snapshotId,
        sourceVolumeId,
        sizeBytes: 1024 ** 3,
        readyToUse: state.isReady,
        creationTime: { seconds: 1_800_000_000, nanos: 0 },
        groupSnapshotId: '',
      };
      taken.set(name, snapshot);
      return Promise.resolve({ snapshot });
    },
    deleteSnapshot: ({ snapshotId = '' }) => {
      calls.push(`delete ${snapshotId}`);
      return state.fault === undefined ? Promise.resolve() : Promise.reject(state.fault);
    },
    listSnapshots: ({ snapshotId = '' }) => {
      const found = [...taken.values()].filter((each) => each.snapshotId === snapshotId);
      return Promise.resolve({ entries: found.map((snapshot) => ({ snapshot })), nextToken: '' });
    },
    createGroupSnapshot: ({ name = '', sourceVolumeIds = [], parameters = {} }) => {
      calls.push(`create group of ${sourceVolumeIds.join(' and ')} ${JSON.stringify(parameters)}`);
      if (state.fault !== undefined) return Promise.reject(state.fault);
      const groupSnapshotId = `group-${name}`;
      const creationTime = { seconds: 1_800_000_000, nanos: 0 };
      const snapshots = sourceVolumeIds.map((sourceVolumeId) => ({
        snapshotId: `of-${sourceVolumeId}`,
        sourceVolumeId,
        sizeBytes: 1024 ** 3,
        readyToUse: state.isReady,
        creationTime,
        groupSnapshotId,
      }));
      const groupSnapshot = {
        groupSnapshotId,
        snapshots,
        creationTime,
        readyToUse: state.isReady,
      };
      groups.set(groupSnapshotId, groupSnapshot);
      for (const snapshot of snapshots) taken.set(snapshot.snapshotId, snapshot);
      return Promise.resolve({ groupSnapshot });
    },
    getGroupSnapshot: ({ groupSnapshotId = '' }) => {
      const groupSnapshot = groups.get(groupSnapshotId);
      return groupSnapshot === undefined
        ? Promise.reject(new RpcError('NOT_FOUND', 'no such group'))
        : Promise.resolve({ groupSnapshot });
    },
    deleteGroupSnapshot: ({ groupSnapshotId = '', snapshotIds = [] }) => {
      calls.push(`delete ${groupSnapshotId} of ${snapshotIds.length}`);
      if (state.fault !== undefined) return Promise.reject(state.fault);
      groups.delete(groupSnapshotId);
      return Promise.resolve();
    },
    close: () => undefined,
  };
  return { service, calls, sources, taken, groups, state };
}
