// Further defaults: of every type of container, and of the smaller kinds.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';

/** Returns an object's value at a path such as spec.containers[0].image. */
function at(kind: string, yaml: string, path: string): unknown {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .reduce<unknown>(
      (value, part) => (value as Record<string, unknown> | undefined)?.[part],
      manifest(`core/v1.${kind}`, yaml),
    );
}

const LISTS = ['containers', 'initContainers', 'ephemeralContainers'];
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];
const OF_CONTAINERS: readonly (readonly [given: string, path: string, value: unknown])[] = [
  ['image: "a:1"', 'imagePullPolicy', 'IfNotPresent'],
  ['image: a', 'imagePullPolicy', 'Always'],
  ['image: a, imagePullPolicy: Never', 'imagePullPolicy', 'Never'],
  ['image: a', 'terminationMessagePath', '/dev/termination-log'],
  ['image: a', 'terminationMessagePolicy', 'File'],
  ['ports: [{containerPort: 1}]', 'ports[0].protocol', 'TCP'],
  ['ports: [{containerPort: 1, protocol: SCTP}]', 'ports[0].protocol', 'SCTP'],
  [
    'env: [{name: a, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]',
    'env[0].valueFrom.fieldRef.apiVersion',
    'v1',
  ],
  ...['postStart', 'preStop'].flatMap((hook): [string, string, unknown][] => [
    [
      `lifecycle: {${hook}: {httpGet: {host: localhost, port: 1}}}`,
      `lifecycle.${hook}.httpGet.path`,
      '/',
    ],
    [
      `lifecycle: {${hook}: {httpGet: {host: localhost, port: 1}}}`,
      `lifecycle.${hook}.httpGet.scheme`,
      'HTTP',
    ],
  ]),
  ...PROBES.flatMap((probe): [string, string, unknown][] => [
    [
      `${probe}: {}`,
      probe,
      { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
    ],
    [`${probe}: {timeoutSeconds: 0, failureThreshold: 7}`, `${probe}.timeoutSeconds`, 1],
    [`${probe}: {timeoutSeconds: 0, failureThreshold: 7}`, `${probe}.failureThreshold`, 7],
    [`${probe}: {httpGet: {host: localhost, port: 1}}`, `${probe}.httpGet.path`, '/'],
    [`${probe}: {httpGet: {host: localhost, port: 1}}`, `${probe}.httpGet.scheme`, 'HTTP'],
    [`${probe}: {grpc: {port: 1}}`, `${probe}.grpc.service`, ''],
  ]),
];

const podOf = (list: string, given: string): string =>
  `spec: {${list === 'containers' ? '' : 'containers: [], '}${list}: [{name: c, ${given}}]}`;

describe.each(LISTS)('%s', (list) => {
  test.each(OF_CONTAINERS)('of %s: %s', (given, path, value) => {
    expect(at('Pod', podOf(list, given), `spec.${list}[0].${path}`)).toEqual(value);
    const template = `spec: {template: ${podOf(list, given).replace(/^/, '{')}}}`;
    expect(at('ReplicationController', template, `spec.template.spec.${list}[0].${path}`)).toEqual(
      value,
    );
  });
});

describe('requests', () => {
  const LIMITS = 'limits: {cpu: 100m, memory: 1Gi}';
  test.each<[list: string, given: string, requests: unknown]>(
    LISTS.slice(0, 2).flatMap((list): [string, string, unknown][] => [
      [list, `${LIMITS}, requests: {memory: 0}`, { cpu: '100m', memory: '0' }],
      [list, LIMITS, { cpu: '100m', memory: '1Gi' }],
      [list, '', undefined],
      [list, 'requests: {memory: 1n}, limits: {cpu: 2n}', { cpu: '1m', memory: '1m' }],
    ]),
  )('of %s with %s', (list, given, requests) => {
    expect(
      at('Pod', podOf(list, `resources: {${given}}`), `spec.${list}[0].resources.requests`),
    ).toEqual(requests);
  });

  test('ephemeral containers have no default', () => {
    const given = podOf('ephemeralContainers', `resources: {${LIMITS}}`);
    expect(at('Pod', given, 'spec.ephemeralContainers[0].resources.requests')).toBeUndefined();
  });

  test.each(['cpu: 100m, memory: 200Mi', 'ephemeral-storage: 500Mi'])(
    'there is no default resizePolicy for %s',
    (limits) => {
      const given = podOf('containers', `resources: {limits: {${limits}}}`);
      expect(at('Pod', given, 'spec.containers[0].resizePolicy')).toBeUndefined();
    },
  );
});

describe('ports of the host', () => {
  test.each(LISTS.slice(0, 2))('%s', (list) => {
    const given = podOf(list, 'ports: [{containerPort: 8080}]');
    const ofHost = given.replace('spec: {', 'spec: {hostNetwork: true, ');
    expect(at('Pod', given, `spec.${list}[0].ports[0].hostPort`)).toBeUndefined();
    expect(at('Pod', ofHost, `spec.${list}[0].ports[0].hostPort`)).toBe(8080);
    const template = `spec: {template: {${ofHost}}}`;
    expect(
      at('ReplicationController', template, `spec.template.spec.${list}[0].ports[0].hostPort`),
    ).toBeUndefined();
  });
});

const MODES = ['Filesystem', 'Block'];
const LABELLED = 'template: {metadata: {labels: {foo: bar}}, spec: {containers: []}}';
test.each<[kind: string, yaml: string, path: string, value: unknown]>([
  ['Service', 'spec: {}', 'spec.sessionAffinityConfig', undefined],
  ...['', 'sessionAffinityConfig: {}', 'sessionAffinityConfig: {clientIP: {}}'].map(
    (config): [string, string, string, unknown] => [
      'Service',
      `spec: {sessionAffinity: ClientIP, ${config}}`,
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      10_800,
    ],
  ),
  ['Service', 'spec: {type: ExternalName}', 'spec.externalTrafficPolicy', undefined],
  [
    'Service',
    'spec: {type: ClusterIP, externalIPs: [1.2.3.4]}',
    'spec.externalTrafficPolicy',
    'Cluster',
  ],
  ['Service', 'spec: {ports: [{port: 8675, targetPort: 0}]}', 'spec.ports[0].targetPort', 8675],
  ['Service', 'spec: {ports: [{port: 8675, targetPort: 309}]}', 'spec.ports[0].targetPort', 309],
  ['Node', 'status: {allocatable: {cpu: 500m}}', 'status.allocatable', { cpu: '500m' }],
  ['Node', 'status: {}', 'status.allocatable', undefined],
  ['ReplicationController', `spec: {${LABELLED}}`, 'spec.replicas', 1],
  ['ReplicationController', `spec: {replicas: 0, ${LABELLED}}`, 'spec.replicas', 0],
  ['ReplicationController', `spec: {replicas: 3, ${LABELLED}}`, 'spec.replicas', 3],
  [
    'ReplicationController',
    `spec: {selector: {some: other}, ${LABELLED}}`,
    'metadata.labels',
    { foo: 'bar' },
  ],
  [
    'ReplicationController',
    `metadata: {labels: {bar: foo}}\nspec: {${LABELLED}}`,
    'spec.selector',
    { foo: 'bar' },
  ],
  ['PersistentVolume', '{}', 'status.phase', 'Pending'],
  ['PersistentVolume', '{}', 'spec.persistentVolumeReclaimPolicy', 'Retain'],
  ['PersistentVolume', '{}', 'spec.volumeMode', 'Filesystem'],
  ['PersistentVolumeClaim', '{}', 'status.phase', 'Pending'],
  ['PersistentVolumeClaim', '{}', 'spec.volumeMode', 'Filesystem'],
  ...MODES.flatMap((mode): [string, string, string, unknown][] => [
    ['PersistentVolume', `spec: {volumeMode: ${mode}}`, 'spec.volumeMode', mode],
    ['PersistentVolumeClaim', `spec: {volumeMode: ${mode}}`, 'spec.volumeMode', mode],
    [
      'Pod',
      `spec: {containers: [], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {volumeMode: ${mode}}}}}]}`,
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode',
      mode,
    ],
  ]),
  [
    'Endpoints',
    'subsets: [{ports: [{port: 1}, {port: 2, protocol: UDP}]}]',
    'subsets[0].ports[0].protocol',
    'TCP',
  ],
  [
    'Endpoints',
    'subsets: [{ports: [{port: 1}, {port: 2, protocol: UDP}]}]',
    'subsets[0].ports[1].protocol',
    'UDP',
  ],
  [
    'LimitRange',
    'spec: {limits: [{type: Container, max: {cpu: 100m}, min: {memory: 100Mi}, default: {}, defaultRequest: {}}]}',
    'spec.limits[0]',
    {
      type: 'Container',
      max: { cpu: '100m' },
      min: { memory: '100Mi' },
      default: { cpu: '100m' },
      defaultRequest: { cpu: '100m', memory: '100Mi' },
    },
  ],
  [
    'LimitRange',
    'spec: {limits: [{type: Pod, max: {cpu: 100m}}]}',
    'spec.limits[0]',
    { type: 'Pod', max: { cpu: '100m' } },
  ],
])('%s of %s: %s', (kind, yaml, path, value) => {
  expect(at(kind, yaml, path)).toEqual(value);
});
