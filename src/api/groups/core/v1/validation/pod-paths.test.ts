// Further valid and invalid pods: changes to a valid pod, with the paths and types of the errors.
// pod.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePod } from './index.ts';

const good = 'containers: [{name: c, image: x}]';
const container = (fields: string): string => `containers: [{name: c, image: x, ${fields}}]`;
const errorsOf = (spec: string): string[] =>
  validatePod(
    manifest<core.Pod>(
      'core/v1.Pod',
      `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}`,
    ),
  ).map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`);

describe('accepted', () => {
  test.each([
    ['the least', good],
    [
      'everything that has a name',
      `${good}\nnodeName: n1\nserviceAccountName: acct\nhostname: foo\nsubdomain: bar\npriorityClassName: p`,
    ],
    [
      'a user of the greatest number',
      `${good}\nsecurityContext: {runAsUser: 2147483647, fsGroup: 2147483647, supplementalGroups: [0, 2147483647]}`,
    ],
    ['a user of its own space', `${good}\nhostUsers: false`],
    ['a host user space and network', `${good}\nhostUsers: true\nhostNetwork: true`],
    ['shared processes', `${good}\nshareProcessNamespace: true`],
    [
      'group policies',
      `${good}\nsecurityContext: {fsGroupChangePolicy: OnRootMismatch, supplementalGroupsPolicy: Strict}`,
    ],
    ['a runtime class', `${good}\nruntimeClassName: a.b-c`],
    ['an overhead', `${good}\noverhead: {cpu: 10m}`],
    ['Linux', `${good}\nos: {name: linux}`],
    ['Windows', `${good}\nos: {name: windows}`],
    ['gates', `${good}\nschedulingGates: [{name: a}, {name: example.com/b}]`],
    [
      'a claim of devices',
      `${container('resources: {claims: [{name: d}]}')}\nresourceClaims: [{name: d, resourceClaimName: x}]`,
    ],
    [
      'two requests of one claim',
      container('resources: {claims: [{name: d, request: a}, {name: d, request: b}]}') +
        '\nresourceClaims: [{name: d, resourceClaimTemplateName: x}]',
    ],
    [
      'resources of the pod',
      `${good}\nresources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}`,
    ],
    [
      'a sidecar with a probe',
      `${good}\ninitContainers: [{name: i, image: x, restartPolicy: Always, startupProbe: {exec: {command: [a]}}}]`,
    ],
    [
      'rules of restarts',
      container(
        'restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]',
      ),
    ],
    [
      'a policy of resizes',
      container(
        'resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, ' +
          '{resourceName: memory, restartPolicy: RestartContainer}]',
      ),
    ],
    [
      'a probe of its own grace',
      container('livenessProbe: {grpc: {port: 1}, terminationGracePeriodSeconds: 1}'),
    ],
    ['a hook that sleeps', container('lifecycle: {preStop: {sleep: {seconds: 30}}}')],
    ['a hook that does not sleep', container('lifecycle: {preStop: {sleep: {seconds: 0}}}')],
    [
      'an unmasked proc in its own user space',
      `${container('securityContext: {procMount: Unmasked}')}\nhostUsers: false`,
    ],
    [
      'spread by labels',
      `${good}\ntopologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, ` +
        'whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeAffinityPolicy: Honor, ' +
        'nodeTaintsPolicy: Ignore, labelSelector: {matchLabels: {a: b}}}]',
    ],
    ['a toleration of all', `${good}\ntolerations: [{operator: Exists}]`],
    [
      'a toleration for a while',
      `${good}\ntolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: -1}]`,
    ],
    [
      'an image as a volume',
      `${container('volumeMounts: [{name: v, mountPath: /v}]')}\nvolumes: [{name: v, image: {reference: x}}]`,
    ],
  ])('%s', (_what, spec) => {
    expect(errorsOf(spec)).toEqual([]);
  });
});

describe('rejected', () => {
  const spread = (fields: string): string =>
    `${good}\ntopologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, ` +
    `whenUnsatisfiable: DoNotSchedule, ${fields}}]`;
  test.each<[what: string, spec: string, errors: string[]]>([
    ['no containers', 'containers: []', ['spec.containers Required']],
    ['a node of a bad name', `${good}\nnodeName: A_`, ['spec.nodeName Invalid']],
    [
      'an account of a bad name',
      `${good}\nserviceAccountName: invalidName`,
      ['spec.serviceAccountName Invalid'],
    ],
    ['a host of a bad name', `${good}\nhostname: a.b`, ['spec.hostname Invalid']],
    ['a domain of a bad name', `${good}\nsubdomain: a.b`, ['spec.subdomain Invalid']],
    [
      'a class of a bad name',
      `${good}\nruntimeClassName: "a/b"`,
      ['spec.runtimeClassName Invalid'],
    ],
    [
      'a policy that is none',
      `${good}\nrestartPolicy: UnknowPolicy`,
      ['spec.restartPolicy NotSupported'],
    ],
    ['a DNS policy that is none', `${good}\ndnsPolicy: invalid`, ['spec.dnsPolicy NotSupported']],
    [
      'a deadline of nothing',
      `${good}\nactiveDeadlineSeconds: 0`,
      ['spec.activeDeadlineSeconds Invalid'],
    ],
    [
      'a deadline too far',
      `${good}\nactiveDeadlineSeconds: 2147483648`,
      ['spec.activeDeadlineSeconds Invalid'],
    ],
    [
      'processes of the host and shared',
      `${good}\nhostPID: true\nshareProcessNamespace: true`,
      ['spec.securityContext.shareProcessNamespace Invalid'],
    ],
    [
      'a negative group',
      `${good}\nsecurityContext: {supplementalGroups: [-1]}`,
      ['spec.securityContext.supplementalGroups[0] Invalid'],
    ],
    [
      'a negative user',
      `${good}\nsecurityContext: {runAsUser: -1}`,
      ['spec.securityContext.runAsUser Invalid'],
    ],
    [
      'a negative group of files',
      `${good}\nsecurityContext: {fsGroup: -1}`,
      ['spec.securityContext.fsGroup Invalid'],
    ],
    [
      'a user space and processes of the host',
      `${good}\nhostUsers: false\nhostPID: true`,
      ['spec.HostPID Forbidden'],
    ],
    [
      'a user space and IPC of the host',
      `${good}\nhostUsers: false\nhostIPC: true`,
      ['spec.HostIPC Forbidden'],
    ],
    [
      'a preemption that is none',
      `${good}\npreemptionPolicy: z`,
      ['spec.preemptionPolicy NotSupported'],
    ],
    [
      'no skew',
      spread('maxSkew: 0').replace('maxSkew: 1, ', ''),
      ['spec.topologySpreadConstraints[0].maxSkew Invalid'],
    ],
    [
      'a negative number of domains',
      spread('minDomains: -1'),
      ['spec.topologySpreadConstraints[0].minDomains Invalid'],
    ],
    [
      'a policy of nodes that is none',
      spread('nodeTaintsPolicy: z'),
      ['spec.topologySpreadConstraints[0].nodeTaintsPolicy NotSupported'],
    ],
    [
      'keys without a selector',
      spread('matchLabelKeys: [a]'),
      ['spec.topologySpreadConstraints[0].matchLabelKeys Forbidden'],
    ],
    [
      'a gate of a bad name',
      `${good}\nschedulingGates: [{name: "a b"}]`,
      ['spec.schedulingGates[0] Invalid'],
    ],
    [
      'a gate twice',
      `${good}\nschedulingGates: [{name: a}, {name: a}]`,
      ['spec.schedulingGates[1] Duplicate'],
    ],
    [
      'a gate and a node',
      `${good}\nnodeName: n1\nschedulingGates: [{name: a}]`,
      ['spec.nodeName Forbidden'],
    ],
    [
      'a claim of two sources',
      `${good}\nresourceClaims: [{name: d, resourceClaimName: x, resourceClaimTemplateName: z}]`,
      ['spec.resourceClaims[0] Invalid'],
    ],
    [
      'a claim of no source',
      `${good}\nresourceClaims: [{name: d}]`,
      ['spec.resourceClaims[0] Invalid'],
    ],
    [
      'a claim that is not there',
      container('resources: {claims: [{name: d}]}'),
      ['spec.containers[0].resources.claims[0] NotFound'],
    ],
    [
      'storage of the pod',
      `${good}\nresources: {limits: {ephemeral-storage: 1Gi}}`,
      ['spec.resources.limits[ephemeral-storage] NotSupported'],
    ],
    [
      'a probe without an action',
      container('livenessProbe: {}'),
      ['spec.containers[0].livenessProbe Required'],
    ],
    [
      'a probe of no grace',
      container('livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}'),
      ['spec.containers[0].livenessProbe.terminationGracePeriodSeconds Invalid'],
    ],
    [
      'a probe that succeeds twice',
      container('startupProbe: {exec: {command: [a]}, successThreshold: 2}'),
      ['spec.containers[0].startupProbe.successThreshold Invalid'],
    ],
    [
      'a hook that sleeps too long',
      container('lifecycle: {preStop: {sleep: {seconds: 31}}}'),
      ['spec.containers[0].lifecycle.preStop.sleep Invalid'],
    ],
    [
      'rules without a policy',
      container('restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]'),
      ['spec.containers[0].restartPolicy Required'],
    ],
    [
      'a rule without codes',
      container('restartPolicy: Never, restartPolicyRules: [{action: Restart}]'),
      ['spec.containers[0].restartPolicyRules[0].exitCodes Required'],
    ],
    [
      'a resize policy twice',
      container(
        'resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, ' +
          '{resourceName: cpu, restartPolicy: NotRequired}]',
      ),
      ['spec.containers[0].resizePolicy[1] Duplicate'],
    ],
    [
      'a resize policy of storage',
      container('resizePolicy: [{resourceName: storage, restartPolicy: NotRequired}]'),
      ['spec.containers[0].resizePolicy NotSupported'],
    ],
    [
      'a debug container',
      `${good}\nephemeralContainers: [{name: d, image: x}]`,
      ['spec.ephemeralContainers Forbidden'],
    ],
    [
      'a part of an image that leads out',
      `${container('volumeMounts: [{name: v, mountPath: /v, subPath: ../a}]')}\n` +
        'volumes: [{name: v, image: {reference: x}}]',
      ['spec.containers[0].volumeMounts.subPath Invalid'],
    ],
    [
      'an unmasked proc',
      container('securityContext: {procMount: Unmasked}'),
      ['spec.containers[0].securityContext.procMount Invalid'],
    ],
    ['a system that is none', `${good}\nos: {name: dummyOS}`, ['spec.os NotSupported']],
  ])('%s', (_what, spec, errors) => {
    expect(errorsOf(spec)).toEqual(errors);
  });
});
