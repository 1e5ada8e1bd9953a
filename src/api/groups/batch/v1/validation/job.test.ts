// Errors of jobs, with upstream's messages. Each case is a change to a valid object.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { Job } from './types.ts';

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);
/** Returns each message once: an update reports some twice. */
const once = (errors: FieldErrorList): string[] => [...new Set(messages(errors))];

const GENERATED =
  '{controller-uid: 1a2b, batch.kubernetes.io/controller-uid: 1a2b, job-name: j, batch.kubernetes.io/job-name: j}';

interface Parts {
  readonly name?: string;
  readonly selector?: string;
  readonly labels?: string;
  readonly annotations?: string;
  readonly container?: string;
  readonly restartPolicy?: string;
  readonly pod?: string;
  readonly spec?: string;
  readonly status?: string;
}

function job(parts: Parts = {}): Job {
  const {
    name = 'j',
    selector = '{matchLabels: {batch.kubernetes.io/controller-uid: 1a2b}}',
    labels = GENERATED.replaceAll(': j', `: ${name}`),
    annotations = '{}',
    container = '',
    restartPolicy = 'Never',
    pod = '',
    spec = '',
    status = '',
  } = parts;
  return manifest(
    'batch/v1.Job',
    `
metadata: {name: "${name}", namespace: default, uid: 1a2b}
spec:
  selector: ${selector}
  template:
    metadata: {labels: ${labels}, annotations: ${annotations}}
    spec: {restartPolicy: ${restartPolicy}, containers: [{name: c, image: i, ${container}}], ${pod}}
${spec.replace(/^/gm, '  ')}
status: {${status}}
`,
  );
}

const indexed = (spec = ''): string => `completionMode: Indexed\ncompletions: 5\n${spec}`;
const NEGATIVE = 'must be greater than or equal to 0';
const LABELS = 'spec.template.metadata.labels';
const rule = (text: string): string => `podFailurePolicy: {rules: [{${text}}]}`;
const exitCodes = (text: string): string => rule(`action: FailJob, onExitCodes: {${text}}`);
const success = (text: string): string => indexed(`successPolicy: {rules: [{${text}}]}`);
const RULE = 'spec.podFailurePolicy.rules[0]';
const SUCCESS = 'spec.successPolicy.rules[0]';

