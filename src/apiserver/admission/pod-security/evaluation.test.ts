// Each control with pods that pass, pods that do not, and the versions in which it applies.

import { describe, expect, test } from 'vitest';

import { decodeObject, parseYaml } from '#api/machinery/codec/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { CONTROLS, detailsText, NEWEST_MINOR, reasonsText, violationsOf } from './evaluation.ts';
import type { Level, Version } from './policy.ts';
import { podToCheck } from './templates.ts';

const POD = allSchemas.message('core/v1.Pod');
const pod = (yaml: string) => podToCheck(decodeObject<Pod>(POD, parseYaml(yaml)).object);

const withContainer = (fields: string) => `{spec: {containers: [{name: c, ${fields}}]}}`;
const withContext = (context: string) => withContainer(`securityContext: {${context}}`);
const withPodContext = (context: string) =>
  `{spec: {securityContext: {${context}}, containers: [{name: c}]}}`;

/** Returns the violation of one control. */
function detailOf(id: string, minor: number, yaml: string): string | undefined {
  const control = CONTROLS.find((each) => each.id === id);
  const check = control?.versions.findLast(({ since }) => since <= minor)?.check;
  const violation = check?.(pod(yaml));
  return violation === undefined ? undefined : detailsText([violation]);
}

const PLAIN = '{spec: {containers: [{name: c}]}}';
const ALL_KINDS = (context: string) =>
  `{spec: {initContainers: [{name: i, securityContext: {${context}}}], containers: [{name: c}],
    ephemeralContainers: [{name: e, securityContext: {${context}}}]}}`;
const SYSCTL = (name: string) => withPodContext(`sysctls: [{name: ${name}, value: "1"}]`);
const AS_WINDOWS = '{spec: {os: {name: windows}, containers: [{name: c}]}}';
const IN_USER_NAMESPACE = (context: string) =>
  `{spec: {hostUsers: false, containers: [{name: c, securityContext: {${context}}}]}}`;
const ANNOTATED = (annotations: string) =>
  `{metadata: {annotations: {${annotations}}}, spec: {containers: [{name: c}]}}`;

type Case = readonly [id: string, minor: number, yaml: string, detail: string | undefined];

