// containerd's snapshot service, for read-only views of images. Field numbers are those of
// containerd's API.

import { fromJSON } from '@grpc/proto-loader';
import { CRI_NAMESPACE } from './event-service.ts';
import type { CriConnection, CriMethod } from './connection.ts';

const string = (id: number): { id: number; type: string } => ({ id, type: 'string' });

const definition = fromJSON(
  {
    nested: {
      containerd: {
        nested: {
          services: {
            nested: {
              snapshots: {
                nested: {
                  v1: {
                    options: { syntax: 'proto3' },
                    nested: {
                      ViewSnapshotRequest: {
                        fields: {
                          snapshotter: string(1),
                          key: string(2),
                          parent: string(3),
                          labels: { id: 4, type: 'string', keyType: 'string' },
                        },
                      },
                      Mount: {
                        fields: {
                          type: string(1),
                          source: string(2),
                          target: string(3),
                          options: { ...string(4), rule: 'repeated' },
                        },
                      },
                      Mounts: { fields: { mounts: { id: 1, type: 'Mount', rule: 'repeated' } } },
                      SnapshotRequest: { fields: { snapshotter: string(1), key: string(2) } },
                      Empty: { fields: {} },
                      Snapshots: {
                        methods: {
                          View: { requestType: 'ViewSnapshotRequest', responseType: 'Mounts' },
                          Mounts: { requestType: 'SnapshotRequest', responseType: 'Mounts' },
                          Remove: { requestType: 'SnapshotRequest', responseType: 'Empty' },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  } as object,
  { defaults: true, arrays: true },
);

const methods = definition['containerd.services.snapshots.v1.Snapshots'] as unknown as Record<
  'View' | 'Mounts' | 'Remove',
  CriMethod
>;

/** A mount, in the form that mount(8) accepts. */
export interface SnapshotMount {
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface Snapshot {
  readonly snapshotter: string;
  /** The unique name of the snapshot. */
  readonly key: string;
}

type Connection = Pick<CriConnection, 'callOf'>;

/**
 * Creates a view of the content of `parent` (a chain ID), which stays until it is removed. Rejects
 * with a CriError: AlreadyExists if the key is taken.
 */
export async function viewSnapshot(
  connection: Connection,
  snapshot: Snapshot,
  parent: string,
): Promise<readonly SnapshotMount[]> {
  // Without this label the garbage collector would delete it.
  const labels = { 'containerd.io/gc.root': 'true' };
  return mountsOf(
    await connection.callOf(methods.View, { ...snapshot, parent, labels }, CRI_NAMESPACE),
  );
}

/** Returns the mounts of an existing snapshot. */
export async function snapshotMounts(
  connection: Connection,
  snapshot: Snapshot,
): Promise<readonly SnapshotMount[]> {
  return mountsOf(await connection.callOf(methods.Mounts, snapshot, CRI_NAMESPACE));
}

/** Removes the snapshot. Rejects with a CriError: NotFound if it does not exist. */
export async function removeSnapshot(connection: Connection, snapshot: Snapshot): Promise<void> {
  await connection.callOf(methods.Remove, snapshot, CRI_NAMESPACE);
}

const mountsOf = (response: object): readonly SnapshotMount[] =>
  (response as { mounts: readonly SnapshotMount[] }).mounts;
