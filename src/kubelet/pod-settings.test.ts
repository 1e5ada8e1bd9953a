import { describe, expect, test } from 'vitest';
import { parseResolvConf, podDns, type DnsSettings } from './dns.ts';
import { PodEvents } from './events.ts';
import { hostsFile, podHostname } from './hostname.ts';
import { containerResources, oomScoreAdjustment } from './pod/resources.ts';
import {
  containerSecurityContext,
  type PodSecurity,
  namespaceOptions,
  sandboxSecurityContext,
  sysctls,
  verifyRunAsNonRoot,
} from './runtime/security-context.ts';
import { makeContainer, makePod } from './testing/make-pod.ts';
import type { PodSpec } from './types.ts';

const GiB = 2 ** 30;
const SECURITY = {
  seccompRoot: '/seccomp',
  seccompDefault: 'Unconfined',
  userNamespace: { mode: 'NODE' },
  volumeGroups: [],
} as const;

describe('DNS', () => {
  const settings: DnsSettings = {
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    node: parseResolvConf(
      'nameserver 1.1.1.1\n# comment\nnameserver 8.8.8.8\nsearch corp.example\noptions timeout:2\n',
    ),
  };
  function dns(spec: Partial<PodSpec>, changes: Partial<DnsSettings> = {}) {
    const eventTexts: string[] = [];
    const events = new PodEvents({
      event: (_regarding, _type, reason, message) => eventTexts.push(`${reason}: ${message}`),
    });
    return { config: podDns(makePod({ spec }), { ...settings, ...changes }, events), eventTexts };
  }
  const cluster = {
    servers: ['10.96.0.10'],
    searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example'],
    options: ['ndots:5'],
  };
  const node = {
    servers: ['1.1.1.1', '8.8.8.8'],
    searches: ['corp.example'],
    options: ['timeout:2'],
  };

  test.each<[string, Partial<PodSpec>, typeof node]>([
    ['of the cluster', { dnsPolicy: 'ClusterFirst' }, cluster],
    ['of the node in its network', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, node],
    [
      'of the cluster in the network of the node',
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
      cluster,
    ],
    ['of the node', { dnsPolicy: 'Default' }, node],
    [
      'none but its own',
      { dnsPolicy: 'None', dnsConfig: { nameservers: ['9.9.9.9'] } },
      { servers: ['9.9.9.9'], searches: [], options: [] },
    ],
    [
      'its own beside the others',
      {
        dnsConfig: {
          searches: ['extra.example'],
          options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
        },
      },
      {
        ...cluster,
        searches: [...cluster.searches, 'extra.example'],
        options: ['ndots:2', 'edns0'],
      },
    ],
  ])('%s', (_name, spec, expected) => {
    expect(dns(spec).config).toEqual(expected);
  });

  test('without cluster DNS, pods use the node’s DNS', () => {
    const { config, eventTexts } = dns({}, { clusterDNS: [] });
    expect(config).toEqual(node);
    expect(dns({}, { clusterDNS: undefined })).toEqual({ config: node, eventTexts: [] });
    expect(eventTexts[0]).toContain(
      'MissingClusterDNS: pod: "web_default(uid-1)". kubelet does not have ClusterDNS IP configured',
    );
  });

  test('is truncated to the limits of resolvers', () => {
    const { config, eventTexts } = dns({
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1', '2', '3', '4'] },
    });
    expect(config.servers).toEqual(['1', '2', '3']);
    expect(eventTexts).toEqual([
      'DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted,' +
        ' the applied nameserver line is: 1 2 3',
    ]);
  });

  test('the last search line counts', () => {
    expect(parseResolvConf('search a b\nsearch c.\n').searches).toEqual(['c']);
  });
});

