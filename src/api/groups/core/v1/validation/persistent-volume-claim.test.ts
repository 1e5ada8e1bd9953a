// Errors of persistent volume claims and their updates, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { persistentVolumeClaimWarnings } from '../volume-warnings.ts';
import * as validation from './index.ts';

/** Returns a claim. `spec`: additional fields, one per line; they replace those of the base. */
function claim(spec: string, more = 'metadata: {name: c}'): core.PersistentVolumeClaim {
  const lines = spec.split('\n').filter((line) => line !== '');
  const given = new Set(lines.map((line) => line.slice(0, line.indexOf(':'))));
  const base = ['accessModes: [ReadWriteOnce]', 'resources: {requests: {storage: 10Gi}}'].filter(
    (line) => !given.has(line.slice(0, line.indexOf(':'))),
  );
  return manifest(
    'core/v1.PersistentVolumeClaim',
    `${more}\nspec:\n  ${[...base, ...lines].join('\n  ')}\n`,
  );
}

const MODES =
  'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';
const SNAPSHOT = '{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}';

describe('claims', () => {
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', '', []],
    ['with a selector', 'selector: {matchExpressions: [{key: a, operator: Exists}]}', []],
    [
      'with a bad operator',
      'selector: {matchExpressions: [{key: a, operator: InvalidOp, values: [b]}]}',
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "InvalidOp": not a valid selector operator',
      ],
    ],
    [
      'without access modes',
      'accessModes: []',
      ['spec.accessModes: Required value: at least 1 access mode is required'],
    ],
    [
      'with an unknown access mode',
      'accessModes: [fakemode]',
      [`spec.accessModes: Unsupported value: "fakemode": ${MODES}`],
    ],
    [
      'for one pod and others',
      'accessModes: [ReadWriteOncePod, ReadWriteOnce]',
      ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
    ],
    ['of no size', 'resources: {}', ['spec.resources[storage]: Required value']],
    [
      'of no size, but memory',
      'resources: {requests: {memory: 1Gi}}',
      ['spec.resources[storage]: Required value'],
    ],
    [
      'of size 0',
      'resources: {requests: {storage: 0G}}',
      ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      'of less',
      'resources: {requests: {storage: -10G}}',
      ['spec.resources[storage]: Invalid value: "-10G": must be greater than zero'],
    ],
    ['of no class', 'storageClassName: ""', []],
    ['a block device', 'volumeMode: Block', []],
    [
      'of an unknown mode',
      'volumeMode: fakeVolumeMode',
      [
        'spec.volumeMode: Unsupported value: "fakeVolumeMode": supported values: "Block", "Filesystem"',
      ],
    ],
    ['from a snapshot', `dataSource: ${SNAPSHOT}`, []],
    ['from a claim', 'dataSource: {kind: PersistentVolumeClaim, name: s}', []],
    ['from a claim, newly said', 'dataSourceRef: {kind: PersistentVolumeClaim, name: s}', []],
    ['the same twice', `dataSource: ${SNAPSHOT}\ndataSourceRef: ${SNAPSHOT}`, []],
    [
      'from two things',
      `dataSource: ${SNAPSHOT}\ndataSourceRef: {kind: PersistentVolumeClaim, name: s}`,
      ['spec: Invalid value: {}: must match dataSourceRef'],
    ],
    [
      'from nothing',
      'dataSource: {kind: "", name: ""}',
      [
        'spec.dataSource.name: Required value',
        'spec.dataSource.kind: Required value',
        `spec.dataSource: Invalid value: "": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
      ],
    ],
    [
      'from a pod',
      'dataSourceRef: {kind: Pod, name: s}',
      [
        `spec.dataSourceRef: Invalid value: "Pod": must be 'PersistentVolumeClaim' when ` +
          'referencing the default apiGroup',
      ],
    ],
    [
      'from a bad group',
      'dataSource: {apiGroup: example_com, kind: A, name: s}',
      [
        'spec.dataSource.apiGroup: Invalid value: "example_com": a lowercase RFC 1123 ' +
          "subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'example.com', " +
          'regex used for validation is ' +
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      'from elsewhere',
      `dataSource: ${SNAPSHOT}\ndataSourceRef: {apiGroup: snapshot.storage.k8s.io, ` +
        'kind: VolumeSnapshot, name: s, namespace: ns}',
      ['spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validatePersistentVolumeClaim(claim(spec)))).toEqual(errors);
  });

  const SPEC =
    'spec: Forbidden: spec is immutable after creation except resources.requests and ' +
    'volumeAttributesClassName for bound claims';
  const size = (amount: string): string => `resources: {requests: {storage: ${amount}}}`;
  const bound = (capacity: string): string =>
    `metadata: {name: c}\nstatus: {phase: Bound, capacity: {storage: ${capacity}}}`;
  const ANNOTATED = (name: string): string =>
    `metadata: {name: c, annotations: {volume.beta.kubernetes.io/storage-class: ${name}}}`;
  const WHOLE = 'metadata: {name: c}';
  const WITH_A =
    'metadata: {name: c}\nstatus: {phase: Bound, capacity: {storage: 10Gi}, currentVolumeAttributesClassName: a}';

  test.each<
    [
      what: string,
      old: [spec: string, more: string],
      now: [spec: string, more: string],
      errors: string[],
    ]
  >([
    ['nothing', ['', WHOLE], ['', WHOLE], []],
    ['the same size in other words', [size('10Gi'), WHOLE], [size('10737418240'), WHOLE], []],
    ['a volume, for the first time', ['', WHOLE], ['volumeName: v', WHOLE], []],
    ['another volume', ['volumeName: v', WHOLE], ['volumeName: w', WHOLE], [SPEC]],
    ['access modes', ['', WHOLE], ['accessModes: [ReadWriteMany]', WHOLE], [SPEC]],
    ['more, before it is bound', ['', WHOLE], [size('20Gi'), WHOLE], [SPEC]],
    ['more, once it is bound', ['', bound('10Gi')], [size('20Gi'), bound('10Gi')], []],
    [
      'less',
      ['', bound('10Gi')],
      [size('5Gi'), bound('10Gi')],
      ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'],
    ],
    [
      'less, of a growth that failed',
      [size('30Gi'), bound('10Gi')],
      [size('20Gi'), bound('10Gi')],
      [],
    ],
    [
      'all of a growth taken back',
      [size('30Gi'), bound('10Gi')],
      [size('10Gi'), bound('10Gi')],
      ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'],
    ],
    [
      'the mode',
      ['', WHOLE],
      ['volumeMode: Block', WHOLE],
      [SPEC, 'volumeMode: Invalid value: "Block": field is immutable'],
    ],
    ['a class, for the first time', ['', WHOLE], ['storageClassName: a', WHOLE], []],
    ['another class', ['storageClassName: a', WHOLE], ['storageClassName: b', WHOLE], [SPEC]],
    ['no class any more', ['storageClassName: a', WHOLE], ['', WHOLE], [SPEC]],
    ['the class, from its annotation', ['', ANNOTATED('a')], ['storageClassName: a', WHOLE], []],
    [
      'the class, from its annotation, which stays',
      ['', ANNOTATED('a')],
      ['storageClassName: a', ANNOTATED('a')],
      [],
    ],
    [
      'another class than in the annotation',
      ['', ANNOTATED('a')],
      ['storageClassName: b', ANNOTATED('a')],
      [SPEC],
    ],
    [
      'the annotation',
      ['', ANNOTATED('a')],
      ['', ANNOTATED('b')],
      [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: Invalid value: "b": field is immutable',
      ],
    ],
    [
      'attributes, before it is bound',
      ['', WHOLE],
      ['volumeAttributesClassName: a', WHOLE],
      [SPEC],
    ],
    ['attributes', ['', bound('10Gi')], ['volumeAttributesClassName: a', bound('10Gi')], []],
    [
      'other attributes',
      ['volumeAttributesClassName: a', bound('10Gi')],
      ['volumeAttributesClassName: b', bound('10Gi')],
      [],
    ],
    [
      'attributes that it never got',
      ['volumeAttributesClassName: a', bound('10Gi')],
      ['', bound('10Gi')],
      [],
    ],
    [
      'attributes that it never got, as none',
      ['volumeAttributesClassName: a', bound('10Gi')],
      ['volumeAttributesClassName: ""', bound('10Gi')],
      [],
    ],
    [
      'other attributes than it has',
      ['volumeAttributesClassName: a', WITH_A],
      ['volumeAttributesClassName: b', WITH_A],
      [],
    ],
    [
      'no attributes any more',
      ['volumeAttributesClassName: a', WITH_A],
      ['', WITH_A],
      [
        'spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when ' +
          'status.currentVolumeAttributesClassName is not nil',
      ],
    ],
    [
      'attributes of no class',
      ['volumeAttributesClassName: a', WITH_A],
      ['volumeAttributesClassName: ""', WITH_A],
      [
        'spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden ' +
          'when status.currentVolumeAttributesClassName is not nil',
      ],
    ],
    [
      'a selector that was bad already',
      [
        'selector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: ["-"]}]}',
        WHOLE,
      ],
      [
        'selector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: ["-"]}]}',
        WHOLE,
      ],
      [],
    ],
  ])('update: %s', (_, [oldSpec, oldMore], [nowSpec, nowMore], errors) => {
    const found = validation.validatePersistentVolumeClaimUpdate(
      claim(nowSpec, nowMore),
      claim(oldSpec, oldMore),
    );
    expect(messages(found)).toEqual(errors);
  });

  const ANNOTATION = ['metadata.annotations[volume.beta.kubernetes.io/storage-class]'];
  test.each<
    [
      what: string,
      old: [spec: string, annotation: string],
      now: [spec: string, annotation: string],
      fields: string[],
    ]
  >([
    ['none, then one', ['', ''], ['fast', ''], []],
    ['one, then none', ['fast', ''], ['', ''], ['spec']],
    ['one, then another', ['fast', ''], ['fast2', ''], ['spec']],
    ['said in an annotation, then in the field', ['', 'fast'], ['fast', ''], []],
    ['said in an annotation, then in both', ['', 'fast'], ['fast', 'fast'], []],
    [
      'said in an annotation, then another in the field',
      ['', 'fast'],
      ['fast2', ''],
      [...ANNOTATION, 'spec'],
    ],
    ['said in both, then another', ['fast', 'fast'], ['fast2', ''], [...ANNOTATION, 'spec']],
    ['said in an annotation, then in both, another', ['', 'fast'], ['fast', 'fast2'], ANNOTATION],
    [
      'said in the field, then in an annotation',
      ['fast', ''],
      ['', 'fast'],
      [...ANNOTATION, 'spec'],
    ],
    ['said in an annotation, then in another', ['', 'fast'], ['', 'fast2'], ANNOTATION],
  ])('class: %s', (_, [oldClass, oldAnnotation], [nowClass, nowAnnotation], fields) => {
    const of = (name: string, annotation: string): core.PersistentVolumeClaim =>
      claim(
        name === '' ? '' : `storageClassName: ${name}`,
        annotation === '' ? WHOLE : ANNOTATED(annotation),
      );
    const found = validation.validatePersistentVolumeClaimUpdate(
      of(nowClass, nowAnnotation),
      of(oldClass, oldAnnotation),
    );
    expect(found.map(({ field }) => field)).toEqual(fields);
  });

  test.each<[old: string, now: string]>(
    ['', 'Block', 'Filesystem'].flatMap((old) =>
      ['', 'Block', 'Filesystem'].map((now): [string, string] => [old, now]),
    ),
  )('mode from "%s" to "%s"', (old, now) => {
    const of = (volumeMode: string): core.PersistentVolumeClaim => {
      const { volumeMode: _, ...spec } = claim('').spec;
      return {
        ...claim(''),
        spec: { ...spec, ...(volumeMode !== '' && { volumeMode: volumeMode as 'Block' }) },
      };
    };
    const found = validation.validatePersistentVolumeClaimUpdate(of(now), of(old));
    expect(found.map(({ field }) => field)).toEqual(old === now ? [] : ['spec', 'volumeMode']);
  });

  test.each<
    [
      what: string,
      old: [spec: string, more: string],
      now: [spec: string, more: string],
      fields: string[],
    ]
  >([
    ['an annotation', ['', WHOLE], ['', 'metadata: {name: c, annotations: {description: a}}'], []],
    [
      'another annotation',
      ['', 'metadata: {name: c, annotations: {a: b}}'],
      ['', 'metadata: {name: c, annotations: {a: c}}'],
      [],
    ],
    [
      'a label of one for one pod',
      ['accessModes: [ReadWriteOncePod]', WHOLE],
      ['accessModes: [ReadWriteOncePod]', 'metadata: {name: c, labels: {a: b}}'],
      [],
    ],
    ['fewer modes', ['accessModes: [ReadWriteOnce, ReadOnlyMany]', WHOLE], ['', WHOLE], ['spec']],
    [
      'less than it has',
      [size('15G'), bound('10G')],
      [size('3G'), bound('10G')],
      ['spec.resources.requests.storage'],
    ],
    [
      'less than was wanted, before it is bound',
      [size('15G'), WHOLE],
      [size('12G'), WHOLE],
      ['spec'],
    ],
    [
      'other attributes, before it is bound',
      ['volumeAttributesClassName: a', WHOLE],
      ['volumeAttributesClassName: b', WHOLE],
      ['spec'],
    ],
    [
      'attributes where they were none',
      ['volumeAttributesClassName: ""', bound('10Gi')],
      ['volumeAttributesClassName: a', bound('10Gi')],
      [],
    ],
    [
      'a group that was bad already',
      ['dataSource: {apiGroup: ^a, kind: F, name: f}', WHOLE],
      ['dataSource: {apiGroup: ^a, kind: F, name: f}', WHOLE],
      [],
    ],
    [
      'a group that was bad already, newly said',
      ['dataSourceRef: {apiGroup: ^a, kind: F, name: f}', WHOLE],
      ['dataSourceRef: {apiGroup: ^a, kind: F, name: f}', WHOLE],
      [],
    ],
  ])('change: %s', (_, [oldSpec, oldMore], [nowSpec, nowMore], fields) => {
    const found = validation.validatePersistentVolumeClaimUpdate(
      claim(nowSpec, nowMore),
      claim(oldSpec, oldMore),
    );
    expect(found.map(({ field }) => field)).toEqual(fields);
  });

  const STATUSES =
    'supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", ' +
    '"NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"';
  test.each<[what: string, status: string, errors: string[]]>([
    ['a good one', '{phase: Bound, capacity: {storage: 1Gi}}', []],
    [
      'negative',
      '{capacity: {storage: "-1"}}',
      ['status.capacity[storage]: Invalid value: -1: must be a valid resource quantity'],
    ],
    [
      'growing',
      '{allocatedResources: {storage: 2Gi}, allocatedResourceStatuses: {storage: NodeResizePending}}',
      [],
    ],
    [
      'growing, of others',
      '{allocatedResources: {example.com/a: 2}, allocatedResourceStatuses: {example.com/a: NodeResizePending}}',
      [],
    ],
    [
      'growing, of what it has not',
      '{allocatedResources: {cpu: 2}}',
      ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"'],
    ],
    [
      'growing, of a bad name',
      '{allocatedResources: {"": 2}}',
      [
        'status.allocatedResources: Invalid value: "": name part must be non-empty',
        'status.allocatedResources: Invalid value: "": name part must consist of ' +
          "alphanumeric characters, '-', '_' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'MyName', " +
          " or 'my.name',  or '123-abc', regex used for validation is " +
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [
      'growing, to less than nothing',
      '{allocatedResources: {storage: "-1"}}',
      ['status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity'],
    ],
    [
      'growing somehow',
      '{allocatedResourceStatuses: {storage: foo}}',
      [`status.allocatedResourceStatuses: Unsupported value: "storage": ${STATUSES}`],
    ],
  ])('status: %s', (_, status, errors) => {
    const found = validation.validatePersistentVolumeClaimStatusUpdate(
      claim('', `metadata: {name: c}\nstatus: ${status}`),
    );
    expect(messages(found)).toEqual(errors);
  });

  test('warnings about deprecated or suspicious values', () => {
    const amounts = 'resources: {requests: {storage: 1500m}, limits: {storage: 2500m}}';
    expect(persistentVolumeClaimWarnings(claim(amounts, ANNOTATED('a')))).toEqual([
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since ' +
        'v1.8; use "storageClassName" attribute instead',
      'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
    ]);
  });
});
