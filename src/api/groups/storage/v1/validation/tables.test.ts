// Further errors in the storage group: fields with defaults, all forms of names and keys, and
// updates.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as storage from '../types.ts';
import { csiDriverWarnings } from '../warnings.ts';
import * as validation from './index.ts';

const metadata = { name: 'a' };
const FORBIDDEN = (name: string): string => `${name}: Forbidden: updates to ${name} are forbidden.`;
const fieldsOf = (errors: ReturnType<typeof validation.validateCSIDriver>): string[] =>
  errors.map(({ field }) => field);

describe('storage classes', () => {
  const storageClass = variation<storage.StorageClass>('storage/v1.StorageClass', {
    metadata,
    provisioner: 'kubernetes.io/foo',
  });

  test('what defaults fill in is required', () => {
    const { volumeBindingMode: _, reclaimPolicy: __, ...bare } = storageClass();
    expect(messages(validation.validateStorageClass(bare))).toEqual([
      'volumeBindingMode: Required value',
    ]);
  });

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{ volumeBindingMode: 'Immediate' }, []],
      [{ volumeBindingMode: 'WaitForFirstConsumer' }, []],
      [
        { volumeBindingMode: 'foo' },
        [
          'volumeBindingMode: Unsupported value: "foo": supported values: "Immediate", "WaitForFirstConsumer"',
        ],
      ],
      [
        {
          parameters: { 'foo-parameter2': '{"embedded": "json", "with": {"structures":"inside"}}' },
        },
        [],
      ],
      [{ allowVolumeExpansion: true, mountOptions: ['ro', 'soft'] }, []],
      [
        {
          allowedTopologies: [
            { matchLabelExpressions: [{ key: 'kubernetes.io/hostname', values: ['node1'] }] },
          ],
        },
        [],
      ],
      [
        {
          allowedTopologies: [
            { matchLabelExpressions: [{ key: '/invalidkey', values: ['node1'] }] },
          ],
        },
        [
          'allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: ' +
            '"/invalidkey": prefix part must be non-empty',
        ],
      ],
      [
        {
          allowedTopologies: [
            { matchLabelExpressions: [{ key: 'zone', values: ['a'] }] },
            { matchLabelExpressions: [{ key: 'zone', values: ['a'] }] },
          ],
        },
        ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validation.validateStorageClass(storageClass(change)))).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [{}, {}, []],
      [{ allowVolumeExpansion: true, mountOptions: ['ro'] }, { allowVolumeExpansion: false }, []],
      [
        { parameters: { a: 'b' } },
        { parameters: { a: 'c' } },
        ['parameters: Invalid value: {"a":"b"}: field is immutable'],
      ],
      [
        { parameters: { a: 'b' } },
        {},
        ['parameters: Invalid value: {"a":"b"}: field is immutable'],
      ],
      [{ provisioner: 'other' }, {}, ['provisioner: Invalid value: "other": field is immutable']],
      [
        { reclaimPolicy: 'Retain' },
        {},
        ['reclaimPolicy: Invalid value: "Retain": field is immutable'],
      ],
      [
        { volumeBindingMode: 'WaitForFirstConsumer' },
        {},
        ['volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable'],
      ],
      [
        { volumeBindingMode: 'Immediate' },
        { volumeBindingMode: 'WaitForFirstConsumer' },
        ['volumeBindingMode: Invalid value: "Immediate": field is immutable'],
      ],
      [
        { allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] },
        { allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['b'] }] }] },
        [],
      ],
    ]),
  )('update to %s', (_, now, old, errors) => {
    expect(
      messages(validation.validateStorageClassUpdate(storageClass(now), storageClass(old))),
    ).toEqual(errors);
  });
});

