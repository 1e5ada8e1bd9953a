// Errors of deployments and replica sets, with upstream's messages. Each case is a change to a
// valid object.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { Deployment, ReplicaSet } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

interface Parts {
  readonly selector?: string;
  readonly labels?: string;
  readonly pod?: string;
  readonly spec?: string;
  readonly status?: string;
}

function yaml({
  selector = '{matchLabels: {a: b}}',
  labels = '{a: b}',
  pod = '',
  spec = '',
  status = '',
}: Parts): string {
  return `
metadata: {name: d, namespace: default}
spec:
  selector: ${selector}
  template: {metadata: {labels: ${labels}}, spec: {containers: [{name: c, image: i}], ${pod}}}
${spec.replace(/^/gm, '  ')}
status: {${status}}
`;
}

const deployment = (parts: Parts = {}): Deployment => manifest('apps/v1.Deployment', yaml(parts));
const replicaSet = (parts: Parts = {}): ReplicaSet => manifest('apps/v1.ReplicaSet', yaml(parts));

const MISMATCH = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', " +
  " or '93%', regex used for validation is '[0-9]+%')";

/** Cases for both deployments and replica sets. */
const COMMON: [what: string, parts: Parts, errors: string[]][] = [
  ['no selector', { selector: 'null' }, ['spec.selector: Required value', MISMATCH('{"a":"b"}')]],
  [
    'an empty selector',
    { selector: '{}' },
    ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
  ],
  ['other labels', { labels: '{a: c}' }, [MISMATCH('{"a":"c"}')]],
  ['no labels', { labels: '{}' }, [MISMATCH('{}')]],
  [
    'a selector that is none',
    { selector: '{matchExpressions: [{key: a, operator: Like, values: [b]}]}' },
    [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
      'spec.selector: Invalid value: ' +
        '{"matchExpressions":[{"key":"a","operator":"Like","values":["b"]}]}: invalid label ' +
        'selector',
    ],
  ],
  [
    'pods that end',
    { pod: 'restartPolicy: OnFailure' },
    [
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
  ],
  [
    'pods with a deadline',
    { pod: 'activeDeadlineSeconds: 5' },
    [
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
  ],
  [
    'a bad pod',
    { pod: 'dnsPolicy: Sometimes' },
    [
      'spec.template.spec.dnsPolicy: Unsupported value: "Sometimes": supported values: ' +
        '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
  ],
  [
    'ephemeral containers',
    { pod: 'ephemeralContainers: [{name: e, image: i, terminationMessagePolicy: File}]' },
    [
      'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
    ],
  ],
  [
    'a bad node selector',
    { pod: 'nodeSelector: {"/x": z}' },
    ['spec.template.spec.nodeSelector: Invalid value: "/x": prefix part must be non-empty'],
  ],
  [
    'fewer than no replicas',
    { spec: 'replicas: -1' },
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'ready before they are',
    { spec: 'minReadySeconds: -1' },
    ['spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
  ],
];

describe('deployments', () => {
  test.each<[what: string, parts: Parts]>([
    ['with everything left out', {}],
    ['recreated', { spec: 'strategy: {type: Recreate}' }],
    ['that surge', { spec: 'strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}' }],
    [
      'that surge by more than they are',
      { spec: 'strategy: {rollingUpdate: {maxSurge: 200%, maxUnavailable: 100%}}' },
    ],
    ['without history', { spec: 'revisionHistoryLimit: 0' }],
    ['of no pods', { spec: 'replicas: 0' }],
    ['that wait long enough', { spec: 'minReadySeconds: 5\nprogressDeadlineSeconds: 6' }],
  ])('good: %s', (_, parts) => {
    expect(messages(validation.validateDeployment(deployment(parts)))).toEqual([]);
  });

  test.each(COMMON)('invalid: %s', (_, parts, errors) => {
    expect(messages(validation.validateDeployment(deployment(parts)))).toEqual(errors);
  });

  test.each<[what: string, spec: string, errors: string[]]>([
    [
      'a strategy that there is not',
      'strategy: {type: Later}',
      [
        'spec.strategy: Unsupported value: {"type":"Later"}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
    [
      'parameters of another strategy',
      'strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}',
      [
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
      ],
    ],
    [
      'a surge that is no number',
      'strategy: {rollingUpdate: {maxSurge: 20Percent}}',
      [`spec.strategy.rollingUpdate.maxSurge: Invalid value: "20Percent": ${PERCENT}`],
    ],
    [
      'unavailability that is no number',
      'strategy: {rollingUpdate: {maxUnavailable: "some", maxSurge: 1}}',
      [`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "some": ${PERCENT}`],
    ],
    [
      'a negative surge',
      'strategy: {rollingUpdate: {maxSurge: -1}}',
      [
        'spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [
      'neither more pods nor fewer',
      'strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0}}',
      [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0',
      ],
    ],
    [
      'more unavailable than there are',
      'strategy: {rollingUpdate: {maxUnavailable: 110%}}',
      [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "110%": must not be greater than 100%',
      ],
    ],
    [
      'less than no history',
      'revisionHistoryLimit: -1',
      ['spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'a deadline before it is ready',
      'progressDeadlineSeconds: 10\nminReadySeconds: 15',
      ['spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds'],
    ],
    [
      'a deadline of nothing',
      'progressDeadlineSeconds: 0',
      ['spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds'],
    ],
    [
      'a deadline in the past',
      'progressDeadlineSeconds: -1',
      [
        'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
        'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds',
      ],
    ],
  ])('invalid: %s', (_, spec, errors) => {
    expect(messages(validation.validateDeployment(deployment({ spec })))).toEqual(errors);
  });

  test('the selector is immutable', () => {
    const changed = deployment({ selector: '{matchLabels: {a: b, c: d}}', labels: '{a: b, c: d}' });
    expect(messages(validation.validateDeploymentUpdate(changed, deployment()))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable',
    ]);
  });

  test('other fields can change to valid values', () => {
    const changed = deployment({
      spec: 'replicas: 5\npaused: true\nstrategy: {type: Recreate}',
      pod: 'hostNetwork: true',
    });
    expect(messages(validation.validateDeploymentUpdate(changed, deployment()))).toEqual([]);
    const bad = deployment({ spec: 'replicas: -5' });
    expect(messages(validation.validateDeploymentUpdate(bad, deployment()))).toEqual([
      'spec.replicas: Invalid value: -5: must be greater than or equal to 0',
    ]);
  });

  const NEGATIVE = 'must be greater than or equal to 0';
  const TOO_MANY = 'cannot be greater than status.replicas';
  test.each<[status: string, old: string, errors: string[]]>([
    ['', '', []],
    [
      'replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 1, unavailableReplicas: 2',
      '',
      [],
    ],
    ['collisionCount: 3', 'collisionCount: 3', []],
    ['collisionCount: 4', 'collisionCount: 3', []],
    ['collisionCount: 0', '', []],
    [
      'replicas: -1, readyReplicas: -1, updatedReplicas: -1, availableReplicas: -1',
      '',
      ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas'].map(
        (name) => `status.${name}: Invalid value: -1: ${NEGATIVE}`,
      ),
    ],
    [
      'replicas: -1',
      '',
      [
        `status.replicas: Invalid value: -1: ${NEGATIVE}`,
        ...['updatedReplicas', 'readyReplicas', 'availableReplicas'].map(
          (name) => `status.${name}: Invalid value: 0: ${TOO_MANY}`,
        ),
      ],
    ],
    [
      'replicas: 3, updatedReplicas: -1',
      '',
      [`status.updatedReplicas: Invalid value: -1: ${NEGATIVE}`],
    ],
    [
      'replicas: 3, readyReplicas: -1',
      '',
      [
        `status.readyReplicas: Invalid value: -1: ${NEGATIVE}`,
        // The message contradicts the values; it is upstream's.
        'status.availableReplicas: Invalid value: 0: cannot be greater than readyReplicas',
      ],
    ],
    [
      'replicas: 3, availableReplicas: -1',
      '',
      [`status.availableReplicas: Invalid value: -1: ${NEGATIVE}`],
    ],
    ['unavailableReplicas: -1', '', [`status.unavailableReplicas: Invalid value: -1: ${NEGATIVE}`]],
    ['observedGeneration: -1', '', [`status.observedGeneration: Invalid value: -1: ${NEGATIVE}`]],
    ['collisionCount: -1', '', [`status.collisionCount: Invalid value: -1: ${NEGATIVE}`]],
    [
      'replicas: 3, updatedReplicas: 4',
      '',
      [`status.updatedReplicas: Invalid value: 4: ${TOO_MANY}`],
    ],
    ['replicas: 3, readyReplicas: 4', '', [`status.readyReplicas: Invalid value: 4: ${TOO_MANY}`]],
    [
      'replicas: 3, readyReplicas: 3, availableReplicas: 4',
      '',
      [
        `status.availableReplicas: Invalid value: 4: ${TOO_MANY}`,
        'status.availableReplicas: Invalid value: 4: cannot be greater than readyReplicas',
      ],
    ],
    [
      'replicas: 3, readyReplicas: 1, availableReplicas: 2',
      '',
      ['status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas'],
    ],
    [
      'collisionCount: 1',
      'collisionCount: 3',
      ['status.collisionCount: Invalid value: 1: cannot be decremented'],
    ],
    ['', 'collisionCount: 3', ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ])('status {%s} after {%s}', (status, old, errors) => {
    const update = validation.validateDeploymentStatusUpdate(
      deployment({ status }),
      deployment({ status: old }),
    );
    expect(messages(update)).toEqual(errors);
  });
});

describe('replica sets', () => {
  test('a valid one', () => {
    expect(messages(validation.validateReplicaSet(replicaSet()))).toEqual([]);
  });

  test.each(COMMON)('invalid: %s', (_, parts, errors) => {
    expect(messages(validation.validateReplicaSet(replicaSet(parts)))).toEqual(errors);
  });

  test('the selector is immutable', () => {
    const changed = replicaSet({ selector: '{matchExpressions: [{key: a, operator: Exists}]}' });
    expect(messages(validation.validateReplicaSetUpdate(changed, replicaSet()))).toEqual([
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: field is immutable',
    ]);
    expect(
      messages(
        validation.validateReplicaSetUpdate(replicaSet({ spec: 'replicas: 9' }), replicaSet()),
      ),
    ).toEqual([]);
  });
});
