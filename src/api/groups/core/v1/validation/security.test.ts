// The security of pods: Windows users, host processes, privileges, devices. pod.test.ts and
// pod-spec.test.ts contain more of it.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePod } from './index.ts';

const pod = (spec: string, metadata = ''): core.Pod =>
  manifest(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default${metadata}}\nspec:\n${indent(spec)}`,
  );

/** Returns the errors of a pod; paths begin at its spec. */
const errorsOf = (given: core.Pod): string[] =>
  validatePod(given).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );

const GOOD = 'containers: [{name: c, image: x}]';

describe('Windows users', () => {
  const problems = (options: Partial<core.WindowsSecurityContextOptions>): string[] => {
    const given = pod(`${GOOD}\nsecurityContext: {windowsOptions: ${JSON.stringify(options)}}`);
    return validatePod(given).map(
      ({ field, detail }) =>
        `${field.replace('spec.securityContext.windowsOptions.', '')}: ${detail}`,
    );
  };
  test.each<[what: string, options: Partial<core.WindowsSecurityContextOptions>]>([
    ['nothing', {}],
    [
      'credentials',
      { gmsaCredentialSpecName: 'dummy-gmsa-cred-spec-name', gmsaCredentialSpec: 'dummy contents' },
    ],
    ['as many credentials as can be', { gmsaCredentialSpec: 'a'.repeat(64 * 1024) }],
    ['a user', { runAsUserName: 'Container. User' }],
    ['of a domain', { runAsUserName: 'Network Service\\Container. User' }],
    ['of a domain of the net', { runAsUserName: `${'fOo'.repeat(20)}.liSH\\Container. User` }],
    ['of a domain with a short part', { runAsUserName: `${'fOo'.repeat(20)}.l\\Container. User` }],
    ['of a long domain', { runAsUserName: `${'a'.repeat(42)}\\Container. User` }],
    ['of a long name', { runAsUserName: 'a'.repeat(104) }],
  ])('%s', (_what, options) => {
    expect(problems(options)).toEqual([]);
  });

  const DOMAIN = "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
  test.each<[what: string, name: string, problem: string]>([
    ['nobody', '', 'runAsUserName cannot be an empty string'],
    ['a tab', 'Container\tUser', 'runAsUserName cannot contain control characters'],
    [
      'a domain of a domain',
      'Container\\Foo\\Lish',
      'runAsUserName cannot contain more than one backslash',
    ],
    ['an empty domain', '\\User', DOMAIN],
    ['a domain without a user', 'Container\\', "runAsUserName's User cannot be empty"],
    ['a domain too long for NetBIOS', `NetBios ${'a'.repeat(8)}\\user`, DOMAIN],
    [
      'a domain too long',
      `${`${'a'.repeat(63)}.`.repeat(4).slice(0, 253)}.com\\user`,
      "runAsUserName's Domain length must be under 256 characters",
    ],
    [
      'a user too long',
      'a'.repeat(105),
      "runAsUserName's User length must not be longer than 104 characters",
    ],
    ['dots and spaces', '... ...', "runAsUserName's User cannot contain only periods or spaces"],
    ['a domain with a dot first', '.FooLish\\User', DOMAIN],
    ['a domain that asks', 'Foo? Lish?\\User', DOMAIN],
    ['a domain with a dash last', `${'a'.repeat(32)}.com-\\user`, DOMAIN],
    [
      'a slash',
      'Container/User',
      'runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]',
    ],
  ])('%s', (_what, runAsUserName, problem) => {
    expect(problems({ runAsUserName })).toEqual([`runAsUserName: ${problem}`]);
  });

  test.each<
    [what: string, options: Partial<core.WindowsSecurityContextOptions>, problem: string | RegExp]
  >([
    [
      'a bad name',
      { gmsaCredentialSpecName: 'not_a-valid-name' },
      /^gmsaCredentialSpecName: a lowercase RFC 1123 subdomain/,
    ],
    [
      'no credentials',
      { gmsaCredentialSpec: '' },
      /^gmsaCredentialSpec: gmsaCredentialSpec cannot be an empty string$/,
    ],
    [
      'too many credentials',
      { gmsaCredentialSpec: 'a'.repeat(64 * 1024 + 1) },
      /^gmsaCredentialSpec: gmsaCredentialSpec size must be under 64 KiB$/,
    ],
  ])('credentials: %s', (_what, options, problem) => {
    expect(problems(options)).toEqual([expect.stringMatching(problem)]);
  });
});

describe('host processes', () => {
  const options = (is?: boolean): string =>
    is === undefined ? '' : `, securityContext: {windowsOptions: {hostProcess: ${is}}}`;
  const spec = (of: {
    pod?: boolean;
    containers?: readonly (boolean | undefined)[];
    init?: readonly (boolean | undefined)[];
    network?: boolean;
  }): string => {
    const list = (name: string, given: readonly (boolean | undefined)[]): string =>
      `[${given.map((is, index) => `{name: ${name}${index}, image: x${options(is)}}`).join(', ')}]`;
    return [
      `containers: ${list('c', of.containers ?? [undefined])}`,
      `initContainers: ${list('i', of.init ?? [])}`,
      `hostNetwork: ${of.network ?? true}`,
      ...(of.pod === undefined
        ? []
        : [`securityContext: {windowsOptions: {hostProcess: ${of.pod}}}`]),
    ].join('\n');
  };
  const OWN = (path: string): string =>
    `${path}.securityContext.windowsOptions.hostProcess Invalid`;
  test.each<[what: string, of: Parameters<typeof spec>[0], ...errors: string[]]>([
    ['no network of the host', { pod: true, network: false }, 'hostNetwork Invalid'],
    ['the pod', { pod: true }],
    ['the pod and its containers', { pod: true, containers: [true], init: [true] }],
    ['its containers', { containers: [true], init: [true] }],
    ['no init container', { containers: [true], init: [false] }, 'spec Invalid'],
    ['an init container does not say', { containers: [true], init: [undefined] }, 'spec Invalid'],
    [
      'the pod, no init container',
      { pod: true, containers: [true], init: [false] },
      OWN('initContainers[0]'),
      'spec Invalid',
    ],
    [
      'the pod, one of two',
      { pod: true, containers: [true, false] },
      OWN('containers[1]'),
      'spec Invalid',
    ],
    ['the pod, and one says so', { pod: true, containers: [true], init: [undefined] }],
    [
      'not the pod, but one',
      { pod: false, containers: [true], init: [undefined] },
      OWN('containers[0]'),
      'spec Invalid',
    ],
    ['the pod, but no container', { pod: true, containers: [false] }, OWN('containers[0]')],
    ['nobody', { pod: false, containers: [false], network: false }],
    ['no value', { network: false }],
  ])('%s', (_what, of, ...errors) => {
    expect(errorsOf(pod(spec(of)))).toEqual(errors);
  });
});

describe('privileges', () => {
  const context = (fields: string, more = ''): core.Pod =>
    pod(`containers: [{name: c, image: x, securityContext: {${fields}}}]\n${more}`);
  const AT = 'containers[0].securityContext';
  const ALL =
    'privileged: false, capabilities: {add: [foo], drop: [bar]}, seLinuxOptions: {user: u, role: r, type: t, level: l}';
  test.each<[what: string, fields: string, ...errors: string[]]>([
    ['all', `${ALL}, runAsUser: 1`],
    ['privileged', 'privileged: true'],
    ['privileged, and more', 'privileged: true, allowPrivilegeEscalation: true'],
    [
      'privileged, and no more',
      'privileged: true, allowPrivilegeEscalation: false',
      `${AT} Invalid`,
    ],
    ['no more', 'allowPrivilegeEscalation: false'],
    ['capabilities', 'capabilities: {add: [CAP_SYS_ADMIN]}'],
    [
      'no more, but all',
      'allowPrivilegeEscalation: false, capabilities: {add: [CAP_SYS_ADMIN]}',
      `${AT} Invalid`,
    ],
    [
      'no more, but all, in short',
      'allowPrivilegeEscalation: false, capabilities: {add: [SYS_ADMIN]}',
    ],
    [
      'no more, and not all',
      'allowPrivilegeEscalation: false, capabilities: {drop: [CAP_SYS_ADMIN]}',
    ],
    ['a user below the first', 'runAsUser: -1', `${AT}.runAsUser Invalid`],
    ['a group below the first', 'runAsGroup: -1', `${AT}.runAsGroup Invalid`],
    ['not the first user', 'runAsNonRoot: true, runAsUser: 0'],
    ['some of /proc', 'procMount: Default'],
    ['the whole of /proc', 'procMount: Unmasked', `${AT}.procMount Invalid`],
    ['more of /proc', 'procMount: Some', `${AT}.procMount NotSupported`],
  ])('%s', (_what, fields, ...errors) => {
    expect(errorsOf(context(fields))).toEqual(errors);
  });

  test('an unmasked /proc in a user namespace', () => {
    expect(errorsOf(context('procMount: Unmasked', 'hostUsers: false'))).toEqual([]);
  });
});

describe('user namespaces', () => {
  const VOLUMES =
    'volumes: [{name: a, configMap: {name: x}}, {name: b, secret: {secretName: x}}, ' +
    '{name: c, downwardAPI: {}}, {name: d, projected: {}}, {name: e, emptyDir: {}}]';
  const DEVICE = 'volumeDevices: [{name: v, devicePath: /dev/v}]';
  const BLOCK = 'volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]';
  test.each<[what: string, more: string, ...errors: string[]]>([
    ['volumes', `${GOOD}\n${VOLUMES}`],
    ['a path of the host', `${GOOD}\nvolumes: [{name: v, hostPath: {path: /a}}]`],
    [
      'a device',
      `containers: [{name: c, image: x, ${DEVICE}}]\n${BLOCK}`,
      'containers[0].volumeDevices Forbidden',
    ],
    [
      'a device of an init container',
      `${GOOD}\ninitContainers: [{name: i, image: x, ${DEVICE}}]\n${BLOCK}`,
      'initContainers[0].volumeDevices Forbidden',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(errorsOf(pod(`${spec}\nhostUsers: false`))).toEqual(errors);
    expect(errorsOf(pod(`${spec}\nhostUsers: true`))).toEqual([]);
  });
});

describe('claims of devices', () => {
  const container = (...claims: string[]): string =>
    `containers: [{name: c, image: x, resources: {claims: [${claims.join(', ')}]}}]`;
  const claims = (...list: string[]): string => `resourceClaims: [${list.join(', ')}]`;
  const ONE = '{name: my-claim, resourceClaimName: some}';
  const OTHER = '{name: another, resourceClaimName: some}';
  const MY = '{name: my-claim}';
  const OF = (request: string): string => `{name: my-claim, request: ${request}}`;
  const AT = 'containers[0].resources.claims';
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['one', `${container(MY)}\n${claims(ONE)}`],
    [
      'from a template',
      `${container(MY)}\n${claims('{name: my-claim, resourceClaimTemplateName: some}')}`,
    ],
    ['two', `${container(MY, '{name: another}')}\n${claims(ONE, OTHER)}`],
    [
      'requests of two',
      `${container(OF('r'), '{name: another, request: r}')}\n${claims(ONE, OTHER)}`,
    ],
    ['requests of one', `${container(OF('r-0'), OF('r-1'))}\n${claims(ONE)}`],
    [
      'of an init container',
      `${GOOD}\ninitContainers: [{name: i, image: x, resources: {claims: [${MY}]}}]\n${claims(ONE)}`,
    ],
    ['an unused claim', `${GOOD}\n${claims(ONE)}`],
    [
      'a name that leads out',
      `${GOOD}\n${claims('{name: ../my-claim, resourceClaimName: some}')}`,
      'resourceClaims[0].name Invalid',
    ],
    [
      'a name that is a path',
      `${GOOD}\n${claims('{name: my/claim, resourceClaimName: some}')}`,
      'resourceClaims[0].name Invalid',
    ],
    [
      'no name',
      `${GOOD}\n${claims('{name: "", resourceClaimName: some}')}`,
      'resourceClaims[0].name Required',
    ],
    ['one twice', `${GOOD}\n${claims(ONE, ONE)}`, 'resourceClaims[1].name Duplicate'],
    [
      'one twice, used',
      `${container(MY)}\n${claims(ONE, ONE)}`,
      'resourceClaims[1].name Duplicate',
    ],
    ['of nothing', `${GOOD}\n${claims(MY)}`, 'resourceClaims[0] Invalid'],
    [
      'of two things',
      `${container(MY)}\n${claims('{name: my-claim, resourceClaimName: a, resourceClaimTemplateName: b}')}`,
      'resourceClaims[0] Invalid',
    ],
    [
      'of a bad name',
      `${GOOD}\n${claims('{name: my-claim, resourceClaimName: .foo_bar}')}`,
      'resourceClaims[0].resourceClaimName Invalid',
    ],
    [
      'of a template of a bad name',
      `${GOOD}\n${claims('{name: my-claim, resourceClaimTemplateName: .foo_bar}')}`,
      'resourceClaims[0].resourceClaimTemplateName Invalid',
    ],
    ['which is not there', `${container('{name: no-such}')}\n${claims(ONE)}`, `${AT}[0] NotFound`],
    ['where there is none', container(MY), `${AT}[0] NotFound`],
    ['which has no name', `${container('{name: ""}')}\n${claims(ONE)}`, `${AT}[0] Required`],
    ['used twice', `${container(MY, MY)}\n${claims(ONE)}`, `${AT}[1] Duplicate`],
    ['the whole, and a part', `${container(MY, OF('r'))}\n${claims(ONE)}`, `${AT}[1] Duplicate`],
    ['a part, and the whole', `${container(OF('r'), MY)}\n${claims(ONE)}`, `${AT}[1] Duplicate`],
    ['a part twice', `${container(OF('r'), OF('r'))}\n${claims(ONE)}`, `${AT}[1] Duplicate`],
    [
      'a part of a bad name',
      `${container(OF('"*$@%^"'))}\n${claims(ONE)}`,
      `${AT}[0].request Invalid`,
    ],
    [
      "the pod's as a whole",
      `${GOOD}\nresources: {claims: [${MY}]}\n${claims(ONE)}`,
      'resources.claims Forbidden',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(errorsOf(pod(spec))).toEqual(errors);
  });

  test.each(['resourceClaimName', 'resourceClaimTemplateName'])(
    'static pods have no claims: %s',
    (source) => {
      const spec = `nodeName: n1\n${container(MY)}\n${claims(`{name: my-claim, ${source}: some}`)}`;
      expect(errorsOf(pod(spec, ', annotations: {kubernetes.io/config.mirror: x}'))).toContain(
        '[] Forbidden',
      );
    },
  );
});

describe('an operating system', () => {
  test.each<[what: string, os: string, ...errors: string[]]>([
    ['Linux', '{name: linux}'],
    ['Windows', '{name: windows}'],
    ['another', '{name: dummyOS}', 'os NotSupported'],
    ['none', '{}', 'os.name Required'],
    ['an empty one', '{name: ""}', 'os.name Required'],
  ])('%s', (_what, os, ...errors) => {
    expect(errorsOf(pod(`${GOOD}\nos: ${os}`))).toEqual(errors);
  });

  const OF_WINDOWS = 'windowsOptions: {runAsUserName: dummy}';
  const OF_LINUX: readonly string[] = [
    'seLinuxOptions: {role: dummy}',
    'seccompProfile: {type: RuntimeDefault}',
    'appArmorProfile: {type: RuntimeDefault}',
    'capabilities: {add: [foo]}',
    'readOnlyRootFilesystem: true',
    'privileged: false',
    'allowPrivilegeEscalation: true',
    'procMount: Default',
    'runAsUser: 1',
    'runAsGroup: 1',
  ];
  const LISTS = ['containers', 'initContainers'];
  const withContext = (list: string, context: string): string =>
    list === 'containers'
      ? `containers: [{name: c, image: x, securityContext: {${context}}}]`
      : `${GOOD}\n${list}: [{name: i, image: x, securityContext: {${context}}}]`;
  const cases = LISTS.flatMap((list) =>
    OF_LINUX.map((context): [list: string, context: string] => [list, context]),
  );
  test.each(cases)('only Linux: %s, %s', (list, context) => {
    const name = context.slice(0, context.indexOf(':'));
    const spec = withContext(list, context);
    expect(errorsOf(pod(`${spec}\nos: {name: linux}`))).toEqual([]);
    expect(errorsOf(pod(`${spec}\nos: {name: windows}`))).toEqual([
      `${list}[0].securityContext.${name} Forbidden`,
    ]);
  });

  test.each(LISTS)('only Windows: %s', (list) => {
    const spec = withContext(list, OF_WINDOWS);
    expect(errorsOf(pod(`${spec}\nos: {name: windows}`))).toEqual([]);
    expect(errorsOf(pod(`${spec}\nos: {name: linux}`))).toEqual([
      `${list}[0].securityContext.windowsOptions Forbidden`,
    ]);
  });

  const OF_POD: readonly (readonly [field: string, path: string])[] = [
    ['hostPID: true', 'hostPID'],
    ['hostIPC: true', 'hostIPC'],
    ['hostUsers: true', 'hostUsers'],
    ['shareProcessNamespace: true', 'shareProcessNamespace'],
    ...[
      'appArmorProfile: {type: RuntimeDefault}',
      'seLinuxOptions: {role: dummy}',
      'seccompProfile: {type: RuntimeDefault}',
      'fsGroup: 1',
      'fsGroupChangePolicy: Always',
      'sysctls: [{name: a, value: b}]',
      'runAsUser: 1',
      'runAsGroup: 1',
      'supplementalGroups: [1]',
      'supplementalGroupsPolicy: Merge',
      'seLinuxChangePolicy: Recursive',
    ].map((field): [field: string, path: string] => [
      `securityContext: {${field}}`,
      `securityContext.${field.slice(0, field.indexOf(':'))}`,
    ]),
  ];
  test.each(OF_POD)('only Linux: %s', (field, path) => {
    expect(errorsOf(pod(`${GOOD}\n${field}\nos: {name: linux}`))).toEqual([]);
    expect(errorsOf(pod(`${GOOD}\n${field}\nos: {name: windows}`))).toEqual([`${path} Forbidden`]);
  });
});