describe('volume attributes classes', () => {
  const attributes = variation<storage.VolumeAttributesClass>('storage/v1.VolumeAttributesClass', {
    metadata,
    driverName: 'd.example.com',
    parameters: { iops: '1000' },
  });
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ parameters: { 'kubernetes.io/foo-parameter': 'free/form/string' } }, []],
      [
        { driverName: 'kubernetes.io/invalid/provisioner' },
        [
          expect.stringContaining(
            'driverName: Invalid value: "kubernetes.io/invalid/provisioner": a valid label key must',
          ),
        ],
      ],
      [
        { parameters: Object.fromEntries(range(513, (index) => [`a${index}`, ''])) },
        [expect.stringContaining('parameters: Too long: may not be more than 512 bytes')],
      ],
      [
        { parameters: { a: 'x'.repeat(256 * 1024) } },
        ['parameters: Too long: may not be more than 262144 bytes'],
      ],
      [
        { parameters: { iops: null } },
        ['parameters: Required value: must contain at least one key/value pair'],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validation.validateVolumeAttributesClass(attributes(change)))).toEqual(errors);
  });

  test('both may not change', () => {
    const now = attributes({ driverName: 'e', parameters: { iops: '1' } });
    expect(messages(validation.validateVolumeAttributesClassUpdate(now, attributes()))).toEqual([
      FORBIDDEN('driverName'),
      FORBIDDEN('parameters'),
    ]);
  });
});

