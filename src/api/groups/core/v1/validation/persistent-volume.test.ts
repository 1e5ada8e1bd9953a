// Errors of persistent volumes and their updates, with upstream's messages.

import { describe, expect, test } from 'vitest';

import * as field from '#machinery/validation/field.ts';
import { manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { persistentVolumeWarnings } from '../volume-warnings.ts';
import * as validation from './index.ts';

const HOST_PATH = 'hostPath: {path: /data}';
const CSI = 'csi: {driver: d, volumeHandle: h}';

/** Returns a volume. `spec`: additional fields, one per line; they replace those of the base. */
function volume(spec: string, metadata = '{name: v}'): core.PersistentVolume {
  const lines = spec.split('\n');
  const given = new Set(lines.map((line) => line.slice(0, line.indexOf(':'))));
  const base = ['accessModes: [ReadWriteOnce]', 'capacity: {storage: 10Gi}'].filter(
    (line) => !given.has(line.slice(0, line.indexOf(':'))),
  );
  return manifest(
    'core/v1.PersistentVolume',
    `metadata: ${metadata}\nspec:\n  ${[...base, ...lines].join('\n  ')}\n`,
  );
}

const SUBDOMAIN =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
  "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
  'regex used for validation is ' +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const MODES =
  'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';
const AFFINITY = (key: string): string =>
  `nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: ${key}, operator: In, values: [a]}]}]}}`;

describe('persistent volumes', () => {
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', HOST_PATH, []],
    ['capacity without a unit', `${HOST_PATH}\ncapacity: {storage: 10}`, []],
    ['a class', `${HOST_PATH}\nstorageClassName: valid`, []],
    ['to be kept', `${HOST_PATH}\npersistentVolumeReclaimPolicy: Retain`, []],
    ['a block device', `${HOST_PATH}\nvolumeMode: Block`, []],
    ['for one pod', `${HOST_PATH}\naccessModes: [ReadWriteOncePod]`, []],
    [
      'for one pod and others',
      `${HOST_PATH}\naccessModes: [ReadWriteOncePod, ReadWriteMany]`,
      ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
    ],
    [
      'an unknown access mode',
      `${HOST_PATH}\naccessModes: [fakemode]`,
      [`spec.accessModes: Unsupported value: "fakemode": ${MODES}`],
    ],
    ['no access mode', `${HOST_PATH}\naccessModes: []`, ['spec.accessModes: Required value']],
    [
      'no capacity',
      `${HOST_PATH}\ncapacity: {}`,
      [
        'spec.capacity: Required value',
        'spec.capacity: Unsupported value: {}: supported values: "storage"',
      ],
    ],
    [
      'nothing of capacity',
      `${HOST_PATH}\ncapacity: {storage: 0}`,
      ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      'less than nothing',
      `${HOST_PATH}\ncapacity: {storage: "-10"}`,
      [
        'spec.capacity[storage]: Invalid value: -10: must be a valid resource quantity',
        'spec.capacity[storage]: Invalid value: "-10": must be greater than zero',
      ],
    ],
    [
      'other capacities',
      `${HOST_PATH}\ncapacity: {storage: 10Gi, cpu: 1}`,
      [
        'spec.capacity: Unsupported value: {"cpu":"1","storage":"10Gi"}: supported values: "storage"',
      ],
    ],
    ['no source', 'storageClassName: a', ['spec: Required value: must specify a volume type']],
    [
      'two sources',
      `${HOST_PATH}\ngcePersistentDisk: {pdName: my-disk}`,
      ['spec.gcePersistentDisk: Forbidden: may not specify more than 1 volume type'],
    ],
    ['two sources of which one is flex', `${HOST_PATH}\nflexVolume: {driver: d}`, []],
    [
      'two sources of which one is ceph',
      `${HOST_PATH}\ncephfs: {monitors: [m]}`,
      ['spec.cephFS: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'the whole host, recycled',
      'hostPath: {path: /}\npersistentVolumeReclaimPolicy: Recycle',
      [
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
    [
      'the same by another name',
      'hostPath: {path: /./.}\npersistentVolumeReclaimPolicy: Recycle',
      [
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
    [
      'a path that leads up',
      'hostPath: {path: /foo/..}',
      [`spec.hostPath.path: Invalid value: "/foo/..": must not contain '..'`],
    ],
    [
      'a bad class',
      `${HOST_PATH}\nstorageClassName: -a`,
      [`spec.storageClassName: Invalid value: "-a": ${SUBDOMAIN}`],
    ],
    [
      'an unknown policy',
      `${HOST_PATH}\npersistentVolumeReclaimPolicy: Burn`,
      [
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: ' +
          '"Delete", "Recycle", "Retain"',
      ],
    ],
    [
      'an unknown mode',
      `${HOST_PATH}\nvolumeMode: fakeVolumeMode`,
      [
        'spec.volumeMode: Unsupported value: "fakeVolumeMode": supported values: "Block", "Filesystem"',
      ],
    ],
    ['an affinity', `${HOST_PATH}\n${AFFINITY('zone')}`, []],
    [
      'an affinity to nothing',
      `${HOST_PATH}\nnodeAffinity: {}`,
      ['spec.nodeAffinity.required: Required value: must specify required node constraints'],
    ],
    [
      'an affinity without terms',
      `${HOST_PATH}\nnodeAffinity: {required: {nodeSelectorTerms: []}}`,
      [
        'spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term',
      ],
    ],
    ['local', `local: {path: /data}\n${AFFINITY('zone')}`, []],
    [
      'local, anywhere',
      'local: {path: /data}',
      ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
    ],
    [
      'local, nowhere',
      `local: {path: ""}\n${AFFINITY('zone')}`,
      ['spec.local.path: Required value'],
    ],
    [
      'local, up',
      `local: {path: ../data}\n${AFFINITY('zone')}`,
      [`spec.local.path: Invalid value: "../data": must not contain '..'`],
    ],
    ['attributes', `${CSI}\nvolumeAttributesClassName: fast`, []],
    [
      'attributes of no class',
      `${CSI}\nvolumeAttributesClassName: ""`,
      ['spec.volumeAttributesClassName: Required value: an empty string is disallowed'],
    ],
    [
      'attributes of another source',
      `${HOST_PATH}\nvolumeAttributesClassName: fast`,
      ['spec.csi: Required value: has to be specified when using volumeAttributesClassName'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validatePersistentVolume(volume(spec)))).toEqual(errors);
  });

  test.each<[what: string, source: string, errors: string[]]>([
    [
      'a disk without a name',
      'gcePersistentDisk: {pdName: ""}',
      ['spec.persistentDisk.pdName: Required value'],
    ],
    [
      'a store without an ID',
      'awsElasticBlockStore: {volumeID: ""}',
      ['spec.awsElasticBlockStore.volumeID: Required value'],
    ],
    ['gluster', 'glusterfs: {endpoints: e, path: p, endpointsNamespace: n1}', []],
    [
      'gluster without endpoints',
      'glusterfs: {endpoints: "", path: ""}',
      ['spec.glusterfs.endpoints: Required value', 'spec.glusterfs.path: Required value'],
    ],
    [
      'gluster, with an empty namespace',
      'glusterfs: {endpoints: e, path: p, endpointsNamespace: ""}',
      [
        'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is ' +
          'set, it must be a valid namespace name',
      ],
    ],
    [
      'a relative export',
      'nfs: {server: s, path: p}',
      ['spec.nfs.path: Invalid value: "p": must be an absolute path'],
    ],
    [
      'rados without monitors',
      'rbd: {monitors: [], image: i}',
      ['spec.rbd.monitors: Required value'],
    ],
    ['ceph without monitors', 'cephfs: {monitors: []}', ['spec.cephfs.monitors: Required value']],
    ['iSCSI', 'iscsi: {targetPortal: 127.0.0.1, iqn: "iqn.2015-02.example.com:test", lun: 1}', []],
    [
      'iSCSI, nothing of it',
      'iscsi: {targetPortal: "", iqn: "", lun: 1}',
      ['spec.iscsi.targetPortal: Required value', 'spec.iscsi.iqn: Required value'],
    ],
    [
      'iSCSI, with a secret that it needs',
      'iscsi: {targetPortal: t, iqn: "iqn.2015-02.example.com:test", lun: 1, chapAuthSession: true}',
      ['spec.iscsi.secretRef: Required value'],
    ],
    [
      'iSCSI, with a secret without a name',
      'iscsi: {targetPortal: t, iqn: "iqn.2015-02.example.com:test", lun: 1, chapAuthSession: true, secretRef: {}}',
      ['spec.iscsi.secretRef.name: Required value'],
    ],
    [
      'iSCSI, with a long portal',
      `iscsi: {targetPortal: ${'t'.repeat(64)}, iqn: "iqn.2015-02.example.com:test", ` +
        'lun: 1, initiatorName: "iqn.2015-02.example.com:init"}',
      [
        `spec.iscsi.targetportal: Invalid value: "${'t'.repeat(64)}": Total length of ` +
          '<volume name>:<iscsi.targetPortal> must be under 64 characters if ' +
          'iscsi.initiatorName is specified.',
      ],
    ],
    ['cinder', 'cinder: {volumeID: v, secretRef: {name: s, namespace: ns}}', []],
    [
      'cinder, whose secret is nowhere',
      'cinder: {volumeID: v, secretRef: {}}',
      [
        'spec.cinder.secretRef.name: Required value',
        'spec.cinder.secretRef.namespace: Required value',
      ],
    ],
    ['fibre channel', 'fc: {targetWWNs: [w], lun: 1}', []],
    [
      'fibre channel to nowhere',
      'fc: {lun: 1}',
      ['spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both'],
    ],
    [
      'flex, with options of others',
      'flexVolume: {driver: d, options: {kubernetes.io/a: b}}',
      [
        'spec.flexVolume.options[kubernetes.io/a]: Invalid value: "kubernetes.io/a": ' +
          'kubernetes.io and k8s.io namespaces are reserved',
      ],
    ],
    ['Azure files', 'azureFile: {secretName: s, shareName: h, secretNamespace: ns}', []],
    [
      'Azure files of no namespace',
      'azureFile: {secretName: s, shareName: h, secretNamespace: ""}',
      ['spec.azureFile.secretNamespace: Required value'],
    ],
    [
      'a disk of vSphere',
      'vsphereVolume: {volumePath: ""}',
      ['spec.vsphereVolume.volumePath: Required value'],
    ],
    [
      'ScaleIO',
      'scaleIO: {gateway: "", system: "", secretRef: {}}',
      ['gateway', 'system', 'volumeName'].map((name) => `spec.scaleIO.${name}: Required value`),
    ],
    [
      'StorageOS',
      'storageos: {volumeName: v, secretRef: {name: s}}',
      ['spec.storageos.secretRef.namespace: Required value'],
    ],
    ['a driver', CSI, []],
    ['a driver with large letters', 'csi: {driver: CSI.example.com, volumeHandle: h}', []],
    [
      'no driver',
      'csi: {driver: "", volumeHandle: ""}',
      ['spec.csi.driver: Required value', 'spec.csi.volumeHandle: Required value'],
    ],
    [
      'a driver with a long name',
      `csi: {driver: ${'g'.repeat(64)}, volumeHandle: h}`,
      ['spec.csi.driver: Too long: may not be more than 63 bytes'],
    ],
    ...[
      'controllerPublishSecretRef',
      'controllerExpandSecretRef',
      'nodePublishSecretRef',
      'nodeExpandSecretRef',
    ].map((name): [string, string, string[]] => [
      `a driver whose ${name} is empty`,
      `csi: {driver: d, volumeHandle: h, ${name}: {}}`,
      [`spec.csi.${name}.name: Required value`, `spec.csi.${name}.namespace: Required value`],
    ]),
    [
      'a driver whose secret is badly named',
      'csi: {driver: d, volumeHandle: h, nodePublishSecretRef: {name: -a, namespace: ns}}',
      [`spec.csi.nodePublishSecretRef.name: Invalid value: "-a": ${SUBDOMAIN}`],
    ],
  ])('source: %s', (_, source, errors) => {
    expect(messages(validation.validatePersistentVolume(volume(source)))).toEqual(errors);
  });

  test('mount options as an annotation, for a source without mount options', () => {
    const metadata = '{name: v, annotations: {volume.beta.kubernetes.io/mount-options: ro}}';
    expect(messages(validation.validatePersistentVolume(volume(HOST_PATH, metadata)))).toEqual([
      'metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not ' +
        'specify mount options for this volume type',
    ]);
    expect(
      messages(validation.validatePersistentVolume(volume('nfs: {server: s, path: /p}', metadata))),
    ).toEqual([]);
  });

  const immutable = (value: string): string => `spec.persistentvolumesource: Forbidden: ${value}`;
  const SOURCE = immutable('spec.persistentvolumesource is immutable after creation');
  const EXPAND = 'controllerExpandSecretRef: {name: s, namespace: ns}';
  test.each<[what: string, old: string, now: string, errors: string[]]>([
    ['its size', HOST_PATH, `${HOST_PATH}\ncapacity: {storage: 20Gi}`, []],
    ['its claim', HOST_PATH, `${HOST_PATH}\nclaimRef: {name: c, namespace: ns}`, []],
    ['its source', HOST_PATH, 'hostPath: {path: /other}', [SOURCE]],
    ['its kind of source', HOST_PATH, CSI, [SOURCE]],
    [
      'a secret to grow, for the first time',
      CSI,
      `csi: {driver: d, volumeHandle: h, ${EXPAND}}`,
      [],
    ],
    ['a secret to grow, taken away', `csi: {driver: d, volumeHandle: h, ${EXPAND}}`, CSI, [SOURCE]],
    [
      'its mode',
      HOST_PATH,
      `${HOST_PATH}\nvolumeMode: Block`,
      ['volumeMode: Invalid value: "Block": field is immutable'],
    ],
    ['an affinity, for the first time', HOST_PATH, `${HOST_PATH}\n${AFFINITY('zone')}`, []],
    [
      'from an old label to its newer name',
      `${HOST_PATH}\n${AFFINITY('failure-domain.beta.kubernetes.io/zone')}`,
      `${HOST_PATH}\n${AFFINITY('topology.kubernetes.io/zone')}`,
      [],
    ],
    ['attributes', CSI, `${CSI}\nvolumeAttributesClassName: fast`, []],
    [
      'other attributes',
      `${CSI}\nvolumeAttributesClassName: slow`,
      `${CSI}\nvolumeAttributesClassName: fast`,
      [],
    ],
    [
      'attributes taken away',
      `${CSI}\nvolumeAttributesClassName: slow`,
      CSI,
      ['spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden'],
    ],
  ])('update: %s', (_, old, now, errors) => {
    expect(messages(validation.validatePersistentVolumeUpdate(volume(now), volume(old)))).toEqual(
      errors,
    );
  });

  test.each([
    ['another label', AFFINITY('zone'), AFFINITY('rack')],
    [
      'back to the old label',
      AFFINITY('topology.kubernetes.io/zone'),
      AFFINITY('failure-domain.beta.kubernetes.io/zone'),
    ],
    ['none any more', AFFINITY('zone'), 'storageClassName: a'],
  ])('update of the affinity: %s', (_, old, now) => {
    const errors = validation.validatePersistentVolumeUpdate(
      volume(`${HOST_PATH}\n${now}`),
      volume(`${HOST_PATH}\n${old}`),
    );
    expect(errors.map(({ field: at, detail }) => `${at}: ${detail}`)).toEqual([
      'nodeAffinity: field is immutable, except for updating from beta label to GA',
    ]);
  });
});

test('an affinity may lose the name of a label, which is a mistake of its own', () => {
  const errors = validation.validatePersistentVolumeUpdate(
    volume(`${HOST_PATH}\n${AFFINITY('""')}`),
    volume(`${HOST_PATH}\n${AFFINITY('zone')}`),
  );
  expect(errors.map(({ field: at }) => at)).not.toContain('nodeAffinity');
  expect(errors).not.toEqual([]);
});

describe('sources are immutable', () => {
  const SECRETS = [
    'controllerPublish',
    'controllerExpand',
    'nodePublish',
    'nodeStage',
    'nodeExpand',
  ] as const;
  const csi = (secret?: (typeof SECRETS)[number], name = 's'): core.PersistentVolume =>
    volume(
      'csi: {driver: d, volumeHandle: ' +
        `h${secret === undefined ? '' : `, ${secret}SecretRef: {name: ${name}, namespace: ns}`}}`,
    );
  const change = (now: core.PersistentVolume, old: core.PersistentVolume): string[] =>
    validation.validatePersistentVolumeUpdate(now, old).map(({ field: at }) => at);
  const STAYS = ['spec.persistentvolumesource'];

  test.each(SECRETS)('with the secret of %s', (secret) => {
    // The secret for expansion may be added later, since older volumes have none.
    expect(change(csi(secret), csi())).toEqual(secret === 'controllerExpand' ? [] : STAYS);
    expect(change(csi(secret, 'long.example.com'), csi())).toEqual(
      secret === 'controllerExpand' ? [] : STAYS,
    );
    expect(change(csi(secret), csi(secret))).toEqual([]);
    expect(change(csi(secret, 'long.example.com'), csi(secret, 'long.example.com'))).toEqual([]);
    expect(change(csi(secret, 'other'), csi(secret))).toEqual(STAYS);
    expect(change(csi(secret, 'long.example.com'), csi(secret))).toEqual(STAYS);
    expect(change(csi(), csi(secret))).toEqual(STAYS);
  });

  test.each(['{}', '{name: s}', '{namespace: ns}'])(
    'the secret of staging is not checked: %s',
    (secret) => {
      const staged = volume(`csi: {driver: d, volumeHandle: h, nodeStageSecretRef: ${secret}}`);
      expect(change(staged, staged)).toEqual([]);
    },
  );

  test.each<[name: string, secret: string, errors: string[]]>(
    (['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand'] as const).flatMap(
      (kind) => {
        const name = `${kind}SecretRef`;
        return [
          [name, '{name: s, namespace: ns}', []],
          [name, '{namespace: ns}', [`spec.csi.${name}.name`]],
          [name, '{name: s}', [`spec.csi.${name}.namespace`]],
          [name, `{name: ${'g'.repeat(65)}, namespace: ns}`, []],
          [name, `{name: ${'g'.repeat(254)}, namespace: ns}`, [`spec.csi.${name}.name`]],
          [name, '{name: s, namespace: a.b}', [`spec.csi.${name}.namespace`]],
        ];
      },
    ),
  )('%s %s', (name, secret, errors) => {
    const given = volume(`csi: {driver: d, volumeHandle: h, ${name}: ${secret}}`);
    expect(validation.validatePersistentVolume(given).map(({ field: at }) => at)).toEqual(errors);
  });

  test.each<[driver: string, errors: string[]]>([
    ['a', []],
    ['comgooglestorage', []],
    ['io.kubernetes.csi.flex', []],
    ['io-kubernetes-csi-flex', []],
    ['2io.kubernetes.storage-csi.flex', []],
    ['io.kubernetes.storage-csi.flex2', []],
    ['g'.repeat(63), []],
    ['g'.repeat(65), ['Too long: may not be more than 63 bytes']],
    ...[
      'io_csi_flex',
      'io.storage_csi.flex',
      'io.k-s.csi_flex',
      '_csi',
      'csi/',
      'com/google/csi~gcepd',
    ].map((name): [string, string[]] => [name, [`Invalid value: "${name}": ${SUBDOMAIN}`]]),
  ])('driver %s', (driver, errors) => {
    const found = messages(
      validation.validatePersistentVolume(
        volume(`csi: {driver: ${driver}, volumeHandle: h, readOnly: true}`),
      ),
    );
    expect(found).toEqual(errors.map((error) => `spec.csi.driver: ${error}`));
  });

  test.each<[old: string, now: string, stays: boolean]>(
    ['', 'Block', 'Filesystem'].flatMap((old) =>
      ['', 'Block', 'Filesystem'].map((now): [string, string, boolean] => [old, now, old === now]),
    ),
  )('mode from "%s" to "%s"', (old, now, stays) => {
    const of = (volumeMode: string): core.PersistentVolume => {
      const { volumeMode: _, ...spec } = volume(CSI).spec;
      return {
        ...volume(CSI),
        spec: { ...spec, ...(volumeMode !== '' && { volumeMode: volumeMode as 'Block' }) },
      };
    };
    expect(change(of(now), of(old))).toEqual(stays ? [] : ['volumeMode']);
  });
});

describe('affinities are immutable, except for the names of labels', () => {
  /** Returns a volume with terms, each a list of labels. */
  const affine = (...terms: readonly string[][]): core.PersistentVolume => {
    const list = terms.map(
      (labels) =>
        `{matchExpressions: [${labels.map((key) => `{key: ${key}, operator: In, values: [bar]}`).join(', ')}]}`,
    );
    return volume(
      terms.length === 0
        ? HOST_PATH
        : `${HOST_PATH}\nnodeAffinity: {required: {nodeSelectorTerms: [${list.join(', ')}]}}`,
    );
  };
  const changed = (now: core.PersistentVolume, old: core.PersistentVolume): boolean => {
    const errors = validation.validatePersistentVolumeUpdate(now, old);
    expect(errors.map(({ field: at }) => at)).toEqual(errors.length === 0 ? [] : ['nodeAffinity']);
    return errors.length > 0;
  };
  const ZONE = 'failure-domain.beta.kubernetes.io/zone';
  const NEW_ZONE = 'topology.kubernetes.io/zone';
  const REGION = 'failure-domain.beta.kubernetes.io/region';
  const NEW_REGION = 'topology.kubernetes.io/region';
  const OS = 'beta.kubernetes.io/os';
  const ARCH = 'beta.kubernetes.io/arch';
  const TYPE = 'beta.kubernetes.io/instance-type';
  const NEW_NAMES = [
    [ZONE, NEW_ZONE],
    [REGION, NEW_REGION],
    [OS, 'kubernetes.io/os'],
    [ARCH, 'kubernetes.io/arch'],
    [TYPE, 'node.kubernetes.io/instance-type'],
  ] as const;

  test.each(NEW_NAMES)('%s', (old, now) => {
    expect(changed(affine([old]), affine([old]))).toBe(false);
    expect(changed(affine([now]), affine([old]))).toBe(false);
    expect(changed(affine(['foo']), affine([old]))).toBe(true);
    expect(changed(affine([old]), affine([now]))).toBe(true);
  });

  const OLD = [['foo'], [ZONE, REGION], [OS, ARCH, TYPE]];
  test.each<[what: string, old: string[][], now: string[][], changed: boolean]>([
    ['none', [], [], false],
    ['the same', [['foo']], [['foo']], false],
    ['for the first time', [], [['foo']], false],
    ['taken away', [['foo']], [], true],
    ['another label', [['foo']], [['foo2']], true],
    [
      'some names',
      OLD,
      [['foo'], [NEW_ZONE, REGION], [OS, 'kubernetes.io/arch', 'node.kubernetes.io/instance-type']],
      false,
    ],
    [
      'all names',
      OLD,
      [
        ['foo'],
        [NEW_ZONE, NEW_REGION],
        ['kubernetes.io/os', 'kubernetes.io/arch', 'node.kubernetes.io/instance-type'],
      ],
      false,
    ],
    ['another label beside', [['foo'], [ZONE, REGION]], [['foo'], [ZONE, 'foo']], true],
    [
      'back to an old name beside',
      [['foo'], [NEW_ZONE, ZONE, 'kubernetes.io/os']],
      [['foo'], [ZONE, ZONE, 'kubernetes.io/os']],
      true,
    ],
    ['one forth, one back', [['foo'], [ZONE, NEW_ZONE]], [['foo'], [NEW_ZONE, ZONE]], true],
    ['more labels', [[ZONE]], [[NEW_ZONE, REGION]], true],
    ['more terms', [[ZONE]], [[NEW_ZONE], ['kubernetes.io/arch']], true],
  ])('%s', (_, old, now, expected) => {
    expect(changed(affine(...now), affine(...old))).toBe(expected);
  });

  test('values', () => {
    const of = (key: string, value: string): core.PersistentVolume =>
      volume(`${HOST_PATH}\n${AFFINITY(key).replace('[a]', `["${value}"]`)}`);
    expect(changed(of('foo', 'bar2'), of('foo', 'bar'))).toBe(true);
    // An impossible label value is rejected, unless it was there before.
    expect(validation.validatePersistentVolume(of('foo', '-1')).map(({ field: at }) => at)).toEqual(
      ['spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0]'],
    );
    expect(changed(of('node.kubernetes.io/instance-type', '-1'), of(TYPE, '-1'))).toBe(false);
  });
});

describe('inline volumes of attachments', () => {
  const NOT_INLINE = 'Forbidden: may not be specified in the context of inline volumes';
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', CSI, []],
    ['capacity', `${CSI}\ncapacity: {storage: 1Gi}`, [`spec.capacity: ${NOT_INLINE}`]],
    ['a claim', `${CSI}\nclaimRef: {name: c}`, [`spec.claimRef: ${NOT_INLINE}`]],
    ['a class', `${CSI}\nstorageClassName: a`, [`spec.storageClassName: ${NOT_INLINE}`]],
    ['an affinity', `${CSI}\n${AFFINITY('zone')}`, [`spec.nodeAffinity: ${NOT_INLINE}`]],
    ['to be kept', `${CSI}\npersistentVolumeReclaimPolicy: Retain`, []],
    [
      'to be deleted',
      `${CSI}\npersistentVolumeReclaimPolicy: Delete`,
      [
        'spec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes',
      ],
    ],
    [
      'a block device',
      `${CSI}\nvolumeMode: Block`,
      [
        'spec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes',
      ],
    ],
    [
      'no driver',
      HOST_PATH,
      ['spec.csi: Required value: has to be specified in the context of inline volumes'],
    ],
    ['no access mode', `${CSI}\naccessModes: []`, ['spec.accessModes: Required value']],
  ])('%s', (_, spec, errors) => {
    const lines = spec.includes('accessModes') ? spec : `accessModes: [ReadWriteOnce]\n${spec}`;
    const yaml =
      'metadata: {name: v}\nspec:\n  source:\n    inlineVolumeSpec:\n' +
      `      ${lines.split('\n').join('\n      ')}\n`;
    const { source } = manifest<{
      spec: { source: { inlineVolumeSpec: core.PersistentVolumeSpec } };
    }>('storage/v1.VolumeAttachment', yaml).spec;
    expect(
      messages(validation.validateInlineVolumeSpec(source.inlineVolumeSpec, field.path('spec'))),
    ).toEqual(errors);
  });
});

test('warnings about deprecated sources', () => {
  const annotation = '{name: v, annotations: {volume.beta.kubernetes.io/storage-class: a}}';
  const label = 'failure-domain.beta.kubernetes.io/zone';
  const spec = `cephfs: {monitors: [m]}\npersistentVolumeReclaimPolicy: Recycle\n${AFFINITY(label)}`;
  expect(persistentVolumeWarnings(volume(spec, annotation))).toEqual([
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; ' +
      'use "storageClassName" attribute instead',
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. ' +
      'Instead, the recommended approach is to use dynamic provisioning.',
    `spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: ${label} is ` +
      'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    'spec.cephfs: deprecated in v1.28, non-functional in v1.31+',
  ]);
});
