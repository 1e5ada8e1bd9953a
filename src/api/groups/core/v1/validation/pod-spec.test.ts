// Other fields of a pod's spec: names, hosts, DNS, users, resources, profiles. Valid cases, and the
// paths and types of the errors. pod.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePod } from './index.ts';

/** Returns the errors of a pod; paths begin at its spec. */
function errorsOf(spec: string, metadata = ''): string[] {
  const pod = manifest<core.Pod>(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default${metadata}}\nspec:\n${indent(spec)}`,
  );
  return validatePod(pod).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );
}

const GOOD = 'containers: [{name: c, image: x}]';

type Case = [what: string, fields: string, ...errors: string[]];

function table(
  cases: readonly Case[],
  specOf = (fields: string): string => `${GOOD}\n${fields}`,
): void {
  test.each(cases)('%s', (_what, fields, ...errors) => {
    expect(errorsOf(specOf(fields))).toEqual(errors);
  });
}

describe('policies', () => {
  table([
    ...['Always', 'OnFailure', 'Never'].map((policy): Case => [policy, `restartPolicy: ${policy}`]),
    ['another', 'restartPolicy: newpolicy', 'restartPolicy NotSupported'],
    ...['ClusterFirst', 'Default', 'ClusterFirstWithHostNet'].map((policy): Case => [
      policy,
      `dnsPolicy: ${policy}`,
    ]),
    ['another of names', 'dnsPolicy: invalid', 'dnsPolicy NotSupported'],
  ]);
});

describe('DNS', () => {
  const searches = (...list: string[]): string => `searches: [${list.join(', ')}]`;
  const numbers = (count: number): string[] =>
    Array.from({ length: count }, (_, at) => `"${at + 1}"`);
  const letters = (...lengths: number[]): string[] => lengths.map((length) => 'a'.repeat(length));
  table(
    [
      ['nothing', ''],
      ['an option', 'options: [{name: ndots, value: "2"}]'],
      ['a server', 'nameservers: [127.0.0.1]'],
      ['a server of the newer protocol', 'nameservers: ["fe80::202:b3ff:fe1e:8329"]'],
      ['a search', searches('custom')],
      ['a search that ends', searches('custom.')],
      ['a search of underscores', searches('_sip._tcp.abc_d.example.com')],
      [
        'three servers, seven searches',
        `nameservers: [127.0.0.1, 10.0.0.10, 8.8.8.8], ${searches(...numbers(7))}`,
      ],
      ['32 searches', searches(...numbers(32))],
      ['2048 letters', searches(...letters(64, ...Array.from({ length: 31 }, () => 63)))],
      [
        'four servers',
        'nameservers: [127.0.0.1, 10.0.0.10, 8.8.8.8, 1.2.3.4]',
        'dnsConfig.nameservers Invalid',
      ],
      ['33 searches', searches(...numbers(33)), 'dnsConfig.searches Invalid'],
      [
        '2049 letters',
        searches(...letters(65, ...Array.from({ length: 31 }, () => 63))),
        'dnsConfig.searches Invalid',
      ],
      ['a bad search', searches('"custom?"'), 'dnsConfig.searches[0] Invalid'],
      ['a bad server', 'nameservers: [invalid]', 'dnsConfig.nameservers[0] Invalid'],
      [
        'a server with zeroes',
        'nameservers: [001.002.003.004]',
        'dnsConfig.nameservers[0] Invalid',
      ],
      ['an option of no name', 'options: [{value: "2"}]', 'dnsConfig.options[0] Required'],
    ],
    (config) => `${GOOD}\ndnsConfig: {${config}}`,
  );

  table(
    [
      ['one server', 'nameservers: [127.0.0.1]'],
      ['no server', 'searches: [custom]', 'dnsConfig.nameservers Required'],
    ],
    (config) => `${GOOD}\ndnsPolicy: None\ndnsConfig: {${config}}`,
  );
});

describe('names', () => {
  table([
    [
      'all of them',
      'nodeName: foobar\nserviceAccountName: acct\nhostname: foo\nsubdomain: bar\n' +
        'priorityClassName: valid-name\nruntimeClassName: valid-sandbox',
    ],
    ['a node', 'nodeName: node name', 'nodeName Invalid'],
    ['an account', 'serviceAccountName: invalidName', 'serviceAccountName Invalid'],
    ['a priority', 'priorityClassName: InvalidName', 'priorityClassName Invalid'],
    ['a runtime', 'runtimeClassName: invalid/sandbox', 'runtimeClassName Invalid'],
    ['a host with dots', 'hostname: a.b', 'hostname Invalid'],
    [
      'a gate of readiness',
      'readinessGates: [{conditionType: example.com/a}, {conditionType: example.com/b}]',
    ],
    [
      'a bad gate of readiness',
      'readinessGates: [{conditionType: invalid/condition/type}]',
      'readinessGates[0].conditionType Invalid',
    ],
    ['hosts', 'hostAliases: [{ip: 12.34.56.78, hostnames: [host1, host2.bar]}]'],
    [
      "hosts of the host's network",
      'hostNetwork: true\nhostAliases: [{ip: 12.34.56.78, hostnames: [host1]}]',
    ],
    [
      'hosts of a bad address',
      'hostAliases: [{ip: 999.999.999.999, hostnames: [host1]}]',
      'hostAliases[0].ip Invalid',
    ],
    [
      'hosts of an address with zeroes',
      'hostAliases: [{ip: 001.002.003.004, hostnames: [host1]}]',
      'hostAliases[0].ip Invalid',
    ],
    [
      'hosts of a bad name',
      'hostAliases: [{ip: 12.34.56.78, hostnames: ["@#$^#@#$"]}]',
      'hostAliases[0].hostnames[0] Invalid',
    ],
    ['a deadline', 'activeDeadlineSeconds: 2147483647'],
    ['no deadline', 'activeDeadlineSeconds: 0', 'activeDeadlineSeconds Invalid'],
    ['a negative deadline', 'activeDeadlineSeconds: -1', 'activeDeadlineSeconds Invalid'],
    ['a deadline too far', 'activeDeadlineSeconds: 2147483648', 'activeDeadlineSeconds Invalid'],
    ['an overhead', 'overhead: {}'],
    ['a negative overhead', 'overhead: {cpu: "-1"}', 'overhead.limits[cpu] Invalid'],
    [
      'an overhead of what there is not',
      'overhead: {apples: 1}',
      'overhead.limits[apples] Invalid',
      'overhead.limits[apples] Invalid',
    ],
  ]);
});

describe('hostname override', () => {
  table([
    ['one', 'hostnameOverride: custom-hostname'],
    ['one with dots', 'hostnameOverride: custom.example.com'],
    ['of 64 letters', `hostnameOverride: ${'a'.repeat(63)}.b`, 'hostnameOverride TooLong'],
    ['a bad one', 'hostnameOverride: Invalid_Hostname', 'hostnameOverride Invalid'],
    ['of the host', 'hostNetwork: true\nhostnameOverride: a', 'hostnameOverride Forbidden'],
    [
      'and its full name',
      'setHostnameAsFQDN: true\nhostnameOverride: a',
      'hostnameOverride Forbidden',
    ],
    ['of the host, which has its own', 'hostNetwork: true\nsetHostnameAsFQDN: true'],
  ]);
});

describe('host namespaces', () => {
  table([
    ['network', 'hostNetwork: true'],
    ['processes', 'hostPID: true'],
    ['memory', 'hostIPC: true'],
    [
      'processes, shared',
      'hostPID: true\nshareProcessNamespace: true',
      'securityContext.shareProcessNamespace Invalid',
    ],
    ['users', 'hostUsers: true\nhostPID: true\nhostIPC: true\nhostNetwork: true'],
    ['users not', 'hostUsers: false'],
    ['users not, but its processes', 'hostUsers: false\nhostPID: true', 'HostPID Forbidden'],
    ['users not, but its memory', 'hostUsers: false\nhostIPC: true', 'HostIPC Forbidden'],
    ['users not, but its network', 'hostUsers: false\nhostNetwork: true', 'hostNetwork Forbidden'],
  ]);

  table(
    [
      ['its port', 'containerPort: 8080, hostPort: 8080'],
      [
        'another port',
        'containerPort: 2600, hostPort: 8080',
        'containers[0].ports[0].hostPort Invalid',
      ],
      // The default fills it in.
      ['its port, unsaid', 'containerPort: 2600'],
    ],
    (port) => `containers: [{name: c, image: x, ports: [{${port}}]}]\nhostNetwork: true`,
  );
});

describe('users', () => {
  table(
    [
      ['the least', 'runAsUser: 0, runAsGroup: 0, fsGroup: 0, supplementalGroups: [0]'],
      [
        'the greatest',
        'runAsUser: 2147483647, runAsGroup: 2147483647, fsGroup: 2147483647, supplementalGroups: [2147483647]',
      ],
      ...['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((name): Case[] => [
        [`${name} too low`, `${name}: -1`, `securityContext.${name} Invalid`],
        [`${name} too high`, `${name}: 2147483648`, `securityContext.${name} Invalid`],
      ]),
      [
        'groups too low',
        'supplementalGroups: [-1, 1234]',
        'securityContext.supplementalGroups[0] Invalid',
      ],
      [
        'groups too high',
        'supplementalGroups: [1234, 2147483648]',
        'securityContext.supplementalGroups[1] Invalid',
      ],
      ...['Always', 'OnRootMismatch'].map((policy): Case => [
        policy,
        `fsGroupChangePolicy: ${policy}`,
      ]),
      [
        'other changes',
        'fsGroupChangePolicy: invalid',
        'securityContext.fsGroupChangePolicy NotSupported',
      ],
      [
        'changes unsaid',
        'fsGroupChangePolicy: ""',
        'securityContext.fsGroupChangePolicy NotSupported',
      ],
      ...['Merge', 'Strict'].map((policy): Case => [policy, `supplementalGroupsPolicy: ${policy}`]),
      [
        'other groups',
        'supplementalGroupsPolicy: invalid',
        'securityContext.supplementalGroupsPolicy NotSupported',
      ],
      [
        'groups unsaid',
        'supplementalGroupsPolicy: ""',
        'securityContext.supplementalGroupsPolicy NotSupported',
      ],
      ['labels at each start', 'seLinuxChangePolicy: Recursive'],
      [
        'labels of mounts',
        'seLinuxChangePolicy: MountOption',
        'securityContext.seLinuxChangePolicy NotSupported',
      ],
      [
        'other labels',
        'seLinuxChangePolicy: invalid',
        'securityContext.seLinuxChangePolicy NotSupported',
      ],
    ],
    (context) => `${GOOD}\nsecurityContext: {${context}}`,
  );
});

describe('sysctls', () => {
  const PARTS = [
    'a.b.c.d',
    'a',
    'a_b',
    'a-b',
    'abc',
    'abc.def',
    'a/b/c/d',
    'a/b.c',
    'net.ipv4.conf.enp3s0/200.forwarding',
    'kernel.shm_rmid_forced',
  ];
  table(
    [
      [
        'some',
        '{name: kernel.shmmni, value: "32768"}, {name: kernel.shmmax, ' +
          'value: "1000000000"}, {name: knet.ipv4.route.min_pmtu, value: "1000"}',
      ],
      ...PARTS.map((name): Case => [name, `{name: ${name}, value: "1"}`]),
      ...[
        '"-"',
        'ä',
        'a.',
        '"."',
        'a.b.c.',
        '".a"',
        'a..b',
        '"*"',
        '"a*"',
        'A.b',
        '"a b"',
        'i'.repeat(254),
      ].map((name): Case => [
        name,
        `{name: ${name}, value: "1"}`,
        'securityContext.sysctls[0].name Invalid',
      ]),
      ['no name', '{name: "", value: "1"}', 'securityContext.sysctls[0].name Required'],
      [
        'one twice',
        '{name: a, value: "1"}, {name: a, value: "1"}',
        'securityContext.sysctls[1].name Duplicate',
      ],
      ['one with dots and one with slashes', '{name: a.b, value: "1"}, {name: a/b, value: "1"}'],
    ],
    (list) => `${GOOD}\nsecurityContext: {sysctls: [${list}]}`,
  );

  table([
    [
      'memory of the host',
      'hostIPC: true\nsecurityContext: {sysctls: [{name: kernel.sem, value: a}]}',
      'securityContext.sysctls[0].name Invalid',
    ],
    [
      'queues of the host',
      'hostIPC: true\nsecurityContext: {sysctls: [{name: fs.mqueue.a, value: a}]}',
      'securityContext.sysctls[0].name Invalid',
    ],
    [
      'network of the host',
      'hostNetwork: true\nsecurityContext: {sysctls: [{name: net.a, value: a}]}',
      'securityContext.sysctls[0].name Invalid',
    ],
    [
      'network, with its memory',
      'hostIPC: true\nsecurityContext: {sysctls: [{name: net.a, value: a}]}',
    ],
    [
      'memory, with its network',
      'hostNetwork: true\nsecurityContext: {sysctls: [{name: kernel.sem, value: a}]}',
    ],
  ]);
});

describe('profiles', () => {
  const podProfile = (name: string, fields: string): string =>
    `${GOOD}\nsecurityContext: {${name}: {${fields}}}`;
  const containerProfile = (name: string, fields: string): string =>
    `containers: [{name: c, image: x, securityContext: {${name}: {${fields}}}}]`;
  test.each<[kind: string, fields: string, ...errors: string[]]>([
    ...['RuntimeDefault', 'Unconfined'].flatMap((type): [string, string][] => [
      ['seccompProfile', `type: ${type}`],
      ['appArmorProfile', `type: ${type}`],
    ]),
    ['seccompProfile', 'type: Localhost, localhostProfile: filename.json'],
    ['appArmorProfile', 'type: Localhost, localhostProfile: example-org/application-foo'],
    ['seccompProfile', 'type: ""', 'type Required'],
    ['appArmorProfile', 'type: ""', 'type Required'],
    ['seccompProfile', 'type: test', 'type NotSupported'],
    ['appArmorProfile', 'type: test', 'type NotSupported'],
    ['seccompProfile', 'type: Localhost', 'localhostProfile Required'],
    ['appArmorProfile', 'type: Localhost', 'localhostProfile Required'],
    ['appArmorProfile', 'type: Localhost, localhostProfile: ""', 'localhostProfile Required'],
    [
      'appArmorProfile',
      'type: Localhost, localhostProfile: "foo-bar "',
      'localhostProfile Invalid',
    ],
    [
      'appArmorProfile',
      `type: Localhost, localhostProfile: ${'a'.repeat(4096)}`,
      'localhostProfile TooLong',
    ],
    ['seccompProfile', 'type: Localhost, localhostProfile: ../a', 'localhostProfile Invalid'],
    ['seccompProfile', 'type: Localhost, localhostProfile: /a', 'localhostProfile Invalid'],
    ['seccompProfile', 'type: RuntimeDefault, localhostProfile: a', 'localhostProfile Invalid'],
    [
      'appArmorProfile',
      'type: RuntimeDefault, localhostProfile: foo-bar',
      'localhostProfile Invalid',
    ],
  ])('%s {%s}', (kind, fields, ...errors) => {
    expect(errorsOf(podProfile(kind, fields))).toEqual(
      errors.map((error) => `securityContext.${kind}.${error}`),
    );
    expect(errorsOf(containerProfile(kind, fields))).toEqual(
      errors.map((error) => `containers[0].securityContext.${kind}.${error}`),
    );
  });

  const SECCOMP = 'seccomp.security.alpha.kubernetes.io/pod';
  const SECCOMP_OF = 'container.seccomp.security.alpha.kubernetes.io/';
  const ARMOR_OF = 'container.apparmor.security.beta.kubernetes.io/';
  const at = (key: string): string =>
    key.startsWith(ARMOR_OF) ? `metadata.annotations[${key}]` : `metadata.annotations.${key}`;
  test.each<[key: string, value: string, ...errors: string[]]>([
    [SECCOMP, 'runtime/default'],
    [SECCOMP, 'docker/default'],
    [SECCOMP, 'unconfined'],
    [SECCOMP, 'localhost/foo'],
    [`${SECCOMP_OF}c`, 'localhost/foo'],
    [`${SECCOMP_OF}other`, 'localhost/foo'],
    [SECCOMP, 'foo', `${at(SECCOMP)} Invalid`],
    [`${SECCOMP_OF}foo`, 'foo', `${at(`${SECCOMP_OF}foo`)} Invalid`],
    [`${SECCOMP_OF}foo`, '', `${at(`${SECCOMP_OF}foo`)} Invalid`],
    [SECCOMP, 'localhost//foo', `${at(SECCOMP)} Invalid`],
    [SECCOMP, 'localhost/../foo', `${at(SECCOMP)} Invalid`],
    [`${ARMOR_OF}c`, 'runtime/default'],
    [`${ARMOR_OF}c`, 'localhost/foo'],
    [`${ARMOR_OF}c`, 'unconfined'],
    [`${ARMOR_OF}i`, 'runtime/default'],
    [`${ARMOR_OF}fake`, 'runtime/default', `${at(`${ARMOR_OF}fake`)} Invalid`],
    [`${ARMOR_OF}c`, 'bad-name', `${at(`${ARMOR_OF}c`)} Invalid`],
    [`${ARMOR_OF}c`, 'runtime/foo', `${at(`${ARMOR_OF}c`)} Invalid`],
  ])('annotation %s: %s', (key, value, ...errors) => {
    const found = errorsOf(
      `${GOOD}\ninitContainers: [{name: i, image: x}]`,
      `, annotations: {${key}: "${value}"}`,
    );
    expect(found).toEqual(errors);
  });

  test.each<[what: string, spec: string, annotation: string, ...errors: string[]]>([
    [
      'the same',
      containerProfile('appArmorProfile', 'type: Localhost, localhostProfile: foo'),
      `${ARMOR_OF}c: localhost/foo`,
    ],
    [
      "the same as the pod's",
      podProfile('appArmorProfile', 'type: Localhost, localhostProfile: foo'),
      `${ARMOR_OF}c: localhost/foo`,
    ],
    [
      'another type',
      containerProfile('appArmorProfile', 'type: Unconfined'),
      `${ARMOR_OF}c: runtime/default`,
      'containers[0].securityContext.appArmorProfile.type Forbidden',
    ],
    [
      "another type than the pod's",
      podProfile('appArmorProfile', 'type: Unconfined'),
      `${ARMOR_OF}c: runtime/default`,
      'containers[0].securityContext.appArmorProfile.type Forbidden',
    ],
    [
      'another profile',
      containerProfile('appArmorProfile', 'type: Localhost, localhostProfile: bar'),
      `${ARMOR_OF}c: localhost/foo`,
      'containers[0].securityContext.appArmorProfile.localhostProfile Forbidden',
    ],
    [
      'another type of seccomp',
      podProfile('seccompProfile', 'type: RuntimeDefault'),
      `${SECCOMP}: unconfined`,
      'securityContext.seccompProfile.type Forbidden',
    ],
    [
      "another type of a container's seccomp",
      containerProfile('seccompProfile', 'type: RuntimeDefault'),
      `${SECCOMP_OF}c: unconfined`,
      'containers[0].securityContext.seccompProfile.type Forbidden',
    ],
  ])('said twice: %s', (_what, spec, annotation, ...errors) => {
    expect(errorsOf(spec, `, annotations: {${annotation}}`)).toEqual(errors);
  });
});

describe('resources', () => {
  const of = (requests: string, limits: string): string =>
    `containers: [{name: c, image: x, resources: {requests: {${requests}}, limits: {${limits}}}}]`;
  const ofInit = (requests: string, limits: string): string =>
    `${GOOD}\ninitContainers: [{name: i, image: x, resources: {requests: {${requests}}, limits: {${limits}}}}]`;
  const at = 'containers[0].resources';
  const ALL = 'cpu: 10, memory: 10G';
  const same = (list: string): [string, string] => [list, list];
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['limits', of('', `${ALL}, my.org/resource: 10`)],
    ['both', of(...same(ALL))],
    ['less than the limit', of('cpu: 8', 'cpu: 10')],
    ['as much as the limit, of others', of(...same(`${ALL}, my.org/resource: 10`))],
    ['some of them', of('cpu: 9.5, memory: 10G', 'cpu: 10, my.org/resource: 10')],
    ['requests', of('cpu: 9.5, memory: 10G', '')],
    ['storage in thousandths', of('', 'ephemeral-storage: 40')],
    // Requests default to limits, so an error in them is reported twice.
    [
      'what there is not',
      of('', 'disk: 10G'),
      ...['limits', 'limits', 'requests', 'requests'].map((list) => `${at}.${list}[disk] Invalid`),
    ],
    [
      'volumes',
      of('', 'attachable-volumes-aws-ebs: 10'),
      ...['limits', 'limits', 'requests', 'requests'].map(
        (list) => `${at}.${list}[attachable-volumes-aws-ebs] Invalid`,
      ),
    ],
    [
      'negative limits',
      of('', 'cpu: "-10", memory: 0'),
      `${at}.limits[cpu] Invalid`,
      `${at}.requests[cpu] Invalid`,
    ],
    [
      'negative limits of memory',
      of('', 'cpu: 0, memory: "-10"'),
      `${at}.limits[memory] Invalid`,
      `${at}.requests[memory] Invalid`,
    ],
    ['negative requests', of('cpu: "-10", memory: 0', ''), `${at}.requests[cpu] Invalid`],
    [
      'more CPU than the limit',
      of('cpu: 6, memory: 3', 'cpu: 5, memory: 3'),
      `${at}.requests Invalid`,
    ],
    [
      'more memory than the limit',
      of('cpu: 5, memory: 4', 'cpu: 5, memory: 3'),
      `${at}.requests Invalid`,
    ],
    [
      'more of both',
      of('cpu: 6, memory: 4', 'cpu: 5, memory: 3'),
      `${at}.requests Invalid`,
      `${at}.requests Invalid`,
    ],
    [
      'another name',
      of(...same('invalid-name: 2')),
      ...['limits', 'limits', 'requests', 'requests'].map(
        (list) => `${at}.${list}[invalid-name] Invalid`,
      ),
    ],
    [
      'less of others than the limit',
      of('example.com/a: 2', 'example.com/a: 1'),
      `${at}.requests Invalid`,
    ],
    ['others without a limit', of('example.com/a: 2', ''), `${at}.limits Required`],
    [
      'halves of others',
      of('example.com/a: 500m', ''),
      `${at}.requests[example.com/a] Invalid`,
      `${at}.limits Required`,
    ],
    [
      'halves of the limit of others',
      of('example.com/a: 5', 'example.com/a: 2.5'),
      `${at}.limits[example.com/a] Invalid`,
      `${at}.requests Invalid`,
    ],
    [
      'halves of an init container',
      ofInit('example.com/a: 500m', ''),
      'initContainers[0].resources.requests[example.com/a] Invalid',
      'initContainers[0].resources.limits Required',
    ],
    ['others of an init container', ofInit(...same('example.com/a: 10'))],
    ['huge pages', of(...same(`${ALL}, hugepages-2Mi: 1Gi`))],
    ['huge pages of two sizes', of(...same(`${ALL}, hugepages-2Mi: 1Gi, hugepages-1Gi: 2Gi`))],
    ['huge pages alone', of(...same('hugepages-2Mi: 1Gi')), `${at} Forbidden`],
    [
      'more huge pages than asked for',
      of(`${ALL}, hugepages-2Mi: 1Gi`, `${ALL}, hugepages-2Mi: 2Gi`),
      `${at}.requests Invalid`,
    ],
    [
      'a part of a huge page',
      of(...same(`${ALL}, hugepages-2Mi: 3Mi`)),
      `${at}.limits[hugepages-2Mi] Invalid`,
      `${at}.requests[hugepages-2Mi] Invalid`,
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(errorsOf(spec)).toEqual(errors);
  });
});

describe("the pod's resources", () => {
  const spec = (requests: string, limits: string, container = '', more = ''): string =>
    `containers: [{name: c, image: x${container}}]\nresources: {requests: {${requests}}, limits: {${limits}}}${more}`;
  const own = (requests: string, limits: string): string =>
    `, resources: {requests: {${requests}}, limits: {${limits}}}`;
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['limits', spec('', 'cpu: 100m, memory: 200Mi')],
    ['limits on Linux', spec('', 'cpu: 100m, memory: 200Mi', '', '\nos: {name: linux}')],
    ['on Windows', spec('', 'cpu: 100m', '', '\nos: {name: windows}'), 'resources Forbidden'],
    [
      'on Windows, and others',
      spec('', 'cpu: 100m', own('', 'cpu: 200m'), '\nos: {name: windows}'),
      'resources Forbidden',
    ],
    ['huge pages', spec('cpu: 1, hugepages-2Mi: 4Mi', 'cpu: 1, hugepages-2Mi: 4Mi')],
    [
      'storage',
      spec('', 'ephemeral-storage: 1Gi'),
      'resources.limits[ephemeral-storage] NotSupported',
    ],
    ['others', spec('', 'example.com/a: 1'), 'resources.limits[example.com/a] NotSupported'],
    [
      'negative',
      spec('', 'cpu: "-1"'),
      'resources.limits[cpu] Invalid',
      'resources.requests[cpu] Invalid',
    ],
    ['more than the limit', spec('cpu: 2', 'cpu: 1'), 'resources.requests Invalid'],
    [
      'less than its container asks for',
      spec('cpu: 1', '', own('cpu: 2', '')),
      'resources.requests[cpu] Invalid',
    ],
    [
      'a limit below that of its container',
      spec('', 'cpu: 1', own('', 'cpu: 2')),
      'resources.requests Invalid',
      'resources.containers[0][cpu].limits Invalid',
    ],
    ['more than all of it', spec('cpu: 2', 'cpu: 4', own('cpu: 1', 'cpu: 3'))],
  ])('%s', (_what, given, ...errors) => {
    expect(errorsOf(given)).toEqual(errors);
  });
});

describe('volumes and the pod', () => {
  const CLAIM =
    'volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}';
  table([
    [
      'a claim and one of its own',
      `volumes: [{name: a, persistentVolumeClaim: {claimName: my-pvc}}, {name: e, ephemeral: {${CLAIM}}}]`,
    ],
    [
      'a claim that is made for it',
      `volumes: [{name: a, persistentVolumeClaim: {claimName: p-e}}, {name: e, ephemeral: {${CLAIM}}}]`,
      'volumes[0].persistentVolumeClaim.claimName Invalid',
    ],
    [
      'tokens without an account',
      'volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]',
      'volumes[0].projected.sources[0].serviceAccountToken Forbidden',
    ],
    [
      'tokens of its account',
      'serviceAccountName: a\nvolumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]',
    ],
  ]);

  test('a claim with a long name', () => {
    const pod = manifest<core.Pod>(
      'core/v1.Pod',
      `metadata: {name: ${'a'.repeat(200)}, namespace: default}\n` +
        `spec: {containers: [{name: c, image: x}], volumes: [{name: ${'b'.repeat(60)}, ` +
        `ephemeral: {${CLAIM}}}]}`,
    );
    expect(validatePod(pod).map(({ field, detail }) => `${field} ${detail}`)).toEqual([
      `spec.volumes[0].name PVC name "${'a'.repeat(200)}-${'b'.repeat(60)}": must be no more than 253 characters`,
    ]);
  });
});

describe('signals', () => {
  const signal = (name: string, os: string): string =>
    `containers: [{name: c, image: x, lifecycle: {stopSignal: ${name}}}]${os === '' ? '' : `\nos: {name: ${os}}`}`;
  test.each<[signal: string, os: string, ...errors: string[]]>([
    ['SIGTERM', 'linux'],
    ['SIGRTMIN+1', 'linux'],
    ['SIGTERM', 'windows'],
    ['SIGKILL', 'windows'],
    ['SIGTERM', '', 'containers[0].lifecycle.stopSignal Forbidden'],
    ['SIGHUP', 'windows', 'containers[0].lifecycle.stopSignal NotSupported'],
    ['SIGNONE', 'linux', 'containers[0].lifecycle.stopSignal NotSupported'],
  ])('%s on %s', (name, os, ...errors) => {
    expect(errorsOf(signal(name, os))).toEqual(errors);
  });
});

describe('operating systems', () => {
  table([
    [
      'Linux',
      'os: {name: linux}\nsecurityContext: {seLinuxOptions: {user: u, role: r, type: t, level: l}, runAsUser: 1}',
    ],
    [
      'options of Windows on Linux',
      'os: {name: linux}\nsecurityContext: {windowsOptions: {runAsUserName: me}}',
      'securityContext.windowsOptions Forbidden',
    ],
    ['Windows', 'os: {name: windows}\nsecurityContext: {windowsOptions: {runAsUserName: dummy}}'],
    [
      'SELinux on Windows',
      'os: {name: windows}\nsecurityContext: {seLinuxOptions: {role: r}}',
      'securityContext.seLinuxOptions Forbidden',
    ],
    [
      'groups on Windows',
      'os: {name: windows}\nsecurityContext: {supplementalGroupsPolicy: Strict}',
      'securityContext.supplementalGroupsPolicy Forbidden',
    ],
    [
      'an empty list of groups on Windows',
      'os: {name: windows}\nsecurityContext: {supplementalGroups: []}',
      'securityContext.supplementalGroups Forbidden',
    ],
    ['an empty list of sysctls on Windows', 'os: {name: windows}\nsecurityContext: {sysctls: []}'],
    ['no name', 'os: {name: ""}', 'os.name Required'],
    ['another', 'os: {name: dummyOS}', 'os NotSupported'],
  ]);
});

test.each<[cost: string, good: boolean]>([
  ['-100', true],
  ['100', true],
  ['0', true],
  ['text', false],
  ['008', false],
  ['+10', false],
  ['2147483648', false],
])('a cost of deletion of %s', (cost, good) => {
  const key = 'controller.kubernetes.io/pod-deletion-cost';
  expect(errorsOf(GOOD, `, annotations: {${key}: "${cost}"}`)).toEqual(
    good ? [] : [`metadata.annotations[${key}] Invalid`],
  );
});

test.each(['', 'foo'])('a mirror annotation "%s" without a node', (value) => {
  const key = 'kubernetes.io/config.mirror';
  expect(errorsOf(GOOD, `, annotations: {${key}: "${value}"}`)).toEqual([
    `metadata.annotations[${key}] Invalid`,
  ]);
});
