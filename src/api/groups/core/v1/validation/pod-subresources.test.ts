// Updates of a pod through its subresources ephemeralcontainers and resize.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePodEphemeralContainersUpdate, validatePodResize } from './index.ts';

const pod = (spec: string, more = '', annotations = ''): core.Pod =>
  manifest(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default${annotations}}\nspec:\n${indent(spec)}\n${more}`,
  );

const MIRROR = ', annotations: {kubernetes.io/config.mirror: x}';

describe('ephemeral containers', () => {
  const good = 'containers: [{name: c, image: x}]';
  const debug = (more = ''): string => `{name: debug, image: x${more}}`;
  const other = '{name: other, image: x}';
  const withList = (...list: string[]): string =>
    `${good}\nephemeralContainers: [${list.join(', ')}]`;
  const path = 'spec.ephemeralContainers';

  test.each<[what: string, old: string, spec: string, errors: unknown]>([
    ['none, and none', good, good, []],
    ['one is added', good, withList(debug()), []],
    ['two are added', good, withList(debug(), other), []],
    ['one is added to another', withList(debug()), withList(debug(), other), []],
    ['in another order', withList(debug(), other), withList(other, debug()), []],
    ['the same', withList(debug(), other), withList(debug(), other), []],
    ['with a target', good, withList(debug(', targetContainerName: c')), []],
    [
      'with a target that is not there',
      good,
      withList(debug(', targetContainerName: z')),
      [`${path}[0].targetContainerName: Not found: "z"`],
    ],
    [
      'one is removed',
      withList(debug(), other),
      withList(debug()),
      [`${path}: Forbidden: existing ephemeral containers "other" may not be removed\n`],
    ],
    [
      'all are removed',
      withList(debug()),
      good,
      [`${path}: Forbidden: existing ephemeral containers "debug" may not be removed\n`],
    ],
    [
      'one is changed',
      withList(debug()),
      withList(debug(', command: [z]')),
      [
        expect.stringContaining(
          `${path}: Forbidden: existing ephemeral containers "debug" may not be changed\n`,
        ),
      ],
    ],
    [
      'one is changed, one is removed, one is added',
      withList(debug(), other),
      withList(debug(', command: [z]'), '{name: third, image: x}'),
      [
        expect.stringContaining('"debug" may not be changed'),
        expect.stringContaining('"other" may not be removed'),
      ],
    ],
    [
      'the name of another container',
      good,
      withList('{name: c, image: x}'),
      [`${path}[0].name: Duplicate value: "c"`],
    ],
    [
      'the same name twice',
      good,
      withList(debug(), debug()),
      [`${path}[1].name: Duplicate value: "debug"`],
    ],
    ['without an image', good, withList('{name: debug}'), [`${path}[0].image: Required value`]],
    [
      'with ports',
      good,
      withList(debug(', ports: [{containerPort: 80, protocol: TCP}]')),
      [`${path}[0].ports: Forbidden: cannot be set for an Ephemeral Container`],
    ],
    [
      'with resources',
      good,
      withList(debug(', resources: {limits: {cpu: 1}}')),
      [`${path}[0].resources: Forbidden: cannot be set for an Ephemeral Container`],
    ],
    [
      'with a probe',
      good,
      withList(debug(', livenessProbe: {exec: {command: [x]}}')),
      [`${path}[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container`],
    ],
    [
      'with a hook',
      good,
      withList(debug(', lifecycle: {preStop: {exec: {command: [x]}}}')),
      [`${path}[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container`],
    ],
  ])('%s', (_what, old, spec, errors) => {
    expect(messages(validatePodEphemeralContainersUpdate(pod(spec), pod(old)))).toEqual(errors);
  });

  test('a static pod has no ephemeral containers', () => {
    const change = validatePodEphemeralContainersUpdate(
      pod(`nodeName: n1\n${withList(debug())}`, '', MIRROR),
      pod(`nodeName: n1\n${good}`, '', MIRROR),
    );
    expect(messages(change)).toEqual([
      '[]: Forbidden: static pods do not support ephemeral containers',
    ]);
  });
});

describe('resize', () => {
  const container = (requests: string, limits = '', more = ''): string =>
    `{name: c, image: x, resources: {requests: {${requests}}, limits: {${limits}}}${more}}`;
  const one = (...of: Parameters<typeof container>): string => `containers: [${container(...of)}]`;
  const init = (requests: string, more = ''): string =>
    `${one('cpu: 1')}\ninitContainers: [{name: i, image: x, resources: {requests: {${requests}}}${more}}]`;
  const whole = (requests: string): string =>
    `containers: [{name: c, image: x}]${requests === '' ? '' : `\nresources: {requests: {${requests}}}`}`;
  const ONLY = 'spec: Forbidden: only cpu and memory resources are mutable';
  const QOS = (old: string): string =>
    `spec: Invalid value: ${old}: Pod QOS Class may not change as a result of resizing`;
  const resources = 'spec.containers[0].resources';

  test.each<[what: string, old: string, spec: string, errors: unknown]>([
    ['nothing', one('cpu: 1'), one('cpu: 1'), []],
    ['more CPU', one('cpu: 1'), one('cpu: 2'), []],
    ['less CPU', one('cpu: 2', 'cpu: 4'), one('cpu: 1', 'cpu: 3'), []],
    ['more memory', one('memory: 1Gi', 'memory: 2Gi'), one('memory: 2Gi', 'memory: 3Gi'), []],
    [
      'a lower limit of memory',
      one('memory: 1Gi', 'memory: 3Gi'),
      one('memory: 1Gi', 'memory: 2Gi'),
      [],
    ],
    ['a limit where there was none', one('cpu: 1'), one('cpu: 1', 'cpu: 2'), []],
    ['a request where there was none', one('cpu: 1'), one('cpu: 1, memory: 1Gi'), []],
    [
      'pod-level resources where there were none',
      one('cpu: 1'),
      `${one('cpu: 1')}\nresources: {requests: {cpu: 2}}`,
      [],
    ],
    ['the same amount in other words', one('cpu: 1'), one('cpu: 1000m'), []],
    [
      'a request less',
      one('cpu: 1, memory: 1Gi'),
      one('cpu: 1'),
      [`${resources}.requests: Forbidden: resource requests cannot be removed`],
    ],
    [
      'a limit less',
      one('cpu: 1', 'cpu: 2'),
      one('cpu: 1'),
      [`${resources}.limits: Forbidden: resource limits cannot be removed`],
    ],
    [
      'more than the limit',
      one('cpu: 1', 'cpu: 2'),
      one('cpu: 3', 'cpu: 2'),
      [`${resources}.requests: Invalid value: "3": must be less than or equal to cpu limit of 2`],
    ],
    ['other resources', one('cpu: 1'), one('cpu: 1, ephemeral-storage: 1Gi'), [ONLY]],
    [
      'more of other resources',
      one('cpu: 1, ephemeral-storage: 1Gi'),
      one('cpu: 1, ephemeral-storage: 2Gi'),
      [ONLY],
    ],
    [
      'a policy',
      one('cpu: 1'),
      one('cpu: 1', '', ', resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]'),
      [ONLY],
    ],
    ['best effort becomes burstable', one(''), one('cpu: 1'), [QOS('""')]],
    [
      'burstable becomes guaranteed',
      one('cpu: 1, memory: 1Gi', 'cpu: 2, memory: 1Gi'),
      one('cpu: 2, memory: 1Gi', 'cpu: 2, memory: 1Gi'),
      [QOS('""')],
    ],
    [
      'guaranteed becomes burstable',
      one('cpu: 1, memory: 1Gi', 'cpu: 1, memory: 1Gi'),
      one('cpu: 1, memory: 1Gi', 'cpu: 2, memory: 1Gi'),
      [QOS('""')],
    ],
    [
      'guaranteed stays so',
      one('cpu: 1, memory: 1Gi', 'cpu: 1, memory: 1Gi'),
      one('cpu: 2, memory: 2Gi', 'cpu: 2, memory: 2Gi'),
      [],
    ],
    [
      'a container more',
      one('cpu: 1'),
      `containers: [${container('cpu: 1')}, {name: d, image: x}]`,
      ['spec.containers: Forbidden: containers may not be added or removed on resize'],
    ],
    [
      'in another order',
      `containers: [${container('cpu: 1')}, {name: d, image: x}]`,
      `containers: [{name: d, image: x}, ${container('cpu: 1')}]`,
      [0, 1].map(
        (at) =>
          `spec.containers[${at}].name: Forbidden: containers may not be renamed or reordered on resize`,
      ),
    ],
    [
      'an init container less',
      init('cpu: 1'),
      one('cpu: 1'),
      ['spec.initContainers: Forbidden: initContainers may not be added or removed on resize'],
    ],
    [
      'a sidecar',
      init('cpu: 1', ', restartPolicy: Always'),
      init('cpu: 2', ', restartPolicy: Always'),
      [],
    ],
    ['an init container', init('cpu: 1'), init('cpu: 2'), []],
    [
      'a request of an init container less',
      init('cpu: 1, memory: 1Gi'),
      init('cpu: 1'),
      ['spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed'],
    ],
    [
      'an init container that would restart',
      init('cpu: 1', ', resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]'),
      init('cpu: 2', ', resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]'),
      [
        'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize ' +
          'policy of RestartContainer cannot be resized',
      ],
    ],
    [
      'other resources of a sidecar',
      init('cpu: 1', ', restartPolicy: Always'),
      init('cpu: 1, ephemeral-storage: 1Gi', ', restartPolicy: Always'),
      [
        'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
      ],
    ],
    ['the pod as a whole', whole('cpu: 1'), whole('cpu: 2'), []],
    [
      'the pod as a whole no longer',
      whole('cpu: 1'),
      whole(''),
      expect.arrayContaining(['spec.resources: Forbidden: pod-level resources cannot be removed']),
    ],
    [
      'a request of the pod as a whole less',
      whole('cpu: 1, memory: 1Gi'),
      whole('cpu: 1'),
      ['spec.resources.requests: Forbidden: pod-level resource requests cannot be removed'],
    ],
    [
      'an image',
      one('cpu: 1'),
      'containers: [{name: c, image: z, resources: {requests: {cpu: 1}}}]',
      [ONLY],
    ],
    ['something else of the pod', one('cpu: 1'), `${one('cpu: 1')}\nhostname: z`, [ONLY]],
  ])('%s', (_what, old, spec, errors) => {
    expect(messages(validatePodResize(pod(spec), pod(old)))).toEqual(errors);
  });

  test('requires a node that reports container resources', () => {
    const status = (more: string): string =>
      `status: {containerStatuses: [{name: c, image: x, imageID: x, state: {running: {}}${more}}]}`;
    const change = (more: string): string[] =>
      messages(validatePodResize(pod(one('cpu: 2')), pod(one('cpu: 1'), status(more))));
    expect(change('')).toEqual(['spec: Forbidden: Pod running on node without support for resize']);
    expect(change(', resources: {requests: {cpu: 1}}')).toEqual([]);
  });

  test('is not supported for static pods and Windows pods', () => {
    const mirror = (cpu: string): core.Pod => pod(`nodeName: n1\n${one(cpu)}`, '', MIRROR);
    expect(messages(validatePodResize(mirror('cpu: 2'), mirror('cpu: 1')))).toEqual([
      '[]: Forbidden: static pods cannot be resized',
    ]);
    const windows = (cpu: string): core.Pod => pod(`os: {name: windows}\n${one(cpu)}`);
    expect(messages(validatePodResize(windows('cpu: 2'), windows('cpu: 1')))).toEqual([
      '[]: Forbidden: windows pods cannot be resized',
    ]);
  });
});
