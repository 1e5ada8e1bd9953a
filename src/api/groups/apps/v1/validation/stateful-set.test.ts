// Errors of stateful sets and revisions, with upstream's messages. Each case is a change to a valid
// object.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { decodeManifest, manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { ControllerRevision, StatefulSet } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

interface Parts {
  readonly selector?: string;
  readonly labels?: string;
  readonly container?: string;
  readonly pod?: string;
  readonly spec?: string;
  readonly status?: string;
}

function statefulSet(parts: Parts = {}): StatefulSet {
  const {
    selector = '{matchLabels: {a: b}}',
    labels = '{a: b}',
    container = '',
    pod = '',
    spec = '',
    status = '',
  } = parts;
  return manifest(
    'apps/v1.StatefulSet',
    `
metadata: {name: s, namespace: default}
spec:
  selector: ${selector}
  template: {metadata: {labels: ${labels}}, spec: {containers: [{name: c, image: i, ${container}}], ${pod}}}
${spec.replace(/^/gm, '  ')}
status: {${status}}
`,
  );
}

const claim = (spec: string, name = 'data'): string =>
  `volumeClaimTemplates: [{metadata: {name: ${name}}, spec: {${spec}}}]`;
const GOOD_CLAIM = claim('accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}');
const MOUNT = 'volumeMounts: [{name: data, mountPath: /data}]';
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
  "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const MISMATCH = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
const FORBIDDEN =
  "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', " +
  "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', " +
  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

