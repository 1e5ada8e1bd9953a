// The API of groups of snapshots, groupsnapshot.storage.k8s.io/v1beta2, as custom resources: that of
// upstream's external-snapshotter.

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

export const GROUP_SNAPSHOT_GROUP = 'groupsnapshot.storage.k8s.io';
const VERSION = 'v1beta2';

const int64 = { type: 'integer', format: 'int64' } as const;
const immutable = (what: string) =>
  [{ rule: 'self == oldSelf', message: `${what} immutable` }] as const;
const onceSet = (what: string) =>
  [{ rule: 'self == oldSelf', message: `${what} immutable once set` }] as const;
/** The rules for an object of which exactly one field is set, and remains so. */
const oneOf = (a: string, b: string) => [
  { rule: `!has(oldSelf.${a}) || has(self.${a})`, message: `${a} is required once set` },
  { rule: `!has(oldSelf.${b}) || has(self.${b})`, message: `${b} is required once set` },
  {
    rule: `(has(self.${a}) && !has(self.${b})) || (!has(self.${a}) && has(self.${b}))`,
    message: `exactly one of ${a} and ${b} must be set`,
  },
];
const selector = {
  type: 'object',
  properties: {
    matchExpressions: {
      type: 'array',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: text,
          operator: text,
          values: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
        },
      },
      'x-kubernetes-list-type': 'atomic',
    },
    matchLabels: { type: 'object', additionalProperties: text },
  },
  'x-kubernetes-map-type': 'atomic',
  'x-kubernetes-validations': immutable('selector is'),
} as const;

