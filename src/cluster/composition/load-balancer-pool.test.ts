// Load balancers with addresses of a pool, with a real kernel: the controller, and two machines on one link, each with
// its proxy and its announcer. Clients of the link reach services by the addresses, also after a machine is gone.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { ControllerManager } from '#controllers/controller-manager.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { NftSession } from '#machinery/net/nft/index.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { Announcer } from '#network/announce/announcer.ts';
import { LinkAddresses } from '#network/announce/link-addresses.ts';
import { LinkLab, linkLabIsMissing } from '#network/announce/testing/link-lab.ts';
import { ProxyHealth } from '#proxy/health/proxy-health.ts';
import { ProxyMetrics } from '#proxy/metrics.ts';
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts';
import { Proxier } from '#proxy/proxier.ts';
import { Agent } from '#machinery/net/testing/agent.ts';

const MERGE = 'application/merge-patch+json';
const POOL = '10.92.0.240-10.92.0.243,fd92::240-fd92::243';
const INTERFACE = 'cxs0000000007';
const logger = createLogger({ level: 'error' });
const missing = linkLabIsMissing();
type Host = 'a' | 'b';

describe.skipIf(missing !== undefined)(
  `a pool of addresses${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let lab: LinkLab;
    let server: TestServer;
    const agents = new Map<string, Agent>();
    const abort = new AbortController();
    const running: Promise<void>[] = [];
    const sessions: NftSession[] = [];

    beforeAll(async () => {
      lab = new LinkLab();
      for (const machine of ['a', 'b', 'client'] as const)
        agents.set(machine, new Agent(lab.inside(machine)));
      for (const [machine, number] of [
        ['a', 1],
        ['b', 2],
      ] as const) {
        await agents.get(machine)?.serve(machine, `10.93.${number}.2`, 8080);
        await agents.get(machine)?.serve(machine, `fd93:0:0:${number}::2`, 8080);
        // Something of the machine that listens at all its addresses.
        await agents.get(machine)?.serve('sshd', '::', 22);
      }
      server = await startTestServer({
        clock: systemClock,
        serviceCidr: '10.96.0.0/16,fd96::/112',
      });
      const manager = new ControllerManager({
        client: server.client,
        clock: systemClock,
        random: systemRandom,
        logger,
        controllers: ['load-balancer-pool-controller'],
        settings: { 'service-lb': { pool: IpPool.parse(POOL) } },
      });
      running.push(manager.run(abort.signal));
      for (const name of ['a', 'b'] as const) await startMachine(name);
    });

    afterAll(async () => {
      abort.abort(new Error('over'));
      await Promise.all(running);
      await Promise.all(sessions.map((session) => session.close()));
      await server?.stop();
      await Promise.all([...agents.values()].map((agent) => agent.stop()));
      lab?.stop();
    });

    async function startMachine(name: Host): Promise<void> {
      await server.client.resource(nodes).create({ metadata: { name } });
      await setReady(name, 'True');
      const client = server.clientOf({
        name: 'system:kube-proxy',
        groups: ['system:authenticated'],
      });
      const common = { client, nodeName: name, clock: systemClock, random: systemRandom, logger };
      const prefix = lab.inside(name);
      const table = 'coxswain';
      const nft = new NftSession({ clock: systemClock, prefix });
      sessions.push(nft);
      const proxier = new Proxier({
        ...common,
        makeBackend: (network) =>
          new NftablesBackend({
            nft: nft,
            families: ['IPv4', 'IPv6'],
            settings: () => ({
              table,
              nodePortIPs: network.nodeIPs(),
              clusterCidrs: ['10.93.0.0/16', 'fd93::/32'],
              serviceCidrs: network.serviceCidrs(),
              masqueradeAll: false,
              masqueradeBit: 14,
              blindBridge: undefined,
            }),
            flows: undefined,
            clock: systemClock,
            logger,
          }),
        machineAddresses: () => [],
        reservedPorts: [],
        nodePortAddresses: 'primary',
        metrics: new ProxyMetrics({ clock: systemClock, families: ['IPv4', 'IPv6'] }),
        health: new ProxyHealth({ clock: systemClock, families: ['IPv4', 'IPv6'] }),
      });
      const system = new LinkAddresses({
        interfaceName: INTERFACE,
        table: `${table}-announced`,
        clock: systemClock,
        logger,
        prefix,
      });
      running.push(
        proxier.run(abort.signal),
        new Announcer({ ...common, pool: IpPool.parse(POOL), system }).run(abort.signal),
      );
    }
    const setReady = (name: string, status: string) =>
      server.client
        .resource(nodes)
        .patch(
          name,
          MERGE,
          { status: { conditions: [{ type: 'Ready', status }] } },
          { subresource: 'status' },
        );

    async function addService(
      name: string,
      endpoints: readonly Host[],
      spec: object = {},
    ): Promise<void> {
      await server.client
        .resource(services)
        .namespace('default')
        .create({
          metadata: { name },
          spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
        });
      for (const family of ['IPv4', 'IPv6'] as const) {
        const ip = (host: Host): string =>
          family === 'IPv4'
            ? `10.93.${host === 'a' ? 1 : 2}.2`
            : `fd93:0:0:${host === 'a' ? 1 : 2}::2`;
        await server.client
          .resource(endpointSlices)
          .namespace('default')
          .create({
            metadata: {
              name: `${name}-${family.toLowerCase()}`,
              labels: { 'kubernetes.io/service-name': name },
            },
            addressType: family,
            ports: [{ name: '', port: 8080, protocol: 'TCP' }],
            endpoints: endpoints.map((host) => ({
              addresses: [ip(host)],
              conditions: { ready: true },
              nodeName: host,
            })),
          });
      }
    }
    const ipsOf = async (name: string): Promise<readonly string[]> =>
      (
        await server.client.resource(services).namespace('default').get(name)
      ).status.loadBalancer.ingress?.map(({ ip = '' }) => ip) ?? [];
    async function ipOf(name: string): Promise<string> {
      let ip: string | undefined;
      await until(async () => (ip = (await ipsOf(name))[0]) !== undefined);
      return ip as string;
    }
    const until = (condition: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> =>
      wait.pollImmediately({ clock: systemClock, intervalMs: 50, timeoutMs }, condition);
    async function serverAt(host: string, port = 80, timeoutMs = 300): Promise<string> {
      const attempt = await agents.get('client')?.connect({ host, port, timeoutMs });
      return attempt === undefined || typeof attempt === 'string'
        ? `${attempt}`
        : `${attempt.server} ${attempt.source}`;
    }
    const holdersOf = (address: string): string =>
      (['a', 'b'] as const)
        .filter((machine) =>
          lab.run(machine, 'ip', 'address', 'show', 'to', address).includes('cxs'),
        )
        .join(' ');

    test('clients of the link reach two services at one port, and nothing else of the machines', async () => {
      await addService('one', ['a']);
      await addService('two', ['b']);
      const [one, two] = [await ipOf('one'), await ipOf('two')];
      expect(one).not.toBe(two);
      await until(
        async () =>
          (await serverAt(one)).startsWith('a ') && (await serverAt(two)).startsWith('b '),
      );
      expect(
        [holdersOf(one), holdersOf(two)].every((holder) => holder === 'a' || holder === 'b'),
      ).toBe(true);
      const once = (host: string, port: number): Promise<string> => serverAt(host, port, 20_000);
      expect([await once(one, 22), await once(two, 81)]).toEqual(['refused', 'refused']);
      expect(await once('10.92.0.1', 22)).toBe('sshd 10.92.0.9');
    });

    test('only listed clients, and with the policy Local their own addresses', async () => {
      await addService('local', ['b'], {
        externalTrafficPolicy: 'Local',
        loadBalancerSourceRanges: ['10.92.0.9/32'],
      });
      const local = await ipOf('local');
      await until(async () => (await serverAt(local)) === 'b 10.92.0.9');
      expect(holdersOf(local)).toBe('b');
      const merge = { spec: { loadBalancerSourceRanges: ['192.0.2.0/24'] } };
      await server.client.resource(services).namespace('default').patch('local', MERGE, merge);
      await until(async () => (await serverAt(local)) === 'timeout');
      await server.client.resource(services).namespace('default').delete('local');
      await until(() => Promise.resolve(holdersOf(local) === ''));
    });

    test('an address moves within seconds when its machine is gone, in both families', async () => {
      await addService('both', ['a', 'b'], { ipFamilyPolicy: 'PreferDualStack' });
      await until(async () => (await ipsOf('both')).length === 2);
      const ips = await ipsOf('both');
      for (const ip of ips) await until(() => Promise.resolve(holdersOf(ip) !== ''));
      for (const ip of ips) await until(async () => /^[ab] /.test(await serverAt(ip)));
      // Each address may be at another machine: the one that has the first goes.
      const holder = holdersOf(ips[0] as string) as Host;
      const other = holder === 'a' ? 'b' : 'a';
      lab.unplug(holder);
      const start = systemClock.monotonic();
      const slices = server.client.resource(endpointSlices).namespace('default');
      await slices.patch('both-ipv4', MERGE, {
        endpoints: [
          {
            addresses: [`10.93.${other === 'a' ? 1 : 2}.2`],
            conditions: { ready: true },
            nodeName: other,
          },
        ],
      });
      await slices.patch('both-ipv6', MERGE, {
        endpoints: [
          {
            addresses: [`fd93:0:0:${other === 'a' ? 1 : 2}::2`],
            conditions: { ready: true },
            nodeName: other,
          },
        ],
      });
      await setReady(holder, 'Unknown');
      for (const ip of ips) await until(async () => (await serverAt(ip)).startsWith(`${other} `));
      expect(systemClock.monotonic() - start).toBeLessThan(60_000);
      expect(ips.map((ip) => holdersOf(ip).split(' ').includes(other))).toEqual(
        ips.map(() => true),
      );
    });
  },
);
