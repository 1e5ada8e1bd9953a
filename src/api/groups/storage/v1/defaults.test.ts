import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as storage from './types.ts';

test('of classes', () => {
  const of = variation<storage.StorageClass>('storage/v1.StorageClass', { provisioner: 'a' });
  expect(of()).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
  expect(of()).not.toHaveProperty('allowVolumeExpansion');
  const said = {
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  };
  expect(of(said)).toMatchObject(said);
});

test('of drivers', () => {
  const of = variation<storage.CSIDriver>('storage/v1.CSIDriver', { spec: {} });
  expect(of().spec).toEqual({
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  });
  const said = {
    attachRequired: false,
    podInfoOnMount: true,
    storageCapacity: true,
    fsGroupPolicy: 'File',
    volumeLifecycleModes: ['Ephemeral'],
    requiresRepublish: true,
    seLinuxMount: true,
  };
  expect(of({ spec: said }).spec).toEqual(said);
  expect(of({ spec: { volumeLifecycleModes: [] } }).spec.volumeLifecycleModes).toEqual([
    'Persistent',
  ]);
});

test('of the inline volume', () => {
  const of = variation<storage.VolumeAttachment>('storage/v1.VolumeAttachment', {
    spec: {
      attacher: 'a',
      nodeName: 'n',
      source: { inlineVolumeSpec: { hostPath: { path: '/a' } } },
    },
  });
  expect(of().spec.source.inlineVolumeSpec).toEqual({ hostPath: { path: '/a', type: '' } });
});
