// Further resizes of pods, with the paths and types of the errors. pod-subresources.test.ts
// contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePodResize } from './index.ts';

const pod = (spec: string, status = '{}'): core.Pod =>
  manifest(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}\nstatus: ${status}`,
  );

const errorsOf = (now: core.Pod, old: core.Pod): string[] =>
  validatePodResize(now, old).map(
    ({ field, type }) => `${field} ${type.replace('FieldValue', '')}`,
  );

type Lists = readonly [requests: string, limits: string];
type Case = [what: string, old: Lists, now: Lists, ...errors: string[]];

const resources = ([requests, limits]: Lists): string =>
  `resources: {requests: {${requests}}, limits: {${limits}}}`;

function table(cases: readonly Case[], specOf: (lists: Lists) => string): void {
  test.each(cases)('%s', (_what, old, now, ...errors) => {
    expect(errorsOf(pod(specOf(now)), pod(specOf(old)))).toEqual(errors);
  });
}

const ONLY = 'spec Forbidden';
const QOS = 'spec Invalid';

const CHANGES: readonly Case[] = [
  [
    'another limit of CPU',
    ['', 'cpu: 100m, memory: 0, ephemeral-storage: 1Gi'],
    ['', 'cpu: 200m, memory: 0, ephemeral-storage: 1Gi'],
  ],
  ['a greater limit of memory', ['', 'cpu: 100m, memory: 100Mi'], ['', 'cpu: 100m, memory: 200Mi']],
  ['a smaller limit of memory', ['', 'cpu: 100m, memory: 200Mi'], ['', 'cpu: 100m, memory: 100Mi']],
  ['another request of CPU', ['cpu: 200m, memory: 0', ''], ['cpu: 100m, memory: 0', '']],
  ['another request of memory', ['cpu: 0, memory: 100Mi', ''], ['cpu: 0, memory: 200Mi', '']],
];

describe('containers', () => {
  const of = (lists: Lists): string => `containers: [{name: c, image: x, ${resources(lists)}}]`;
  const AT = 'spec.containers[0].resources';
  table(
    [
      ...CHANGES,
      [
        'another limit of files',
        ['', 'cpu: 100m, memory: 100Mi, ephemeral-storage: 2Gi'],
        ['', 'cpu: 100m, memory: 100Mi, ephemeral-storage: 1Gi'],
        ONLY,
      ],
      [
        'another request of files',
        ['cpu: 100m, ephemeral-storage: 1Gi', ''],
        ['cpu: 100m, ephemeral-storage: 2Gi', ''],
        ONLY,
      ],
      ['something of others', ['cpu: 1', 'example.com/a: 1'], ['cpu: 1', 'example.com/a: 2'], ONLY],
      [
        'guaranteed',
        [
          'cpu: 100m, memory: 100Mi, ephemeral-storage: 1Gi',
          'cpu: 100m, memory: 100Mi, ephemeral-storage: 1Gi',
        ],
        [
          'cpu: 200m, memory: 400Mi, ephemeral-storage: 1Gi',
          'cpu: 200m, memory: 400Mi, ephemeral-storage: 1Gi',
        ],
      ],
      [
        'burstable',
        [
          'cpu: 200m, memory: 100Mi, ephemeral-storage: 1Gi',
          'cpu: 400m, memory: 200Mi, ephemeral-storage: 2Gi',
        ],
        [
          'cpu: 100m, memory: 200Mi, ephemeral-storage: 1Gi',
          'cpu: 200m, memory: 400Mi, ephemeral-storage: 2Gi',
        ],
      ],
      [
        'burstable, and limits',
        ['cpu: 100m, memory: 100Mi', ''],
        ['cpu: 100m, memory: 100Mi', 'cpu: 200m'],
      ],
      [
        'guaranteed by its limits, then less',
        ['', 'cpu: 200m, memory: 500Mi, ephemeral-storage: 1Gi'],
        ['cpu: 300m', 'cpu: 400m, memory: 500Mi, ephemeral-storage: 1Gi'],
        QOS,
      ],
      [
        'guaranteed, then burstable',
        ['cpu: 100m, memory: 100Mi', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 100m, memory: 100Mi', 'cpu: 200m, memory: 200Mi'],
        QOS,
      ],
      [
        'burstable, then guaranteed',
        ['cpu: 100m, memory: 100Mi', ''],
        ['cpu: 100m, memory: 100Mi', 'cpu: 100m, memory: 100Mi'],
        QOS,
      ],
      [
        'best effort, then burstable',
        ['', ''],
        ['cpu: 100m, memory: 100Mi', 'cpu: 200m, memory: 200Mi'],
        QOS,
      ],
      [
        'burstable, then best effort',
        ['cpu: 100m, memory: 100Mi', 'cpu: 200m, memory: 200Mi'],
        ['', ''],
        QOS,
        `${AT}.requests Forbidden`,
        `${AT}.limits Forbidden`,
      ],
      [
        'no limit of CPU',
        ['cpu: 1m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 1m, memory: 1', 'memory: 100Mi'],
        `${AT}.limits Forbidden`,
      ],
      [
        'no limit of memory',
        ['cpu: 1m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 1m, memory: 1', 'cpu: 100m'],
        `${AT}.limits Forbidden`,
      ],
      [
        'no request of CPU',
        ['cpu: 100m, memory: 100Mi', ''],
        ['memory: 100Mi', ''],
        `${AT}.requests Forbidden`,
      ],
      [
        'no request of memory',
        ['cpu: 100m, memory: 100Mi', ''],
        ['cpu: 100m', ''],
        `${AT}.requests Forbidden`,
      ],
      [
        'no limits',
        ['cpu: 100m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 100m, memory: 1', ''],
        `${AT}.limits Forbidden`,
      ],
      ['files, where there was nothing', ['', ''], ['ephemeral-storage: 10Gi', ''], ONLY],
      ['more than the limit', ['cpu: 1', 'cpu: 2'], ['cpu: 3', 'cpu: 2'], `${AT}.requests Invalid`],
      ['less than nothing', ['cpu: 1', ''], ['cpu: "-1"', ''], `${AT}.requests[cpu] Invalid`, QOS],
    ],
    of,
  );

  test.each(['NotRequired', 'RestartContainer'])('less memory, with policy %s', (policy) => {
    const spec = (memory: string): string =>
      'containers: [{name: c, image: x, resources: {limits: {cpu: 100m, ' +
      `memory: ${memory}}}, resizePolicy: [{resourceName: memory, ` +
      `restartPolicy: ${policy}}]}]`;
    expect(errorsOf(pod(spec('100Mi')), pod(spec('200Mi')))).toEqual([]);
  });

  test('another policy', () => {
    const spec = (policy: string): string =>
      'containers: [{name: c, image: x, resources: {requests: {cpu: 1}}, ' +
      `resizePolicy: [{resourceName: cpu, restartPolicy: ${policy}}]}]`;
    expect(errorsOf(pod(spec('RestartContainer')), pod(spec('NotRequired')))).toEqual([ONLY]);
  });

  const MOVED = 'spec.containers Forbidden';
  const RENAMED = (index: number): string => `spec.containers[${index}].name Forbidden`;
  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['one more', 'a', 'a, b', MOVED],
    ['one less', 'a, b', 'a', MOVED],
    ['the other way round', 'a, b', 'b, a', RENAMED(0), RENAMED(1)],
    ['another name', 'a', 'b', RENAMED(0)],
  ])('%s', (_what, old, now, ...errors) => {
    const spec = (names: string): string =>
      `containers: [${names
        .split(', ')
        .map((name) => `{name: ${name}, image: x}`)
        .join(', ')}]`;
    expect(errorsOf(pod(spec(now)), pod(spec(old)))).toEqual(errors);
  });
});

describe('sidecars', () => {
  const of = (lists: Lists): string =>
    'containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]\n' +
    `initContainers: [{name: i, image: x, restartPolicy: Always, ${resources(lists)}}]`;
  const AT = 'spec.initContainers[0]';
  const LIMITS = `${AT}.resources.limits Forbidden`;
  const REQUESTS = `${AT}.resources.requests Forbidden`;
  table(
    [
      ...CHANGES,
      [
        'no limit of CPU',
        ['cpu: 1m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 1m, memory: 1', 'memory: 100Mi'],
        LIMITS,
      ],
      [
        'no limit of memory',
        ['cpu: 1m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 1m, memory: 1', 'cpu: 100m'],
        LIMITS,
      ],
      ['no request of CPU', ['cpu: 100m, memory: 100Mi', ''], ['memory: 100Mi', ''], REQUESTS],
      ['no request of memory', ['cpu: 100m, memory: 100Mi', ''], ['cpu: 100m', ''], REQUESTS],
      [
        'no limits',
        ['cpu: 100m, memory: 1', 'cpu: 100m, memory: 100Mi'],
        ['cpu: 100m, memory: 1', ''],
        LIMITS,
      ],
      [
        'another limit of files',
        ['cpu: 1', 'ephemeral-storage: 2Gi'],
        ['cpu: 1', 'ephemeral-storage: 1Gi'],
        `${AT} Forbidden`,
      ],
      [
        'another request of files',
        ['ephemeral-storage: 1Gi', ''],
        ['ephemeral-storage: 2Gi', ''],
        `${AT} Forbidden`,
      ],
    ],
    of,
  );
});

describe('the pod as a whole', () => {
  const of = (lists: Lists): string =>
    `containers: [{name: c, image: x, resources: {requests: {cpu: 1m}}}]\n${resources(lists)}`;
  table(
    [
      [
        'another limit of memory',
        ['', 'cpu: 200m, memory: 100Mi'],
        ['', 'cpu: 200m, memory: 200Mi'],
      ],
      [
        'another limit of CPU',
        ['cpu: 10m, memory: 1', 'cpu: 100m, memory: 200Mi'],
        ['cpu: 10m, memory: 1', 'cpu: 200m, memory: 200Mi'],
      ],
      [
        'another request of memory',
        ['cpu: 200m, memory: 100Mi', ''],
        ['cpu: 200m, memory: 200Mi', ''],
      ],
      [
        'another request of CPU',
        ['cpu: 200m, memory: 200Mi', ''],
        ['cpu: 100m, memory: 200Mi', ''],
      ],
      ['a limit', ['cpu: 100m, memory: 1', ''], ['cpu: 100m, memory: 1', 'cpu: 200m']],
      ['a request', ['cpu: 100m', ''], ['cpu: 100m, memory: 1', '']],
      [
        'no limit',
        ['cpu: 1, memory: 1', 'cpu: 2, memory: 2'],
        ['cpu: 1, memory: 1', 'cpu: 2'],
        'spec.resources.limits Forbidden',
      ],
      [
        'no request',
        ['cpu: 1, memory: 1', ''],
        ['cpu: 1', ''],
        'spec.resources.requests Forbidden',
      ],
      [
        'more huge pages',
        ['cpu: 1, hugepages-2Mi: 2Mi', 'hugepages-2Mi: 2Mi'],
        ['cpu: 1, hugepages-2Mi: 4Mi', 'hugepages-2Mi: 4Mi'],
        ONLY,
      ],
    ],
    of,
  );

  test('less than its containers', () => {
    const spec = (cpu: string): string =>
      `containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]\nresources: {requests: {cpu: ${cpu}}}`;
    expect(errorsOf(pod(spec('1')), pod(spec('2')))).toEqual([]);
    expect(errorsOf(pod(spec('500m')), pod(spec('2')))).toEqual([
      'spec.resources.requests[cpu] Invalid',
    ]);
  });
});

describe('the node', () => {
  const spec = (cpu: string): string =>
    `containers: [{name: main, image: x, resources: {limits: {cpu: ${cpu}}}}]`;
  const status = (of: string): string =>
    `{containerStatuses: [{name: main, image: x, imageID: x, ready: true, ${of}}]}`;
  test.each<[what: string, status: string, ...errors: string[]]>([
    ['says nothing of what runs', status('state: {running: {}}'), 'spec Forbidden'],
    ['says what it has', status('state: {running: {}}, resources: {}')],
    ['runs nothing', '{containerStatuses: []}'],
    ['will run it', status('state: {waiting: {reason: PodInitializing}}')],
    ['ran it', status('state: {terminated: {exitCode: 0}}')],
  ])('%s', (_what, given, ...errors) => {
    expect(errorsOf(pod(spec('200m')), pod(spec('100m'), given))).toEqual(errors);
  });
});
