// The default of each field. Explicit values are kept.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';
import { imageTag } from './defaults.ts';

const defaulted = (kind: string, yaml: string, group = 'core'): Record<string, unknown> =>
  manifest(`${group}/v1.${kind}`, yaml);

/** Returns the value at a path such as spec.containers[0].image; undefined if there is none. */
function at(object: unknown, path: string): unknown {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .reduce<unknown>(
      (value, part) => (value as Record<string, unknown> | undefined)?.[part],
      object,
    );
}

type Case = [path: string, yaml: string, value: unknown];

const podOf = (container: string, spec = ''): string =>
  `spec: {containers: [{name: c, image: i, ${container}}]${spec}}`;
const volume = (source: string): string =>
  `spec: {containers: [], volumes: [{name: v, ${source}}]}`;

describe('pods', () => {
  test.each<Case>([
    ['spec.restartPolicy', podOf(''), 'Always'],
    ['spec.restartPolicy', podOf('', ', restartPolicy: Never'), 'Never'],
    ['spec.dnsPolicy', podOf(''), 'ClusterFirst'],
    ['spec.dnsPolicy', podOf('', ', dnsPolicy: None'), 'None'],
    ['spec.schedulerName', podOf(''), 'default-scheduler'],
    ['spec.schedulerName', podOf('', ', schedulerName: mine'), 'mine'],
    ['spec.terminationGracePeriodSeconds', podOf(''), 30],
    ['spec.terminationGracePeriodSeconds', podOf('', ', terminationGracePeriodSeconds: 0'), 0],
    ['spec.securityContext', podOf(''), {}],
    ['spec.securityContext', podOf('', ', securityContext: {runAsUser: 1}'), { runAsUser: 1 }],
    ['spec.enableServiceLinks', podOf(''), true],
    ['spec.enableServiceLinks', podOf('', ', enableServiceLinks: false'), false],
    ['spec.serviceAccount', podOf('', ', serviceAccountName: a'), 'a'],
    ['spec.serviceAccountName', podOf('', ', serviceAccount: a'), 'a'],
    ['spec.serviceAccount', podOf('', ', serviceAccount: a, serviceAccountName: b'), 'b'],
    ['spec.serviceAccountName', podOf(''), undefined],
    // Absent means Honor and Ignore, but no default is written.
    [
      'spec.topologySpreadConstraints[0]',
      podOf(
        '',
        ', topologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]',
      ),
      { maxSkew: 1, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' },
    ],
    ['spec.overhead', podOf('', ', overhead: {cpu: 1500u}'), { cpu: '2m' }],
    ['spec.preemptionPolicy', podOf(''), undefined],
  ])('%s of %s', (path, yaml, value) => {
    expect(at(defaulted('Pod', yaml), path)).toEqual(value);
  });

  test('containers of every type', () => {
    const pod = defaulted(
      'Pod',
      'spec: {containers: [{name: c, image: i}], initContainers: [{name: i, image: i}], ' +
        'ephemeralContainers: [{name: e, image: i}]}',
    );
    for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
      expect(at(pod, `spec.${list}[0]`)).toMatchObject({
        resources: {},
        imagePullPolicy: 'Always',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      });
    }
  });

  test.each<Case>([
    ['terminationMessagePath', podOf('terminationMessagePath: /x'), '/x'],
    [
      'terminationMessagePolicy',
      podOf('terminationMessagePolicy: FallbackToLogsOnError'),
      'FallbackToLogsOnError',
    ],
    ['imagePullPolicy', podOf('imagePullPolicy: Never'), 'Never'],
    ['ports[0]', podOf('ports: [{containerPort: 80}]'), { containerPort: 80, protocol: 'TCP' }],
    [
      'ports[0]',
      podOf('ports: [{containerPort: 80, protocol: UDP}]'),
      { containerPort: 80, protocol: 'UDP' },
    ],
    [
      'ports[0]',
      podOf('ports: [{containerPort: 80}]', ', hostNetwork: true'),
      { containerPort: 80, hostPort: 80, protocol: 'TCP' },
    ],
    [
      'env[0].valueFrom.fieldRef.apiVersion',
      podOf('env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]'),
      'v1',
    ],
    [
      'env[0].valueFrom.resourceFieldRef.divisor',
      podOf('env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]'),
      '0',
    ],
    [
      'env[0].valueFrom.fileKeyRef.optional',
      podOf('env: [{name: A, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}]'),
      false,
    ],
    [
      'livenessProbe',
      podOf('livenessProbe: {exec: {command: [x]}}'),
      {
        exec: { command: ['x'] },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    ],
    [
      'readinessProbe',
      podOf(
        'readinessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: 2, timeoutSeconds: 3, ' +
          'periodSeconds: 4, successThreshold: 5, failureThreshold: 6}',
      ),
      {
        tcpSocket: { port: 1 },
        initialDelaySeconds: 2,
        timeoutSeconds: 3,
        periodSeconds: 4,
        successThreshold: 5,
        failureThreshold: 6,
      },
    ],
    // Zero is equal to absent.
    ['startupProbe.periodSeconds', podOf('startupProbe: {grpc: {port: 1}, periodSeconds: 0}'), 10],
    ['startupProbe.grpc', podOf('startupProbe: {grpc: {port: 1}}'), { port: 1, service: '' }],
    [
      'livenessProbe.httpGet',
      podOf('livenessProbe: {httpGet: {port: 80}}'),
      { path: '/', port: 80, scheme: 'HTTP' },
    ],
    [
      'livenessProbe.httpGet',
      podOf('livenessProbe: {httpGet: {port: 80, path: /x, scheme: HTTPS}}'),
      { path: '/x', port: 80, scheme: 'HTTPS' },
    ],
    [
      'lifecycle.preStop.httpGet',
      podOf('lifecycle: {preStop: {httpGet: {port: 80}}}'),
      { path: '/', port: 80, scheme: 'HTTP' },
    ],
    [
      'lifecycle.postStart.httpGet',
      podOf('lifecycle: {postStart: {httpGet: {port: 80}}}'),
      { path: '/', port: 80, scheme: 'HTTP' },
    ],
    ['securityContext', podOf('securityContext: {privileged: true}'), { privileged: true }],
    [
      'resources',
      podOf('resources: {limits: {cpu: 1}}'),
      { limits: { cpu: '1' }, requests: { cpu: '1' } },
    ],
    [
      'resources',
      podOf('resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 100m}}'),
      { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m', memory: '1Gi' } },
    ],
    ['resources', podOf('resources: {requests: {cpu: 1u}}'), { requests: { cpu: '1m' } }],
    [
      'resources',
      podOf('resources: {limits: {cpu: 100n}}'),
      { limits: { cpu: '1m' }, requests: { cpu: '1m' } },
    ],
  ])('%s of a container of %s', (path, yaml, value) => {
    expect(at(defaulted('Pod', yaml), `spec.containers[0].${path}`)).toEqual(value);
  });

  test.each<Case>([
    ['emptyDir', 'spec: {containers: [], volumes: [{name: v}]}', {}],
    ['secret', volume('secret: {secretName: s}'), { secretName: 's', defaultMode: 420 }],
    [
      'secret',
      volume('secret: {secretName: s, defaultMode: 0}'),
      { secretName: 's', defaultMode: 0 },
    ],
    ['configMap', volume('configMap: {name: m}'), { name: 'm', defaultMode: 420 }],
    ['hostPath', volume('hostPath: {path: /x}'), { path: '/x', type: '' }],
    ['hostPath', volume('hostPath: {path: /x, type: File}'), { path: '/x', type: 'File' }],
    [
      'downwardAPI',
      volume('downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}'),
      {
        items: [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }],
        defaultMode: 420,
      },
    ],
    [
      'projected',
      volume(
        'projected: {sources: [{serviceAccountToken: {path: t}}, ' +
          '{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}',
      ),
      {
        sources: [
          { serviceAccountToken: { expirationSeconds: 3600, path: 't' } },
          {
            downwardAPI: {
              items: [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }],
            },
          },
        ],
        defaultMode: 420,
      },
    ],
    [
      'ephemeral.volumeClaimTemplate.spec.volumeMode',
      volume('ephemeral: {volumeClaimTemplate: {spec: {}}}'),
      'Filesystem',
    ],
    [
      'image',
      volume('image: {reference: "a:latest"}'),
      { reference: 'a:latest', pullPolicy: 'Always' },
    ],
    [
      'image',
      volume('image: {reference: "a:1"}'),
      { reference: 'a:1', pullPolicy: 'IfNotPresent' },
    ],
    ['iscsi.iscsiInterface', volume('iscsi: {targetPortal: a, iqn: b, lun: 0}'), 'default'],
    [
      'rbd',
      volume('rbd: {monitors: [a], image: b}'),
      { monitors: ['a'], image: 'b', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
    ],
    [
      'azureDisk',
      volume('azureDisk: {diskName: a, diskURI: b}'),
      {
        diskName: 'a',
        diskURI: 'b',
        cachingMode: 'ReadWrite',
        fsType: 'ext4',
        readOnly: false,
        kind: 'Shared',
      },
    ],
    [
      'scaleIO',
      volume('scaleIO: {gateway: a, system: b, secretRef: {name: c}, volumeName: d}'),
      {
        gateway: 'a',
        system: 'b',
        secretRef: { name: 'c' },
        volumeName: 'd',
        storageMode: 'ThinProvisioned',
        fsType: 'xfs',
      },
    ],
  ])('%s of the volume of %s', (path, yaml, value) => {
    expect(at(defaulted('Pod', yaml), `spec.volumes[0].${path}`)).toEqual(value);
  });

  test.each<[what: string, yaml: string, resources: unknown]>([
    [
      'requests follow from limits',
      podOf('', ', resources: {limits: {cpu: 2, memory: 1Gi}}'),
      { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '2', memory: '1Gi' } },
    ],
    [
      'but first from what the containers request',
      podOf(
        'resources: {requests: {cpu: 500m, ephemeral-storage: 1Gi}}',
        ', resources: {limits: {cpu: 2, memory: 1Gi}}',
      ),
      { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
    ],
    [
      'initialization may take more than the rest',
      'spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}], ' +
        'initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, ' +
        '{name: i, resources: {requests: {cpu: 3}}}], resources: {limits: {cpu: 8}}}',
      { limits: { cpu: '8' }, requests: { cpu: '4' } },
    ],
    [
      'huge pages follow from the limits of the containers',
      podOf(
        'resources: {limits: {hugepages-2Mi: 4Mi, cpu: 1}}',
        ', resources: {requests: {cpu: 1}}',
      ),
      { limits: { 'hugepages-2Mi': '4Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '4Mi' } },
    ],
    ['nothing follows from nothing', podOf('resources: {limits: {cpu: 1}}', ', resources: {}'), {}],
  ])('resources of the pod as a whole: %s', (_, yaml, resources) => {
    expect(at(defaulted('Pod', yaml), 'spec.resources')).toEqual(resources);
  });

  test.each<[given: string, podIP: string | undefined, podIPs: unknown]>([
    ['{}', undefined, undefined],
    ['{podIP: 10.0.0.1}', '10.0.0.1', [{ ip: '10.0.0.1' }]],
    ['{podIPs: [{ip: 10.0.0.1}, {ip: "::1"}]}', '10.0.0.1', [{ ip: '10.0.0.1' }, { ip: '::1' }]],
    [
      '{podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "::1"}]}',
      '10.0.0.1',
      [{ ip: '10.0.0.1' }, { ip: '::1' }],
    ],
    ['{podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.1}]}', '10.0.0.2', [{ ip: '10.0.0.2' }]],
  ])('both forms of addresses, from %s', (status, podIP, podIPs) => {
    const pod = defaulted('Pod', `spec: {containers: []}\nstatus: ${status}`);
    expect(at(pod, 'status.podIP')).toBe(podIP);
    expect(at(pod, 'status.podIPs')).toEqual(podIPs);
  });
});

describe('templates of pods', () => {
  test.each<[kind: string, group: string]>([
    ['ReplicationController', 'core'],
    ['ReplicaSet', 'apps'],
  ])('of a %s have what a pod has, except for what only a pod knows', (kind, group) => {
    const object = defaulted(
      kind,
      'spec: {template: {spec: {hostNetwork: true, containers: [{name: c, image: "i:1", ' +
        'ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}}]}}}',
      group,
    );
    expect(at(object, 'spec.template')).toEqual({
      metadata: {},
      spec: {
        hostNetwork: true,
        containers: [
          {
            name: 'c',
            image: 'i:1',
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: { limits: { cpu: '1' } },
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
            imagePullPolicy: 'IfNotPresent',
          },
        ],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
      },
    });
    expect(at(object, 'spec.replicas')).toBe(1);
  });
});

describe('replication controllers', () => {
  const template = 'template: {metadata: {labels: {a: b}}, spec: {containers: []}}';
  test.each<Case>([
    ['spec.selector', `spec: {${template}}`, { a: 'b' }],
    ['metadata.labels', `spec: {${template}}`, { a: 'b' }],
    ['spec.selector', `spec: {selector: {c: d}, ${template}}`, { c: 'd' }],
    ['metadata.labels', `metadata: {labels: {c: d}}\nspec: {${template}}`, { c: 'd' }],
    ['spec.replicas', `spec: {replicas: 0, ${template}}`, 0],
    ['spec.selector', 'spec: {template: {spec: {containers: []}}}', undefined],
  ])('%s of %s', (path, yaml, value) => {
    expect(at(defaulted('ReplicationController', yaml), path)).toEqual(value);
  });
});

test('a replica set keeps zero replicas, and gets no selector from its template', () => {
  const yaml =
    'spec: {replicas: 0, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}';
  const replicaSet = defaulted('ReplicaSet', yaml, 'apps');
  expect(at(replicaSet, 'spec.replicas')).toBe(0);
  expect(at(replicaSet, 'spec.selector')).toBeNull();
  expect(at(replicaSet, 'metadata.labels')).toBeUndefined();
});

describe('services', () => {
  test.each<Case>([
    ['spec.type', 'spec: {}', 'ClusterIP'],
    ['spec.sessionAffinity', 'spec: {}', 'None'],
    ['spec.internalTrafficPolicy', 'spec: {}', 'Cluster'],
    ['spec.internalTrafficPolicy', 'spec: {internalTrafficPolicy: Local}', 'Local'],
    ['spec.internalTrafficPolicy', 'spec: {type: ExternalName}', undefined],
    ['spec.externalTrafficPolicy', 'spec: {}', undefined],
    ['spec.externalTrafficPolicy', 'spec: {externalIPs: [1.2.3.4]}', 'Cluster'],
    ['spec.externalTrafficPolicy', 'spec: {type: NodePort}', 'Cluster'],
    [
      'spec.externalTrafficPolicy',
      'spec: {type: LoadBalancer, externalTrafficPolicy: Local}',
      'Local',
    ],
    ['spec.allocateLoadBalancerNodePorts', 'spec: {type: LoadBalancer}', true],
    [
      'spec.allocateLoadBalancerNodePorts',
      'spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false}',
      false,
    ],
    ['spec.allocateLoadBalancerNodePorts', 'spec: {type: NodePort}', undefined],
    ['spec.ports[0]', 'spec: {ports: [{port: 80}]}', { port: 80, protocol: 'TCP', targetPort: 80 }],
    [
      'spec.ports[0]',
      'spec: {ports: [{port: 80, targetPort: ""}]}',
      { port: 80, protocol: 'TCP', targetPort: 80 },
    ],
    [
      'spec.ports[0]',
      'spec: {ports: [{port: 80, targetPort: web, protocol: UDP}]}',
      { port: 80, protocol: 'UDP', targetPort: 'web' },
    ],
    [
      'spec.sessionAffinityConfig',
      'spec: {sessionAffinity: ClientIP}',
      { clientIP: { timeoutSeconds: 10_800 } },
    ],
    [
      'spec.sessionAffinityConfig',
      'spec: {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 9}}}',
      { clientIP: { timeoutSeconds: 9 } },
    ],
    [
      'spec.sessionAffinityConfig',
      'spec: {sessionAffinityConfig: {clientIP: {timeoutSeconds: 9}}}',
      undefined,
    ],
    ['status', 'spec: {}', { loadBalancer: {} }],
    [
      'status.loadBalancer.ingress',
      'spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}, ' +
        '{hostname: a}, {ip: 1.2.3.5, ipMode: Proxy}]}}',
      [{ ip: '1.2.3.4', ipMode: 'VIP' }, { hostname: 'a' }, { ip: '1.2.3.5', ipMode: 'Proxy' }],
    ],
  ])('%s of %s', (path, yaml, value) => {
    expect(at(defaulted('Service', yaml), path)).toEqual(value);
  });
});

describe('other kinds', () => {
  test.each<[kind: string, path: string, yaml: string, value: unknown]>([
    ['Namespace', 'metadata.labels', 'metadata: {name: x}', { 'kubernetes.io/metadata.name': 'x' }],
    [
      'Namespace',
      'metadata.labels',
      'metadata: {name: x, labels: {a: b, kubernetes.io/metadata.name: z}}',
      { a: 'b', 'kubernetes.io/metadata.name': 'x' },
    ],
    ['Namespace', 'metadata.labels', 'metadata: {generateName: x}', undefined],
    ['Namespace', 'status.phase', 'metadata: {name: x}', 'Active'],
    ['Node', 'status.allocatable', 'status: {capacity: {cpu: 2}}', { cpu: '2' }],
    [
      'Node',
      'status.allocatable',
      'status: {capacity: {cpu: 2}, allocatable: {cpu: 1}}',
      { cpu: '1' },
    ],
    ['Node', 'spec.podCIDRs', 'spec: {podCIDR: 10.0.0.0/24}', ['10.0.0.0/24']],
    ['Node', 'spec.podCIDR', 'spec: {podCIDRs: [10.0.0.0/24, "fd00::/64"]}', '10.0.0.0/24'],
    ['Node', 'spec', '{}', {}],
    ['Secret', 'type', '{}', 'Opaque'],
    ['Secret', 'type', 'type: mine', 'mine'],
    ['Secret', 'data', 'data: {a: eA==}\nstringData: {a: z, b: ""}', { a: 'eg==', b: '' }],
    ['Secret', 'stringData', 'stringData: {a: z}', undefined],
    ['ConfigMap', 'data', '{}', undefined],
  ])('%s %s of %s', (kind, path, yaml, value) => {
    expect(at(defaulted(kind, yaml), path)).toEqual(value);
  });
});

describe('the tag of an image', () => {
  test.each<[image: string, tag: string | undefined]>([
    ['busybox', 'latest'],
    ['busybox:latest', 'latest'],
    ['busybox:1.36', '1.36'],
    ['registry.example:5000/a/b', 'latest'],
    ['registry.example:5000/a/b:v1', 'v1'],
    ['LOCALHOST/a', 'latest'],
    [`a@sha256:${'0'.repeat(64)}`, undefined],
    [`a:latest@sha256:${'0'.repeat(64)}`, 'latest'],
    ['', undefined],
    ['Upper', undefined],
    ['a b', undefined],
  ])('%s', (image, tag) => {
    expect(imageTag(image)).toBe(tag);
  });
});
