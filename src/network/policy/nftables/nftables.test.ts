// The rules in a real kernel: connections between pods of a node, and with pods of another node.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { NftSession, systemNft } from '#machinery/net/nft/index.ts';
import { runSteps } from '#machinery/turn.ts';
import type { Labels, NetworkPolicy } from '../model.ts';
import { PolicyState } from '../policy-state.ts';
import { compilePolicy } from '../rules/compile.ts';
import {
  ADDRESSES,
  BRIDGE,
  ECHO_PORT,
  Lab,
  labIsMissing,
  type Place,
  POD_CIDRS,
} from '../testing/lab.ts';
import { apiPolicy, pod, select } from '../testing/objects.ts';
import { NftablesBackend } from './nftables-backend.ts';

const missing = labIsMissing();
let lab: Lab;
let session: NftSession;
let backend: NftablesBackend;
let state: PolicyState;

const PODS: readonly (readonly [key: string, place: Place, labels: Labels])[] = [
  ['x/pod1', 'pod1', { pod: 'a' }],
  ['x/pod2', 'pod2', { pod: 'b' }],
  ['y/other', 'other', { pod: 'c' }],
];

describe.skipIf(missing !== undefined)(`policies in the kernel (${missing ?? 'root, nft'})`, () => {
  beforeAll(async () => {
    lab = await Lab.start();
    session = new NftSession({ clock: systemClock, prefix: lab.inside('node') });
  });
  afterAll(async () => {
    await session.close();
    await lab.stop();
  });
  afterEach(() => backend.clear());

  let bridge: { readonly bridge?: string } = { bridge: BRIDGE };

  async function begin(...policies: readonly NetworkPolicy[]): Promise<void> {
    const settings = { table: 'policy-test', podCidrs: POD_CIDRS, ...bridge };
    backend = new NftablesBackend({
      nft: session,
      settings,
      clock: systemClock,
      logger: silentLogger,
    });
    state = new PolicyState();
    for (const name of ['x', 'y'])
      runSteps(state.setNamespace(name, { 'kubernetes.io/metadata.name': name }));
    for (const [key, place, labels] of PODS) {
      const ips = ADDRESSES[place].slice(0, 2);
      runSteps(
        state.setPod(
          key,
          pod(key, {
            ips,
            labels,
            node: place === 'other' ? 'there' : 'here',
            ports: ['tcp/web=80', 'udp/web=80'],
          }),
        ),
      );
    }
    await apply(...policies);
  }

  async function apply(...policies: readonly NetworkPolicy[]): Promise<void> {
    for (const policy of policies) {
      const { namespace, name } = policy.metadata;
      runSteps(state.setPolicy(`${namespace}/${name}`, compilePolicy(policy)));
    }
    await backend.sync(state.rules, state.takeChange());
  }

  async function remove(...keys: readonly string[]): Promise<void> {
    for (const key of keys) runSteps(state.setPolicy(key, undefined));
    await backend.sync(state.rules, state.takeChange());
  }

  /** Attempts that should succeed may take long, as the machine may be busy. */
  const timeoutFor = (allowed: boolean): number => (allowed ? 20_000 : 700);

  /** Connects once. `allowed`: what is expected. */
  async function reaches(
    allowed: boolean,
    from: Place,
    host: string,
    port = 80,
    protocol: 'tcp' | 'udp' = 'tcp',
  ): Promise<boolean> {
    const timeoutMs = timeoutFor(allowed);
    const result = await lab.agent(from).connect({ host, port, protocol, timeoutMs });
    // Rules that drop packets also drop those that look for neighbors.
    return result !== 'timeout' && result !== 'unreachable';
  }

  /**
   * Connects in all pairs, in both families and protocols, and expects these to be reachable. A
   * pair is 'from>to:port'; in a failure, 'SOME …' is one where families or protocols differ.
   */
  async function expectReachable(
    pairs: readonly string[],
    expected: readonly string[],
  ): Promise<void> {
    const results = await Promise.all(
      pairs.map(async (pair) => {
        const [from, to, port] = pair.split(/[>:]/) as [Place, Place, string];
        const attempts = ADDRESSES[to]
          .slice(0, 2)
          .flatMap((host) =>
            (['tcp', 'udp'] as const).map((protocol) =>
              reaches(expected.includes(pair), from, host, Number(port), protocol),
            ),
          );
        const reached = await Promise.all(attempts);
        return reached.every(Boolean) ? [pair] : reached.some(Boolean) ? [`SOME ${pair}`] : [];
      }),
    );
    expect(results.flat()).toEqual(expected);
  }

  const ALL = ['pod1>pod2:80', 'pod2>pod1:80', 'pod1>other:80', 'other>pod1:80', 'other>pod2:80'];
  const NODE = ['node>pod1:80', 'pod1>node:80', 'pod1>pod1:80'];

  test('no policy, no table', async () => {
    await begin();
    await expectReachable([...ALL, ...NODE], [...ALL, ...NODE]);
    expect((await systemNft(lab.inside('node')).tables()).map(({ name }) => name)).toEqual([
      'nodes-own',
      'nodes-own',
    ]);
  });

  test('isolation by direction; the node and the pod itself are always allowed', async () => {
    await begin(apiPolicy('x/deny-in', { podSelector: select('pod=a'), policyTypes: ['Ingress'] }));
    await expectReachable(
      [...ALL, ...NODE],
      ['pod1>pod2:80', 'pod1>other:80', 'other>pod2:80', ...NODE],
    );
    await apply(apiPolicy('x/deny-in', { podSelector: select('pod=a'), policyTypes: ['Egress'] }));
    await expectReachable(
      [...ALL, ...NODE],
      ['pod2>pod1:80', 'other>pod1:80', 'other>pod2:80', ...NODE],
    );
    await remove('x/deny-in');
    await expectReachable(ALL, ALL);
  });

  test('selectors of pods and namespaces', async () => {
    const from = [
      { namespaceSelector: select('kubernetes.io/metadata.name=y'), podSelector: select('pod=c') },
    ];
    await begin(apiPolicy('x/in', { policyTypes: ['Ingress'], ingress: [{ from }] }));
    await expectReachable(ALL, ['pod1>other:80', 'other>pod1:80', 'other>pod2:80']);
    await apply(
      apiPolicy('x/in', {
        policyTypes: ['Ingress'],
        ingress: [{ from: [{ podSelector: select('pod=b') }] }],
      }),
    );
    await expectReachable(ALL, ['pod2>pod1:80', 'pod1>other:80']);
    // The other pod gets the label that the policy selects.
    const next = pod('x/pod1', { ips: ADDRESSES.pod1, labels: { pod: 'b' } });
    runSteps(state.setPod('x/pod1', next));
    await backend.sync(state.rules, state.takeChange());
    await expectReachable(ALL, ['pod1>pod2:80', 'pod2>pod1:80', 'pod1>other:80']);
  });

  test('ports, ranges and names, in both directions', async () => {
    const ports = [
      { protocol: 'TCP', port: 81, endPort: 90 },
      { protocol: 'UDP', port: 'web' },
      { protocol: 'SCTP', port: 9, endPort: 10 },
    ] as const;
    await begin(apiPolicy('x/in', { policyTypes: ['Ingress'], ingress: [{ ports }] }));
    const [pod1 = '', pod1v6 = ''] = ADDRESSES.pod1;
    const results = async (from: Place, host: string): Promise<boolean[]> =>
      Promise.all([
        reaches(false, from, host, 80, 'tcp'),
        reaches(true, from, host, 81, 'tcp'),
        reaches(true, from, host, 80, 'udp'),
        reaches(false, from, host, 81, 'udp'),
      ]);
    for (const host of [pod1, pod1v6]) {
      expect(await results('pod2', host)).toEqual([false, true, true, false]);
      expect(await results('other', host)).toEqual([false, true, true, false]);
    }
    await remove('x/in');
    await apply(apiPolicy('x/out', { policyTypes: ['Egress'], egress: [{ ports }] }));
    for (const host of ADDRESSES.other.slice(0, 2))
      expect(await results('pod1', host)).toEqual([false, true, true, false]);
    expect(await results('pod1', ADDRESSES.pod2[0] ?? '')).toEqual([false, true, true, false]);
  });

  test('blocks with exceptions', async () => {
    const blocks = [
      { ipBlock: { cidr: '10.0.1.0/24', except: ['10.0.1.2/32'] } },
      { ipBlock: { cidr: 'fd00:0:0:b::1/128' } },
    ];
    await begin(apiPolicy('x/out', { policyTypes: ['Egress'], egress: [{ to: blocks }] }));
    const [v4 = '', v6 = '', v4b = '', v6b = ''] = ADDRESSES.other;
    const hosts = [v4, v4b, v6, v6b, ADDRESSES.pod2[0] ?? ''];
    const allowed = [true, false, true, false, false];
    expect(await Promise.all(hosts.map((host, i) => reaches(allowed[i]!, 'pod1', host)))).toEqual(
      allowed,
    );
    await remove('x/out');
    await apply(
      apiPolicy('x/in', {
        policyTypes: ['Ingress'],
        ingress: [{ from: [...blocks, { ipBlock: { cidr: '0.0.0.0/0' } }] }],
      }),
    );
    const allowedSources = [true, true, false];
    const results = [v4, v4b, v6b].map((localAddress, i) => {
      const host = (localAddress.includes(':') ? ADDRESSES.pod1[1] : ADDRESSES.pod1[0]) ?? '';
      const timeoutMs = timeoutFor(allowedSources[i]!);
      return lab.agent('other').connect({ host, port: 80, localAddress, timeoutMs });
    });
    expect((await Promise.all(results)).map((result) => result !== 'timeout')).toEqual(
      allowedSources,
    );
  });

  test('established connections continue after a policy that would not allow them', async () => {
    await begin();
    const [host = ''] = ADDRESSES.pod1;
    const connection = await lab.agent('pod2').open(host, ECHO_PORT);
    const far = await lab.agent('other').open(host, ECHO_PORT);
    const udp = { protocol: 'udp', host, port: 80, localPort: 5555, timeoutMs: 20_000 } as const;
    expect(await lab.agent('other').connect(udp)).toEqual({ server: 'pod1', source: '10.0.1.1' });
    expect(await lab.agent('pod2').exchange(connection, timeoutFor(true))).toBe(true);
    expect(await lab.agent('other').exchange(far, timeoutFor(true))).toBe(true);
    await apply(apiPolicy('x/deny'));
    expect(await lab.agent('pod2').exchange(connection, timeoutFor(true))).toBe(true);
    expect(await lab.agent('other').exchange(far, timeoutFor(true))).toBe(true);
    expect(await lab.agent('other').connect(udp)).toEqual({ server: 'pod1', source: '10.0.1.1' });
    await expectReachable(ALL, []);
  });

  test('through a service: endpoint and client are matched, and a pod reaches itself', async () => {
    const nft = systemNft(lab.inside('node'));
    const [pod1 = ''] = ADDRESSES.pod1;
    await nft.run(
      'add table ip services\nadd chain ip services pre { type nat hook prerouting priority -100; }\n' +
        `add rule ip services pre ip daddr 10.96.0.10 dnat to ${pod1}\n` +
        'add chain ip services post { type nat hook postrouting priority 100; }\n' +
        `add rule ip services post ip saddr ${pod1} ip daddr ${pod1} masquerade\n`,
    );
    const expectReached = async (allowed: readonly boolean[]): Promise<void> => {
      const results = (['pod1', 'pod2', 'other'] as const).map((from, i) =>
        reaches(allowed[i]!, from, '10.96.0.10'),
      );
      expect(await Promise.all(results)).toEqual(allowed);
    };
    await begin();
    await expectReached([true, true, true]);
    await apply(apiPolicy('x/deny', { podSelector: select('pod=a') }));
    await expectReached([true, false, false]);
    await apply(
      apiPolicy('x/deny', {
        podSelector: select('pod=a'),
        ingress: [{ from: [{ podSelector: select('pod=b') }] }],
      }),
    );
    await expectReached([true, true, false]);
    await remove('x/deny');
    const egress = [{ to: [{ ipBlock: { cidr: '10.96.0.0/16' } }] }];
    await apply(
      apiPolicy('x/out', { podSelector: select('pod=b'), policyTypes: ['Egress'], egress }),
    );
    await expectReached([true, false, true]);
    await apply(
      apiPolicy('x/out', {
        podSelector: select('pod=b'),
        policyTypes: ['Egress'],
        egress: [{ to: [{ podSelector: {} }] }],
      }),
    );
    await expectReached([true, true, true]);
    await nft.run('delete table ip services\n');
  });

  test('unknown and forged addresses of this node are blocked while there are policies', async () => {
    await begin(apiPolicy('y/elsewhere', { podSelector: select('pod=none') }));
    await expectReachable([...ALL, ...NODE], [...ALL, ...NODE]);
    runSteps(state.setPod('x/pod2', undefined));
    await backend.sync(state.rules, state.takeChange());
    await expectReachable(ALL, ['pod1>other:80', 'other>pod1:80']);
  });

  test('a pod with an address that was not assigned to it reaches nothing while there are policies', async () => {
    const [host = ''] = ADDRESSES.other;
    lab.addAddress('pod1', '10.0.0.77');
    const forged = { host, port: 80, localAddress: '10.0.0.77' } as const;
    await begin();
    expect(await lab.agent('pod1').connect({ ...forged, timeoutMs: timeoutFor(true) })).toEqual({
      server: 'other',
      source: '10.0.0.77',
    });
    await apply(apiPolicy('y/elsewhere', { podSelector: select('pod=none') }));
    expect(await lab.agent('pod1').connect({ ...forged, timeoutMs: timeoutFor(false) })).toBe(
      'timeout',
    );
  });

  test('without a bridge, for routed pods', async () => {
    bridge = {};
    try {
      await begin(apiPolicy('x/deny', { podSelector: select('pod=a'), policyTypes: ['Ingress'] }));
      runSteps(state.setPod('x/pod2', undefined));
      await backend.sync(state.rules, state.takeChange());
      await expectReachable([...ALL, ...NODE], ['pod1>other:80', ...NODE]);
    } finally {
      bridge = { bridge: BRIDGE };
    }
  });

  test('a leftover table of another cluster affects another bridge only', async () => {
    bridge = { bridge: 'elsewhere' };
    try {
      await begin(apiPolicy('x/deny'));
      await expectReachable([...ALL, ...NODE], [...ALL, ...NODE]);
    } finally {
      bridge = { bridge: BRIDGE };
    }
  });

  test('our table with other content is replaced, other tables stay', async () => {
    const nft = systemNft(lab.inside('node'));
    await nft.run(
      'add table inet policy-test\nadd chain inet policy-test egress { type filter hook ' +
        'forward priority 5; policy drop; }\n' +
        'add set inet policy-test self-ip { type inet_service; }\nadd table inet others\n',
    );
    await begin(apiPolicy('x/deny', { podSelector: select('pod=a') }));
    await expectReachable(ALL, ['other>pod2:80']);
    expect((await nft.tables()).map(({ name }) => name).sort()).toEqual([
      'nodes-own',
      'nodes-own',
      'others',
      'policy-test',
    ]);
    expect(await backend.isPresent()).toBe(true);
    await nft.run('delete table inet policy-test\ndelete table inet others\n');
    expect(await backend.isPresent()).toBe(false);
    await expect(apply(apiPolicy('x/deny', { podSelector: select('pod=b') }))).rejects.toThrow(
      'No such file',
    );
    await backend.sync(state.rules, state.takeChange());
    await expectReachable(ALL, ['pod1>other:80', 'other>pod1:80']);
  });
});
