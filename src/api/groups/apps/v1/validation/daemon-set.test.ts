// Errors of daemon sets, with upstream's messages. Each case is a change to a valid object.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { DaemonSet } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

interface Parts {
  readonly selector?: string;
  readonly labels?: string;
  readonly pod?: string;
  readonly spec?: string;
  readonly status?: string;
}

function daemonSet(parts: Parts = {}): DaemonSet {
  const {
    selector = '{matchLabels: {a: b}}',
    labels = '{a: b}',
    pod = '',
    spec = '',
    status = '',
  } = parts;
  return manifest(
    'apps/v1.DaemonSet',
    `
metadata: {name: d, namespace: default}
spec:
  selector: ${selector}
  template: {metadata: {labels: ${labels}}, spec: {containers: [{name: c, image: i}], ${pod}}}
${spec.replace(/^/gm, '  ')}
status: {${status}}
`,
  );
}

const rolling = (parameters: string): Parts => ({
  spec: `updateStrategy: {rollingUpdate: {${parameters}}}`,
});
const MISMATCH = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
const AT = 'spec.updateStrategy.rollingUpdate';

describe('daemon sets', () => {
  test.each<[what: string, parts: Parts]>([
    ['with everything left out', {}],
    ['updated by hand', { spec: 'updateStrategy: {type: OnDelete}' }],
    ['that surge', rolling('maxUnavailable: 0, maxSurge: 1')],
    ['that surge by a share', rolling('maxUnavailable: 0%, maxSurge: 100%')],
    ['all at a time', rolling('maxUnavailable: 100%')],
    [
      'selected by a set',
      { selector: '{matchExpressions: [{key: a, operator: In, values: [b, c]}]}' },
    ],
    ['without history', { spec: 'revisionHistoryLimit: 0' }],
  ])('good: %s', (_, parts) => {
    expect(messages(validation.validateDaemonSet(daemonSet(parts)))).toEqual([]);
  });

  test.each<[what: string, parts: Parts, errors: string[]]>([
    ['no selector', { selector: 'null' }, [MISMATCH('{"a":"b"}')]],
    [
      'an empty selector',
      { selector: '{}' },
      ['spec.selector: Invalid value: {}: empty selector is invalid for daemonset'],
    ],
    ['other labels', { labels: '{x: z}' }, [MISMATCH('{"x":"z"}')]],
    [
      'a selector without values',
      { selector: '{matchExpressions: [{key: a, operator: In}]}' },
      [
        'spec.selector.matchExpressions[0].values: Required value: must be specified when ' +
          "`operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      'pods that end',
      { pod: 'restartPolicy: Never' },
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'pods with a deadline',
      { pod: 'activeDeadlineSeconds: 5' },
      [
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported',
      ],
    ],
    [
      'a bad pod',
      { pod: 'serviceAccountName: "-"' },
      [
        'spec.template.spec.serviceAccountName: Invalid value: "-": a lowercase RFC 1123 ' +
          "subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'example.com', " +
          'regex used for validation is ' +
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      'ready before it is',
      { spec: 'minReadySeconds: -1' },
      ['spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'less than no history',
      { spec: 'revisionHistoryLimit: -1' },
      ['spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'a strategy that there is not',
      { spec: 'updateStrategy: {type: Recreate}' },
      [
        'spec.updateStrategy: Unsupported value: {"type":"Recreate"}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
    [
      'neither before nor after',
      rolling('maxUnavailable: 0, maxSurge: 0'),
      [`${AT}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`],
    ],
    [
      'neither, as shares',
      rolling('maxUnavailable: 0%, maxSurge: 0%'),
      [`${AT}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`],
    ],
    [
      'both before and after',
      rolling('maxUnavailable: 1, maxSurge: 1'),
      [`${AT}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`],
    ],
    [
      'more than all',
      rolling('maxUnavailable: 101%'),
      [`${AT}.maxUnavailable: Invalid value: "101%": must not be greater than 100%`],
    ],
    [
      'more than all again',
      rolling('maxUnavailable: 0, maxSurge: 200%'),
      [`${AT}.maxSurge: Invalid value: "200%": must not be greater than 100%`],
    ],
    [
      'less than none',
      rolling('maxUnavailable: -1'),
      [`${AT}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`],
    ],
  ])('bad: %s', (_, parts, errors) => {
    expect(messages(validation.validateDaemonSet(daemonSet(parts)))).toEqual(errors);
  });

  test('the selector is immutable, other fields can change', () => {
    const changed = daemonSet({
      spec: 'minReadySeconds: 3\nupdateStrategy: {type: OnDelete}',
      pod: 'hostNetwork: true',
    });
    expect(messages(validation.validateDaemonSetUpdate(changed, daemonSet()))).toEqual([]);
    const other = daemonSet({ selector: '{matchExpressions: [{key: a, operator: Exists}]}' });
    expect(messages(validation.validateDaemonSetUpdate(other, daemonSet()))).toEqual([
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: field is immutable',
    ]);
  });

  test.each<[status: string, old: string, errors: string[]]>([
    ['', '', []],
    [
      'currentNumberScheduled: 1, numberMisscheduled: 1, desiredNumberScheduled: 3, numberReady: 1',
      '',
      [],
    ],
    ...[
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ].map((name): [string, string, string[]] => [
      `${name}: -1`,
      '',
      [`status.${name}: Invalid value: -1: must be greater than or equal to 0`],
    ]),
    ['collisionCount: 2', 'collisionCount: 2', []],
    [
      'collisionCount: 1',
      'collisionCount: 2',
      ['status.collisionCount: Invalid value: 1: cannot be decremented'],
    ],
    ['', 'collisionCount: 2', ['status.collisionCount: Invalid value: 0: cannot be decremented']],
  ])('status {%s} after {%s}', (status, old, errors) => {
    const update = validation.validateDaemonSetStatusUpdate(
      daemonSet({ status }),
      daemonSet({ status: old }),
    );
    expect(messages(update)).toEqual(errors);
  });
});
