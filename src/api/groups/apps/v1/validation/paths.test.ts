// Further valid and invalid workloads, with the paths and types of the errors. The tests of each
// kind contain the messages.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from './types.ts';

const short = (errors: FieldErrorList): string[] =>
  errors.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`);

interface Parts {
  readonly selector?: string;
  readonly labels?: string;
  readonly pod?: string;
  readonly spec?: string;
  readonly status?: string;
}

function yamlOf({
  selector = '{matchLabels: {a: b}}',
  labels = '{a: b}',
  pod = '',
  spec = '',
  status = '',
}: Parts): string {
  const containers = pod.includes('containers:') ? '' : 'containers: [{name: abc, image: image}], ';
  return `metadata: {name: abc, namespace: default}
spec:
  selector: ${selector}
  template: {metadata: {labels: ${labels}}, spec: {${containers}${pod}}}
${spec.replace(/^/gm, '  ')}
status: {${status}}`;
}

const deployment = (parts: Parts): Deployment => manifest('apps/v1.Deployment', yamlOf(parts));
const replicaSet = (parts: Parts): ReplicaSet => manifest('apps/v1.ReplicaSet', yamlOf(parts));
const daemonSet = (parts: Parts): DaemonSet => manifest('apps/v1.DaemonSet', yamlOf(parts));
const statefulSet = (parts: Parts): StatefulSet => manifest('apps/v1.StatefulSet', yamlOf(parts));

type Kind = [
  kind: string,
  create: (parts: Parts) => FieldErrorList,
  update: (parts: Parts, old: Parts) => FieldErrorList,
  status: ((status: string, old: string) => FieldErrorList) | undefined,
];

const KINDS: readonly Kind[] = [
  [
    'Deployment',
    (parts) => validation.validateDeployment(deployment(parts)),
    (parts, old) => validation.validateDeploymentUpdate(deployment(parts), deployment(old)),
    (status, old) =>
      validation.validateDeploymentStatusUpdate(
        deployment({ status }),
        deployment({ status: old }),
      ),
  ],
  [
    'ReplicaSet',
    (parts) => validation.validateReplicaSet(replicaSet(parts)),
    (parts, old) => validation.validateReplicaSetUpdate(replicaSet(parts), replicaSet(old)),
    undefined,
  ],
  [
    'DaemonSet',
    (parts) => validation.validateDaemonSet(daemonSet(parts)),
    (parts, old) => validation.validateDaemonSetUpdate(daemonSet(parts), daemonSet(old)),
    (status, old) =>
      validation.validateDaemonSetStatusUpdate(daemonSet({ status }), daemonSet({ status: old })),
  ],
  [
    'StatefulSet',
    (parts) => validation.validateStatefulSet(statefulSet(parts)),
    (parts, old) => validation.validateStatefulSetUpdate(statefulSet(parts), statefulSet(old)),
    (status, old) =>
      validation.validateStatefulSetStatusUpdate(
        statefulSet({ status }),
        statefulSet({ status: old }),
      ),
  ],
];

const NO_LABEL = '{NoUppercaseOrSpecialCharsLike=Equals: b}';
const DEBUG = 'ephemeralContainers: [{name: debug, image: image}]';
const DISK =
  'volumes: [{name: gcepd, gcePersistentDisk: {pdName: my-PD, fsType: ext4, partition: 1}}]';

describe.each(KINDS)('%s', (kind, create, update) => {
  test.each<[what: string, parts: Parts]>([
    ['one', {}],
    [
      'on the network of the host',
      {
        pod: 'hostNetwork: true, containers: [{name: abc, image: image, ports: [{containerPort: 12345}]}]',
      },
    ],
    ['with a disk', { pod: DISK }],
    ['of more labels', { labels: '{a: b, c: d}' }],
    ['ready after a while', { spec: 'minReadySeconds: 5' }],
    [
      'of an expression',
      { selector: '{matchExpressions: [{key: a, operator: NotIn, values: [c]}]}' },
    ],
  ])('good: %s', (_what, parts) => {
    expect(short(create(parts))).toEqual([]);
  });

  test.each<[what: string, parts: Parts, ...errors: string[]]>([
    [
      'other labels',
      { selector: '{matchLabels: {foo: bar}}' },
      'spec.template.metadata.labels Invalid',
    ],
    ['no labels', { labels: '{}' }, 'spec.template.metadata.labels Invalid'],
    ['an empty selector', { selector: '{}' }, 'spec.selector Invalid'],
    [
      'an impossible label',
      { labels: `{a: b, ${NO_LABEL.slice(1)}` },
      'spec.template.labels Invalid',
    ],
    [
      'pods that end',
      { pod: 'restartPolicy: Never' },
      'spec.template.spec.restartPolicy NotSupported',
    ],
    [
      'pods that may end',
      { pod: 'restartPolicy: OnFailure' },
      'spec.template.spec.restartPolicy NotSupported',
    ],
    [
      'pods of a moment',
      { pod: 'activeDeadlineSeconds: 60' },
      'spec.template.spec.activeDeadlineSeconds Forbidden',
    ],
    ['pods that are watched', { pod: DEBUG }, 'spec.template.spec.ephemeralContainers Forbidden'],
    ['pods of nothing', { pod: 'containers: []' }, 'spec.template.spec.containers Required'],
    ['ready before it is there', { spec: 'minReadySeconds: -1' }, 'spec.minReadySeconds Invalid'],
    ['ready long before', { spec: 'minReadySeconds: -2147483648' }, 'spec.minReadySeconds Invalid'],
  ])('bad: %s', (_what, parts, ...errors) => {
    expect(short(create(parts))).toEqual(errors);
    expect(short(update(parts, parts)).length).toBeLessThanOrEqual(errors.length);
  });

  test('the template may change', () => {
    for (const pod of [
      DISK,
      'nodeName: xyz, nodeSelector: {a: b}',
      'containers: [{name: def, image: image2}]',
    ]) {
      expect(short(update({ pod }, {}))).toEqual([]);
    }
    expect(short(update({ pod: 'imagePullSecrets: []' }, {}))).toEqual([]);
    expect(short(update({ pod: 'containers: []' }, {}))).toEqual([
      'spec.template.spec.containers Required',
    ]);
    expect(short(update({ pod: DEBUG }, {}))).toEqual([
      'spec.template.spec.ephemeralContainers Forbidden',
    ]);
  });

  test('the selector may not', () => {
    const other: Parts = { selector: '{matchLabels: {c: d}}', labels: '{c: d}' };
    expect(short(update(other, {}))).toEqual([
      kind === 'StatefulSet' ? 'spec Forbidden' : 'spec.selector Invalid',
    ]);
  });

  test('an impossible selector', () => {
    const errors = short(create({ selector: `{matchLabels: ${NO_LABEL}}` }));
    expect(errors[0]).toMatch(/^spec\.selector\.matchLabels Invalid$/);
  });
});

test.each(KINDS.filter(([kind]) => kind !== 'DaemonSet'))(
  'replicas: %s',
  (_kind, create, update) => {
    expect(short(create({ spec: 'replicas: 0' }))).toEqual([]);
    expect(short(update({ spec: 'replicas: 3' }, { spec: 'replicas: 1' }))).toEqual([]);
    expect(short(create({ spec: 'replicas: -1' }))).toEqual(['spec.replicas Invalid']);
    expect(short(update({ spec: 'replicas: -1' }, {}))).toEqual(['spec.replicas Invalid']);
  },
);

describe('strategies of deployments', () => {
  const rolling = (fields: string): string => `strategy: {rollingUpdate: {${fields}}}`;
  const UNAVAILABLE = 'spec.strategy.rollingUpdate.maxUnavailable Invalid';
  const SURGE = 'spec.strategy.rollingUpdate.maxSurge Invalid';
  const DEADLINE = 'spec.progressDeadlineSeconds Invalid';
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['unsaid', ''],
    ['at once', 'strategy: {type: Recreate}'],
    ['one by one', rolling('maxSurge: 1, maxUnavailable: 0')],
    ['a share', rolling('maxSurge: 20%, maxUnavailable: 10%')],
    ['all', rolling('maxUnavailable: 100%')],
    ['many more', rolling('maxSurge: 1000%')],
    ['another', 'strategy: {type: randomType}', 'spec.strategy NotSupported'],
    [
      'at once, one by one',
      'strategy: {type: Recreate, rollingUpdate: {}}',
      'spec.strategy.rollingUpdate Forbidden',
    ],
    ['20 per cent in words', rolling('maxSurge: 20Percent, maxUnavailable: 1'), SURGE],
    ['none in words', rolling('maxUnavailable: none'), UNAVAILABLE],
    ['nothing', rolling('maxSurge: 0%, maxUnavailable: 0'), UNAVAILABLE],
    ['nothing at all', rolling('maxSurge: 0, maxUnavailable: 0'), UNAVAILABLE],
    ['more than all', rolling('maxUnavailable: 110%'), UNAVAILABLE],
    ['less than nothing', rolling('maxUnavailable: -1'), UNAVAILABLE],
    ['fewer', rolling('maxSurge: -1'), SURGE],
    ['late before they are ready', 'progressDeadlineSeconds: 600\nminReadySeconds: 600', DEADLINE],
    ['late after they are ready', 'progressDeadlineSeconds: 601\nminReadySeconds: 600'],
    ['late before they are there', 'progressDeadlineSeconds: -1', DEADLINE, DEADLINE],
    ['no history', 'revisionHistoryLimit: 0'],
    ['less than no history', 'revisionHistoryLimit: -1', 'spec.revisionHistoryLimit Invalid'],
    ['held', 'paused: true'],
  ])('%s', (_what, spec, ...errors) => {
    expect(short(validation.validateDeployment(deployment({ spec })))).toEqual(errors);
  });
});

describe('strategies of daemon sets', () => {
  const UNAVAILABLE = 'maxUnavailable';
  const SURGE = 'maxSurge';
  test.each<[fields: string, ...errors: string[]]>([
    ['maxUnavailable: 0, maxSurge: 0', `${UNAVAILABLE} Required`],
    ['maxUnavailable: 0%, maxSurge: 0%', `${UNAVAILABLE} Required`],
    ['maxUnavailable: 0, maxSurge: 0%', `${UNAVAILABLE} Required`],
    ['maxUnavailable: 0%', `${UNAVAILABLE} Required`],
    ['maxUnavailable: 0', `${UNAVAILABLE} Required`],
    ['maxUnavailable: 1'],
    ['maxUnavailable: 1%'],
    ['maxUnavailable: 100%'],
    ['maxUnavailable: 101%', `${UNAVAILABLE} Invalid`],
    ['maxUnavailable: -1', `${UNAVAILABLE} Invalid`],
    ['maxUnavailable: many', `${UNAVAILABLE} Invalid`, `${UNAVAILABLE} Required`],
    ['maxUnavailable: 1%, maxSurge: 1%', `${SURGE} Invalid`],
    ['maxUnavailable: 1, maxSurge: 1', `${SURGE} Invalid`],
    ['maxSurge: 0%, maxUnavailable: 1'],
    ['maxSurge: 1, maxUnavailable: 0'],
    ['maxSurge: 1%, maxUnavailable: 0'],
    ['maxSurge: 100%, maxUnavailable: 0'],
    ['maxSurge: 101%, maxUnavailable: 0', `${SURGE} Invalid`],
  ])('%s', (fields, ...errors) => {
    const given = daemonSet({ spec: `updateStrategy: {rollingUpdate: {${fields}}}` });
    const found = short(validation.validateDaemonSet(given));
    expect(found.map((error) => error.replace('spec.updateStrategy.rollingUpdate.', ''))).toEqual(
      errors,
    );
  });

  test('another type', () => {
    const given = daemonSet({ spec: 'updateStrategy: {type: Random}' });
    expect(short(validation.validateDaemonSet(given))).toEqual([
      'spec.updateStrategy NotSupported',
    ]);
    expect(short(validation.validateDaemonSetUpdate(given, daemonSet({})))).toEqual([
      'spec.updateStrategy NotSupported',
    ]);
  });
});

describe('stateful sets', () => {
  const CLAIM = (more: string, name = 'pvc-abc'): string =>
    `{metadata: {name: ${name}}, spec: {accessModes: [ReadWriteOnce], ${more}}}`;
  const claims = (...list: string[]): string => `volumeClaimTemplates: [${list.join(', ')}]`;
  const SIZE = (size: string, of = 'storage-class1'): string =>
    `storageClassName: ${of}, resources: {requests: {storage: ${size}}}`;
  const strategy = (fields: string): string => `updateStrategy: {${fields}}`;
  const rolling = (fields: string): string => strategy(`rollingUpdate: {${fields}}`);
  const AT = 'spec.updateStrategy.rollingUpdate';
  const POLICY = 'spec.persistentVolumeClaimRetentionPolicy';
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['all at once', 'podManagementPolicy: Parallel'],
    ['one after the other', 'podManagementPolicy: OrderedReady'],
    ['somehow', 'podManagementPolicy: foo', 'spec.podManagementPolicy Invalid'],
    ['some of them', rolling('partition: 2')],
    [
      'two of some of them',
      `podManagementPolicy: Parallel\n${rolling('partition: 2, maxUnavailable: 2')}`,
    ],
    ['fewer than none', rolling('partition: -1'), `${AT}.partition Invalid`],
    ['none at a time', rolling('maxUnavailable: 0'), `${AT}.maxUnavailable Invalid`],
    ['no share at a time', rolling('maxUnavailable: 0%'), `${AT}.maxUnavailable Invalid`],
    ['more than all at a time', rolling('maxUnavailable: 101%'), `${AT}.maxUnavailable Invalid`],
    ['another strategy', strategy('type: foo'), 'spec.updateStrategy Invalid'],
    ['some, by hand', strategy('type: OnDelete, rollingUpdate: {partition: 1}'), `${AT} Invalid`],
    [
      'claims that go and stay',
      'persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}',
    ],
    ['claims unsaid', 'persistentVolumeClaimRetentionPolicy: {}'],
    [
      'claims somehow',
      'persistentVolumeClaimRetentionPolicy: {whenDeleted: invalid, whenScaled: invalid}',
      `${POLICY}.whenDeleted NotSupported`,
      `${POLICY}.whenScaled NotSupported`,
    ],
    ['from the third on', 'ordinals: {start: 2}'],
    ['from before the first on', 'ordinals: {start: -2}', 'spec.ordinals.start Invalid'],
    ['ready after a long while', 'minReadySeconds: 2147483647'],
  ])('%s', (_what, spec, ...errors) => {
    expect(short(validation.validateStatefulSet(statefulSet({ spec })))).toEqual(errors);
  });

  test.each<[what: string, spec: string, old: string, ...errors: string[]]>([
    [
      'claims that stay',
      'persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}',
      '',
    ],
    ['claims unsaid', '', 'persistentVolumeClaimRetentionPolicy: {whenScaled: Retain}'],
    ['ready after a while', 'minReadySeconds: 10', ''],
    ['ready after a longer while', 'minReadySeconds: 10', 'minReadySeconds: 5'],
    ['from the fourth on', 'ordinals: {start: 3}', ''],
    ['by hand', strategy('type: OnDelete'), ''],
    [
      'one after the other',
      'podManagementPolicy: OrderedReady',
      'podManagementPolicy: Parallel',
      'spec Forbidden',
    ],
    ['larger claims', claims(CLAIM(SIZE('2Gi'))), claims(CLAIM(SIZE('1Gi'))), 'spec Forbidden'],
    [
      'claims of another class',
      claims(CLAIM(SIZE('1Gi', 'storage-class2'))),
      claims(CLAIM(SIZE('1Gi'))),
      'spec Forbidden',
    ],
    [
      'one claim more',
      claims(CLAIM(SIZE('1Gi')), CLAIM(SIZE('2Gi'), 'pvc-abc2')),
      claims(CLAIM(SIZE('1Gi'))),
      'spec Forbidden',
    ],
    ['the same claims', claims(CLAIM(SIZE('1024Mi'))), claims(CLAIM(SIZE('1Gi')))],
    ['fewer than none', 'replicas: -1', '', 'spec.replicas Invalid'],
  ])('changes: %s', (_what, spec, old, ...errors) => {
    expect(
      short(
        validation.validateStatefulSetUpdate(statefulSet({ spec }), statefulSet({ spec: old })),
      ),
    ).toEqual(errors);
  });
});

describe('counts', () => {
  type Case = [what: string, status: string, ...names: string[]];
  const several = (list: string, names: string): string => {
    const values = list.split(' ');
    return names
      .split(' ')
      .map((name, index) => `${name}: ${values[index] ?? 0}`)
      .join(', ');
  };
  const check = (
    kind: string,
    cases: readonly Case[],
    of: (status: string) => FieldErrorList,
  ): void => {
    describe(kind, () => {
      test.each(cases)('%s', (_what, status, ...names) => {
        expect(of(status).map(({ field }) => field.replace('status.', ''))).toEqual(names);
      });
    });
  };

  const OF_STATEFUL = 'replicas readyReplicas currentReplicas updatedReplicas availableReplicas';
  check(
    'of stateful sets',
    [
      ['good', several('3 3 2 1', OF_STATEFUL)],
      [
        'less than none',
        several('-1 3 2 1', OF_STATEFUL),
        'replicas',
        'readyReplicas',
        'currentReplicas',
        'updatedReplicas',
        'availableReplicas',
      ],
      [
        'ready less than none',
        several('3 -1 2 1', OF_STATEFUL),
        'readyReplicas',
        'availableReplicas',
      ],
      ['current less than none', several('3 3 -1 1', OF_STATEFUL), 'currentReplicas'],
      ['updated less than none', several('3 3 2 -1', OF_STATEFUL), 'updatedReplicas'],
      [
        'seen before there was one',
        `${several('3 3 2 1', OF_STATEFUL)}, observedGeneration: -1`,
        'observedGeneration',
      ],
      [
        'met less than never',
        `${several('3 3 2 1', OF_STATEFUL)}, collisionCount: -1`,
        'collisionCount',
      ],
      ['more ready than there', several('3 4 2 1', OF_STATEFUL), 'readyReplicas'],
      ['more current than there', several('3 3 4 1', OF_STATEFUL), 'currentReplicas'],
      ['more updated than there', several('3 3 2 4', OF_STATEFUL), 'updatedReplicas'],
      ['available less than none', several('3 3 2 0 -1', OF_STATEFUL), 'availableReplicas'],
      [
        'more available than there',
        several('3 3 2 0 4', OF_STATEFUL),
        'availableReplicas',
        'availableReplicas',
      ],
      ['more available than ready', several('3 2 2 0 3', OF_STATEFUL), 'availableReplicas'],
    ],
    (status) =>
      validation.validateStatefulSetStatusUpdate(statefulSet({ status }), statefulSet({})),
  );

  const OF_DEPLOYMENT =
    'replicas updatedReplicas readyReplicas availableReplicas observedGeneration';
  check(
    'of deployments',
    [
      ['good', several('3 3 2 1 2', OF_DEPLOYMENT)],
      [
        'less than none',
        several('-1 2 2 1 2', OF_DEPLOYMENT),
        'replicas',
        'updatedReplicas',
        'readyReplicas',
        'availableReplicas',
      ],
      ['updated less than none', several('2 -1 2 1 2', OF_DEPLOYMENT), 'updatedReplicas'],
      [
        'ready less than none',
        several('3 0 -1 1 2', OF_DEPLOYMENT),
        'readyReplicas',
        'availableReplicas',
      ],
      ['available less than none', several('3 0 3 -1 2', OF_DEPLOYMENT), 'availableReplicas'],
      ['seen before there was one', several('3 0 3 3 -1', OF_DEPLOYMENT), 'observedGeneration'],
      ['more updated than there', several('3 4 3 3 1', OF_DEPLOYMENT), 'updatedReplicas'],
      ['more ready than there', several('3 0 4 3 1', OF_DEPLOYMENT), 'readyReplicas'],
      [
        'more available than there',
        several('3 0 3 4 1', OF_DEPLOYMENT),
        'availableReplicas',
        'availableReplicas',
      ],
      ['more available than ready', several('3 0 2 3 1', OF_DEPLOYMENT), 'availableReplicas'],
      ['met less than never', 'replicas: 3, collisionCount: -3', 'collisionCount'],
      ['unavailable less than none', 'replicas: 3, unavailableReplicas: -1', 'unavailableReplicas'],
      ['going less than none', 'replicas: 3, terminatingReplicas: -1', 'terminatingReplicas'],
    ],
    (status) => validation.validateDeploymentStatusUpdate(deployment({ status }), deployment({})),
  );

  const OF_DAEMON =
    'currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady ' +
    'observedGeneration updatedNumberScheduled numberAvailable numberUnavailable';
  const NAMES = OF_DAEMON.split(' ');
  const good = [1, 1, 3, 1, 3, 1, 1, 2];
  const negative = (...indexes: number[]): string =>
    several(
      good.map((value, index) => (indexes.includes(index) ? -value : value)).join(' '),
      OF_DAEMON,
    );
  check(
    'of daemon sets',
    [
      ['good', negative()],
      ['all less than none', negative(...NAMES.keys()), ...NAMES],
      ...NAMES.map((name, index): Case => [`${name} less than none`, negative(index), name]),
    ],
    (status) => validation.validateDaemonSetStatusUpdate(daemonSet({ status }), daemonSet({})),
  );

  const collisions = KINDS.flatMap(([kind, , , status]) =>
    status === undefined ? [] : [{ kind, status }],
  );
  test.each(collisions)('collisions: $kind', ({ status }) => {
    const of = (count?: number): string => (count === undefined ? '' : `collisionCount: ${count}`);
    expect(short(status(of(1), of()))).toEqual([]);
    expect(short(status(of(1), of(1)))).toEqual([]);
    expect(short(status(of(), of(1)))).toEqual(['status.collisionCount Invalid']);
    expect(short(status(of(1), of(2)))).toEqual(['status.collisionCount Invalid']);
  });
});

describe('revisions', () => {
  const revision = (data: string, more = 'revision: 0'): ControllerRevision =>
    manifest('apps/v1.ControllerRevision', `{${more}${data}}`);
  test.each<[what: string, data: string, ...errors: string[]]>([
    ['an object', ', data: {spec: {a: b}}'],
    ['an empty object', ', data: {}'],
    ['nothing', '', 'data Required'],
    ['null', ', data: null', 'data Required'],
    ['yes', ', data: true', 'data Invalid'],
    ['a number', ', data: 0', 'data Invalid'],
    ['a fraction', ', data: 0.5', 'data Invalid'],
    ['a list', ', data: []', 'data Invalid'],
    ['a text', ', data: "test"', 'data Invalid'],
  ])('%s', (_what, data, ...errors) => {
    expect(short(validation.validateControllerRevision(revision(data)))).toEqual(errors);
  });

  test.each<[what: string, data: string, more: string, ...errors: string[]]>([
    ['nothing', ', data: {a: 1}', 'revision: 0'],
    ['the data', ', data: {a: 2}', 'revision: 0', 'data Invalid'],
    ['the number', ', data: {a: 1}', 'revision: 1'],
    ['the number, below the first', ', data: {a: 1}', 'revision: -1', 'revision Invalid'],
  ])('changes: %s', (_what, data, more, ...errors) => {
    const found = validation.validateControllerRevisionUpdate(
      revision(data, more),
      revision(', data: {a: 1}'),
    );
    expect(short(found)).toEqual(errors);
  });
});