export const volumeGroupSnapshots = defineCustomResource({
  group: GROUP_SNAPSHOT_GROUP,
  version: VERSION,
  kind: 'VolumeGroupSnapshot',
  shortNames: ['vgs'],
  required: ['spec'],
  schema: {
    spec: {
      type: 'object',
      required: ['source'],
      properties: {
        source: {
          type: 'object',
          properties: {
            selector,
            volumeGroupSnapshotContentName: {
              type: 'string',
              'x-kubernetes-validations': immutable('volumeGroupSnapshotContentName is'),
            },
          },
          'x-kubernetes-validations': oneOf('selector', 'volumeGroupSnapshotContentName'),
        },
        volumeGroupSnapshotClassName: {
          type: 'string',
          'x-kubernetes-validations': [
            {
              rule: 'size(self) > 0',
              message: 'volumeGroupSnapshotClassName must not be the empty string when set',
            },
          ],
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        boundVolumeGroupSnapshotContentName: {
          type: 'string',
          'x-kubernetes-validations': onceSet('boundVolumeGroupSnapshotContentName is'),
        },
        creationTime: time,
        readyToUse: { type: 'boolean' },
        error,
      },
    },
  },
  columns: [
    column('ReadyToUse', 'boolean', '.status.readyToUse'),
    column('VolumeGroupSnapshotClass', 'string', '.spec.volumeGroupSnapshotClassName'),
    column('VolumeGroupSnapshotContent', 'string', '.status.boundVolumeGroupSnapshotContentName'),
    column('CreationTime', 'date', '.status.creationTime'),
    column('Age', 'date', '.metadata.creationTimestamp'),
  ],
});

export const volumeGroupSnapshotContents = defineCustomResource({
  group: GROUP_SNAPSHOT_GROUP,
  version: VERSION,
  kind: 'VolumeGroupSnapshotContent',
  namespaced: false,
  shortNames: ['vgsc', 'vgscs'],
  required: ['spec'],
  schema: {
    spec: {
      type: 'object',
      required: ['deletionPolicy', 'driver', 'source', 'volumeGroupSnapshotRef'],
      properties: {
        deletionPolicy,
        driver: { type: 'string', 'x-kubernetes-validations': onceSet('driver is') },
        source: {
          type: 'object',
          properties: {
            volumeHandles: {
              type: 'array',
              items: text,
              'x-kubernetes-validations': immutable('volumeHandles is'),
            },
            groupSnapshotHandles: {
              type: 'object',
              required: ['volumeGroupSnapshotHandle', 'volumeSnapshotHandles'],
              properties: {
                volumeGroupSnapshotHandle: text,
                volumeSnapshotHandles: { type: 'array', items: text },
              },
              'x-kubernetes-validations': immutable('groupSnapshotHandles is'),
            },
          },
          'x-kubernetes-validations': oneOf('volumeHandles', 'groupSnapshotHandles'),
        },
        volumeGroupSnapshotClassName: {
          type: 'string',
          'x-kubernetes-validations': onceSet('volumeGroupSnapshotClassName is'),
        },
        volumeGroupSnapshotRef: {
          type: 'object',
          properties: reference,
          'x-kubernetes-map-type': 'atomic',
          'x-kubernetes-validations': [
            {
              rule: 'has(self.name) && has(self.__namespace__)',
              message:
                'both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set',
            },
            {
              rule: 'self.name == oldSelf.name && self.__namespace__ == oldSelf.__namespace__',
              message:
                'volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable',
            },
            {
              rule: '!has(oldSelf.uid) || (has(self.uid) && self.uid == oldSelf.uid)',
              message: 'volumeGroupSnapshotRef.uid is immutable once set',
            },
          ],
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        creationTime: time,
        readyToUse: { type: 'boolean' },
        error,
        volumeGroupSnapshotHandle: {
          type: 'string',
          'x-kubernetes-validations': onceSet('volumeGroupSnapshotHandle is'),
        },
        volumeSnapshotInfoList: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              /** Nanoseconds since the epoch. */
              creationTime: int64,
              readyToUse: { type: 'boolean' },
              restoreSize: int64,
              snapshotHandle: text,
              volumeHandle: text,
            },
          },
        },
      },
    },
  },
  columns: [
    column('ReadyToUse', 'boolean', '.status.readyToUse'),
    column('DeletionPolicy', 'string', '.spec.deletionPolicy'),
    column('Driver', 'string', '.spec.driver'),
    column('VolumeGroupSnapshotClass', 'string', '.spec.volumeGroupSnapshotClassName'),
    column('VolumeGroupSnapshotNamespace', 'string', '.spec.volumeGroupSnapshotRef.namespace'),
    column('VolumeGroupSnapshot', 'string', '.spec.volumeGroupSnapshotRef.name'),
    column('Age', 'date', '.metadata.creationTimestamp'),
  ],
});

export const volumeGroupSnapshotClasses = defineCustomResource({
  group: GROUP_SNAPSHOT_GROUP,
  version: VERSION,
  kind: 'VolumeGroupSnapshotClass',
  resource: 'volumegroupsnapshotclasses',
  namespaced: false,
  shortNames: ['vgsclass', 'vgsclasses'],
  required: ['deletionPolicy', 'driver'],
  schema: {
    deletionPolicy: {
      type: 'string',
      enum: ['Delete', 'Retain'],
      'x-kubernetes-validations': onceSet('deletionPolicy is'),
    },
    driver: { type: 'string', 'x-kubernetes-validations': onceSet('driver is') },
    parameters: {
      type: 'object',
      additionalProperties: text,
      'x-kubernetes-validations': onceSet('parameters are'),
    },
  },
  columns: classColumns,
});

export type VolumeGroupSnapshot = KindOf<typeof volumeGroupSnapshots>;
export type VolumeGroupSnapshotContent = KindOf<typeof volumeGroupSnapshotContents>;
export type VolumeGroupSnapshotClass = KindOf<typeof volumeGroupSnapshotClasses>;

/** The definitions, for an administrator to create. */
export const groupSnapshotDefinitions = approved(
  [volumeGroupSnapshots, volumeGroupSnapshotContents, volumeGroupSnapshotClasses],
  1337,
);
