// Warnings for writes of pods and templates.

import { describe, expect, test } from 'vitest';

import * as field from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import type { Deployment } from '#api/groups/apps/v1/index.ts';
import type { PersistentVolumeClaim, Pod } from './types.ts';
import {
  claimWarnings,
  podTemplateWarnings,
  podWarnings,
  resourceNameWarnings,
} from './warnings.ts';

const CONTAINER = 'containers: [{name: c, image: i}]';

function ofPod(spec: string, annotations = '{}'): string[] {
  return podWarnings(
    manifest<Pod>('core/v1.Pod', `metadata: {annotations: ${annotations}}\nspec: {${spec}}`),
  );
}

function ofTemplate(spec: string, annotations = '{}'): string[] {
  const yaml = `spec: {template: {metadata: {annotations: ${annotations}}, spec: {${spec}}}}`;
  const { template } = manifest<Deployment>('apps/v1.Deployment', yaml).spec;
  return podTemplateWarnings(template, field.path('spec', 'template'));
}

const one = (container: string, spec = ''): string =>
  `containers: [{name: c, image: i, ${container}}], ${spec}`;
const affinity = (text: string): string => `${CONTAINER}, affinity: {${text}}`;
const volume = (source: string): string => `${CONTAINER}, volumes: [{name: v, ${source}}]`;
const HIDES = 'hides previous definition of "A", which may be dropped when using apply';