describe('stateful sets', () => {
  test.each<[what: string, parts: Parts]>([
    ['with everything left out', {}],
    ['of a service', { spec: 'serviceName: web' }],
    ['all at a time', { spec: 'podManagementPolicy: Parallel' }],
    ['updated by hand', { spec: 'updateStrategy: {type: OnDelete}' }],
    ['updated in part', { spec: 'updateStrategy: {rollingUpdate: {partition: 2}}' }],
    [
      'that say what their pods are called, which is not listened to',
      { pod: 'hostname: a/b, subdomain: A_b' },
    ],
    [
      'updated several at a time',
      { spec: 'updateStrategy: {rollingUpdate: {maxUnavailable: 33%}}' },
    ],
    ['counted from 5', { spec: 'ordinals: {start: 5}' }],
    [
      'that take their claims with them',
      { spec: 'persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}' },
    ],
    ['with a claim that is mounted', { spec: GOOD_CLAIM, container: MOUNT }],
    [
      'with a claim in the place of a volume',
      { spec: GOOD_CLAIM, container: MOUNT, pod: 'volumes: [{name: data, emptyDir: {}}]' },
    ],
    ['that keep all revisions', { spec: 'revisionHistoryLimit: -1' }],
  ])('good: %s', (_, parts) => {
    expect(messages(validation.validateStatefulSet(statefulSet(parts)))).toEqual([]);
  });

  test.each<[what: string, parts: Parts, errors: string[]]>([
    ['no selector', { selector: 'null' }, ['spec.selector: Required value', MISMATCH('{"a":"b"}')]],
    [
      'an empty selector',
      { selector: '{}' },
      ['spec.selector: Invalid value: {}: empty selector is invalid for statefulset'],
    ],
    ['other labels', { labels: '{a: c}' }, [MISMATCH('{"a":"c"}')]],
    [
      'a selector that is none',
      { selector: '{matchLabels: {a: "?"}}' },
      [
        'spec.selector.matchLabels: Invalid value: "?": a valid label must be an empty ' +
          "string or consist of alphanumeric characters, '-', '_' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'MyValue', " +
          " or 'my_value',  or '12345', regex used for validation is " +
          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        'spec.selector: Invalid value: {"matchLabels":{"a":"?"}}',
      ],
    ],
    [
      'a policy that there is not',
      { spec: 'podManagementPolicy: Random' },
      ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      'a strategy that there is not',
      { spec: 'updateStrategy: {type: Recreate}' },
      [
        'spec.updateStrategy: Invalid value: {"type":"Recreate"}: must be \'RollingUpdate\' or \'OnDelete\'',
      ],
    ],
    [
      'parameters of another strategy',
      { spec: 'updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}' },
      [
        'spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed ' +
          "for updateStrategy 'RollingUpdate'",
      ],
    ],
    [
      'a negative partition',
      { spec: 'updateStrategy: {rollingUpdate: {partition: -1}}' },
      [
        'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [
      'none unavailable',
      { spec: 'updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}' },
      ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0'],
    ],
    [
      'more unavailable than there are',
      { spec: 'updateStrategy: {rollingUpdate: {maxUnavailable: 101%}}' },
      [
        'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
      ],
    ],
    [
      'fewer unavailable than none',
      { spec: 'updateStrategy: {rollingUpdate: {maxUnavailable: -1}}' },
      [
        'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [
      'a fate of claims that there is not',
      { spec: 'persistentVolumeClaimRetentionPolicy: {whenDeleted: Keep, whenScaled: Lose}' },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": ' +
          'supported values: "Retain", "Delete"',
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Lose": ' +
          'supported values: "Retain", "Delete"',
      ],
    ],
    [
      'negative replicas',
      { spec: 'replicas: -1' },
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'ready before they are',
      { spec: 'minReadySeconds: -1' },
      ['spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'counted from below 0',
      { spec: 'ordinals: {start: -2}' },
      ['spec.ordinals.start: Invalid value: -2: must be greater than or equal to 0'],
    ],
    [
      'a service with a bad name',
      { spec: 'serviceName: My_Service' },
      [`spec.serviceName: Invalid value: "My_Service": ${LABEL}`],
    ],
    [
      'a claim of nothing',
      { spec: claim('accessModes: [ReadWriteOnce]') },
      ['spec.volumeClaimTemplates[0].spec.resources[storage]: Required value'],
    ],
    [
      'a claim without access modes',
      { spec: claim('resources: {requests: {storage: 1Gi}}') },
      [
        'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
      ],
    ],
    [
      'a claim without a name',
      { spec: GOOD_CLAIM.replace('name: data', '') },
      [
        'spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value',
        'spec.template.spec.volumes[0].name: Required value',
      ],
    ],
    [
      'a mount of nothing',
      { container: MOUNT },
      ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
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
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported',
      ],
    ],
  ])('bad: %s', (_, parts, errors) => {
    expect(messages(validation.validateStatefulSet(statefulSet(parts)))).toEqual(errors);
  });

  test.each<[what: string, parts: Parts, old: Parts, errors: string[]]>([
    ['nothing', {}, {}, []],
    ['replicas', { spec: 'replicas: 3' }, {}, []],
    ['where it is counted from', { spec: 'ordinals: {start: 3}' }, {}, []],
    ['the template', { pod: 'hostNetwork: true' }, {}, []],
    ['the strategy', { spec: 'updateStrategy: {type: OnDelete}' }, {}, []],
    ['the history', { spec: 'revisionHistoryLimit: 3' }, {}, []],
    [
      'the fate of claims',
      { spec: 'persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}' },
      {},
      [],
    ],
    ['when pods are ready', { spec: 'minReadySeconds: 3' }, {}, []],
    ['the service', { spec: 'serviceName: other' }, { spec: 'serviceName: web' }, [FORBIDDEN]],
    ['the policy', { spec: 'podManagementPolicy: Parallel' }, {}, [FORBIDDEN]],
    [
      'the selector',
      { selector: '{matchExpressions: [{key: a, operator: Exists}]}' },
      {},
      [FORBIDDEN],
    ],
    ['the claims', { spec: GOOD_CLAIM }, {}, [FORBIDDEN]],
    [
      'a bad thing',
      { spec: 'replicas: -1' },
      {},
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'something beside a service name from before',
      { spec: 'serviceName: A_B\nreplicas: 3' },
      { spec: 'serviceName: A_B' },
      [],
    ],
    [
      'something beside a claim from before',
      { spec: `${claim('')}\nreplicas: 3` },
      { spec: claim('') },
      [],
    ],
    [
      'something beside a template from before',
      { container: MOUNT, spec: 'replicas: 3' },
      { container: MOUNT },
      [],
    ],
    [
      'a good template into a bad one',
      { container: MOUNT },
      {},
      ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
    ],
  ])('an update of %s', (_, parts, old, errors) => {
    expect(
      messages(validation.validateStatefulSetUpdate(statefulSet(parts), statefulSet(old))),
    ).toEqual(errors);
  });

  const TOO_MANY = 'cannot be greater than status.replicas';
  test.each<[status: string, old: string, errors: string[]]>([
    [
      'replicas: 3, readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, availableReplicas: 3',
      '',
      [],
    ],
    ...[
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      'collisionCount',
    ].map((name): [string, string, string[]] => [
      `replicas: 3, ${name}: -1`,
      '',
      [`status.${name}: Invalid value: -1: must be greater than or equal to 0`],
    ]),
    ['replicas: 3, readyReplicas: 4', '', [`status.readyReplicas: Invalid value: 4: ${TOO_MANY}`]],
    [
      'replicas: 3, currentReplicas: 4',
      '',
      [`status.currentReplicas: Invalid value: 4: ${TOO_MANY}`],
    ],
    [
      'replicas: 3, updatedReplicas: 4',
      '',
      [`status.updatedReplicas: Invalid value: 4: ${TOO_MANY}`],
    ],
    [
      'replicas: 3, readyReplicas: 3, availableReplicas: 4',
      '',
      [
        `status.availableReplicas: Invalid value: 4: ${TOO_MANY}`,
        'status.availableReplicas: Invalid value: 4: cannot be greater than status.readyReplicas',
      ],
    ],
    [
      'replicas: 3, readyReplicas: 1, availableReplicas: 2',
      '',
      ['status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas'],
    ],
    [
      'collisionCount: 1',
      'collisionCount: 2',
      ['status.collisionCount: Invalid value: 1: cannot be decremented'],
    ],
    ['', 'collisionCount: 2', ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ])('status {%s} after {%s}', (status, old, errors) => {
    const update = validation.validateStatefulSetStatusUpdate(
      statefulSet({ status }),
      statefulSet({ status: old }),
    );
    expect(messages(update)).toEqual(errors);
  });
});

describe('controller revisions', () => {
  const revision = (yaml: string): ControllerRevision =>
    decodeManifest('apps/v1.ControllerRevision', yaml);

  test.each<[yaml: string, errors: string[]]>([
    ['{revision: 1, data: {spec: {}}}', []],
    ['{revision: 0, data: {}}', []],
    ['{revision: 1}', ['data: Required value: data is mandatory']],
    [
      '{revision: 1, data: [1]}',
      ['data: Invalid value: "<value omitted>": data must be a valid JSON object'],
    ],
    [
      '{revision: -1, data: {}}',
      ['revision: Invalid value: -1: must be greater than or equal to 0'],
    ],
  ])('%s', (yaml, errors) => {
    expect(messages(validation.validateControllerRevision(revision(yaml)))).toEqual(errors);
  });

  test.each<[after: string, before: string, errors: string[]]>([
    ['{revision: 2, data: {a: 1}}', '{revision: 1, data: {a: 1}}', []],
    [
      '{revision: 1, data: {a: 2}}',
      '{revision: 1, data: {a: 1}}',
      ['data: Invalid value: {"a":2}: field is immutable'],
    ],
    [
      '{revision: 1}',
      '{revision: 1, data: {a: 1}}',
      ['data: Invalid value: null: field is immutable'],
    ],
    [
      '{revision: -1, data: {}}',
      '{revision: 1, data: {}}',
      ['revision: Invalid value: -1: must be greater than or equal to 0'],
    ],
  ])('%s after %s', (after, before, errors) => {
    expect(
      messages(validation.validateControllerRevisionUpdate(revision(after), revision(before))),
    ).toEqual(errors);
  });
});
