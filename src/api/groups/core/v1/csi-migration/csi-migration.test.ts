import { describe, expect, test } from 'vitest';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { PersistentVolume, PersistentVolumeSpec, Volume } from '../index.ts';
import { driverOfPlugin, migrated, migratedInline, pluginOfSource } from './index.ts';

const ZONE = 'topology.kubernetes.io/zone';
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const BETA_REGION = 'failure-domain.beta.kubernetes.io/region';

const volume = (
  spec: Partial<PersistentVolumeSpec>,
  metadata: object = {},
): Immutable<PersistentVolume> => ({
  metadata: { name: 'v', uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], ...spec },
  status: {},
});
const handle = (one: Immutable<PersistentVolume>): string | undefined =>
  migrated(one)?.volume.spec.csi?.volumeHandle;
const affinity = (
  ...terms: (readonly [key: string, ...values: string[]])[]
): Pick<PersistentVolumeSpec, 'nodeAffinity'> => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: terms.map(([key, ...values]) => ({
        matchExpressions: [{ key, operator: 'In' as const, values }],
      })),
    },
  },
});

describe('persistent volumes', () => {
  const ebs = { awsElasticBlockStore: { volumeID: 'vol-1' } };
  const file = {
    azureFile: {
      secretName: 'azure-storage-account-acc-secret',
      shareName: 's',
      secretNamespace: null,
    },
  };
  test.each<[string, Partial<PersistentVolumeSpec>, string, object]>([
    [
      'kubernetes.io/aws-ebs',
      {
        awsElasticBlockStore: {
          volumeID: 'aws://us-east-1a/vol-1',
          fsType: 'ext4',
          readOnly: true,
          partition: 2,
        },
      },
      'ebs.csi.aws.com',
      {
        volumeHandle: 'vol-1',
        fsType: 'ext4',
        readOnly: true,
        volumeAttributes: { partition: '2' },
      },
    ],
    [
      'kubernetes.io/aws-ebs',
      ebs,
      'ebs.csi.aws.com',
      { volumeHandle: 'vol-1', volumeAttributes: { partition: '0' } },
    ],
    [
      'kubernetes.io/gce-pd',
      { gcePersistentDisk: { pdName: 'pd' } },
      'pd.csi.storage.gke.io',
      {
        volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
        volumeAttributes: { partition: '' },
      },
    ],
    [
      'kubernetes.io/azure-disk',
      {
        azureDisk: {
          diskName: 'd',
          diskURI: '/disks/d',
          kind: 'Managed',
          cachingMode: 'None',
          fsType: 'xfs',
        },
      },
      'disk.csi.azure.com',
      {
        volumeHandle: '/disks/d',
        fsType: 'xfs',
        volumeAttributes: { kind: 'Managed', cachingmode: 'None', fstype: 'xfs' },
      },
    ],
    [
      'kubernetes.io/azure-file',
      { ...file, claimRef: { namespace: 'ns' } },
      'file.csi.azure.com',
      {
        volumeHandle: '#acc#s#v#ns',
        volumeAttributes: { sharename: 's' },
        nodeStageSecretRef: { name: 'azure-storage-account-acc-secret', namespace: 'ns' },
      },
    ],
    [
      'kubernetes.io/cinder',
      { cinder: { volumeID: 'c' } },
      'cinder.csi.openstack.org',
      { volumeHandle: 'c' },
    ],
    [
      'kubernetes.io/vsphere-volume',
      { vsphereVolume: { volumePath: '[ds] v.vmdk', storagePolicyName: 'gold' } },
      'csi.vsphere.vmware.com',
      { volumeHandle: '[ds] v.vmdk', volumeAttributes: { storagepolicyname: 'gold' } },
    ],
    [
      'kubernetes.io/portworx-volume',
      { portworxVolume: { volumeID: 'p' } },
      'pxd.portworx.com',
      { volumeHandle: 'p' },
    ],
  ])('%s: %j', (plugin, spec, driver, csi) => {
    const found = migrated(volume(spec));
    expect(found?.plugin).toBe(plugin);
    expect(driverOfPlugin(plugin)).toBe(driver);
    const { claimRef } = spec;
    expect(found?.volume.spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      ...(claimRef && { claimRef }),
      csi: { driver, ...csi },
    });
  });

  test('other volumes are not translated', () => {
    expect(migrated(volume({ hostPath: { path: '/x' } }))).toBeUndefined();
    expect(migrated(volume({ csi: { driver: 'd', volumeHandle: 'h' } }))).toBeUndefined();
    expect(driverOfPlugin('kubernetes.io/rbd')).toBeUndefined();
  });

  test('a disk of GCE is named by its zone, or by the region of its zones', () => {
    const gce = (labels: object): Immutable<PersistentVolume> =>
      volume({ gcePersistentDisk: { pdName: 'pd' } }, { labels });
    expect(handle(gce({ [ZONE]: 'us-east1-b' }))).toBe(
      'projects/UNSPECIFIED/zones/us-east1-b/disks/pd',
    );
    expect(handle(gce({ [BETA_ZONE]: 'us-east1-b__us-east1-c' }))).toBe(
      'projects/UNSPECIFIED/regions/us-east1/disks/pd',
    );
    expect(() => handle(gce({ [ZONE]: 'us-east1-b__eu-west1-c' }))).toThrow(
      'multiple or no regions',
    );
    expect(() => handle(gce({ [ZONE]: 'a__b' }))).toThrow('zone in unexpected format');
  });

  test.each([
    [['ReadWriteMany'], ['ReadWriteOnce']],
    [['ReadOnlyMany', 'ReadWriteOnce'], ['ReadWriteOnce']],
    [['ReadOnlyMany'], ['ReadOnlyMany']],
    [['ReadWriteOncePod'], ['ReadWriteOnce']],
  ] as const)('modes of a disk of GCE: %s', (accessModes, expected) => {
    const one = volume({ gcePersistentDisk: { pdName: 'pd' }, accessModes: [...accessModes] });
    expect(migrated(one)?.volume.spec.accessModes).toEqual(expected);
  });

  test('values that the drivers do not support are errors', () => {
    expect(() => migrated(volume({ awsElasticBlockStore: { volumeID: 'aws://a/b' } }))).toThrow(
      'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/b)',
    );
    expect(() =>
      migrated(volume({ azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Shared' } })),
    ).toThrow('kind(Shared) is not supported in csi migration');
    expect(() => migrated(volume(file))).toThrow('could not find a secret namespace');
  });

  test('secrets of Portworx are in annotations', () => {
    const annotations = {
      'openstorage.io/auth-secret-name': 's',
      'openstorage.io/auth-secret-namespace': 'ns',
    };
    const secret = { name: 's', namespace: 'ns' };
    expect(
      migrated(volume({ portworxVolume: { volumeID: 'p' } }, { annotations }))?.volume.spec.csi,
    ).toMatchObject({
      nodeStageSecretRef: secret,
      controllerExpandSecretRef: secret,
    });
  });

  const EBS_ZONE = 'topology.ebs.csi.aws.com/zone';
  const vsphere = { vsphereVolume: { volumePath: 'p' } };
  const [ON_ZONE, ON_REGION] = ['topology.csi.vmware.com/zone', 'topology.csi.vmware.com/region'];
  test.each<[string, Partial<PersistentVolumeSpec>, Record<string, string>, object]>([
    ['nothing said', ebs, {}, {}],
    [
      'zones in the affinity',
      { ...ebs, ...affinity([ZONE, 'a', 'b']) },
      { [ZONE]: 'c' },
      affinity([EBS_ZONE, 'a', 'b']),
    ],
    ['by its old name', { ...ebs, ...affinity([BETA_ZONE, 'a']) }, {}, affinity([EBS_ZONE, 'a'])],
    [
      'the old region',
      { ...ebs, ...affinity([BETA_ZONE, 'a'], [BETA_REGION, 'r']) },
      {},
      affinity([EBS_ZONE, 'a'], ['topology.kubernetes.io/region', 'r']),
    ],
    ['zones in labels', ebs, { [ZONE]: 'b__a__' }, affinity([EBS_ZONE, 'a', 'b'])],
    ['an empty label', ebs, { [ZONE]: '' }, {}],
    [
      'every term',
      { ...ebs, ...affinity(['x', '1'], ['y', '2']) },
      { [BETA_ZONE]: 'a' },
      {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: 'x', operator: 'In', values: ['1'] },
                  { key: EBS_ZONE, operator: 'In', values: ['a'] },
                ],
              },
              {
                matchExpressions: [
                  { key: 'y', operator: 'In', values: ['2'] },
                  { key: EBS_ZONE, operator: 'In', values: ['a'] },
                ],
              },
            ],
          },
        },
      },
    ],
    [
      'Azure’s disks stay where they are',
      { azureDisk: { diskName: 'd', diskURI: 'u' }, ...affinity([ZONE, 'a']) },
      {},
      affinity([ZONE, 'a']),
    ],
    [
      'regions of vSphere',
      { ...vsphere, ...affinity([ZONE, 'a'], ['topology.kubernetes.io/region', 'r']) },
      {},
      affinity([ON_ZONE, 'a'], [ON_REGION, 'r']),
    ],
    [
      'labels of vSphere',
      vsphere,
      { [ZONE]: 'a__b', 'topology.kubernetes.io/region': 'r' },
      {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: ON_ZONE, operator: 'In', values: ['a__b'] },
                  { key: ON_REGION, operator: 'In', values: ['r'] },
                ],
              },
            ],
          },
        },
      },
    ],
  ])('where it is: %s', (_, spec, labels, expected) => {
    const { nodeAffinity } = migrated(volume(spec, { labels }))?.volume.spec ?? {};
    expect(nodeAffinity === undefined ? {} : { nodeAffinity }).toEqual(expected);
  });
});

