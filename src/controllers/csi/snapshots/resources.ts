// The API of volume snapshots, snapshot.storage.k8s.io/v1, as custom resources: that of upstream's
// external-snapshotter.

import { defineCustomResource, type KindOf } from '#client/custom-resource/index.ts';
import {
  approved,
  classColumns,
  column,
  deletionPolicy,
  error,
  reference,
  text,
  time,
} from './schema-parts.ts';

export const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io';

const IMMUTABLE = [{ rule: 'self == oldSelf', message: 'source is immutable' }] as const;

export const volumeSnapshots = defineCustomResource({
  group: SNAPSHOT_GROUP,
  version: 'v1',
  kind: 'VolumeSnapshot',
  shortNames: ['vs'],
  required: ['spec'],
  schema: {
    spec: {
      type: 'object',
      required: ['source'],
      properties: {
        source: {
          type: 'object',
          properties: { persistentVolumeClaimName: text, volumeSnapshotContentName: text },
          'x-kubernetes-validations': [
            ...IMMUTABLE,
            {
              rule: 'has(self.volumeSnapshotContentName) != has(self.persistentVolumeClaimName)',
              message:
                'exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set',
            },
          ],
        },
        volumeSnapshotClassName: { type: 'string', minLength: 1 },
      },
    },
    status: {
      type: 'object',
      properties: {
        boundVolumeSnapshotContentName: text,
        creationTime: time,
        readyToUse: { type: 'boolean' },
        restoreSize: text,
        error,
        volumeGroupSnapshotName: text,
      },
    },
  },
  columns: [
    column('ReadyToUse', 'boolean', '.status.readyToUse'),
    column('SourcePVC', 'string', '.spec.source.persistentVolumeClaimName'),
    column('SourceSnapshotContent', 'string', '.spec.source.volumeSnapshotContentName'),
    column('RestoreSize', 'string', '.status.restoreSize'),
    column('SnapshotClass', 'string', '.spec.volumeSnapshotClassName'),
    column('SnapshotContent', 'string', '.status.boundVolumeSnapshotContentName'),
    column('CreationTime', 'date', '.status.creationTime'),
    column('Age', 'date', '.metadata.creationTimestamp'),
  ],
});

export const volumeSnapshotContents = defineCustomResource({
  group: SNAPSHOT_GROUP,
  version: 'v1',
  kind: 'VolumeSnapshotContent',
  namespaced: false,
  shortNames: ['vsc', 'vscs'],
  required: ['spec'],
  schema: {
    spec: {
      type: 'object',
      required: ['deletionPolicy', 'driver', 'source', 'volumeSnapshotRef'],
      properties: {
        deletionPolicy,
        driver: text,
        source: {
          type: 'object',
          properties: { volumeHandle: text, snapshotHandle: text },
          'x-kubernetes-validations': [
            ...IMMUTABLE,
            {
              rule: 'has(self.volumeHandle) != has(self.snapshotHandle)',
              message: 'exactly one of volumeHandle and snapshotHandle must be set',
            },
          ],
        },
        sourceVolumeMode: text,
        volumeSnapshotClassName: text,
        volumeSnapshotRef: {
          type: 'object',
          properties: reference,
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        /** Nanoseconds since the epoch. */
        creationTime: { type: 'integer', format: 'int64' },
        readyToUse: { type: 'boolean' },
        restoreSize: { type: 'integer', format: 'int64', minimum: 0 },
        snapshotHandle: text,
        error,
        volumeGroupSnapshotHandle: text,
      },
    },
  },
  columns: [
    column('ReadyToUse', 'boolean', '.status.readyToUse'),
    column('RestoreSize', 'integer', '.status.restoreSize'),
    column('DeletionPolicy', 'string', '.spec.deletionPolicy'),
    column('Driver', 'string', '.spec.driver'),
    column('VolumeSnapshotClass', 'string', '.spec.volumeSnapshotClassName'),
    column('VolumeSnapshot', 'string', '.spec.volumeSnapshotRef.name'),
    column('VolumeSnapshotNamespace', 'string', '.spec.volumeSnapshotRef.namespace'),
    column('Age', 'date', '.metadata.creationTimestamp'),
  ],
});

export const volumeSnapshotClasses = defineCustomResource({
  group: SNAPSHOT_GROUP,
  version: 'v1',
  kind: 'VolumeSnapshotClass',
  resource: 'volumesnapshotclasses',
  namespaced: false,
  shortNames: ['vsclass', 'vsclasses'],
  required: ['deletionPolicy', 'driver'],
  schema: {
    deletionPolicy,
    driver: text,
    parameters: { type: 'object', additionalProperties: text },
  },
  columns: classColumns,
});

export type VolumeSnapshot = KindOf<typeof volumeSnapshots>;
export type VolumeSnapshotContent = KindOf<typeof volumeSnapshotContents>;
export type VolumeSnapshotClass = KindOf<typeof volumeSnapshotClasses>;

/** The definitions, for an administrator to create. */
export const snapshotDefinitions = approved(
  [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses],
  814,
);
