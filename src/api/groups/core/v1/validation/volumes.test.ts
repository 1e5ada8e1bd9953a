// Volumes of pods by source. Valid cases, and the paths and types of the errors. pod.test.ts
// contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { path, type FieldErrorList } from '#machinery/validation/field.ts';
import { validatePod, validatePodTemplate } from './index.ts';

const short = (errors: FieldErrorList, prefix: string): string[] =>
  errors.map(({ field, type }) => `${field.replace(prefix, '')} ${type.replace('FieldValue', '')}`);

/** Returns the errors of one volume of a pod; paths begin at the volume. */
function errorsOf(volume: string): string[] {
  const spec = `serviceAccountName: a\ncontainers: [{name: c, image: x}]\nvolumes:\n- ${volume}`;
  const pod = manifest<core.Pod>(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}`,
  );
  return short(validatePod(pod), 'spec.volumes[0].');
}

type Case = [what: string, source: string, ...errors: string[]];

function table(cases: readonly Case[]): void {
  test.each(cases)('%s', (_what, source, ...errors) => {
    expect(errorsOf(`{name: v, ${source}}`)).toEqual(errors);
  });
}

describe('names', () => {
  test.each<[name: string, ...errors: string[]]>([
    ['empty'],
    ['"123"'],
    ['empty-123'],
    ['123-empty'],
    ['""', 'name Required'],
    ['a'.repeat(63)],
    ['a'.repeat(64), 'name Invalid'],
    ['a.b.c', 'name Invalid'],
    ['"Not a DNS label!"', 'name Invalid'],
  ])('%s', (name, ...errors) => {
    expect(errorsOf(`{name: ${name}, emptyDir: {}}`)).toEqual(errors);
    expect(errorsOf(`{name: ${name}, image: {reference: r, pullPolicy: Never}}`)).toEqual(errors);
  });
});

describe('one source', () => {
  table([
    ['two', 'emptyDir: {}, hostPath: {path: /a, type: Directory}', 'hostPath Forbidden'],
    [
      'three',
      'emptyDir: {}, hostPath: {path: /a}, nfs: {server: s, path: /a}',
      'hostPath Forbidden',
      'nfs Forbidden',
    ],
    ['huge pages', 'emptyDir: {medium: HugePages}'],
    ['huge pages of a size', 'emptyDir: {medium: HugePages-2Mi}'],
    ['memory', 'emptyDir: {medium: Memory, sizeLimit: 1Mi}'],
    ['a negative limit', 'emptyDir: {sizeLimit: "-1"}', 'emptyDir.sizeLimit Forbidden'],
  ]);
});

describe('host paths', () => {
  table([
    ['a folder', 'hostPath: {path: /a, type: Directory}'],
    ['a folder to be made', 'hostPath: {path: /a, type: DirectoryOrCreate}'],
    ['a file to be made', 'hostPath: {path: /a, type: FileOrCreate}'],
    ['a socket', 'hostPath: {path: /a, type: Socket}'],
    ['a device', 'hostPath: {path: /a, type: BlockDevice}'],
    ['anything', 'hostPath: {path: /a, type: ""}'],
    ['of no kind', 'hostPath: {path: /a, type: invalid}', 'hostPath.type NotSupported'],
    ['nowhere', 'hostPath: {path: ""}', 'hostPath.path Required'],
    ['up', 'hostPath: {path: /a/.., type: Directory}', 'hostPath.path Invalid'],
  ]);
});

describe('cloud disks', () => {
  table([
    ['GCE', 'gcePersistentDisk: {pdName: My-PD, fsType: ext4, partition: 1}'],
    ['GCE, the last partition', 'gcePersistentDisk: {pdName: p, partition: 255}'],
    ['GCE, no name', 'gcePersistentDisk: {pdName: ""}', 'persistentDisk.pdName Required'],
    [
      'GCE, no partition',
      'gcePersistentDisk: {pdName: p, partition: 256}',
      'persistentDisk.partition Invalid',
    ],
    ['AWS', 'awsElasticBlockStore: {volumeID: My-PD, fsType: ext4, partition: 1}'],
    [
      'AWS, no name',
      'awsElasticBlockStore: {volumeID: ""}',
      'awsElasticBlockStore.volumeID Required',
    ],
    [
      'AWS, no partition',
      'awsElasticBlockStore: {volumeID: v, partition: -1}',
      'awsElasticBlockStore.partition Invalid',
    ],
    ['Cinder', 'cinder: {volumeID: 29ea5088-4f60, fsType: ext4}'],
    ['Cinder, no name', 'cinder: {volumeID: ""}', 'cinder.volumeID Required'],
    [
      'Cinder, a secret without a name',
      'cinder: {volumeID: v, secretRef: {}}',
      'cinder.secretRef.name Required',
    ],
    ['vSphere', 'vsphereVolume: {volumePath: p}'],
    ['vSphere, no path', 'vsphereVolume: {volumePath: ""}', 'vsphereVolume.volumePath Required'],
    ['Photon', 'photonPersistentDisk: {pdID: p}'],
    ['Photon, no ID', 'photonPersistentDisk: {pdID: ""}', 'photonPersistentDisk.pdID Required'],
    ['Portworx', 'portworxVolume: {volumeID: v}'],
    ['Portworx, no ID', 'portworxVolume: {volumeID: ""}', 'portworxVolume.volumeID Required'],
  ]);
});

describe('repositories', () => {
  table([
    ['a revision of one', 'gitRepo: {repository: r, revision: h, directory: target}'],
    ['here', 'gitRepo: {repository: r, directory: "."}'],
    ['a folder whose name begins with dots', 'gitRepo: {repository: r, directory: ..foo}'],
    ['none', 'gitRepo: {repository: ""}', 'gitRepo.repository Required'],
    ['up', 'gitRepo: {repository: r, directory: ../a/b}', 'gitRepo.directory Invalid'],
    ['up and down', 'gitRepo: {repository: r, directory: a/../b}', 'gitRepo.directory Invalid'],
    ['from the root', 'gitRepo: {repository: r, directory: /a}', 'gitRepo.directory Invalid'],
  ]);
});

describe('iSCSI', () => {
  const iscsi = (fields: string): string => `iscsi: {targetPortal: 127.0.0.1, lun: 1, ${fields}}`;
  const IQN = 'iqn: "iqn.2015-02.example.com:test"';
  table([
    ['a name', iscsi(IQN)],
    ['a name of numbers', iscsi('iqn: eui.0123456789ABCDEF')],
    ['a name of a network', iscsi('iqn: naa.62004567BA64678D0123456789ABCDEF')],
    ['no portal', `iscsi: {targetPortal: "", lun: 1, ${IQN}}`, 'iscsi.targetPortal Required'],
    ['no name', iscsi('iqn: ""'), 'iscsi.iqn Required'],
    ['a name of no kind', iscsi('iqn: test'), 'iscsi.iqn Invalid'],
    ['a name with commands', iscsi('iqn: "iqn.2015-02.example.com:test;ls;"'), 'iscsi.iqn Invalid'],
    ['a name of too many numbers', iscsi('iqn: eui.0123456789ABCDEFGHIJ'), 'iscsi.iqn Invalid'],
    [
      'a name of a network, mistyped',
      iscsi('iqn: naa.62004567BA_4-78D.123456789ABCDEF'),
      'iscsi.iqn Invalid',
    ],
    ['a LUN too high', `iscsi: {targetPortal: p, lun: 256, ${IQN}}`, 'iscsi.lun Invalid'],
    ['an initiator', iscsi(`${IQN}, initiatorName: "iqn.2015-02.example.com:init"`)],
    [
      'no initiator',
      iscsi(`${IQN}, initiatorName: "2015-02.example.com:init"`),
      'iscsi.initiatorname Invalid',
    ],
    [
      'a password when it is found',
      iscsi(`${IQN}, chapAuthDiscovery: true`),
      'iscsi.secretRef Required',
    ],
    [
      'a password when it is used',
      iscsi(`${IQN}, chapAuthSession: true`),
      'iscsi.secretRef Required',
    ],
    ['a password with a secret', iscsi(`${IQN}, chapAuthSession: true, secretRef: {name: s}`)],
  ]);
});

describe.each(['secret', 'configMap'])('%s', (kind) => {
  const of = (fields: string): string =>
    `${kind}: {${kind === 'secret' ? 'secretName' : 'name'}: it, ${fields}}`;
  const item = (fields: string): string => of(`items: [{${fields}}]`);
  table([
    ['all of it', of('')],
    ['with a mode', of('defaultMode: 0o644')],
    ['of no name', `${kind}: {}`, `${kind}.${kind === 'secret' ? 'secretName' : 'name'} Required`],
    ['mode too high', of('defaultMode: 0o1000'), `${kind}.defaultMode Invalid`],
    ['mode too low', of('defaultMode: -1'), `${kind}.defaultMode Invalid`],
    ['a key', item('key: k, path: p')],
    ['a key with a mode', item('key: k, path: p, mode: 0o644')],
    ['a key deep down', item('key: k, path: p/p/p/p')],
    ['dots in names', item('key: k, path: p/..p/p../p..p')],
    ['no key', item('key: "", path: p'), `${kind}.items[0].key Required`],
    ['no path', item('key: k, path: ""'), `${kind}.items[0].path Required`],
    ['a reserved name', item('key: k, path: ..p'), `${kind}.items[0].path Invalid`],
    ['up', item('key: k, path: ../p'), `${kind}.items[0].path Invalid`],
    ['up and down', item('key: k, path: p/../p'), `${kind}.items[0].path Invalid`],
    ['up at the end', item('key: k, path: p/..'), `${kind}.items[0].path Invalid`],
    [
      "a key's mode too high",
      item('key: k, path: p, mode: 0o1000'),
      `${kind}.items[0].mode Invalid`,
    ],
    ["a key's mode too low", item('key: k, path: p, mode: -1'), `${kind}.items[0].mode Invalid`],
  ]);
});

describe('file servers', () => {
  table([
    ['NFS', 'nfs: {server: s, path: /tmp}'],
    ['NFS, no server', 'nfs: {server: "", path: /tmp}', 'nfs.server Required'],
    ['NFS, no path', 'nfs: {server: s, path: ""}', 'nfs.path Required', 'nfs.path Invalid'],
    ['NFS, relative', 'nfs: {server: s, path: tmp}', 'nfs.path Invalid'],
    ['Gluster', 'glusterfs: {endpoints: e, path: p}'],
    [
      'Gluster, no endpoints',
      'glusterfs: {endpoints: "", path: p}',
      'glusterfs.endpoints Required',
    ],
    ['Gluster, no path', 'glusterfs: {endpoints: e, path: ""}', 'glusterfs.path Required'],
    [
      'Gluster, neither',
      'glusterfs: {endpoints: "", path: ""}',
      'glusterfs.endpoints Required',
      'glusterfs.path Required',
    ],
    ['Flocker, by its ID', 'flocker: {datasetUUID: d846b09d}'],
    ['Flocker, by its name', 'flocker: {datasetName: d}'],
    ['Flocker, by nothing', 'flocker: {}', 'flocker Required'],
    ['Flocker, by both', 'flocker: {datasetName: d, datasetUUID: d846b09d}', 'flocker Invalid'],
    ['Flocker, with a slash', 'flocker: {datasetName: a/b}', 'flocker.datasetName Invalid'],
    ['RBD', 'rbd: {monitors: [m], image: i, fsType: ext4}'],
    ['RBD, no monitors', 'rbd: {monitors: [], image: i}', 'rbd.monitors Required'],
    ['RBD, no image', 'rbd: {monitors: [m], image: ""}', 'rbd.image Required'],
    ['Ceph', 'cephfs: {monitors: [m]}'],
    ['Ceph, no monitors', 'cephfs: {monitors: []}', 'cephfs.monitors Required'],
    ['Quobyte', 'quobyte: {registry: "r:7861", volume: v, user: root, group: root, tenant: T}'],
    [
      'Quobyte, no registry',
      'quobyte: {registry: "", volume: v, tenant: T}',
      'quobyte.registry Required',
    ],
    ['Quobyte, no port', 'quobyte: {registry: r7861, volume: v}', 'quobyte.registry Invalid'],
    [
      'Quobyte, no second port',
      'quobyte: {registry: "r:7861,r2", volume: v}',
      'quobyte.registry Invalid',
    ],
    ['Quobyte, no volume', 'quobyte: {registry: "r:7861", volume: ""}', 'quobyte.volume Required'],
    ['Quobyte, no tenant', 'quobyte: {registry: "r:7861", volume: v, tenant: ""}'],
    [
      'Quobyte, a long tenant',
      `quobyte: {registry: "r:1", volume: v, tenant: ${'t'.repeat(65)}}`,
      'quobyte.tenant Required',
    ],
    ['Azure files', 'azureFile: {secretName: s, shareName: h}'],
    [
      'Azure files, no secret',
      'azureFile: {secretName: "", shareName: h}',
      'azureFile.secretName Required',
    ],
    [
      'Azure files, no share',
      'azureFile: {secretName: s, shareName: ""}',
      'azureFile.shareName Required',
    ],
    ['ScaleIO', 'scaleIO: {gateway: "http://g", system: s, volumeName: v, secretRef: {name: s}}'],
    [
      'ScaleIO, no volume',
      'scaleIO: {gateway: g, system: s, secretRef: {name: s}}',
      'scaleIO.volumeName Required',
    ],
    [
      'ScaleIO, no gateway',
      'scaleIO: {gateway: "", system: s, volumeName: v, secretRef: {}}',
      'scaleIO.gateway Required',
    ],
    [
      'ScaleIO, no system',
      'scaleIO: {gateway: g, system: "", volumeName: v, secretRef: {}}',
      'scaleIO.system Required',
    ],
    ['StorageOS', 'storageos: {volumeName: v}'],
    ['StorageOS, no volume', 'storageos: {}', 'storageos.volumeName Required'],
    [
      'StorageOS, a long volume',
      `storageos: {volumeName: ${'v'.repeat(64)}}`,
      'storageos.volumeName Invalid',
    ],
    [
      'StorageOS, a bad namespace',
      'storageos: {volumeName: v, volumeNamespace: A_}',
      'storageos.volumeNamespace Invalid',
    ],
    [
      'StorageOS, a secret without a name',
      'storageos: {volumeName: v, secretRef: {}}',
      'storageos.secretRef.name Required',
    ],
    ['flex', 'flexVolume: {driver: kubernetes.io/blue, fsType: ext4}'],
    ['flex, no driver', 'flexVolume: {driver: ""}', 'flexVolume.driver Required'],
    ['flex, options', 'flexVolume: {driver: d, options: {a: b, example.com/a: b}}'],
    [
      'flex, reserved options',
      'flexVolume: {driver: d, options: {a.k8s.io/b: c}}',
      'flexVolume.options[a.k8s.io/b] Invalid',
    ],
  ]);
});

describe('Azure disks', () => {
  const URI = 'diskURI: "https://blob/vhds/bar.vhd"';
  const ID = 'diskURI: /subscriptions/s/disks/d';
  table([
    ['a blob', `azureDisk: {diskName: d, ${URI}, cachingMode: ReadWrite, kind: Shared}`],
    ['a disk', `azureDisk: {diskName: d, ${ID}, cachingMode: None, kind: Managed}`],
    ['no name', `azureDisk: {diskName: "", ${URI}}`, 'azureDisk.diskName Required'],
    [
      'no URI',
      'azureDisk: {diskName: d, diskURI: ""}',
      'azureDisk.diskURI Required',
      'azureDisk.diskURI NotSupported',
    ],
    ['of no kind', `azureDisk: {diskName: d, ${URI}, kind: k}`, 'azureDisk.kind NotSupported'],
    [
      'cached somehow',
      `azureDisk: {diskName: d, ${URI}, cachingMode: c}`,
      'azureDisk.cachingMode NotSupported',
    ],
    [
      'a disk as a blob',
      `azureDisk: {diskName: d, ${ID}, kind: Dedicated}`,
      'azureDisk.diskURI NotSupported',
    ],
    [
      'a blob as a disk',
      `azureDisk: {diskName: d, ${URI}, kind: Managed}`,
      'azureDisk.diskURI NotSupported',
    ],
  ]);
});

describe('fields of the pod', () => {
  const items = (...list: string[]): string => `downwardAPI: {items: [${list.join(', ')}]}`;
  const fieldAt = (at: string, from = 'metadata.labels'): string =>
    `{path: "${at}", fieldRef: {apiVersion: v1, fieldPath: "${from}"}}`;
  const resource = (name: string, container = 'c'): string =>
    `{path: p, resourceFieldRef: {containerName: "${container}", resource: ${name}}}`;
  table([
    ['labels', items(fieldAt('labels'), fieldAt('a'), fieldAt('b'))],
    ['one label', items(fieldAt('a', "metadata.labels['key']"))],
    ['one label of others', items(fieldAt('a', "metadata.labels['test.example.com/key']"))],
    ['annotations', items(fieldAt('a', 'metadata.annotations'))],
    ['one annotation', items(fieldAt('a', "metadata.annotations['key']"))],
    [
      'one annotation of others',
      items(fieldAt('a', "metadata.annotations['TEST.EXAMPLE.COM/key']")),
    ],
    ['its namespace', items(fieldAt('a', 'metadata.namespace'))],
    ['its name', items(fieldAt('a', 'metadata.name'))],
    ['its number', items(fieldAt('a', 'metadata.uid'))],
    [
      'its address',
      items(fieldAt('a', 'status.podIP')),
      'downwardAPI.fieldRef.fieldPath NotSupported',
    ],
    [
      'a label of an impossible name',
      items(fieldAt('a', "metadata.labels['a b']")),
      'downwardAPI.fieldRef Invalid',
    ],
    [
      'a field that there is not',
      items(fieldAt('a', 'spec.none')),
      'downwardAPI.fieldRef.fieldPath Invalid',
    ],
    ['deep down', items(fieldAt('path/with/subdirs'), fieldAt('path/./withdot'))],
    [
      'dots in names',
      items(fieldAt('path/with/embedded..dotdot'), fieldAt('path/with/leading/..dotdot')),
    ],
    ...['limits', 'requests'].flatMap((list) =>
      ['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi'].map((name): Case => [
        `${list}.${name}`,
        items(resource(`${list}.${name}`)),
      ]),
    ),
    [
      'a resource that there is not',
      items(resource('limits.disk')),
      'downwardAPI.resourceFieldRef.resource NotSupported',
    ],
    [
      'resources without a container',
      items(resource('limits.cpu', '')),
      'downwardAPI.resourceFieldRef.containerName Required',
    ],
    ['a mode', 'downwardAPI: {defaultMode: 0o644}'],
    ['a mode too high', 'downwardAPI: {defaultMode: 0o1000}', 'downwardAPI.defaultMode Invalid'],
    ['a mode too low', 'downwardAPI: {defaultMode: -1}', 'downwardAPI.defaultMode Invalid'],
    ["a file's mode", items(fieldAt('p').replace('{', '{mode: 0o644, '))],
    [
      "a file's mode too high",
      items(fieldAt('p').replace('{', '{mode: 0o1000, ')),
      'downwardAPI.mode Invalid',
    ],
    [
      "a file's mode too low",
      items(fieldAt('p').replace('{', '{mode: -1, ')),
      'downwardAPI.mode Invalid',
    ],
    ['no path', items(fieldAt('')), 'downwardAPI.path Required'],
    ['from the root', items(fieldAt('/a')), 'downwardAPI.path Invalid'],
    ['up', items(fieldAt('../../passwd')), 'downwardAPI.path Invalid'],
    ['a reserved name', items(fieldAt('..badFileName')), 'downwardAPI.path Invalid'],
    [
      'below a reserved name',
      items(fieldAt('..badDirName/goodFileName')),
      'downwardAPI.path Invalid',
    ],
    ['of nothing', items('{path: p}'), 'downwardAPI Required'],
    [
      'of two things',
      items(
        '{path: p, fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {containerName: c, resource: limits.cpu}}',
      ),
      'downwardAPI Invalid',
    ],
  ]);
});

describe('fibre channel', () => {
  table([
    ['a target', 'fc: {targetWWNs: [w], lun: 1}'],
    ['a disk', 'fc: {wwids: [w]}'],
    ['nothing', 'fc: {targetWWNs: [], wwids: [], lun: 1}', 'fc.targetWWNs Required'],
    ['both', 'fc: {targetWWNs: [w], wwids: [w], lun: 1}', 'fc.targetWWNs Invalid'],
    ['a target without a LUN', 'fc: {targetWWNs: [w]}', 'fc.lun Required'],
    ['a LUN too high', 'fc: {targetWWNs: [w], lun: 256}', 'fc.lun Invalid'],
  ]);
});

describe('drivers', () => {
  table([
    ...[
      'a',
      'test-driver',
      'comgoogle',
      'io.kubernetes.csi.flex',
      'io-kubernetes-flex',
      '2io.csi-flex',
      'io.csi.flex2',
    ].map((name): Case => [name, `csi: {driver: ${name}}`]),
    ['none', 'csi: {driver: ""}', 'csi.driver Required'],
    ['65 letters', `csi: {driver: ${'g'.repeat(65)}}`, 'csi.driver TooLong'],
    ...[
      'io_csi_flex',
      'io.storage_csi.flex',
      'io.k-s.csi_flex',
      '_csi',
      'csi/',
      'com/google/storage/csi~gcepd',
    ].map((name): Case => [name, `csi: {driver: ${name}}`, 'csi.driver Invalid']),
    ['with a secret', 'csi: {driver: d, nodePublishSecretRef: {name: s}}'],
    [
      'with a secret without a name',
      'csi: {driver: d, nodePublishSecretRef: {}}',
      'csi.nodePublishSecretRef.name Required',
    ],
  ]);
});

describe('claims', () => {
  table([
    ['by name', 'persistentVolumeClaim: {claimName: c}'],
    [
      'by no name',
      'persistentVolumeClaim: {claimName: ""}',
      'persistentVolumeClaim.claimName Required',
    ],
    ['of its own, of nothing', 'ephemeral: {}', 'ephemeral.volumeClaimTemplate Required'],
  ]);

  const claim = (fields: string, metadata = ''): string =>
    `ephemeral: {volumeClaimTemplate: {metadata: {${metadata}}, spec: {${fields}}}}`;
  const SIZE = 'resources: {requests: {storage: 10G}}';
  const ONE = 'accessModes: [ReadWriteOnce]';
  const GOOD = `${ONE}, ${SIZE}, storageClassName: valid, volumeMode: Filesystem`;
  const at = 'ephemeral.volumeClaimTemplate';
  table([
    ['of its own', claim(`${GOOD}, selector: {matchExpressions: [{key: k, operator: Exists}]}`)],
    ['with labels', claim(GOOD, 'labels: {apps.kubernetes.io/name: test}')],
    ['with annotations', claim(GOOD, 'annotations: {foo: bar}')],
    [
      'with bad labels',
      claim(GOOD, 'labels: {a: "hyphen not allowed"}'),
      `${at}.metadata.labels Invalid`,
    ],
    [
      'with bad annotations',
      claim(GOOD, 'annotations: {"a b": c}'),
      `${at}.metadata.annotations Invalid`,
    ],
    ['with a name', claim(GOOD, 'name: a'), `${at}.metadata.name Forbidden`],
    [
      'with the beginning of a name',
      claim(GOOD, 'generateName: pvc-'),
      `${at}.metadata.generateName Forbidden`,
    ],
    ['with a namespace', claim(GOOD, 'namespace: a'), `${at}.metadata.namespace Forbidden`],
    ['with a UID', claim(GOOD, 'uid: ac051fac'), `${at}.metadata.uID Forbidden`],
    [
      'with a version',
      claim(GOOD, 'resourceVersion: "1"'),
      `${at}.metadata.resourceVersion Forbidden`,
    ],
    ['with a generation', claim(GOOD, 'generation: 100'), `${at}.metadata.generation Forbidden`],
    [
      'with a time',
      claim(GOOD, 'creationTimestamp: "2026-01-01T00:00:00Z"'),
      `${at}.metadata.creationTimestamp Forbidden`,
    ],
    [
      'with grace',
      claim(GOOD, 'deletionGracePeriodSeconds: 10'),
      `${at}.metadata.deletionGracePeriodSeconds Forbidden`,
    ],
    [
      'with owners',
      claim(GOOD, 'ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]'),
      `${at}.metadata.ownerReferences Forbidden`,
    ],
    [
      'with finalizers',
      claim(GOOD, 'finalizers: [example.com/foo]'),
      `${at}.metadata.finalizers Forbidden`,
    ],
    [
      'with managers',
      claim(GOOD, 'managedFields: [{manager: m, operation: Apply}]'),
      `${at}.metadata.managedFields Forbidden`,
    ],
    ['for one pod', claim(`accessModes: [ReadWriteOncePod], ${SIZE}`)],
    [
      'for one pod and others',
      claim(`accessModes: [ReadWriteOncePod, ReadWriteMany], ${SIZE}`),
      `${at}.spec.accessModes Forbidden`,
    ],
    [
      'of size 0',
      claim(`${ONE}, resources: {requests: {storage: 0G}}`),
      `${at}.spec.resources[storage] Invalid`,
    ],
    [
      'of less',
      claim(`${ONE}, resources: {requests: {storage: -10G}}`),
      `${at}.spec.resources[storage] Invalid`,
    ],
    ['of no size', claim(ONE), `${at}.spec.resources[storage] Required`],
    [
      'of memory',
      claim(`${ONE}, resources: {requests: {memory: 10G}}`),
      `${at}.spec.resources[storage] Required`,
    ],
    ['of no access', claim(SIZE), `${at}.spec.accessModes Required`],
    [
      'of an unknown access',
      claim(`accessModes: [fakemode], ${SIZE}`),
      `${at}.spec.accessModes NotSupported`,
    ],
    [
      'of a bad class',
      claim(`${ONE}, ${SIZE}, storageClassName: -invalid-`),
      `${at}.spec.storageClassName Invalid`,
    ],
    [
      'of an unknown mode',
      claim(`${ONE}, ${SIZE}, volumeMode: fake`),
      `${at}.spec.volumeMode NotSupported`,
    ],
    [
      'with a bad selector',
      claim(
        `${GOOD}, selector: {matchExpressions: [{key: k, operator: InvalidOp, values: [a, b]}]}`,
      ),
      `${at}.spec.selector.matchExpressions[0].operator Invalid`,
    ],
    [
      'from two things',
      claim(
        `${GOOD}, dataSource: {kind: PersistentVolumeClaim, name: a}, ` +
          'dataSourceRef: {kind: PersistentVolumeClaim, name: b}',
      ),
      `${at}.spec Invalid`,
    ],
    [
      'from a bad group',
      claim(`${GOOD}, dataSource: {apiGroup: ^invalid, kind: F, name: f}`),
      `${at}.spec.dataSource.apiGroup Invalid`,
    ],
    [
      'from a bad group, newly said',
      claim(`${GOOD}, dataSourceRef: {apiGroup: ^invalid, kind: F, name: f}`),
      `${at}.spec.dataSourceRef.apiGroup Invalid`,
    ],
    [
      'of bad attributes',
      claim(`${GOOD}, volumeAttributesClassName: -invalid-`),
      `${at}.spec.volumeAttributesClassName Invalid`,
    ],
  ]);
});

describe('projected volumes', () => {
  const projected = (...sources: string[]): string =>
    `projected: {sources: [${sources.join(', ')}]}`;
  const at = 'projected.sources[0]';
  const token = (fields: string): string => projected(`{serviceAccountToken: {${fields}}}`);
  const bundle = (fields: string): string => projected(`{clusterTrustBundle: {${fields}}}`);
  const certificate = (fields: string): string => projected(`{podCertificate: {${fields}}}`);
  const SIGNED = 'signerName: a.b/c, keyType: ED25519, credentialBundlePath: p';
  table([
    ['nothing', projected()],
    [
      'a secret and a map',
      projected('{secret: {name: s}}', '{configMap: {name: m}}', '{downwardAPI: {}}'),
    ],
    [
      'two in one',
      projected('{secret: {name: s}}', '{secret: {name: s}, downwardAPI: {}}'),
      'projected.sources[1] Forbidden',
    ],
    [
      'two in one, of no name',
      projected('{secret: {}}', '{secret: {}, downwardAPI: {}}'),
      `${at}.secret.name Required`,
      'projected.sources[1].secret.name Required',
      'projected.sources[1] Forbidden',
    ],
    [
      'a mode too high',
      'projected: {sources: [], defaultMode: 0o1000}',
      'projected.defaultMode Invalid',
    ],
    ['a token', token('path: t, expirationSeconds: 600')],
    [
      'a token for nine minutes',
      token('path: t, expirationSeconds: 540'),
      `${at}.serviceAccountToken.expirationSeconds Invalid`,
    ],
    [
      'a token for ever',
      token('path: t, expirationSeconds: 4294967297'),
      `${at}.serviceAccountToken.expirationSeconds Invalid`,
    ],
    ['a token nowhere', token('expirationSeconds: 600, path: ""'), 'projected.path Required'],
    ['a token up', token('path: ../t, expirationSeconds: 600'), 'projected.path Invalid'],
    ['a bundle by name', bundle('name: b, path: p')],
    [
      'a bundle of a signer',
      bundle('signerName: a.b/c, labelSelector: {matchLabels: {a: b}}, path: p'),
    ],
    ['a bundle of a signer, of no labels', bundle('signerName: a.b/c, path: p')],
    [
      'a bundle by name and signer',
      bundle('name: b, signerName: a.b/c, path: p'),
      `${at}.clusterTrustBundle Invalid`,
    ],
    [
      'a bundle of a name of nothing',
      bundle('name: "", path: p'),
      `${at}.clusterTrustBundle.name Required`,
      `${at}.clusterTrustBundle.name Invalid`,
    ],
    [
      'a bundle of no signer',
      bundle('signerName: "", path: p'),
      `${at}.clusterTrustBundle.signerName Required`,
      `${at}.clusterTrustBundle.signerName Required`,
    ],
    ['a bundle by nothing', bundle('path: p'), `${at}.clusterTrustBundle Required`],
    [
      'a bundle of a name and labels',
      bundle('name: b, labelSelector: {}, path: p'),
      `${at}.clusterTrustBundle.labelSelector Invalid`,
    ],
    [
      'a bundle of a bad signer',
      bundle('signerName: a, path: p'),
      `${at}.clusterTrustBundle.signerName Invalid`,
    ],
    ['a bundle nowhere', bundle('name: b, path: ""'), `${at}.clusterTrustBundle.path Required`],
    ['a bundle up', bundle('name: b, path: ../p'), `${at}.clusterTrustBundle.path Invalid`],
    ['a certificate', certificate(SIGNED)],
    [
      'a certificate in two files',
      certificate('signerName: a.b/c, keyType: RSA3072, keyPath: k, certificateChainPath: c'),
    ],
    ['a certificate of a day', certificate(`${SIGNED}, maxExpirationSeconds: 86400`)],
    [
      'a certificate of ten minutes',
      certificate(`${SIGNED}, maxExpirationSeconds: 600`),
      `${at}.podCertificate.maxExpirationSeconds Invalid`,
    ],
    [
      'a certificate nowhere',
      certificate('signerName: a.b/c, keyType: ED25519'),
      `${at}.podCertificate Required`,
    ],
  ]);

  test('one path twice', () => {
    const secret = (name: string, file: string): string =>
      `{secret: {name: ${name}, items: [{key: k, path: ${file}}]}}`;
    expect(errorsOf(`{name: v, ${projected(secret('a', 'p'), secret('a', 'p'))}}`)).toEqual([
      'projected Invalid',
    ]);
    expect(errorsOf(`{name: v, ${projected(secret('a', 'p'), secret('b', 'p'))}}`)).toEqual([
      'projected Invalid',
    ]);
    expect(errorsOf(`{name: v, ${projected(secret('a', 'p'), secret('b', 'q'))}}`)).toEqual([]);
  });
});

describe('images', () => {
  table([
    ['one', 'image: {reference: "quay.io/my/artifact:v1", pullPolicy: IfNotPresent}'],
    [
      'without a name',
      'image: {reference: "", pullPolicy: IfNotPresent}',
      'image.reference Required',
    ],
    ['pulled somehow', 'image: {reference: r, pullPolicy: wrong}', 'image.pullPolicy NotSupported'],
  ]);

  test('without a name, in a template', () => {
    const { template } = manifest<core.ReplicationController>(
      'core/v1.ReplicationController',
      'spec: {template: {spec: {containers: [{name: c, image: x}], volumes: [{name: v, image: {reference: ""}}]}}}',
    ).spec;
    expect(short(validatePodTemplate(template!, path('template')), '')).toEqual([]);
  });
});