const CASES: readonly Case[] = [
  ['hostNamespaces', 0, PLAIN, undefined],
  [
    'hostNamespaces',
    0,
    '{spec: {hostNetwork: false, hostPID: true, containers: []}}',
    'host namespaces (hostPID=true)',
  ],
  [
    'hostNamespaces',
    0,
    '{spec: {hostIPC: true, hostNetwork: true, containers: []}}',
    'host namespaces (hostNetwork=true, hostIPC=true)',
  ],
  ['hostPathVolumes', 0, '{spec: {volumes: [{name: a, emptyDir: {}}], containers: []}}', undefined],
  [
    'hostPathVolumes',
    0,
    '{spec: {volumes: [{name: a, hostPath: {path: /}}, {name: b, hostPath: {path: /}}], containers: []}}',
    'hostPath volumes (volumes "a", "b")',
  ],
  ['hostPorts', 0, withContainer('ports: [{containerPort: 80, hostPort: 0}]'), undefined],
  [
    'hostPorts',
    0,
    withContainer('ports: [{containerPort: 80, hostPort: 8080}]'),
    'hostPort (container "c" uses hostPort 8080)',
  ],
  [
    'hostPorts',
    0,
    '{spec: {initContainers: [{name: i, ports: [{hostPort: 9}]}], containers: [{name: c, ' +
      'ports: [{hostPort: 10}, {hostPort: 9}]}]}}',
    'hostPort (containers "i", "c" use hostPorts 10, 9)',
  ],
  [
    'hostProbesAndHostLifecycle',
    33,
    withContainer('livenessProbe: {httpGet: {host: h, port: 1}}'),
    undefined,
  ],
  [
    'hostProbesAndHostLifecycle',
    34,
    withContainer('livenessProbe: {httpGet: {port: 1}}'),
    undefined,
  ],
  [
    'hostProbesAndHostLifecycle',
    34,
    withContainer('livenessProbe: {httpGet: {host: h, port: 1}}'),
    'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
  ],
  [
    'hostProbesAndHostLifecycle',
    34,
    `{spec: {initContainers: [{name: z, startupProbe: {tcpSocket: {host: w, port: 1}}}],
      containers: [{name: c, lifecycle:
        {postStart: {tcpSocket: {host: x, port: 1}}, preStop: {httpGet: {host: x, port: 1}}}}]}}`,
    'probe or lifecycle host (containers "c", "z" use probe or lifecycle hosts "w", "x")',
  ],
  ['windowsHostProcess', 0, withContext('windowsOptions: {hostProcess: false}'), undefined],
  [
    'windowsHostProcess',
    0,
    `{spec: {securityContext: {windowsOptions: {hostProcess: true}},
      containers: [{name: c, securityContext: {windowsOptions: {hostProcess: true}}}]}}`,
    'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
  ],
  ['privileged', 0, withContext('privileged: false'), undefined],
  [
    'privileged',
    0,
    ALL_KINDS('privileged: true'),
    'privileged (containers "i", "e" must not set securityContext.privileged=true)',
  ],
  ['allowPrivilegeEscalation', 7, PLAIN, undefined],
  [
    'allowPrivilegeEscalation',
    8,
    AS_WINDOWS,
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
  ],
  ['allowPrivilegeEscalation', 25, AS_WINDOWS, undefined],
  ['allowPrivilegeEscalation', 25, withContext('allowPrivilegeEscalation: false'), undefined],
  [
    'allowPrivilegeEscalation',
    25,
    withContext('allowPrivilegeEscalation: true'),
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
  ],
  ['runAsNonRoot', 0, withPodContext('runAsNonRoot: true'), undefined],
  ['runAsNonRoot', 0, withContext('runAsNonRoot: true'), undefined],
  [
    'runAsNonRoot',
    0,
    PLAIN,
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
  ],
  [
    'runAsNonRoot',
    34,
    IN_USER_NAMESPACE('runAsNonRoot: false'),
    'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
  ],
  ['runAsNonRoot', 35, IN_USER_NAMESPACE('runAsNonRoot: false'), undefined],
  [
    'runAsNonRoot',
    35,
    '{spec: {securityContext: {runAsNonRoot: false}, containers: [{name: c, securityContext: ' +
      '{runAsNonRoot: false}}, {name: d}]}}',
    'runAsNonRoot != true (pod and container "c" must not set securityContext.runAsNonRoot=false)',
  ],
  ['runAsUser', 22, withPodContext('runAsUser: 0'), undefined],
  ['runAsUser', 23, withPodContext('runAsUser: 1'), undefined],
  ['runAsUser', 23, withPodContext('runAsUser: 0'), 'runAsUser=0 (pod must not set runAsUser=0)'],
  [
    'runAsUser',
    23,
    ALL_KINDS('runAsUser: 0'),
    'runAsUser=0 (containers "i", "e" must not set runAsUser=0)',
  ],
  ['runAsUser', 35, IN_USER_NAMESPACE('runAsUser: 0'), undefined],
  ['procMount', 0, withContext('procMount: Default'), undefined],
  [
    'procMount',
    34,
    IN_USER_NAMESPACE('procMount: Unmasked'),
    'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
  ],
  ['procMount', 35, IN_USER_NAMESPACE('procMount: Unmasked'), undefined],
  ['procMount_restricted', 34, IN_USER_NAMESPACE('procMount: Unmasked'), undefined],
  [
    'procMount_restricted',
    35,
    IN_USER_NAMESPACE('procMount: Unmasked'),
    'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
  ],
  ['capabilities_baseline', 0, withContext('capabilities: {add: [CHOWN, KILL]}'), undefined],
  [
    'capabilities_baseline',
    0,
    ALL_KINDS('capabilities: {add: [SYS_TIME, CHOWN, NET_RAW]}'),
    'non-default capabilities (containers "i", "e" must not include "NET_RAW", "SYS_TIME" in ' +
      'securityContext.capabilities.add)',
  ],
  ['capabilities_restricted', 21, PLAIN, undefined],
  [
    'capabilities_restricted',
    22,
    withContext('capabilities: {add: [NET_BIND_SERVICE], drop: [X, ALL]}'),
    undefined,
  ],
  ['capabilities_restricted', 25, AS_WINDOWS, undefined],
  [
    'capabilities_restricted',
    22,
    withContext('capabilities: {add: [CHOWN], drop: [NET_RAW]}'),
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; ' +
      'container "c" must not include "CHOWN" in securityContext.capabilities.add)',
  ],
  ['appArmorProfile', 0, withPodContext('appArmorProfile: {type: RuntimeDefault}'), undefined],
  [
    'appArmorProfile',
    0,
    ANNOTATED('container.apparmor.security.beta.kubernetes.io/c: localhost/x'),
    undefined,
  ],
  [
    'appArmorProfile',
    0,
    withPodContext('appArmorProfile: {type: Unconfined}'),
    'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
  ],
  [
    'appArmorProfile',
    0,
    `{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}},
      spec: {containers: [{name: c, securityContext: {appArmorProfile: {type: Unconfined}}}]}}`,
    'forbidden AppArmor profiles (container "c" and annotation must not set AppArmor profile type to "Unconfined", ' +
      '"container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
  ],
  ['seccompProfile_baseline', 18, withPodContext('seccompProfile: {type: Unconfined}'), undefined],
  [
    'seccompProfile_baseline',
    18,
    ANNOTATED('seccomp.security.alpha.kubernetes.io/pod: docker/default'),
    undefined,
  ],
  [
    'seccompProfile_baseline',
    18,
    ANNOTATED(
      'seccomp.security.alpha.kubernetes.io/pod: x, container.seccomp.security.alpha.kubernetes.io/c: z',
    ),
    'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/c="z", ' +
      'seccomp.security.alpha.kubernetes.io/pod="x")',
  ],
  [
    'seccompProfile_baseline',
    19,
    ANNOTATED('seccomp.security.alpha.kubernetes.io/pod: x'),
    undefined,
  ],
  [
    'seccompProfile_baseline',
    19,
    withPodContext('seccompProfile: {type: Unconfined}'),
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  ['seccompProfile_restricted', 19, withContext('seccompProfile: {type: Localhost}'), undefined],
  ['seccompProfile_restricted', 25, AS_WINDOWS, undefined],
  [
    'seccompProfile_restricted',
    24,
    AS_WINDOWS,
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to ' +
      '"RuntimeDefault" or "Localhost")',
  ],
  [
    'seccompProfile_restricted',
    25,
    ALL_KINDS('seccompProfile: {type: Unconfined}'),
    'seccompProfile (containers "i", "e" must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  ['seLinuxOptions', 0, withContext('seLinuxOptions: {type: container_t, level: s0}'), undefined],
  ['seLinuxOptions', 31, withContext('seLinuxOptions: {type: container_engine_t}'), undefined],
  [
    'seLinuxOptions',
    30,
    withContext('seLinuxOptions: {type: container_engine_t}'),
    'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
  ],
  [
    'seLinuxOptions',
    31,
    '{spec: {securityContext: {seLinuxOptions: {type: b, role: r}}, containers: [{name: c, ' +
      'securityContext: {seLinuxOptions: {type: a, user: u}}}]}}',
    'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: types "a", "b"; ' +
      'user may not be set; role may not be set)',
  ],
  [
    'restrictedVolumes',
    0,
    '{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, image: {}}, {name: c, csi: {driver: d}}], containers: []}}',
    undefined,
  ],
  [
    'restrictedVolumes',
    0,
    '{spec: {volumes: [{name: a, nfs: {server: s, path: /}}, {name: b, hostPath: {path: /}}, ' +
      '{name: c}], containers: []}}',
    'restricted volume types (volumes "a", "b", "c" use restricted volume types "hostPath", "nfs", "unknown")',
  ],
  ['sysctls', 0, SYSCTL('kernel.shm_rmid_forced'), undefined],
  [
    'sysctls',
    26,
    SYSCTL('net.ipv4.ip_local_reserved_ports'),
    'forbidden sysctls (net.ipv4.ip_local_reserved_ports)',
  ],
  ['sysctls', 27, SYSCTL('net.ipv4.ip_local_reserved_ports'), undefined],
  [
    'sysctls',
    28,
    SYSCTL('net.ipv4.tcp_fin_timeout'),
    'forbidden sysctls (net.ipv4.tcp_fin_timeout)',
  ],
  ['sysctls', 29, SYSCTL('net.ipv4.tcp_fin_timeout'), undefined],
  ['sysctls', 31, SYSCTL('net.ipv4.tcp_rmem'), 'forbidden sysctls (net.ipv4.tcp_rmem)'],
  ['sysctls', 32, SYSCTL('net.ipv4.tcp_rmem'), undefined],
];

describe('controls', () => {
  test.each(CASES)('%s of 1.%s about %s', (id, minor, yaml, expected) => {
    expect(detailOf(id, minor, yaml)).toBe(expected);
  });

  test('the cases cover each control in each version', () => {
    const tried = new Set(CASES.map(([id, minor]) => `${id} ${sinceOf(id, minor)}`));
    const all = CONTROLS.flatMap(({ id, versions }) =>
      versions.map(({ since }) => `${id} ${since}`),
    );
    expect(all.filter((each) => !tried.has(each))).toEqual([]);
  });
});

function sinceOf(id: string, minor: number): number | undefined {
  const control = CONTROLS.find((each) => each.id === id);
  return control?.versions.findLast(({ since }) => since <= minor)?.since;
}

describe('levels', () => {
  const reasons = (level: Level, version: Version, yaml: string) =>
    reasonsText(violationsOf(pod(yaml), { level, version }));
  const BAD = `{spec: {hostNetwork: true, volumes: [{name: v, hostPath: {path: /}}],
    containers: [{name: c, securityContext:
      {privileged: true, capabilities: {add: [NET_RAW]}, procMount: Unmasked}}]}}`;

  test('privileged has no requirements', () => {
    expect(reasons('privileged', 'latest', BAD)).toBe('');
  });

  test('restricted requires what baseline does, or something stricter in its place', () => {
    expect(reasons('baseline', 'latest', BAD)).toBe(
      'non-default capabilities, host namespaces, hostPath volumes, privileged, procMount',
    );
    expect(reasons('restricted', 'v1.0', BAD)).toBe(
      'non-default capabilities, host namespaces, privileged, procMount, restricted volume types, runAsNonRoot != true',
    );
    expect(reasons('restricted', 'latest', BAD)).toBe(
      'host namespaces, privileged, allowPrivilegeEscalation != false, unrestricted capabilities, procMount, ' +
        'restricted volume types, runAsNonRoot != true, seccompProfile',
    );
  });

  test('latest, and future versions, are the newest version', () => {
    for (const version of [`v1.${NEWEST_MINOR}`, 'v1.99999'] as const) {
      expect(reasons('restricted', version, BAD)).toBe(reasons('restricted', 'latest', BAD));
    }
  });

  test('a pod with all required fields passes', () => {
    const good = `{spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
      containers: [{name: c, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}`;
    for (let minor = 0; minor <= NEWEST_MINOR; minor++)
      expect(reasons('restricted', `v1.${minor}`, good)).toBe('');
  });
});