describe('volumes in pods', () => {
  test.each<[Partial<Volume>, string, string, string]>([
    [
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      'kubernetes.io/aws-ebs',
      'vol-1',
      'ReadWriteOnce',
    ],
    [
      { gcePersistentDisk: { pdName: 'pd', readOnly: true } },
      'kubernetes.io/gce-pd',
      'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
      'ReadOnlyMany',
    ],
    [
      { azureDisk: { diskName: 'd', diskURI: 'u' } },
      'kubernetes.io/azure-disk',
      'u',
      'ReadWriteOnce',
    ],
    [
      { azureFile: { secretName: 'acc', shareName: 's' } },
      'kubernetes.io/azure-file',
      '#acc#s#v#ns',
      'ReadWriteMany',
    ],
    [{ cinder: { volumeID: 'c' } }, 'kubernetes.io/cinder', 'c', 'ReadWriteOnce'],
    [{ vsphereVolume: { volumePath: 'p' } }, 'kubernetes.io/vsphere-volume', 'p', 'ReadWriteOnce'],
    [
      { portworxVolume: { volumeID: 'p', readOnly: true } },
      'kubernetes.io/portworx-volume',
      'p',
      'ReadOnlyMany',
    ],
  ])('%j', (said, plugin, volumeHandle, mode) => {
    const one: Volume = { name: 'v', ...said };
    expect(pluginOfSource(one)).toBe(plugin);
    const found = migratedInline(one, 'ns');
    expect([found?.csi.driver, found?.csi.volumeHandle]).toEqual([
      driverOfPlugin(plugin),
      volumeHandle,
    ]);
    expect(found?.accessModes).toEqual([mode]);
  });

  test('other volumes are not translated', () => {
    expect(pluginOfSource({ name: 'v', emptyDir: {} })).toBeUndefined();
    expect(migratedInline({ name: 'v', emptyDir: {} }, 'ns')).toBeUndefined();
  });
});