describe('pods', () => {
  test('no warnings', () => {
    expect(ofPod(CONTAINER)).toEqual([]);
  });

  test.each<[what: string, spec: string, warnings: string[]]>([
    [
      'an old label of nodes',
      `${CONTAINER}, nodeSelector: {beta.kubernetes.io/arch: arm}`,
      [
        'spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
      ],
    ],
    [
      'an old label, required',
      affinity(
        'nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ' +
          '{nodeSelectorTerms: [{matchExpressions: [{key: x, operator: Exists}, ' +
          '{key: beta.kubernetes.io/os, operator: Exists}]}]}}',
      ),
      [
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.' +
          'nodeSelectorTerms[0].matchExpressions[1].key: beta.kubernetes.io/os is deprecated ' +
          'since v1.14; use "kubernetes.io/os" instead',
      ],
    ],
    [
      'an old label, preferred',
      affinity(
        'nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, ' +
          'preference: {matchExpressions: [{key: beta.kubernetes.io/instance-type, ' +
          'operator: Exists}]}}]}',
      ),
      [
        'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].' +
          'preference.matchExpressions[0].key: beta.kubernetes.io/instance-type is ' +
          'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
      ],
    ],
    [
      'an old topology, of no pods',
      `${CONTAINER}, topologySpreadConstraints: [{maxSkew: 1, ` +
        'whenUnsatisfiable: DoNotSchedule, ' +
        'topologyKey: failure-domain.beta.kubernetes.io/zone}]',
      [
        'spec.topologySpreadConstraints[0].topologyKey: ' +
          'failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; ' +
          'use "topology.kubernetes.io/zone" instead',
        'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
      ],
    ],
    [
      'near to no pods, and far from none',
      affinity(
        'podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ' +
          'k}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: ' +
          '[{weight: 1, podAffinityTerm: {topologyKey: k}}]}',
      ),
      [
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          'labelSelector: a null labelSelector results in matching no pod',
        'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].' +
          'podAffinityTerm.labelSelector: a null labelSelector results in matching no pod',
      ],
    ],
    [
      'a git repository',
      volume('gitRepo: {repository: r}'),
      ['spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+'],
    ],
    [
      'a volume that is no more',
      volume('storageos: {volumeName: v}'),
      ['spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+'],
    ],
    [
      'another volume that is no more',
      volume('rbd: {monitors: [m], image: i}'),
      ['spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+'],
    ],
    [
      'a claim for a part of a byte',
      volume('ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1.5}}}}}'),
      [
        'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: ' +
          'fractional byte value "1500m" is invalid, must be an integer',
      ],
    ],
    [
      'files in the place of a token',
      volume(
        'projected: {sources: [{serviceAccountToken: {path: t}}, {configMap: {name: c, ' +
          'items: [{key: k, path: t}]}}, {secret: {name: s, items: [{key: k, path: u}, ' +
          '{key: k, path: t}]}}]}',
      ),
      [
        'volume "v" (Projected): overlapping paths: "t" (ConfigMap "c") with "t" (ServiceAccountToken)',
        'volume "v" (Projected): overlapping paths: "t" (Secret "s") with "t" (ServiceAccountToken)',
        'volume "v" (Projected): overlapping paths: "t" (Secret "s") with "t" (ConfigMap "c")',
      ],
    ],
    [
      'files in each other',
      volume(
        'configMap: {name: c, items: [{key: k, path: a/b/}, {key: l, path: a}, {key: m, path: ab}]}',
      ),
      ['volume "v" (ConfigMap "c"): overlapping paths: "a" with "a/b"'],
    ],
    [
      'sources that are none',
      volume('projected: {sources: [{}, {secret: {name: s}}]}'),
      ['volume "v" (Projected) has no sources provided'],
    ],
    [
      'addresses as they are not written',
      `${CONTAINER}, dnsConfig: {nameservers: ["2001:DB8::1"]}, hostAliases: [{ip: "::ffff:1.2.3.4"}]`,
      [
        'spec.dnsConfig.nameservers[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 ' +
          'canonical format ("2001:db8::1")',
        'spec.hostAliases[0].ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
      ],
    ],
    [
      'an alias twice',
      `${CONTAINER}, hostAliases: [{ip: 1.2.3.4}, {ip: 1.2.3.5}, {ip: 1.2.3.4}]`,
      ['spec.hostAliases[2].ip: duplicate ip "1.2.3.4"'],
    ],
    [
      'a secret twice, and one without a name',
      `${CONTAINER}, imagePullSecrets: [{name: a}, {name: a}, {}]`,
      [
        'spec.imagePullSecrets[1].name: duplicate name "a"',
        'spec.imagePullSecrets[2].name: invalid empty name ""',
      ],
    ],
    [
      'parts of bytes',
      one(
        'resources: {requests: {memory: 200m}, limits: {memory: 1.5, cpu: 1.5, ephemeral-storage: 1Ki}}',
        'overhead: {memory: 1100m}',
      ),
      [
        'spec.overhead[memory]: fractional byte value "1100m" is invalid, must be an integer',
        'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
        'spec.containers[0].resources.requests[memory]: fractional byte value "200m" is invalid, must be an integer',
      ],
    ],
    [
      'a variable twice',
      one('env: [{name: A, value: a}, {name: A, value: b}]'),
      [`spec.containers[0].env[1]: ${HIDES}`],
    ],
    [
      'a variable and its own value',
      one('env: [{name: A, value: a}, {name: A, value: $(A)}]'),
      [`spec.containers[0].env[1]: ${HIDES}`],
    ],
    [
      'a variable from elsewhere',
      one(
        'env: [{name: A, value: a}, {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]',
      ),
      [`spec.containers[0].env[1]: ${HIDES}`],
    ],
    [
      'a variable that is built on',
      one('env: [{name: A, value: a}, {name: A, value: "$(A):b"}]'),
      [],
    ],
    [
      'an address without a port',
      one('ports: [{containerPort: 80, hostIP: 1.2.3.4}]'),
      [
        'spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ' +
          'ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}',
      ],
    ],
    [
      'a port twice',
      'containers: [{name: c, image: i, ports: [{containerPort: 80}]}, {name: d, image: i, ' +
        'ports: [{containerPort: 80}]}]',
      ['spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]'],
    ],
    [
      'a name of ports twice',
      'containers: [{name: c, image: i, ports: [{containerPort: 80, name: a}]}, {name: d, ' +
        'image: i, ports: [{containerPort: 81, name: a}, {containerPort: 82, name: b}]}]',
      [
        'spec.containers[1].ports[0]: duplicate port name "a" with spec.containers[0].ports[0], ' +
          'services and probes that select ports by name will use spec.containers[0].ports[0]',
      ],
    ],
    [
      'ports of two protocols',
      one('ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]'),
      [],
    ],
    [
      'a port of the host and one that is none',
      one('ports: [{containerPort: 80, hostPort: 80}, {containerPort: 80}]'),
      ['spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]'],
    ],
    [
      'a port of one address and of all',
      one(
        'ports: [{containerPort: 80, hostPort: 80, hostIP: 1.2.3.4}, {containerPort: 80, hostPort: 80}]',
      ),
      [
        'spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]',
      ],
    ],
    [
      'a port of two addresses',
      one(
        'ports: [{containerPort: 80, hostPort: 80, hostIP: 1.2.3.4}, {containerPort: 80, ' +
          'hostPort: 80, hostIP: 1.2.3.5}]',
      ),
      [],
    ],
    [
      'no time to end',
      `${CONTAINER}, terminationGracePeriodSeconds: -1`,
      [
        'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
      ],
    ],
  ])('%s', (_, spec, warnings) => {
    expect(ofPod(spec)).toEqual(warnings);
  });

  const PROFILES =
    '{container.apparmor.security.beta.kubernetes.io/c: x, ' +
    'container.seccomp.security.alpha.kubernetes.io/c: x, ' +
    'seccomp.security.alpha.kubernetes.io/pod: x}';
  const seccomp = (at: string): string[] =>
    [
      'seccomp.security.alpha.kubernetes.io/pod',
      'container.seccomp.security.alpha.kubernetes.io/c',
    ].map(
      (key) => `${at}[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
    );

  test('annotations without an effect', () => {
    expect(ofPod(CONTAINER, PROFILES)).toEqual(seccomp('metadata.annotations'));
    expect(ofPod(CONTAINER, '{scheduler.alpha.kubernetes.io/critical-pod: ""}')).toEqual([
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in ' +
        'v1.16+; use the "priorityClassName" field instead',
    ]);
    const fields =
      'securityContext: {seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: RuntimeDefault}}';
    expect(ofTemplate(one(fields, fields), PROFILES)).toEqual([]);
  });

  test('paths in templates begin with the template, and AppArmor annotations have a warning', () => {
    expect(ofTemplate(CONTAINER, PROFILES)).toEqual([
      ...seccomp('spec.template.metadata.annotations'),
      'spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/' +
        'c]: deprecated since v1.30; use the "appArmorProfile" field instead',
    ]);
    expect(
      ofTemplate(
        `${CONTAINER}, initContainers: [{name: d, image: i, env: [{name: A}, {name: A}]}]`,
      ),
    ).toEqual([`spec.template.spec.initContainers[0].env[1]: ${HIDES}`]);
  });
});

test('claims', () => {
  const claim = (storage: string): string[] =>
    claimWarnings(
      manifest<PersistentVolumeClaim>(
        'core/v1.PersistentVolumeClaim',
        `spec: {resources: {requests: {storage: ${storage}}}}`,
      ).spec,
      field.path('spec'),
    );
  expect(claim('1Gi')).toEqual([]);
  expect(claim('1500m')).toEqual([
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
});

test('names of hosts', () => {
  expect(resourceNameWarnings('web-1')).toEqual([]);
  expect(resourceNameWarnings('web.1')).toEqual([
    'metadata.name: this is used in Pod names and hostnames, ' +
      'which can result in surprising behavior; a DNS label is recommended: [must not ' +
      'contain dots]',
  ]);
});