describe('the host name', () => {
  const named = (spec: Partial<PodSpec>, name = 'web') =>
    podHostname(makePod({ metadata: { name }, spec }), 'cluster.local');

  test('is derived from the pod’s name, truncated to the limit', () => {
    expect(named({}).effective).toBe('web');
    expect(named({ hostname: 'db' }).effective).toBe('db');
    expect(named({}, `${'a'.repeat(62)}-tail`).effective).toBe('a'.repeat(62));
    expect(named({ hostname: 'db', subdomain: 'sub' })).toMatchObject({
      effective: 'db',
      fqdn: 'db.sub.default.svc.cluster.local',
    });
    expect(named({ hostname: 'db', subdomain: 'sub', setHostnameAsFQDN: true }).effective).toBe(
      'db.sub.default.svc.cluster.local',
    );
    expect(() =>
      named({ hostname: 'x'.repeat(50), subdomain: 'sub', setHostnameAsFQDN: true }),
    ).toThrow('is too long (64 characters is the max');
  });

  test('is in /etc/hosts, with the aliases', () => {
    const pod = makePod({
      spec: { subdomain: 'sub', hostAliases: [{ ip: '1.2.3.4', hostnames: ['a', 'b'] }] },
    });
    const text = hostsFile(pod, podHostname(pod, 'cluster.local'), ['10.0.0.2'], undefined);
    expect(text).toContain('10.0.0.2\tweb.sub.default.svc.cluster.local\tweb\n');
    expect(text.endsWith('\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n')).toBe(true);
    expect(hostsFile(pod, podHostname(pod, ''), [], '127.0.0.1 node\n')).toMatch(
      /^# Kubernetes-managed hosts file \(host network\)\.\n127\.0\.0\.1 node\n/,
    );
  });
});

describe('resources', () => {
  const given = (resources: {
    requests?: Record<string, string>;
    limits?: Record<string, string>;
  }) =>
    containerResources(
      makePod({ spec: { containers: [makeContainer('main', { resources })] } }),
      makeContainer('main', { resources }),
      8 * GiB,
    );

  test('a container without limits has those of its pod', () => {
    const resources = { limits: { cpu: '500m', memory: '64Mi' } };
    const main = makeContainer('main');
    const settings = containerResources(
      makePod({ spec: { containers: [main], resources } }),
      main,
      8 * GiB,
    );
    expect(settings).toMatchObject({ cpuQuota: 50_000, memoryLimitInBytes: 64 * 1024 * 1024 });
  });

  test.each<[object, object]>([
    [{}, { cpuShares: 2, cpuPeriod: 100_000, oomScoreAdj: 1000, hugepageLimits: [] }],
    [
      { requests: { cpu: '500m' } },
      { cpuShares: 512, cpuPeriod: 100_000, oomScoreAdj: 999, hugepageLimits: [] },
    ],
    [
      { limits: { cpu: '2' } },
      {
        cpuShares: 2048,
        cpuPeriod: 100_000,
        cpuQuota: 200_000,
        oomScoreAdj: 999,
        hugepageLimits: [],
      },
    ],
    [
      { limits: { cpu: '1m' } },
      { cpuShares: 2, cpuPeriod: 100_000, cpuQuota: 1000, oomScoreAdj: 999, hugepageLimits: [] },
    ],
    [
      { requests: { cpu: '1', memory: '2Gi' }, limits: { cpu: '1', memory: '2Gi' } },
      {
        cpuShares: 1024,
        cpuPeriod: 100_000,
        cpuQuota: 100_000,
        memoryLimitInBytes: 2 * GiB,
        oomScoreAdj: -997,
        hugepageLimits: [],
      },
    ],
    [
      { limits: { 'hugepages-2Mi': '4Mi' } },
      {
        cpuShares: 2,
        cpuPeriod: 100_000,
        oomScoreAdj: 1000,
        hugepageLimits: [{ pageSize: '2MB', limit: 4 * 2 ** 20 }],
      },
    ],
  ])('%j', (resources, expected) => {
    expect(given(resources)).toEqual(expected);
  });

  test('containers with higher memory requests are killed later', () => {
    const pod = makePod({
      spec: { containers: [makeContainer('main', { resources: { requests: { memory: '2Gi' } } })] },
    });
    expect(oomScoreAdjustment(pod, pod.spec.containers[0]!, 8 * GiB)).toBe(750);
    expect(
      oomScoreAdjustment(
        makePod({ spec: { priority: 2_000_001_000 } }),
        makeContainer('main'),
        8 * GiB,
      ),
    ).toBe(-997);
  });
});

