// Errors of the storage group and of updates, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { manifest, messages } from '#api/testing/manifest.ts';
import type * as storage from '../types.ts';
import { csiStorageCapacityWarnings, storageClassWarnings } from '../warnings.ts';
import * as validation from './index.ts';

const make = <T extends object>(kind: string, yaml: string): T =>
  manifest<T>(`storage/v1.${kind}`, `metadata: {name: a}\n${yaml}`);
const SUBDOMAIN =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
  "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
  'regex used for validation is ' +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const parameters = (count: number, size = 1): string =>
  `{${Array.from({ length: count }, (_, index) => `k${index}: ${'x'.repeat(size)}`).join(', ')}}`;

describe('storage classes', () => {
  const check = (yaml: string): string[] =>
    messages(validation.validateStorageClass(make('StorageClass', yaml)));
  const TERMS = 'allowedTopologies';
  const of = (...terms: readonly string[]): string =>
    `provisioner: p\n${TERMS}: [${terms.join(', ')}]`;
  const term = (...requirements: readonly string[]): string =>
    `{matchLabelExpressions: [${requirements.join(', ')}]}`;

  test.each<[what: string, yaml: string, errors: string[]]>([
    ['a good one', 'provisioner: kubernetes.io/foo-provisioner', []],
    ['with a large letter', 'provisioner: Example.com/Disk', []],
    [
      'with parameters',
      `provisioner: p\nparameters: {"kubernetes.io/foo-parameter": free/form/string}`,
      [],
    ],
    ['no provisioner', 'provisioner: ""', ['provisioner: Required value']],
    [
      'a bad provisioner',
      'provisioner: kubernetes.io/invalid/provisioner',
      [
        'provisioner: Invalid value: "kubernetes.io/invalid/provisioner": a valid label ' +
          "key must consist of alphanumeric characters, '-', '_' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'MyName', " +
          " or 'my.name',  or '123-abc', regex used for validation is " +
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix " +
          "and '/' (e.g. 'example.com/MyName')",
      ],
    ],
    [
      'a parameter without a name',
      'provisioner: p\nparameters: {"": value}',
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
    ['many parameters', `provisioner: p\nparameters: ${parameters(512)}`, []],
    [
      'too many parameters',
      `provisioner: p\nparameters: ${parameters(513)}`,
      ['parameters: Too long: may not be more than 512 bytes'],
    ],
    [
      'too much of parameters',
      `provisioner: p\nparameters: ${parameters(1, 256 * 1024)}`,
      ['parameters: Too long: may not be more than 262144 bytes'],
    ],
    ['to be kept', 'provisioner: p\nreclaimPolicy: Retain', []],
    ['with an empty policy', 'provisioner: p\nreclaimPolicy: ""', []],
    [
      'to be recycled',
      'provisioner: p\nreclaimPolicy: Recycle',
      ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    ],
    ['a topology', of(term('{key: zone, values: [a, b]}')), []],
    ['two topologies', of(term('{key: zone, values: [a]}'), term('{key: zone, values: [b]}')), []],
    [
      'a topology of two keys',
      of(term('{key: zone, values: [a]}', '{key: rack, values: [b]}')),
      [],
    ],
    [
      'the same key twice',
      of(term('{key: zone, values: [a]}', '{key: zone, values: [b]}')),
      [`${TERMS}[0].matchLabelExpressions[1].key: Duplicate value: "zone"`],
    ],
    [
      'the same value twice',
      of(term('{key: zone, values: [a, a]}')),
      [`${TERMS}[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"`],
    ],
    [
      'no values',
      of(term('{key: zone, values: []}')),
      [`${TERMS}[0].matchLabelExpressions[0].values: Required value`],
    ],
    [
      'a bad key',
      of(term('{key: "a b", values: [a]}')),
      [`${TERMS}[0].matchLabelExpressions[0].key: Invalid value: "a b": ${NAME_PART}`],
    ],
    [
      'the same topology twice, in other words',
      of(
        term('{key: zone, values: [a, b]}', '{key: rack, values: [c]}'),
        term('{key: rack, values: [c]}', '{key: zone, values: [b, a]}'),
      ),
      [`${TERMS}[1].matchLabelExpressions: Duplicate value: ""`],
    ],
    ['an empty topology', of('{}'), [`${TERMS}[0].matchLabelExpressions: Duplicate value: ""`]],
  ])('%s', (_, yaml, errors) => {
    expect(check(yaml)).toEqual(errors);
  });

  test('warnings', () => {
    const zone = '{key: failure-domain.beta.kubernetes.io/zone, values: [a]}';
    expect(
      storageClassWarnings(make('StorageClass', of(term('{key: a, values: [b]}', zone)))),
    ).toEqual([
      `${TERMS}[0].matchLabelExpressions[1].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
    ]);
  });
});

describe('volume attributes classes', () => {
  const FORBIDDEN = (name: string): string =>
    `${name}: Forbidden: updates to ${name} are forbidden.`;
  const attributes = (yaml: string): storage.VolumeAttributesClass =>
    make('VolumeAttributesClass', yaml);

  test.each<[what: string, yaml: string, errors: string[]]>([
    ['a good one', 'driverName: d\nparameters: {a: b}', []],
    ['no driver', 'driverName: ""\nparameters: {a: b}', ['driverName: Required value']],
    [
      'no parameters',
      'driverName: d',
      ['parameters: Required value: must contain at least one key/value pair'],
    ],
    [
      'a parameter without a name',
      'driverName: d\nparameters: {"": b}',
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
  ])('%s', (_, yaml, errors) => {
    expect(messages(validation.validateVolumeAttributesClass(attributes(yaml)))).toEqual(errors);
  });

  test.each<[now: string, errors: string[]]>([
    ['driverName: d\nparameters: {a: b}', []],
    ['driverName: e\nparameters: {a: b}', [FORBIDDEN('driverName')]],
    ['driverName: d\nparameters: {a: c}', [FORBIDDEN('parameters')]],
  ])('update: %j', (now, errors) => {
    const old = attributes('driverName: d\nparameters: {a: b}');
    expect(messages(validation.validateVolumeAttributesClassUpdate(attributes(now), old))).toEqual(
      errors,
    );
  });
});

describe('volume attachments', () => {
  const attachment = (spec: string, status = '{attached: false}'): storage.VolumeAttachment =>
    make('VolumeAttachment', `spec: ${spec}\nstatus: ${status}`);
  const GOOD = '{attacher: a, nodeName: n1, source: {persistentVolumeName: v}}';
  const ONE_OF = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  const INLINE = '{accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h}}';

  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', GOOD, []],
    [
      'of a volume of its own',
      `{attacher: a, nodeName: n1, source: {inlineVolumeSpec: ${INLINE}}}`,
      [],
    ],
    [
      'without an attacher',
      '{attacher: "", nodeName: n1, source: {persistentVolumeName: v}}',
      ['spec.attacher: Required value'],
    ],
    [
      'with a bad attacher',
      '{attacher: "invalid!@#", nodeName: n1, source: {persistentVolumeName: v}}',
      [`spec.attacher: Invalid value: "invalid!@#": ${SUBDOMAIN}`],
    ],
    [
      'nowhere',
      '{attacher: a, nodeName: "", source: {persistentVolumeName: v}}',
      [`spec.nodeName: Invalid value: "": ${SUBDOMAIN}`],
    ],
    [
      'of nothing',
      '{attacher: a, nodeName: n1, source: {}}',
      [`spec.source: Required value: ${ONE_OF}`],
    ],
    [
      'of two',
      `{attacher: a, nodeName: n1, source: {persistentVolumeName: v, inlineVolumeSpec: ${INLINE}}}`,
      [`spec.source: Forbidden: ${ONE_OF}`],
    ],
    [
      'of a volume without a name',
      '{attacher: a, nodeName: n1, source: {persistentVolumeName: ""}}',
      [
        'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
        `spec.source.persistentVolumeName: Invalid value: "": ${SUBDOMAIN}`,
      ],
    ],
    [
      'of a volume of its own, with a class',
      '{attacher: a, nodeName: n1, source: {inlineVolumeSpec: {accessModes: ' +
        '[ReadWriteOnce], storageClassName: s, csi: {driver: d, volumeHandle: h}}}}',
      [
        'spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in ' +
          'the context of inline volumes',
      ],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validateVolumeAttachment(attachment(spec)))).toEqual(errors);
  });

  test.each<[what: string, spec: string, status: string, fields: string[]]>([
    [
      'how far it is',
      GOOD,
      '{attached: true, attachmentMetadata: {a: b}, attachError: {time: null, message: m, errorCode: 1}}',
      [],
    ],
    ['another node', GOOD.replace('n1', 'n2'), '{attached: false}', ['spec']],
    [
      'a bad volume',
      GOOD.replace(': v}', ': -v}'),
      '{attached: false}',
      ['spec.source.persistentVolumeName', 'spec'],
    ],
    [
      'a bad attacher',
      GOOD.replace('attacher: a', 'attacher: -a'),
      '{attached: false}',
      ['spec.attacher', 'spec'],
    ],
    [
      'too much metadata',
      GOOD,
      `{attached: true, attachmentMetadata: {a: ${'x'.repeat(256 * 1024)}}}`,
      ['status.attachmentMetadata'],
    ],
    [
      'a long error',
      GOOD,
      `{attached: false, attachError: {time: null, message: ${'x'.repeat(1025)}}}`,
      ['status.attachError.message'],
    ],
    [
      'another long error',
      GOOD,
      `{attached: false, detachError: {time: null, message: ${'x'.repeat(1025)}}}`,
      ['status.detachError.message'],
    ],
    [
      'a bad code',
      GOOD,
      '{attached: false, attachError: {time: null, errorCode: -1}}',
      ['status.attachError.errorCode'],
    ],
  ])('update: %s', (_, spec, status, fields) => {
    const errors = validation.validateVolumeAttachmentUpdate(
      attachment(spec, status),
      attachment(GOOD),
    );
    expect(errors.map((error) => error.field)).toEqual(fields);
  });
});

describe('drivers', () => {
  const driver = (spec: string): storage.CSIDriver => make('CSIDriver', `spec: ${spec}`);
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', '{}', []],
    ['of both kinds', '{volumeLifecycleModes: [Persistent, Ephemeral]}', []],
    [
      'of an unknown kind',
      '{volumeLifecycleModes: [no-such-mode]}',
      [
        'spec.volumeLifecycleModes: Unsupported value: "no-such-mode": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      'of an unknown policy',
      '{fsGroupPolicy: invalid}',
      [
        'spec.fsGroupPolicy: Unsupported value: "invalid": supported values: "File", "None", "ReadWriteOnceWithFSType"',
      ],
    ],
    [
      'with tokens',
      '{tokenRequests: [{audience: "", expirationSeconds: 600}, {audience: a, expirationSeconds: 4294967296}]}',
      [],
    ],
    [
      'with the same token twice',
      '{tokenRequests: [{audience: a}, {audience: a}]}',
      ['spec.tokenRequests[1].audience: Duplicate value: "a"'],
    ],
    [
      'with a short token',
      '{tokenRequests: [{audience: a, expirationSeconds: 599}]}',
      [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
      ],
    ],
    [
      'with a long token',
      '{tokenRequests: [{audience: a, expirationSeconds: 4294967297}]}',
      [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not ' +
          'specify a duration larger than 2^32 seconds',
      ],
    ],
    [
      'with tokens among the secrets',
      '{tokenRequests: [{audience: a}], serviceAccountTokenInSecrets: true}',
      [],
    ],
    [
      'with no tokens among the secrets',
      '{serviceAccountTokenInSecrets: false}',
      [
        'spec.serviceAccountTokenInSecrets: Invalid value: false: ' +
          'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
      ],
    ],
    ['that tells often', '{nodeAllocatableUpdatePeriodSeconds: 10}', []],
    [
      'that tells too often',
      '{nodeAllocatableUpdatePeriodSeconds: 9}',
      [
        'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds',
      ],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validateCSIDriver(driver(spec)))).toEqual(errors);
  });

  test.each<[now: string, fields: string[]]>([
    [
      '{podInfoOnMount: true, storageCapacity: true, fsGroupPolicy: None, requiresRepublish: true, seLinuxMount: true}',
      [],
    ],
    ['{tokenRequests: [{audience: a}]}', []],
    ['{attachRequired: false}', ['spec.attachedRequired']],
    ['{volumeLifecycleModes: [Ephemeral]}', ['spec.volumeLifecycleModes']],
  ])('update: %s', (now, fields) => {
    expect(
      validation.validateCSIDriverUpdate(driver(now), driver('{}')).map((error) => error.field),
    ).toEqual(fields);
  });
});

describe('nodes of drivers', () => {
  const node = (drivers: string): storage.CSINode =>
    make('CSINode', `spec: {drivers: [${drivers}]}`);
  const AT = 'spec.drivers[0]';
  test.each<[what: string, drivers: string, errors: string[]]>([
    ['none', '', []],
    [
      'a good one',
      '{name: io.kubernetes.storage.csi.driver, nodeID: n1, topologyKeys: [company.com/zone1, zone2]}',
      [],
    ],
    ['with a large letter', '{name: io.Kubernetes, nodeID: n1, topologyKeys: []}', []],
    ['without a name', '{name: "", nodeID: n1, topologyKeys: []}', [`${AT}.name: Required value`]],
    [
      'with a long name',
      `{name: ${'g'.repeat(64)}, nodeID: n1, topologyKeys: []}`,
      [`${AT}.name: Too long: may not be more than 63 bytes`],
    ],
    ['without an ID', '{name: d, nodeID: "", topologyKeys: []}', [`${AT}.nodeID: Required value`]],
    ['with a long ID', `{name: d, nodeID: ${'n'.repeat(256)}, topologyKeys: []}`, []],
    [
      'with too long an ID',
      `{name: d, nodeID: ${'n'.repeat(257)}, topologyKeys: []}`,
      [`${AT}.nodeID: Invalid value: "${'n'.repeat(257)}": must be 256 characters or less`],
    ],
    [
      'the same twice',
      '{name: d, nodeID: n1, topologyKeys: []}, {name: d, nodeID: n2, topologyKeys: []}',
      ['spec.drivers[1].name: Duplicate value: "d"'],
    ],
    [
      'the same key twice',
      '{name: d, nodeID: n1, topologyKeys: [z, z]}',
      [`${AT}: Duplicate value: "z"`],
    ],
    [
      'an empty key',
      '{name: d, nodeID: n1, topologyKeys: [""]}',
      [
        `${AT}: Required value`,
        `${AT}: Invalid value: "": name part must be non-empty`,
        `${AT}: Invalid value: "": ${NAME_PART}`,
      ],
    ],
    ['how many', '{name: d, nodeID: n1, topologyKeys: [], allocatable: {count: 0}}', []],
    [
      'less than none',
      '{name: d, nodeID: n1, topologyKeys: [], allocatable: {count: -1}}',
      [`${AT}.allocatable.count: Invalid value: -1: must be greater than or equal to 0`],
    ],
  ])('%s', (_, drivers, errors) => {
    expect(messages(validation.validateCSINode(node(drivers)))).toEqual(errors);
  });

  const OLD = '{name: d, nodeID: n1, topologyKeys: [z], allocatable: {count: 1}}';
  test.each<[now: string, fields: string[]]>([
    [OLD, []],
    ['', []],
    [`${OLD}, {name: e, nodeID: n1, topologyKeys: []}`, []],
    ['{name: d, nodeID: n1, topologyKeys: [z], allocatable: {count: 2}}', []],
    ['{name: d, nodeID: n2, topologyKeys: [z], allocatable: {count: 1}}', ['spec.drivers']],
    ['{name: d, nodeID: n1, topologyKeys: [x], allocatable: {count: 1}}', ['spec.drivers']],
  ])('update: %s', (now, fields) => {
    expect(
      validation.validateCSINodeUpdate(node(now), node(OLD)).map((error) => error.field),
    ).toEqual(fields);
  });
});

describe('capacities', () => {
  const capacity = (yaml: string): storage.CSIStorageCapacity => make('CSIStorageCapacity', yaml);
  test.each<[what: string, yaml: string, errors: string[]]>([
    ['a good one', 'storageClassName: s\nnodeTopology: {matchLabels: {a: b}}\ncapacity: 1Gi', []],
    ['of no class', 'storageClassName: ""', [`storageClassName: Invalid value: "": ${SUBDOMAIN}`]],
    [
      'of less than nothing',
      'storageClassName: s\ncapacity: "-1"',
      ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      'of nowhere',
      'storageClassName: s\nnodeTopology: {matchExpressions: [{key: a, operator: In}]}',
      [
        "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
  ])('%s', (_, yaml, errors) => {
    expect(messages(validation.validateCSIStorageCapacity(capacity(yaml)))).toEqual(errors);
  });

  test.each<[now: string, fields: string[]]>([
    [
      'storageClassName: s\nnodeTopology: {matchLabels: {a: b}}\ncapacity: 2Gi\nmaximumVolumeSize: 1Gi',
      [],
    ],
    ['storageClassName: t\nnodeTopology: {matchLabels: {a: b}}', ['storageClassName']],
    ['storageClassName: s\nnodeTopology: {matchLabels: {a: c}}', ['nodeTopology']],
  ])('update: %j', (now, fields) => {
    const old = capacity('storageClassName: s\nnodeTopology: {matchLabels: {a: b}}\ncapacity: 1Gi');
    expect(
      validation.validateCSIStorageCapacityUpdate(capacity(now), old).map((error) => error.field),
    ).toEqual(fields);
  });

  test('warnings', () => {
    const zone = 'failure-domain.beta.kubernetes.io/zone';
    const expressions = `{matchExpressions: [{key: ${zone}, operator: Exists}], matchLabels: {${zone}: a}}`;
    const why = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead';
    expect(
      csiStorageCapacityWarnings(capacity(`storageClassName: s\nnodeTopology: ${expressions}`)),
    ).toEqual([
      `nodeTopology.matchExpressions[0].key: ${why}`,
      `nodeTopology.matchLabels.${zone}: ${why}`,
    ]);
  });
});