describe('jobs', () => {
  test.each<[what: string, parts: Parts]>([
    ['with everything left out', {}],
    ['restarted in place', { restartPolicy: 'OnFailure' }],
    [
      'with a selector by hand',
      { spec: 'manualSelector: true', selector: '{matchLabels: {a: b}}', labels: '{a: b}' },
    ],
    ['indexed', { spec: indexed('parallelism: 5') }],
    ['with a limit per index', { spec: indexed('backoffLimitPerIndex: 1\nmaxFailedIndexes: 5') }],
    ['that lets exit codes fail it', { spec: exitCodes('operator: In, values: [1, 3]') }],
    [
      'that looks at a container',
      { spec: exitCodes('containerName: c, operator: NotIn, values: [0, 3]') },
    ],
    [
      'that ignores disruptions',
      { spec: rule('action: Ignore, onPodConditions: [{type: DisruptionTarget}]') },
    ],
    [
      'that lets an index fail',
      {
        spec: indexed(
          `backoffLimitPerIndex: 1\n${rule('action: FailIndex, onExitCodes: {operator: In, values: [1]}')}`,
        ),
      },
    ],
    ['that succeeds early', { spec: success('succeededCount: 1, succeededIndexes: "0,2-4"') }],
    ['managed elsewhere', { spec: 'managedBy: example.com/queue' }],
    ['that goes by itself', { spec: 'ttlSecondsAfterFinished: 0' }],
    ['with a long name, if no index follows', { name: 'j'.repeat(63) }],
  ])('good: %s', (_, parts) => {
    expect(messages(validation.validateJob(job(parts)))).toEqual([]);
  });

  test.each<[what: string, parts: Parts, errors: string[]]>([
    [
      'labels that are not its own',
      {
        labels:
          '{controller-uid: x, batch.kubernetes.io/controller-uid: 1a2b, job-name: j, batch.kubernetes.io/job-name: j}',
      },
      [
        `${LABELS}[controller-uid]: Invalid value: ` +
          '{"batch.kubernetes.io/controller-uid":"1a2b","batch.kubernetes.io/job-name":"j",' +
          `"controller-uid":"x","job-name":"j"}: must be '1a2b'`,
      ],
    ],
    [
      'no labels',
      { labels: '{}' },
      [
        `${LABELS}[controller-uid]: Required value: must be '1a2b'`,
        `${LABELS}[job-name]: Required value: must be 'j'`,
        `${LABELS}[batch.kubernetes.io/controller-uid]: Required value: must be '1a2b'`,
        `${LABELS}[batch.kubernetes.io/job-name]: Required value: must be 'j'`,
        `${LABELS}: Invalid value: {}: \`selector\` does not match template \`labels\``,
      ],
    ],
    [
      'a selector that was not asked for',
      { selector: '{matchLabels: {a: b}}' },
      [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not auto-generated',
        `${LABELS}: Invalid value: ` +
          '{"batch.kubernetes.io/controller-uid":"1a2b","batch.kubernetes.io/job-name":"j",' +
          '"controller-uid":"1a2b","job-name":"j"}: `selector` does not match template ' +
          '`labels`',
      ],
    ],
    [
      'a selector by hand that finds nothing',
      { spec: 'manualSelector: true', selector: '{matchLabels: {a: b}}', labels: '{a: c}' },
      [`${LABELS}: Invalid value: {"a":"c"}: \`selector\` does not match template \`labels\``],
    ],
    [
      'no selector by hand',
      { spec: 'manualSelector: true', selector: 'null', labels: '{a: c}' },
      [
        'spec.selector: Required value',
        `${LABELS}: Invalid value: {"a":"c"}: \`selector\` does not match template \`labels\``,
      ],
    ],
    ...[
      'parallelism',
      'completions',
      'activeDeadlineSeconds',
      'backoffLimit',
      'ttlSecondsAfterFinished',
    ].map((name): [string, Parts, string[]] => [
      `negative: ${name}`,
      { spec: `${name}: -1` },
      [`spec.${name}: Invalid value: -1: ${NEGATIVE}`],
    ]),
    [
      'a negative limit per index',
      { spec: indexed('backoffLimitPerIndex: -1') },
      [`spec.backoffLimitPerIndex: Invalid value: -1: ${NEGATIVE}`],
    ],
    [
      'fewer failed indexes than none',
      { spec: indexed('backoffLimitPerIndex: 1\nmaxFailedIndexes: -1') },
      [`spec.maxFailedIndexes: Invalid value: -1: ${NEGATIVE}`],
    ],
    [
      'pods that run for ever',
      { restartPolicy: 'Always' },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'pods that run whenever',
      { restartPolicy: 'Sometimes' },
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported ' +
          'values: "Always", "OnFailure", "Never"',
        'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "OnFailure", "Never"',
      ],
    ],
    [
      'a mode that there is not',
      { spec: 'completionMode: Random' },
      [
        'spec.completionMode: Unsupported value: "Random": supported values: "NonIndexed", "Indexed"',
      ],
    ],
    [
      'indexed without an end',
      { spec: 'completionMode: Indexed\nparallelism: 2' },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      'too many at a time',
      { spec: 'completionMode: Indexed\ncompletions: 100000\nparallelism: 100001' },
      [
        'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
      ],
    ],
    [
      'limits of indexes without indexes',
      { spec: 'backoffLimitPerIndex: 1\nmaxFailedIndexes: 1' },
      [
        'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
        'spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode',
      ],
    ],
    [
      'failed indexes that are not counted',
      { spec: indexed('maxFailedIndexes: 1') },
      ['spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified'],
    ],
    [
      'more failed indexes than there are',
      { spec: indexed('backoffLimitPerIndex: 1\nmaxFailedIndexes: 6') },
      ['spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions'],
    ],
    [
      'more failed indexes than can be kept',
      {
        spec: 'completionMode: Indexed\ncompletions: 100000\nbackoffLimitPerIndex: 1\nmaxFailedIndexes: 100001',
      },
      [
        'spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to completions',
        'spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000',
      ],
    ],
    [
      'many indexes without a limit of failed ones',
      {
        spec: 'completionMode: Indexed\ncompletions: 100001\nparallelism: 10001\nbackoffLimitPerIndex: 1',
      },
      [
        'spec.maxFailedIndexes: Required value: must be specified when completions is above 100000',
        'spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when ' +
          'completions are above 100000 and used with backoff limit per index',
      ],
    ],
    [
      'many indexes with too high a limit',
      {
        spec: 'completionMode: Indexed\ncompletions: 100001\nbackoffLimitPerIndex: 1\nmaxFailedIndexes: 10001',
      },
      [
        'spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 ' +
          'when completions are above 100000 and used with backoff limit per index',
      ],
    ],
    [
      'a name that leaves no room for the index',
      { name: 'j'.repeat(62), spec: indexed() },
      [
        `metadata.name: Invalid value: "${'j'.repeat(62)}": will not able to create pod ` +
          `with invalid DNS label: ${'j'.repeat(62)}-4`,
      ],
    ],
    ['an empty managedBy', { spec: 'managedBy: ""' }, ['spec.managedBy: Required value']],
    [
      'managedBy without a domain',
      { spec: 'managedBy: queue' },
      [
        'spec.managedBy: Invalid value: "queue": must be a domain-prefixed path (such as "acme.io/foo")',
      ],
    ],
    [
      'managed by a long name',
      { spec: `managedBy: example.com/${'x'.repeat(60)}` },
      ['spec.managedBy: Too long: may not be more than 63 bytes'],
    ],
    [
      'a replacement policy that there is not',
      { spec: 'podReplacementPolicy: Never' },
      [
        'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", "TerminatingOrFailed"',
      ],
    ],
  ])('bad: %s', (_, parts, errors) => {
    expect(messages(validation.validateJob(job(parts)))).toEqual(errors);
  });

  test.each<[what: string, spec: string, errors: string[]]>([
    [
      'no action',
      rule('action: "", onExitCodes: {operator: In, values: [1]}'),
      [`${RULE}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`],
    ],
    [
      'an action that there is not',
      rule('action: Retry, onExitCodes: {operator: In, values: [1]}'),
      [
        `${RULE}.action: Unsupported value: "Retry": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
      ],
    ],
    [
      'an index that fails without a limit',
      rule('action: FailIndex, onExitCodes: {operator: In, values: [1]}'),
      [`${RULE}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`],
    ],
    [
      'no operator',
      exitCodes('operator: "", values: [1]'),
      [`${RULE}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`],
    ],
    [
      'an operator that there is not',
      exitCodes('operator: Exists, values: [1]'),
      [
        `${RULE}.onExitCodes.operator: Unsupported value: "Exists": supported values: "In", "NotIn"`,
      ],
    ],
    [
      'a container that there is not',
      exitCodes('containerName: x, operator: In, values: [1]'),
      [
        `${RULE}.onExitCodes.containerName: Invalid value: "x": must be one of the ` +
          'container or initContainer names in the pod template',
      ],
    ],
    [
      'no codes',
      exitCodes('operator: In, values: []'),
      [`${RULE}.onExitCodes.values: Invalid value: []: at least one value is required`],
    ],
    [
      'too many codes',
      exitCodes(
        `operator: In, values: [${Array.from({ length: 256 }, (_, index) => index + 1).join(', ')}]`,
      ),
      [`${RULE}.onExitCodes.values: Too many: 256: must have at most 255 items`],
    ],
    [
      'success as a failure',
      exitCodes('operator: In, values: [0, 1]'),
      [`${RULE}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator`],
    ],
    [
      'one code twice',
      exitCodes('operator: In, values: [1, 1]'),
      [`${RULE}.onExitCodes.values[1]: Duplicate value: 1`],
    ],
    [
      'codes out of order',
      exitCodes('operator: In, values: [3, 1]'),
      [`${RULE}.onExitCodes.values: Invalid value: [3,1]: must be ordered`],
    ],
    [
      'a condition without a type',
      rule('action: Ignore, onPodConditions: [{type: "", status: Maybe}]'),
      [
        `${RULE}.onPodConditions[0].type: Invalid value: "": name part must be non-empty`,
        `${RULE}.onPodConditions[0].type: Invalid value: "": name part must consist of ` +
          "alphanumeric characters, '-', '_' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'MyName', " +
          " or 'my.name',  or '123-abc', regex used for validation is " +
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        `${RULE}.onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`,
      ],
    ],
    [
      'too many conditions',
      rule(`action: Ignore, onPodConditions: [${'{type: X}, '.repeat(21)}]`),
      [`${RULE}.onPodConditions: Too many: 21: must have at most 20 items`],
    ],
    [
      'codes and conditions',
      rule(
        'action: Ignore, onExitCodes: {operator: In, values: [1]}, onPodConditions: [{type: X}]',
      ),
      [`${RULE}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported`],
    ],
    [
      'neither codes nor conditions',
      rule('action: Ignore'),
      [`${RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`],
    ],
    [
      'too many rules',
      `podFailurePolicy: {rules: [${'{action: Count, onPodConditions: [{type: X}]}, '.repeat(21)}]}`,
      ['spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items'],
    ],
    [
      'pods replaced before they have failed',
      `${rule('action: Count, onPodConditions: [{type: X}]')}\npodReplacementPolicy: TerminatingOrFailed`,
      [
        'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"',
      ],
    ],
  ])('bad failure policy: %s', (_, spec, errors) => {
    expect(messages(validation.validateJob(job({ spec })))).toEqual(errors);
  });

  test('a failure policy needs pods that fail', () => {
    const spec = rule('action: Count, onPodConditions: [{type: X}]');
    expect(messages(validation.validateJob(job({ spec, restartPolicy: 'OnFailure' })))).toEqual([
      'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is ' +
        'supported when podFailurePolicy is specified',
    ]);
  });

  test.each<[what: string, spec: string, errors: string[]]>([
    [
      'without indexes',
      'successPolicy: {rules: [{succeededCount: 1}]}',
      [
        'spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode',
      ],
    ],
    [
      'without rules',
      indexed('successPolicy: {rules: []}'),
      [
        'spec.successPolicy.rules: Required value: at least one rules must be specified ' +
          'when the successPolicy is specified',
      ],
    ],
    [
      'with too many rules',
      indexed(`successPolicy: {rules: [${'{succeededCount: 1}, '.repeat(21)}]}`),
      ['spec.successPolicy.rules: Too many: 21: must have at most 20 items'],
    ],
    [
      'an empty rule',
      success(''),
      [
        `${SUCCESS}: Required value: at least one of succeededCount or succeededIndexes must be specified`,
      ],
    ],
    [
      'indexes that are none',
      success('succeededIndexes: "3,1"'),
      [
        `${SUCCESS}.succeededIndexes: Invalid value: "3,1": error parsing ` +
          'succeededIndexes: non-increasing order, previous: 3, current: 1',
      ],
    ],
    [
      'indexes that there are not',
      success('succeededIndexes: "1-7"'),
      [
        `${SUCCESS}.succeededIndexes: Invalid value: "1-7": error parsing succeededIndexes: too large index: "7"`,
      ],
    ],
    [
      'a negative count',
      success('succeededCount: -1'),
      [`${SUCCESS}.succeededCount: Invalid value: -1: ${NEGATIVE}`],
    ],
    [
      'more than all',
      success('succeededCount: 6'),
      [
        `${SUCCESS}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the ` +
          'number of specified completions)',
      ],
    ],
    [
      'more than its indexes',
      success('succeededCount: 3, succeededIndexes: "1,3"'),
      [
        `${SUCCESS}.succeededCount: Invalid value: 3: must be less than or equal to 2 (the ` +
          'number of indexes in the specified succeededIndexes field)',
      ],
    ],
    [
      'without an end',
      'completionMode: Indexed\nparallelism: 1\nsuccessPolicy: {rules: [{succeededCount: 1, succeededIndexes: "1"}]}',
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
  ])('bad success policy: %s', (_, spec, errors) => {
    expect(messages(validation.validateJob(job({ spec })))).toEqual(errors);
  });
});

describe('an update', () => {
  const immutable = (name: string, value: string): string =>
    `spec.${name}: Invalid value: ${value}: field is immutable`;

  test.each<[what: string, parts: Parts, old: Parts, errors: string[]]>([
    ['nothing', {}, {}, []],
    [
      'how many at a time',
      { spec: 'completions: 3\nparallelism: 2' },
      { spec: 'completions: 3' },
      [],
    ],
    ['suspension', { spec: 'suspend: true' }, {}, []],
    [
      'limits',
      { spec: 'backoffLimit: 3\nactiveDeadlineSeconds: 9\nttlSecondsAfterFinished: 7' },
      {},
      [],
    ],
    [
      'the end',
      { spec: 'completions: 3' },
      { spec: 'completions: 2' },
      [immutable('completions', '3')],
    ],
    [
      'the end of an indexed job, and its parallelism',
      { spec: 'completionMode: Indexed\ncompletions: 3\nparallelism: 3' },
      { spec: 'completionMode: Indexed\ncompletions: 2\nparallelism: 2' },
      [],
    ],
    [
      'the end of an indexed job alone',
      { spec: 'completionMode: Indexed\ncompletions: 3\nparallelism: 2' },
      { spec: 'completionMode: Indexed\ncompletions: 2\nparallelism: 2' },
      ['spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism'],
    ],
    [
      'the end of an indexed job, to none',
      { spec: 'completionMode: Indexed\nparallelism: 2' },
      { spec: 'completionMode: Indexed\ncompletions: 2\nparallelism: 2' },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      'the selector',
      { spec: 'manualSelector: true', selector: '{matchLabels: {a: b}}', labels: '{a: b, c: d}' },
      { spec: 'manualSelector: true', selector: '{matchLabels: {c: d}}', labels: '{a: b, c: d}' },
      [immutable('selector', '{"matchLabels":{"a":"b"}}')],
    ],
    [
      'the mode',
      { spec: 'completionMode: Indexed\ncompletions: 1' },
      {},
      [immutable('completionMode', '"Indexed"')],
    ],
    [
      'the failure policy',
      { spec: rule('action: Count, onPodConditions: [{type: X}]') },
      { spec: 'podReplacementPolicy: Failed' },
      [
        immutable(
          'podFailurePolicy',
          '{"rules":[{"action":"Count","onPodConditions":[{"type":"X","status":"True"}]}]}',
        ),
      ],
    ],
    [
      'the limit per index',
      { spec: indexed('backoffLimitPerIndex: 2') },
      { spec: indexed('backoffLimitPerIndex: 1') },
      [immutable('backoffLimitPerIndex', '2')],
    ],
    [
      'how many may fail',
      { spec: indexed('backoffLimitPerIndex: 1\nmaxFailedIndexes: 2') },
      { spec: indexed('backoffLimitPerIndex: 1') },
      [],
    ],
    [
      'who manages it',
      { spec: 'managedBy: example.com/a' },
      {},
      [immutable('managedBy', '"example.com/a"')],
    ],
    [
      'the success policy',
      { spec: success('succeededCount: 2') },
      { spec: success('succeededCount: 1') },
      [immutable('successPolicy', '{"rules":[{"succeededCount":2}]}')],
    ],
  ])('of %s', (_, parts, old, errors) => {
    expect(once(validation.validateJobUpdate(job(parts), job(old)))).toEqual(errors);
  });

  test('reports errors of the spec for its content and for the change', () => {
    expect(
      messages(validation.validateJobUpdate(job({ spec: 'backoffLimit: -1' }), job())),
    ).toEqual([
      `spec.backoffLimit: Invalid value: -1: ${NEGATIVE}`,
      `spec.backoffLimit: Invalid value: -1: ${NEGATIVE}`,
    ]);
  });

  test('does not require prefixed labels of an old job', () => {
    const parts = {
      selector: '{matchLabels: {controller-uid: 1a2b}}',
      labels: '{controller-uid: 1a2b, job-name: j}',
    };
    const half = '{controller-uid: 1a2b, job-name: j, batch.kubernetes.io/job-name: j}';
    expect(messages(validation.validateJobUpdate(job(parts), job(parts)))).toEqual([]);
    expect(
      messages(
        validation.validateJobUpdate(
          job({ ...parts, labels: half }),
          job({ ...parts, labels: half }),
        ),
      ),
    ).toEqual([]);
    expect(messages(validation.validateJob(job(parts)))).toEqual([
      `${LABELS}[batch.kubernetes.io/controller-uid]: Required value: must be '1a2b'`,
      `${LABELS}[batch.kubernetes.io/job-name]: Required value: must be 'j'`,
    ]);
  });

  const LABELS_AND_MORE = GENERATED.replace('}', ', more: labels}');
  const affinity = (more = ''): string =>
    'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ' +
    `{nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}${more}}`;
  const apart =
    ', podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: k, labelSelector: {}}]}';
  const directives: readonly (readonly [what: string, parts: Parts])[] = [
    ['labels', { labels: LABELS_AND_MORE }],
    ['annotations', { annotations: '{more: notes}' }],
    ['node selector', { pod: 'nodeSelector: {k: v}' }],
    ['tolerations', { pod: 'tolerations: [{operator: Exists}]' }],
    ['scheduling gates', { pod: 'schedulingGates: [{name: example.com/g}]' }],
    ['node affinity', { pod: affinity() }],
  ];
  const suspended: Parts = { spec: 'suspend: true' };
  const started = 'startTime: "2026-01-01T00:00:00Z"';
  const resting = `conditions: [{type: Suspended, status: "True"}]`;
  const errorsOf = (parts: Parts, old: Parts): string[] =>
    once(
      validation.validateJobUpdate(job({ ...suspended, ...parts }), job({ ...suspended, ...old })),
    ).map((message) => message.replace(/Invalid value: .*: field/, 'field'));

  test.each(directives)('scheduling fields: %s', (_, parts) => {
    expect(once(validation.validateJobUpdate(job(parts), job())).join()).toContain(
      'spec.template: Invalid value: ',
    );
    expect(errorsOf(parts, {})).toEqual([]);
    // Reverts the change.
    expect(errorsOf({}, parts)).toEqual([]);
    expect(errorsOf(parts, { status: started })).toEqual(['spec.template: field is immutable']);
    expect(errorsOf(parts, { status: `${started}, ${resting}` })).toEqual([]);
    expect(errorsOf(parts, { status: `${started}, ${resting}, active: 1` })).toEqual([
      'spec.template: field is immutable',
    ]);
  });

  test('pod affinity and anti-affinity are immutable', () => {
    expect(errorsOf({ pod: affinity(apart) }, {})).toEqual([
      'spec.template.spec: field is immutable',
    ]);
    expect(errorsOf({ pod: affinity(apart) }, { pod: affinity() })).toEqual([
      'spec.template.spec: field is immutable',
    ]);
    expect(errorsOf({}, { pod: affinity(apart) })).toEqual([
      'spec.template.spec: field is immutable',
    ]);
    expect(errorsOf({ pod: `affinity: {${apart.slice(2)}}` }, { pod: affinity(apart) })).toEqual(
      [],
    );
  });

  test('container resources can change while it is suspended', () => {
    const more: Parts = { container: 'resources: {requests: {cpu: 2}}' };
    expect(errorsOf(more, {})).toEqual([]);
    expect(errorsOf(more, { status: started })).toEqual(['spec.template: field is immutable']);
    expect(errorsOf(more, { status: `${started}, ${resting}` })).toEqual([]);
    expect(errorsOf({ ...more, pod: 'nodeSelector: {k: v}' }, { status: resting })).toEqual([]);
    expect(errorsOf({ container: 'command: [x]' }, { status: resting })).toEqual([
      'spec.template.spec: field is immutable',
    ]);
    expect(errorsOf({ pod: 'initContainers: [{name: d, image: i}]' }, { status: resting })).toEqual(
      ['spec.template.spec: field is immutable'],
    );
  });
});