describe('volume attachments', () => {
  const csi = { driver: 'com.test.foo', volumeHandle: 'foobar' };
  const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi };
  const inline = (change: object = {}): object => ({
    spec: {
      source: { persistentVolumeName: null, inlineVolumeSpec: { ...inlineVolumeSpec, ...change } },
    },
  });
  const attachment = variation<storage.VolumeAttachment>('storage/v1.VolumeAttachment', {
    metadata,
    spec: {
      attacher: 'myattacher',
      nodeName: 'mynode',
      source: { persistentVolumeName: 'pv-name' },
    },
    status: { attached: false },
  });
  const reported = (message: string): object => ({ time: null, message });
  const status = {
    attached: true,
    attachmentMetadata: { foo: 'bar' },
    attachError: reported('hello world'),
    detachError: { ...reported('hello world'), errorCode: 5 },
  };
  const LIMIT = 'Too long: may not be more than 262144 bytes';

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [inline(), []],
      [{ status }, []],
      [{ ...inline(), status }, []],
      [
        { spec: { source: { persistentVolumeName: '-invalid-@#$%^&*()-' } } },
        [
          `spec.source.persistentVolumeName: Invalid value: "-invalid-@#$%^&*()-": ${NAME_MESSAGES.subdomain}`,
        ],
      ],
      [
        { spec: { attacher: 'invalid-@#$%^&*()' } },
        [`spec.attacher: Invalid value: "invalid-@#$%^&*()": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        { spec: { attacher: 'a'.repeat(64) } },
        ['spec.attacher: Too long: may not be more than 63 bytes'],
      ],
      [{ status: { detachError: reported('a'.repeat(1024)) } }, []],
      [
        { status: { detachError: reported('a'.repeat(1025)) } },
        [`status.detachError.message: ${LIMIT}`],
      ],
      [
        { status: { attachmentMetadata: { foo: 'a'.repeat(256 * 1024) } } },
        [`status.attachmentMetadata: ${LIMIT}`],
      ],
      [{ status: { attachError: { ...reported('m'), errorCode: 0 } } }, []],
      [
        { status: { attachError: { ...reported('m'), errorCode: -1 } } },
        [
          'status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        ],
      ],
      [
        inline({ csi: null, flexVolume: { driver: 'kubernetes.io/blue', fsType: 'ext4' } }),
        [
          'spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes',
        ],
      ],
      [
        inline({ persistentVolumeReclaimPolicy: 'Delete' }),
        [
          'spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only ' +
            'be Retain in the context of inline volumes',
        ],
      ],
      [
        inline({ capacity: { storage: '1' } }),
        [
          'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validation.validateVolumeAttachment(attachment(change)))).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, fields: readonly string[]]>([
      [{}, {}, []],
      [inline(), inline(), []],
      [{ status }, {}, []],
      [{ ...inline(), status }, inline(), []],
      [{ spec: { attacher: 'another-attacher' } }, {}, ['spec']],
      [{ spec: { source: { persistentVolumeName: 'other' } } }, {}, ['spec']],
      [inline(), {}, ['spec']],
      [{ spec: { nodeName: 'anothernode' } }, {}, ['spec']],
      [{ status: { attachError: reported('a'.repeat(1025)) } }, {}, ['status.attachError.message']],
    ]),
  )('update to %s', (_, now, old, fields) => {
    expect(
      fieldsOf(validation.validateVolumeAttachmentUpdate(attachment(now), attachment(old))),
    ).toEqual(fields);
  });
});

describe('drivers', () => {
  const of = variation<storage.CSIDriver>('storage/v1.CSIDriver', { metadata, spec: {} });
  const driver = (spec: object = {}): storage.CSIDriver => of({ spec });

  test('what defaults fill in is required', () => {
    const bare: storage.CSIDriver = { ...driver(), spec: {} };
    expect(messages(validation.validateCSIDriver(bare))).toEqual([
      'spec.attachedRequired: Required value',
      'spec.podInfoOnMount: Required value',
      'spec.storageCapacity: Required value',
      'spec.seLinuxMount: Required value',
    ]);
  });

  test.each(
    rows<[spec: object]>([
      [{ attachRequired: false, podInfoOnMount: false, requiresRepublish: false }],
      [{ attachRequired: false, podInfoOnMount: true, requiresRepublish: true }],
      [{ attachRequired: true, podInfoOnMount: true, storageCapacity: true, seLinuxMount: true }],
      [{ volumeLifecycleModes: ['Persistent'] }],
      [{ volumeLifecycleModes: ['Ephemeral'] }],
      [{ volumeLifecycleModes: ['Ephemeral', 'Persistent', 'Ephemeral'] }],
      [{ fsGroupPolicy: 'None' }],
      [{ fsGroupPolicy: 'File' }],
      [{ fsGroupPolicy: 'ReadWriteOnceWithFSType' }],
      [{ tokenRequests: [{ audience: 'gcp' }, { audience: 'aws', expirationSeconds: 3600 }] }],
    ]),
  )('good: %s', (_, spec) => {
    expect(messages(validation.validateCSIDriver(driver(spec)))).toEqual([]);
  });

  test.each(
    rows<[now: object, old: object, fields: readonly string[]]>([
      [{}, {}, []],
      [{ podInfoOnMount: true }, { podInfoOnMount: false }, []],
      [{ requiresRepublish: true }, {}, []],
      [{ storageCapacity: true }, {}, []],
      [{ seLinuxMount: true }, {}, []],
      [{ fsGroupPolicy: 'File' }, { fsGroupPolicy: 'None' }, []],
      [{ tokenRequests: [{ audience: 'a' }] }, { tokenRequests: [{ audience: 'b' }] }, []],
      [{ nodeAllocatableUpdatePeriodSeconds: 60 }, { nodeAllocatableUpdatePeriodSeconds: 10 }, []],
      [
        { tokenRequests: [{ audience: 'a' }], serviceAccountTokenInSecrets: true },
        { tokenRequests: [{ audience: 'a' }] },
        [],
      ],
      [{ attachRequired: true }, { attachRequired: false }, ['spec.attachedRequired']],
      [{ attachRequired: false }, { attachRequired: true }, ['spec.attachedRequired']],
      [
        { volumeLifecycleModes: ['Ephemeral', 'Persistent'] },
        { volumeLifecycleModes: ['Persistent'] },
        ['spec.volumeLifecycleModes'],
      ],
      [
        { volumeLifecycleModes: ['Persistent'] },
        { volumeLifecycleModes: ['Ephemeral', 'Persistent'] },
        ['spec.volumeLifecycleModes'],
      ],
      [
        { volumeLifecycleModes: ['Ephemeral'] },
        { volumeLifecycleModes: ['Persistent'] },
        ['spec.volumeLifecycleModes'],
      ],
      [{ fsGroupPolicy: 'other' }, {}, ['spec.fsGroupPolicy']],
      [{ nodeAllocatableUpdatePeriodSeconds: 9 }, {}, ['spec.nodeAllocatableUpdatePeriodSeconds']],
    ]),
  )('update to %s', (_, now, old, fields) => {
    expect(fieldsOf(validation.validateCSIDriverUpdate(driver(now), driver(old)))).toEqual(fields);
  });

  test.each(
    rows<[now: object, old: object | undefined, count: number]>([
      [{}, undefined, 0],
      [{ tokenRequests: [{ audience: 'a' }] }, undefined, 1],
      [{ tokenRequests: [{ audience: 'a' }], serviceAccountTokenInSecrets: false }, undefined, 0],
      [{ tokenRequests: [{ audience: 'a' }] }, {}, 1],
      [{ tokenRequests: [{ audience: 'a' }] }, { tokenRequests: [{ audience: 'a' }] }, 0],
    ]),
  )('warnings of %s', (_, now, old, count) => {
    expect(csiDriverWarnings(driver(now), old && driver(old))).toHaveLength(count);
  });
});

describe('nodes of drivers', () => {
  const nodeOf = variation<storage.CSINode>('storage/v1.CSINode', {
    metadata,
    spec: { drivers: [] },
  });
  const good = {
    name: 'io.kubernetes.storage.csi.driver',
    nodeID: 'node1',
    topologyKeys: ['company.com/zone1', 'company.com/zone2'],
  };
  const node = (...drivers: readonly object[]): storage.CSINode =>
    nodeOf({ spec: { drivers: drivers.map((each) => ({ ...good, ...each })) } });
  const AT = 'spec.drivers[0]';

  test.each([
    'io.kubernetes.storage.csi.driver',
    'io.kubernetes-storage.csi-driver',
    'io1',
    'io-kubernetes-2',
    'io.1.csi',
    'A.b.C',
  ])('a good name: %s', (name) => {
    expect(messages(validation.validateCSINode(node({ name })))).toEqual([]);
  });

  test.each([
    'no_under_scores',
    '-dash',
    'dash-',
    '.dot',
    'dot.',
    'a..b',
    'with/slash',
    'with space',
    'a\tb',
    'a\nb',
    'naïve',
  ])('a bad name: %j', (name) => {
    const [error, ...more] = validation.validateCSINode(node({ name }));
    expect([error?.field, error?.badValue, error?.detail, more]).toEqual([
      `${AT}.name`,
      name,
      NAME_MESSAGES.subdomain,
      [],
    ]);
  });

  test.each(
    rows<[drivers: readonly object[], errors: readonly string[]]>([
      [[], []],
      [[{ topologyKeys: null }], []],
      [[{ topologyKeys: [] }], []],
      [[{}, { name: 'driver2' }], []],
      [
        [{}, { name: 'driver2', nodeID: 'node1', topologyKeys: ['company.com/zone1', 'another'] }],
        [],
      ],
      [[{ allocatable: {} }], []],
      [[{ allocatable: { count: 10 } }, { name: 'driver2', allocatable: { count: 0 } }], []],
      [[{ name: 'g'.repeat(63) }], []],
      [[{ name: 'g'.repeat(64) }], [`${AT}.name: Too long: may not be more than 63 bytes`]],
      [[{ nodeID: '' }], [`${AT}.nodeID: Required value`]],
      [
        [{ nodeID: '' }, { name: 'driver2', nodeID: '' }],
        [`${AT}.nodeID: Required value`, 'spec.drivers[1].nodeID: Required value'],
      ],
      [[{}, {}], [`spec.drivers[1].name: Duplicate value: "${good.name}"`]],
      [[{ topologyKeys: ['a', 'b', 'a'] }], [`${AT}: Duplicate value: "a"`]],
      [
        [{ topologyKeys: ['domain with spaces.com/zone'] }],
        [
          `${AT}: Invalid value: "domain with spaces.com/zone": prefix part ${NAME_MESSAGES.subdomain}`,
        ],
      ],
      [
        [{ topologyKeys: [`${'d'.repeat(254)}/zone`] }],
        [
          `${AT}: Invalid value: "${'d'.repeat(254)}/zone": prefix part must be no more than 253 bytes`,
        ],
      ],
      [
        [{ topologyKeys: ['company.com/zone with spaces'] }],
        [`${AT}: Invalid value: "company.com/zone with spaces": ${NAME_MESSAGES.namePart}`],
      ],
      [
        [{ topologyKeys: [`company.com/${'z'.repeat(64)}`] }],
        [
          `${AT}: Invalid value: "company.com/${'z'.repeat(64)}": name part must be no more than 63 bytes`,
        ],
      ],
      [
        [{ allocatable: { count: -1 } }],
        [`${AT}.allocatable.count: Invalid value: -1: must be greater than or equal to 0`],
      ],
    ]),
  )('%s', (_, drivers, errors) => {
    expect(messages(validation.validateCSINode(node(...drivers)))).toEqual(errors);
  });

  test.each(
    rows<[now: readonly object[], old: readonly object[], fields: readonly string[]]>([
      [[{}], [{}], []],
      [[{}, { name: 'driver2' }], [{}], []],
      [[], [{}], []],
      [[{ name: 'driver2' }], [{}], []],
      [[{}, { name: 'driver3' }], [{}, { name: 'driver2' }], []],
      [[{ allocatable: { count: 20 } }], [{ allocatable: { count: 10 } }], []],
      [[{ allocatable: { count: 20 } }], [{}], []],
      [[{ nodeID: 'nodeB' }], [{}], ['spec.drivers']],
      [[{ topologyKeys: ['company.com/zone1'] }], [{}], ['spec.drivers']],
      [[{ topologyKeys: ['company.com/zone2', 'company.com/zone1'] }], [{}], ['spec.drivers']],
      [[{ allocatable: { count: -1 } }], [{}], [`${AT}.allocatable.count`]],
    ]),
  )('update to %s', (_, now, old, fields) => {
    expect(fieldsOf(validation.validateCSINodeUpdate(node(...now), node(...old)))).toEqual(fields);
  });
});

describe('capacities', () => {
  const capacity = variation<storage.CSIStorageCapacity>('storage/v1.CSIStorageCapacity', {
    metadata: { ...metadata, namespace: 'ns' },
    storageClassName: 'bar',
  });
  const topology = (...values: readonly string[]): object => ({
    nodeTopology: { matchExpressions: [{ key: 'foo', operator: 'In', values }] },
  });
  const BAD = `nodeTopology.matchExpressions[0].values[0]: Invalid value: "-1": ${NAME_MESSAGES.labelValue}`;

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ nodeTopology: {} }, []],
      [
        { nodeTopology: { matchLabels: { a: 'b' } }, capacity: '1Gi', maximumVolumeSize: '1Mi' },
        [],
      ],
      [{ capacity: '0' }, []],
      [
        { storageClassName: '' },
        [`storageClassName: Invalid value: "": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        { storageClassName: '/%&' },
        [`storageClassName: Invalid value: "/%&": ${NAME_MESSAGES.subdomain}`],
      ],
      [{ capacity: '-10' }, ['capacity: Invalid value: "-10": must be greater than or equal to 0']],
      [topology('1'), []],
      [topology('-1'), [BAD]],
      [
        {
          nodeTopology: {
            matchExpressions: [{ key: 'foo', operator: 'no-such-operator', values: ['a'] }],
          },
        },
        [
          'nodeTopology.matchExpressions[0].operator: Invalid value: "no-such-operator": not a valid selector operator',
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validation.validateCSIStorageCapacity(capacity(change)))).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, fields: readonly string[]]>([
      [{}, {}, []],
      [{ capacity: '2Gi', maximumVolumeSize: '1Gi' }, { capacity: '1Gi' }, []],
      [{ storageClassName: 'other' }, {}, ['storageClassName']],
      [topology('a'), {}, ['nodeTopology']],
      [topology('a'), topology('b'), ['nodeTopology']],
      // A stored invalid value may be kept.
      [{ ...topology('-1'), capacity: '1Gi' }, topology('-1'), []],
    ]),
  )('update to %s', (_, now, old, fields) => {
    expect(
      fieldsOf(validation.validateCSIStorageCapacityUpdate(capacity(now), capacity(old))),
    ).toEqual(fields);
  });
});
