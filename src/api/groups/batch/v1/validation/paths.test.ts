// Further valid and invalid jobs, with the paths and types of the errors. The tests of each kind
// contain the messages.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import * as validation from './index.ts';
import type { CronJob, Job } from './types.ts';

const short = (errors: FieldErrorList): string[] => [
  ...new Set(errors.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`)),
];

/** Returns a job. `spec`: one field per line. */
function job(spec: string, pod = '', status = ''): Job {
  const labels = ['controller-uid: 1a2b', 'job-name: j']
    .flatMap((label) => [label, `batch.kubernetes.io/${label}`])
    .join(', ');
  const policy = pod.includes('restartPolicy') ? '' : 'restartPolicy: Never, ';
  const containers =
    'containers: [{name: abc, image: image}], initContainers: [{name: def, image: image}]';
  return manifest(
    'batch/v1.Job',
    `metadata: {name: j, namespace: default, uid: 1a2b}
spec:
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: 1a2b}}
  template: {metadata: {labels: {${labels}}}, spec: {${policy}${containers}, ${pod}}}
${spec.replace(/^/gm, '  ')}
status: {${status}}`,
  );
}

const indexed = (completions: number | undefined, ...more: string[]): string =>
  [
    'completionMode: Indexed',
    ...(completions === undefined ? [] : [`completions: ${completions}`]),
    ...more,
  ].join('\n');
const rules = (...list: string[]): string => `podFailurePolicy: {rules: [${list.join(', ')}]}`;
const success = (...list: string[]): string => `successPolicy: {rules: [${list.join(', ')}]}`;
const DISRUPTED = 'onPodConditions: [{type: DisruptionTarget}]';
const codes = (operator: string, values: string, more = ''): string =>
  `onExitCodes: {operator: ${operator}, values: [${values}]${more}}`;

describe('jobs', () => {
  test.each<[what: string, spec: string, pod?: string]>([
    ['one', ''],
    ['on the network of the host', '', 'hostNetwork: true'],
    ['that begin again', '', 'restartPolicy: OnFailure'],
    ['replaced when they have failed', 'podReplacementPolicy: Failed'],
    ['replaced at once', 'podReplacementPolicy: TerminatingOrFailed'],
    ['without indexes', 'completionMode: NonIndexed'],
    ['with indexes, many at a time', indexed(2, 'parallelism: 100000')],
    [
      'as many indexes as can fail in any number',
      indexed(
        100_000,
        'parallelism: 100000',
        'maxFailedIndexes: 100000',
        'backoffLimitPerIndex: 1',
      ),
    ],
    [
      'very many indexes',
      indexed(
        1_000_000_000,
        'parallelism: 10000',
        'maxFailedIndexes: 10000',
        'backoffLimitPerIndex: 1',
      ),
    ],
    ['managed by another controller', 'managedBy: example.com/foo'],
    [
      'that succeed early',
      indexed(
        10,
        success('{succeededCount: 1, succeededIndexes: "0,2,4"}', '{succeededIndexes: "1,3,5-9"}'),
      ),
    ],
    [
      'that fail early, or do not',
      rules(
        `{action: Ignore, ${DISRUPTED}}`,
        '{action: FailJob, onPodConditions: [{type: CustomConditionType, status: "False"}]}',
        `{action: Count, ${codes('In', '1, 2, 3', ', containerName: abc')}}`,
        `{action: Ignore, ${codes('In', '4', ', containerName: def')}}`,
        `{action: FailJob, ${codes('NotIn', '5, 6, 7')}}`,
      ),
    ],
    [
      'whose indexes fail early',
      indexed(2, 'backoffLimitPerIndex: 1', rules(`{action: FailIndex, ${codes('In', '10')}}`)),
    ],
  ])('good: %s', (_what, spec, pod) => {
    expect(short(validation.validateJob(job(spec, pod)))).toEqual([]);
  });

  const RULE = 'spec.podFailurePolicy.rules[0]';
  const SUCCESS = 'spec.successPolicy.rules[0]';
  test.each<[what: string, spec: string, ...errors: string[]]>([
    [
      'managedBy without a domain',
      'managedBy: invalid custom controller name',
      'spec.managedBy Invalid',
    ],
    ['a long managedBy', `managedBy: example.com/${'x'.repeat(60)}`, 'spec.managedBy TooLong'],
    ['early success without indexes', success(), 'spec.successPolicy Invalid'],
    ['early success, never', indexed(5, success()), 'spec.successPolicy.rules Required'],
    ['early success of nothing', indexed(5, success('{}')), `${SUCCESS} Required`],
    [
      'early success of what is no index',
      indexed(5, success('{succeededIndexes: invalid-format}')),
      `${SUCCESS}.succeededIndexes Invalid`,
    ],
    [
      'early success of too many',
      indexed(5, success(`{succeededIndexes: "${'1'.repeat(64 * 1024 + 1)}"}`)),
      `${SUCCESS}.succeededIndexes TooLong`,
      `${SUCCESS}.succeededIndexes Invalid`,
    ],
    [
      'early success of less than none',
      indexed(5, success('{succeededCount: -1}')),
      `${SUCCESS}.succeededCount Invalid`,
    ],
    [
      'early success of more than all',
      indexed(5, success('{succeededCount: 6}')),
      `${SUCCESS}.succeededCount Invalid`,
    ],
    [
      'early success of more than those',
      indexed(5, success('{succeededCount: 4, succeededIndexes: 0-2}')),
      `${SUCCESS}.succeededCount Invalid`,
    ],
    ['a rule of nothing', rules('{action: FailJob}'), `${RULE} Invalid`],
    [
      'a code twice',
      rules(`{action: FailJob, ${codes('In', '11, 11')}}`),
      `${RULE}.onExitCodes.values[1] Duplicate`,
    ],
    [
      'a code three times',
      rules(`{action: FailJob, ${codes('In', '12, 13, 13, 13')}}`),
      `${RULE}.onExitCodes.values[2] Duplicate`,
      `${RULE}.onExitCodes.values[3] Duplicate`,
    ],
    [
      'codes out of order',
      rules(`{action: FailJob, ${codes('In', '19, 11')}}`),
      `${RULE}.onExitCodes.values Invalid`,
    ],
    [
      'no codes',
      rules(`{action: FailJob, ${codes('In', '')}}`),
      `${RULE}.onExitCodes.values Invalid`,
    ],
    [
      'no operator',
      rules('{action: FailJob, onExitCodes: {values: [1]}}'),
      `${RULE}.onExitCodes.operator Required`,
    ],
    [
      'another operator',
      rules(`{action: Ignore, ${codes('UnknownOperator', '1')}}`),
      `${RULE}.onExitCodes.operator NotSupported`,
    ],
    ['no action', rules(`{${codes('In', '1')}}`), `${RULE}.action Required`],
    [
      'another action',
      rules(`{action: UnknownAction, ${codes('In', '1')}}`),
      `${RULE}.action NotSupported`,
    ],
    ['both', rules(`{action: FailJob, ${codes('In', '1')}, ${DISRUPTED}}`), `${RULE} Invalid`],
    [
      'no failure',
      rules(`{action: Ignore, ${codes('In', '1, 0, 2')}}`),
      `${RULE}.onExitCodes.values[1] Invalid`,
      `${RULE}.onExitCodes.values Invalid`,
    ],
    ['no failure, but not otherwise', rules(`{action: Ignore, ${codes('NotIn', '0, 1, 2')}}`)],
    [
      'another container',
      rules(
        `{action: Ignore, ${codes('In', '1', ', containerName: abc')}}`,
        `{action: FailJob, ${codes('In', '5', ', containerName: xyz')}}`,
      ),
      'spec.podFailurePolicy.rules[1].onExitCodes.containerName Invalid',
    ],
    [
      'another state',
      rules('{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: UnknownStatus}]}'),
      `${RULE}.onPodConditions[0].status NotSupported`,
    ],
    [
      'a state of nothing',
      rules('{action: Ignore, onPodConditions: [{status: "True"}]}'),
      `${RULE}.onPodConditions[0].type Invalid`,
    ],
    [
      'a state of three words',
      rules('{action: Ignore, onPodConditions: [{type: Invalid Condition Type}]}'),
      `${RULE}.onPodConditions[0].type Invalid`,
    ],
    [
      'replaced too early',
      `podReplacementPolicy: TerminatingOrFailed\n${rules(`{action: Ignore, ${DISRUPTED}}`)}`,
      'spec.podReplacementPolicy NotSupported',
    ],
    ['replaced, unsaid', 'podReplacementPolicy: ""', 'spec.podReplacementPolicy NotSupported'],
    [
      'a limit of failures per index, without',
      'backoffLimitPerIndex: 1',
      'spec.backoffLimitPerIndex Invalid',
    ],
    [
      'less than no failures per index',
      indexed(1, 'backoffLimitPerIndex: -1'),
      'spec.backoffLimitPerIndex Invalid',
    ],
    [
      'more failed ones than there are',
      indexed(10, 'maxFailedIndexes: 11', 'backoffLimitPerIndex: 1'),
      'spec.maxFailedIndexes Invalid',
    ],
    [
      'very many indexes, any of which may fail',
      indexed(100_001, 'backoffLimitPerIndex: 1'),
      'spec.maxFailedIndexes Required',
    ],
    [
      'very many indexes, many at a time',
      indexed(100_001, 'parallelism: 50000', 'backoffLimitPerIndex: 1', 'maxFailedIndexes: 1'),
      'spec.parallelism Invalid',
    ],
    [
      'very many failed ones',
      indexed(100_001, 'backoffLimitPerIndex: 1', 'maxFailedIndexes: 100001'),
      'spec.maxFailedIndexes Invalid',
    ],
    [
      'many failed ones of very many',
      indexed(100_001, 'backoffLimitPerIndex: 1', 'maxFailedIndexes: 50000'),
      'spec.maxFailedIndexes Invalid',
    ],
    [
      'less than no failed ones',
      indexed(1, 'backoffLimitPerIndex: 1', 'maxFailedIndexes: -1'),
      'spec.maxFailedIndexes Invalid',
    ],
    [
      'failed ones without a limit',
      indexed(1, 'maxFailedIndexes: 1'),
      'spec.backoffLimitPerIndex Required',
    ],
    ['too many at a time', indexed(2, 'parallelism: 100001'), 'spec.parallelism Invalid'],
    ['indexes without an end', indexed(undefined, 'parallelism: 1'), 'spec.completions Required'],
  ])('%s', (_what, spec, ...errors) => {
    expect(short(validation.validateJob(job(spec)))).toEqual(errors);
  });

  test.each<[pod: string, ...errors: string[]]>([
    ['restartPolicy: Always', 'Required'],
    ['restartPolicy: Invalid', 'NotSupported'],
    ['restartPolicy: ""', 'Required'],
  ])('pods of %s', (pod, ...errors) => {
    const found = short(validation.validateJob(job('', pod)));
    for (const error of errors)
      expect(found).toContain(`spec.template.spec.restartPolicy ${error}`);
  });
});

describe('changes', () => {
  const EARLY = success('{succeededIndexes: 1-2}');
  const FAILING = rules(`{action: Ignore, ${DISRUPTED}}`);
  const perIndex = (...more: string[]): string => indexed(3, 'parallelism: 1', ...more);
  const sized = (completions: number | undefined, parallelism: number): string =>
    indexed(completions, `parallelism: ${parallelism}`);
  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    [
      'what may change',
      'parallelism: 5\nactiveDeadlineSeconds: 2\nttlSecondsAfterFinished: 1\ncompletions: 9',
      'parallelism: 2\nactiveDeadlineSeconds: 3\nttlSecondsAfterFinished: 2\nmanualSelector: true\ncompletions: 9',
    ],
    ['a new managedBy', '', 'managedBy: example.com/custom-controller', 'spec.managedBy Invalid'],
    [
      'another one',
      'managedBy: example.com/a',
      'managedBy: example.com/b',
      'spec.managedBy Invalid',
    ],
    ['a removed managedBy', 'managedBy: example.com/a', '', 'spec.managedBy Invalid'],
    ['the end', 'parallelism: 1', 'parallelism: 1\ncompletions: 1', 'spec.completions Invalid'],
    ['another end', 'completions: 2', 'completions: 4', 'spec.completions Invalid'],
    ['early success', perIndex(), perIndex(EARLY), 'spec.successPolicy Invalid'],
    [
      'other early success',
      perIndex(success('{succeededIndexes: 1-2}')),
      perIndex(success('{succeededIndexes: 1-2}', '{succeededCount: 3}')),
      'spec.successPolicy Invalid',
    ],
    [
      'no early success',
      perIndex(success('{succeededIndexes: 1-2}')),
      perIndex(),
      'spec.successPolicy Invalid',
    ],
    ['early failure', 'podReplacementPolicy: Failed', FAILING, 'spec.podFailurePolicy Invalid'],
    [
      'other early failure',
      FAILING,
      rules(`{action: Ignore, ${DISRUPTED}}`, `{action: Count, ${DISRUPTED}}`),
      'spec.podFailurePolicy Invalid',
    ],
    ['no early failure', FAILING, 'podReplacementPolicy: Failed', 'spec.podFailurePolicy Invalid'],
    [
      'a limit per index',
      perIndex('backoffLimit: 1'),
      perIndex('backoffLimit: 1', 'backoffLimitPerIndex: 1'),
      'spec.backoffLimitPerIndex Invalid',
    ],
    [
      'no limit per index',
      perIndex('backoffLimit: 1', 'backoffLimitPerIndex: 1'),
      perIndex('backoffLimit: 1'),
      'spec.backoffLimitPerIndex Invalid',
    ],
    [
      'another limit per index',
      perIndex('backoffLimitPerIndex: 1'),
      perIndex('backoffLimitPerIndex: 2'),
      'spec.backoffLimitPerIndex Invalid',
    ],
    [
      'failed ones',
      perIndex('backoffLimitPerIndex: 1'),
      perIndex('backoffLimitPerIndex: 1', 'maxFailedIndexes: 1'),
    ],
    [
      'no failed ones',
      perIndex('backoffLimitPerIndex: 1', 'maxFailedIndexes: 1'),
      perIndex('backoffLimitPerIndex: 1'),
    ],
    [
      'more failed ones',
      perIndex('backoffLimitPerIndex: 1', 'maxFailedIndexes: 1'),
      perIndex('backoffLimitPerIndex: 1', 'maxFailedIndexes: 2'),
    ],
    ['no indexes', indexed(2), 'completions: 2', 'spec.completionMode Invalid'],
    ['larger', sized(1, 1), sized(2, 2)],
    ['larger, and as many at a time', sized(1, 2), sized(3, 3)],
    ['larger, and more at a time', sized(1, 1), sized(2, 3), 'spec.completions Invalid'],
    ['without an end', sized(1, 1), sized(undefined, 3), 'spec.completions Required'],
    ['fewer at a time', sized(2, 2), sized(2, 1)],
    ['more at a time', sized(2, 2), sized(2, 3)],
  ])('%s', (_what, old, now, ...errors) => {
    expect(short(validation.validateJobUpdate(job(now), job(old)))).toEqual(errors);
  });

  const NEAR = (values: string): string =>
    'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ' +
    '{nodeSelectorTerms: [{matchExpressions: [{key: foo, operator: In, ' +
    `values: [${values}]}]}]}}}`;
  test.each<[what: string, old: string, now: string]>([
    ['nodes', '', NEAR('bar, value2')],
    ['other nodes', NEAR('bar, value'), NEAR('bar, value2')],
    ['no nodes', NEAR('bar'), 'affinity: {}'],
    ['no nodes at all', NEAR('bar'), ''],
    [
      'what they bear',
      '',
      'tolerations: [{key: foo, operator: Equal, value: bar, effect: PreferNoSchedule}]',
    ],
    ['labels of nodes', '', 'nodeSelector: {foo: bar}'],
    ['gates', '', 'schedulingGates: [{name: gate}]'],
  ])('pods: %s', (_what, old, now) => {
    expect(short(validation.validateJobUpdate(job('', now), job('', old)))).toEqual([
      'spec.template Invalid',
    ]);
    expect(
      short(validation.validateJobUpdate(job('suspend: true', now), job('suspend: true', old))),
    ).toEqual([]);
  });

  test.each([
    'dnsPolicy: ClusterFirstWithHostNet',
    'hostname: h',
    'terminationGracePeriodSeconds: 1',
  ])('never: %s', (now) => {
    expect(short(validation.validateJobUpdate(job('', now), job('')))).toEqual([
      'spec.template Invalid',
    ]);
    expect(
      short(validation.validateJobUpdate(job('suspend: true', now), job('suspend: true'))),
    ).toEqual(['spec.template.spec Invalid']);
  });
});

describe('jobs again and again', () => {
  const cronJob = (spec: string, of = '', policy = 'OnFailure'): CronJob =>
    manifest(
      'batch/v1.CronJob',
      'metadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {restartPolicy: ' +
        `${policy}, containers: [{name: c, image: i}]}}, ${of}}}, ${spec}}`,
    );
  const HOURLY = 'schedule: "0 * * * *"';

  const ZONES = [
    'Africa/Porto-Novo',
    'America/Argentina/ComodRivadavia',
    'America/Indiana/Tell_City',
    'America/North_Dakota/New_Salem',
    'America/Port-au-Prince',
    'Antarctica/DumontDUrville',
    'Arctic/Longyearbyen',
    'Asia/Ust-Nera',
    'Atlantic/Faeroe',
    'Australia/LHI',
    'Brazil/DeNoronha',
    'Chile/EasterIsland',
    'CST6CDT',
    'Cuba',
    'EET',
    'Eire',
    'EST5EDT',
    'Etc/GMT+12',
    'Etc/GMT-14',
    'Etc/Zulu',
    'Europe/Isle_of_Man',
    'GB-Eire',
    'GMT+0',
    'Hongkong',
    'Indian/Antananarivo',
    'Mexico/BajaNorte',
    'NZ-CHAT',
    'Pacific/Truk',
    'PRC',
    'ROK',
    'US/East-Indiana',
    'W-SU',
    'Zulu',
  ];
  test.each(ZONES)('in %s', (zone) => {
    expect(short(validation.validateCronJob(cronJob(`${HOURLY}, timeZone: "${zone}"`)))).toEqual(
      [],
    );
  });

  const ZONE = 'spec.timeZone Invalid';
  test.each<[what: string, old: string | undefined, now: string | undefined, ...errors: string[]]>([
    ['nowhere', undefined, undefined],
    ['somewhere', undefined, 'America/New_York'],
    ['where there is nothing', undefined, 'broken', ZONE],
    ['elsewhere', 'America/New_York', 'America/Chicago'],
    ['from somewhere to where there is nothing', 'America/New_York', 'broken', ZONE],
    ['still where there is nothing', 'broken', 'broken'],
    ['elsewhere where there is nothing', 'broken', 'still broken', ZONE],
    ['somewhere again', 'broken', 'America/New_York'],
    ['a space before', undefined, ' Europe/Rome', ZONE],
    ['a space behind', undefined, 'Europe/Rome ', ZONE],
    ['here', undefined, 'LOCAL', ZONE],
    ['empty', undefined, '', ZONE],
  ])('changes: %s', (_what, old, now, ...errors) => {
    const at = (zone?: string): CronJob =>
      cronJob(zone === undefined ? HOURLY : `${HOURLY}, timeZone: "${zone}"`);
    expect(short(validation.validateCronJobUpdate(at(now), at(old)))).toEqual(errors);
  });

  test.each<[what: string, given: CronJob, ...errors: string[]]>([
    ['with a question', cronJob('schedule: "* * * * ?"')],
    ['by name', cronJob('schedule: "@hourly"')],
    ['at no time', cronJob('schedule: ""'), 'spec.schedule Required'],
    ['at a strange time', cronJob('schedule: error'), 'spec.schedule Invalid'],
    [
      'pods for ever',
      cronJob(HOURLY, '', 'Always'),
      'spec.jobTemplate.spec.template.spec.restartPolicy Required',
    ],
    [
      'pods of a strange kind',
      cronJob(HOURLY, '', 'Invalid'),
      'spec.jobTemplate.spec.template.spec.restartPolicy NotSupported',
    ],
    [
      'pods by hand',
      cronJob(HOURLY, 'manualSelector: true'),
      'spec.jobTemplate.spec.manualSelector NotSupported',
    ],
    [
      'pods selected',
      cronJob(HOURLY, 'selector: {matchLabels: {a: b}}'),
      'spec.jobTemplate.spec.selector Invalid',
    ],
  ])('%s', (_what, given, ...errors) => {
    expect(short(validation.validateCronJob(given))).toEqual(errors);
    expect(short(validation.validateCronJobUpdate(given, given))).toEqual(errors);
  });
});
