// Machines made of network namespaces, whose pods reach each other: the effect of the decided state
// in the kernel.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanPodNetwork } from './clean.ts';
import { LabCluster, until } from './testing/cluster.ts';
import { labIsMissing, type LabMachine, type LabPod, MachineLab } from './testing/lab.ts';
import { systemPodNetwork } from './system.ts';

const missing = labIsMissing();

describe.skipIf(missing !== undefined)(
  `machines in network namespaces${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let lab: MachineLab;
    let cluster: LabCluster;
    beforeEach(async () => {
      lab = new MachineLab();
      cluster = await LabCluster.start();
    });
    afterEach(async () => {
      await cluster.stop();
      await lab.stop();
    });

    /** Starts a node whose pod network is up, with a pod. */
    async function join(
      name: string,
      machine: LabMachine,
      range: string,
      mode: 'auto' | 'routes' | 'vxlan' = 'auto',
    ) {
      await cluster.register(name, machine.address);
      const agent = cluster.agent(name, machine, { mode });
      await cluster.allocate(name, range);
      await until(async () => (await cluster.condition(name)) === 'False RouteCreated');
      return { name, machine, agent, pod: await machine.pod() };
    }

    const reaches = (from: LabPod, to: LabPod) =>
      until(async () => (await from.prober.send('udp', to.address, 1, 200)) !== null);
    const routesOf = (machine: LabMachine) =>
      machine.run('ip', 'route', 'show', 'proto', '84').trim();

    test('three machines on one link reach each other by routes, which keep sources and large packets', async () => {
      const nodes = [];
      for (const number of [1, 2, 3])
        nodes.push(
          await join(`n${number}`, await lab.machine('a', number), `10.202.${number}.0/24`),
        );
      for (const from of nodes) {
        for (const to of nodes.filter((other) => other !== from)) {
          await reaches(from.pod, to.pod);
          expect(await from.pod.prober.send('tcp', to.pod.address, 1_000_000)).toEqual({
            source: from.pod.address,
            bytes: 1_000_000,
          });
          expect(await from.pod.prober.send('udp', to.pod.address, 1472)).toEqual({
            source: from.pod.address,
            bytes: 1472,
          });
        }
        expect(await from.machine.cni()).toMatchObject({ mtu: 1500, ipMasq: false });
        expect(from.machine.run('ip', '-d', 'link')).not.toContain('vxlan');
      }
    });

    test('traffic that leaves the cluster is masqueraded', async () => {
      const { pod, machine } = await join('n1', await lab.machine('a', 1), '10.202.1.0/24');
      await lab.outside();
      expect(await pod.prober.send('tcp', '10.91.1.254')).toEqual({
        source: machine.address,
        bytes: 1,
      });
    });

    test('machines behind a router reach each other by VXLAN; the MTU of pods has room for its headers', async () => {
      const [one, two] = [await lab.machine('a', 1), await lab.machine('b', 1)];
      await cluster.register('n1', one.address);
      await cluster.register('n2', two.address);
      await cluster.allocate('n1', '10.202.1.0/24');
      await cluster.allocate('n2', '10.202.2.0/24');
      const agents = [cluster.agent('n1', one), cluster.agent('n2', two)];
      await until(async () => (await one.cni()).mtu === 1450 && (await two.cni()).mtu === 1450);
      const [p1, p2] = [await one.pod(), await two.pod()];
      await reaches(p1, p2);
      expect(await p1.prober.send('tcp', p2.address, 1_000_000)).toEqual({
        source: p1.address,
        bytes: 1_000_000,
      });
      expect(await p2.prober.send('udp', p1.address, 1422)).toEqual({
        source: p2.address,
        bytes: 1422,
      });
      expect(await p2.prober.send('udp', p1.address, 8000)).toEqual({
        source: p2.address,
        bytes: 8000,
      });
      // A process of the node has the node's own tunnel address, from the node's range.
      expect(await one.prober().send('tcp', p2.address)).toEqual({
        source: '10.202.1.0',
        bytes: 1,
      });
      expect(
        agents.flatMap(({ logger }) =>
          logger.records.filter(({ level }) => level !== 'info' && level !== 'debug'),
        ),
      ).toEqual([]);
    });

    test('a pod with packets larger than the tunnel’s MTU is notified', async () => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24');
      const second = await join('n2', await lab.machine('b', 1), '10.202.2.0/24');
      expect(await second.machine.cni()).toMatchObject({ mtu: 1450 });
      await reaches(first.pod, second.pod);
      const sent = await first.pod.prober.send('tcp', second.pod.address, 1_000_000, 5000);
      expect(sent).toEqual({ source: first.pod.address, bytes: 1_000_000 });
      await until(async () => (await first.machine.cni()).mtu === 1450);
    });

    test('VXLAN is accepted from nodes only', async () => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24', 'vxlan');
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24', 'vxlan');
      await reaches(first.pod, second.pod);
      expect(first.machine.run('ip', '-d', 'link', 'show', first.machine.names.vxlan)).toContain(
        'vxlan id 1 local 10.91.1.1',
      );
      // A machine that is not a node sends what a node would: it has all addresses, and the pod
      // would answer to the second node.
      const stranger = await lab.machine('a', 9);
      stranger.run(
        'ip',
        'link',
        'add',
        'v',
        'type',
        'vxlan',
        'id',
        '1',
        'dstport',
        '8472',
        'local',
        stranger.address,
      );
      stranger.run('ip', 'address', 'add', '10.202.2.9/32', 'dev', 'v');
      stranger.run('ip', 'link', 'set', 'v', 'up');
      const mac =
        /link\/ether (\S+)/.exec(
          first.machine.run('ip', 'link', 'show', first.machine.names.vxlan),
        )?.[1] ?? '';
      stranger.run('bridge', 'fdb', 'add', mac, 'dst', first.machine.address, 'dev', 'v');
      stranger.run(
        'ip',
        'route',
        'add',
        '10.202.1.0/24',
        'via',
        '10.202.1.0',
        'dev',
        'v',
        'onlink',
      );
      stranger.run('ip', 'neighbour', 'add', '10.202.1.0', 'lladdr', mac, 'dev', 'v');
      first.machine.run('nft', 'add', 'table', 'ip', 'count');
      first.machine.run(
        'nft',
        'add',
        'chain',
        'ip',
        'count',
        'seen',
        '{ type filter hook forward priority 0; }',
      );
      first.machine.run(
        'nft',
        'add',
        'rule',
        'ip',
        'count',
        'seen',
        'ip',
        'saddr',
        '10.202.2.9',
        'counter',
      );
      const seen = () =>
        Number(/packets (\d+)/.exec(first.machine.run('nft', 'list', 'table', 'ip', 'count'))?.[1]);
      const prober = stranger.prober();
      await prober.send('udp', first.pod.address, 1, 300);
      expect(seen()).toBe(0);
      // The same packet from a node's address arrives, so the test would notice it.
      await cluster.register('n9', stranger.address);
      await cluster.allocate('n9', '10.202.9.0/24');
      await until(async () => {
        await prober.send('udp', first.pod.address, 1, 100);
        return seen() > 0;
      });
    });

    test('a link that is lost and returns', async () => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24');
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24');
      await reaches(first.pod, second.pod);
      first.machine.link('down');
      expect(routesOf(first.machine)).toBe('');
      expect(await first.pod.prober.send('udp', second.pod.address, 1, 200)).toBeNull();
      first.machine.link('up');
      await reaches(first.pod, second.pod);
      first.machine.cable('down');
      expect(await first.pod.prober.send('udp', second.pod.address, 1, 200)).toBeNull();
      first.machine.cable('up');
      await reaches(first.pod, second.pod);
      expect((await first.machine.cni()).mtu).toBe(1500);
    });

    test.each(['routes', 'vxlan'] as const)('a node gets another address (%s)', async (mode) => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24', mode);
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24', mode);
      await reaches(first.pod, second.pod);
      second.machine.readdress(77);
      await cluster.readdress('n2', second.machine.address);
      await until(
        async () => (await first.pod.prober.send('tcp', second.pod.address, 1, 200)) !== null,
      );
      await until(
        async () => (await second.pod.prober.send('tcp', first.pod.address, 1, 200)) !== null,
      );
      if (mode === 'routes') expect(routesOf(first.machine)).toContain('via 10.91.1.77');
    });

    test('nothing of a deleted node is left, and nothing of the cluster after cleaning', async () => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24');
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24');
      const third = await join('n3', await lab.machine('b', 1), '10.202.3.0/24');
      await reaches(first.pod, second.pod);
      await reaches(first.pod, third.pod);
      const { vxlan, table } = first.machine.names;
      await cluster.remove('n2');
      await until(() => !routesOf(first.machine).includes('10.202.2.0'));
      expect(routesOf(first.machine)).toContain('10.202.3.0/24');
      await cluster.remove('n3');
      await until(
        () => routesOf(first.machine) === '' && !first.machine.run('ip', 'link').includes(vxlan),
      );
      await until(() => !first.machine.run('nft', 'list', 'ruleset').includes('10.91.1.2'));
      expect(first.machine.run('nft', 'list', 'tables')).toContain(table);
      await first.agent.stop();
      await cleanPodNetwork(first.machine.dir, systemPodNetwork(first.machine.inside));
      await cleanPodNetwork(first.machine.dir, systemPodNetwork(first.machine.inside));
      expect(first.machine.run('nft', 'list', 'tables')).toBe('');
    });

    test.each(['routes', 'vxlan'] as const)('a restart loses no packet (%s)', async (mode) => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24', mode);
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24', mode);
      await reaches(first.pod, second.pod);
      await first.pod.prober.startStream(second.pod.address);
      for (const { name, machine, agent } of [first, second]) {
        await agent.stop();
        const next = cluster.agent(name, machine, { mode });
        await until(() =>
          next.logger.records.some(({ message }) => message === 'pod network: synced'),
        );
        expect(
          next.logger.records.filter(({ message }) => message === 'pod network: routes changed'),
        ).toEqual([]);
      }
      const { sent, answered } = await first.pod.prober.endStream();
      expect(sent).toBeGreaterThan(10);
      expect(answered).toBe(sent);
    });

    test('state of a killed run is repaired, state of other programs is not touched', async () => {
      const machine = await lab.machine('a', 1);
      const { names } = machine;
      const mark = ['metric', String(names.metric), 'proto', '84'];
      machine.run('ip', 'route', 'add', '10.202.9.0/24', 'via', '10.91.1.9', ...mark);
      machine.run('ip', 'route', 'add', '10.202.2.0/24', 'via', '10.91.1.9', ...mark);
      machine.run('ip', 'link', 'add', names.vxlan, 'type', 'bridge');
      const foreign = [
        '10.202.8.0/24 via 10.91.1.8 dev eth0 proto static',
        '10.202.7.0/24 via 10.91.1.7 dev eth0 proto 84 metric 5',
      ];
      for (const route of foreign) machine.run('ip', 'route', 'add', ...route.split(' '));
      machine.run('nft', 'add', 'table', 'ip', 'theirs');
      const first = await join('n1', machine, '10.202.1.0/24');
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24');
      await reaches(first.pod, second.pod);
      expect(routesOf(machine)).not.toContain('10.202.9.0');
      expect(machine.run('ip', 'link')).not.toContain(names.vxlan);
      for (const route of foreign) expect(machine.run('ip', 'route')).toContain(route);
      // Repaired at run time, too.
      machine.run('ip', 'route', 'del', '10.202.2.0/24');
      await reaches(first.pod, second.pod);
      await first.agent.stop();
      await cleanPodNetwork(machine.dir, systemPodNetwork(machine.inside));
      for (const route of foreign) expect(machine.run('ip', 'route')).toContain(route);
      expect(machine.run('nft', 'list', 'tables')).toBe('table ip theirs\n');
    });

    test('a node cannot claim addresses of others', async () => {
      const first = await join('n1', await lab.machine('a', 1), '10.202.1.0/24');
      const second = await join('n2', await lab.machine('a', 2), '10.202.2.0/24');
      for (const [index, range] of [
        '10.202.2.128/25',
        '10.202.1.0/24',
        '10.91.1.0/24',
        '0.0.0.0/1',
        '10.212.0.0/24',
      ].entries()) {
        await cluster.register(`robber${index}`, `10.91.1.5${index}`);
        await cluster.allocate(`robber${index}`, range);
      }
      await cluster.register('honest', '10.91.1.60');
      await cluster.allocate('honest', '10.202.60.0/24');
      await until(() => routesOf(first.machine).includes('10.202.60.0/24'));
      await reaches(first.pod, second.pod);
      expect(routesOf(first.machine).split('\n')).toHaveLength(2);
      const problems = () =>
        first.agent.logger.records.flatMap(({ values }) => values['problem'] ?? []);
      await until(() => problems().length === 5);
      expect(await cluster.condition('n1')).toBe('False RouteCreated');
    });

    test('two families: routes on a link, and both in one tunnel', async () => {
      const machines = [
        await lab.machine('a', 1),
        await lab.machine('a', 2),
        await lab.machine('b', 1),
      ];
      const pods: LabPod[] = [];
      for (const [index, machine] of machines.entries()) {
        await cluster.register(`n${index}`, machine.address, machine.address6);
        await cluster.allocate(`n${index}`, `10.202.${index}.0/24`, `fd02:0:0:${index}::/64`);
      }
      for (const [index, machine] of machines.entries()) {
        cluster.agent(`n${index}`, machine);
        await until(async () => (await machine.cni()).mtu === 1450);
        pods.push(await machine.pod());
      }
      for (const from of pods) {
        for (const to of pods) {
          for (const [family, address] of to.addresses.entries()) {
            if (from === to) continue;
            await until(async () => (await from.prober.send('tcp', address, 1, 300)) !== null);
            const source = from.addresses[family];
            expect(await from.prober.send('tcp', address, 100_000)).toEqual({
              source,
              bytes: 100_000,
            });
          }
        }
      }
      await lab.outside();
      expect(await pods[0]?.prober.send('tcp', '10.91.1.254')).toMatchObject({
        source: machines[0]?.address,
      });
    });

    test('IPv6 only: the tunnel takes 70 bytes', async () => {
      const [one, two] = [await lab.machine('a', 1), await lab.machine('b', 1)];
      const pods: LabPod[] = [];
      for (const [name, machine] of [
        ['n1', one],
        ['n2', two],
      ] as const) {
        await cluster.register(name, machine.address6);
        await cluster.allocate(name, `fd02:0:0:${name.slice(1)}::/64`);
      }
      for (const [name, machine] of [
        ['n1', one],
        ['n2', two],
      ] as const) {
        cluster.agent(name, machine);
        await until(async () => (await machine.cni()).mtu === 1430);
        pods.push(await machine.pod());
      }
      const [p1, p2] = pods as [LabPod, LabPod];
      await until(async () => (await p1.prober.send('tcp', p2.address, 1, 300)) !== null);
      expect(await p1.prober.send('tcp', p2.address, 1_000_000)).toEqual({
        source: p1.address,
        bytes: 1_000_000,
      });
    });
  },
);