describe('security', () => {
  test('a container’s settings take precedence over the pod’s', () => {
    const pod = makePod({
      spec: {
        securityContext: {
          runAsUser: 1,
          runAsGroup: 2,
          fsGroup: 3,
          supplementalGroups: [4],
          seccompProfile: { type: 'RuntimeDefault' },
        },
      },
    });
    const container = makeContainer('main', {
      securityContext: {
        runAsUser: 9,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
      },
    });
    expect(containerSecurityContext(pod, container, SECURITY)).toMatchObject({
      runAsUser: { value: 9 },
      runAsGroup: { value: 2 },
      supplementalGroups: [3, 4],
      noNewPrivs: true,
      readonlyRootfs: true,
      privileged: false,
      capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
      seccomp: { profileType: 'RuntimeDefault' },
    });
    const security = { ...SECURITY, volumeGroups: [4, 777] };
    const supplementalGroups = [3, 4, 777];
    expect(sandboxSecurityContext(pod, security)).toMatchObject({ supplementalGroups });
    expect(containerSecurityContext(pod, container, security)).toMatchObject({
      supplementalGroups,
    });
  });

  test('the seccomp profile of a container whose pod asks for none is the default', () => {
    const profileOf = (overrides: Parameters<typeof makePod>[0], security: PodSecurity) =>
      containerSecurityContext(makePod(overrides), makeContainer('main'), security).seccomp;
    const fallback = { ...SECURITY, seccompDefault: 'RuntimeDefault' } as const;
    expect(profileOf({}, SECURITY)).toEqual({ profileType: 'Unconfined' });
    expect(profileOf({}, fallback)).toEqual({ profileType: 'RuntimeDefault' });
    const unconfined = { spec: { securityContext: { seccompProfile: { type: 'Unconfined' } } } };
    expect(profileOf(unconfined as never, fallback)).toEqual({ profileType: 'Unconfined' });
  });

  test('profiles, proc and namespaces', () => {
    const pod = makePod({ spec: { hostPID: true, hostIPC: true, hostNetwork: true } });
    const { userNamespace } = SECURITY;
    const usernsOptions = userNamespace;
    expect(namespaceOptions(pod, userNamespace)).toEqual({
      network: 'NODE',
      ipc: 'NODE',
      pid: 'NODE',
      usernsOptions,
    });
    const shared = makePod({ spec: { shareProcessNamespace: true } });
    expect(namespaceOptions(shared, userNamespace)).toEqual({
      network: 'POD',
      ipc: 'POD',
      pid: 'POD',
      usernsOptions,
    });
    expect(namespaceOptions(makePod(), userNamespace, 'target')).toEqual({
      network: 'POD',
      ipc: 'POD',
      pid: 'TARGET',
      targetId: 'target',
      usernsOptions,
    });
    const own = containerSecurityContext(
      makePod(),
      makeContainer('main', {
        securityContext: {
          procMount: 'Unmasked',
          seccompProfile: { type: 'Localhost', localhostProfile: 'p.json' },
        },
      }),
      SECURITY,
    );
    expect(own).toMatchObject({
      maskedPaths: [],
      readonlyPaths: [],
      seccomp: { profileType: 'Localhost', localhostRef: '/seccomp/p.json' },
    });
  });

  test.each([{}, { localhostProfile: '' }])(
    'a local seccomp profile without a name is an error, not an unconfined container: %j',
    (profile) => {
      const seccompProfile = { type: 'Localhost', ...profile } as const;
      const container = makeContainer('main', { securityContext: { seccompProfile } });
      expect(() => containerSecurityContext(makePod(), container, SECURITY)).toThrow(
        'localhostProfile must be set if seccompProfile type is Localhost.',
      );
      const pod = makePod({ spec: { securityContext: { seccompProfile } } });
      expect(() => sandboxSecurityContext(pod, SECURITY)).toThrow('localhostProfile must be set');
    },
  );

  test('sysctls have dots', () => {
    const pod = makePod({
      spec: {
        securityContext: {
          sysctls: [
            { name: 'net/ipv4/conf/eth0.1/rp_filter', value: '1' },
            { name: 'kernel.shm_rmid_forced', value: '0' },
          ],
        },
      },
    });
    expect(sysctls(pod)).toEqual({
      'net.ipv4.conf.eth0/1.rp_filter': '1',
      'kernel.shm_rmid_forced': '0',
    });
  });

  test.each([
    [
      { runAsNonRoot: true, runAsUser: 0 },
      { uid: 5, username: '' },
      "container's runAsUser breaks non-root policy",
    ],
    [
      { runAsNonRoot: true },
      { uid: 0, username: '' },
      'container has runAsNonRoot and image will run as root',
    ],
    [
      { runAsNonRoot: true },
      { uid: undefined, username: 'web' },
      'container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root',
    ],
    [{ runAsNonRoot: true, runAsUser: 7 }, { uid: 0, username: '' }, undefined],
    [{ runAsNonRoot: true }, { uid: 7, username: '' }, undefined],
    [{}, { uid: 0, username: '' }, undefined],
  ])('runAsNonRoot: %j, the image has %j', (securityContext, image, expected) => {
    const problem = verifyRunAsNonRoot(
      makePod(),
      makeContainer('main', { securityContext }),
      image,
    );
    if (expected === undefined) expect(problem).toBeUndefined();
    else expect(problem?.startsWith(expected)).toBe(true);
  });
});
