// Measures the pod network in network namespaces: the time from the creation of a Node until its
// pods are reachable, and the cost of one more node when there are a thousand.

import { rmSync } from 'node:fs';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import type { NodeRecord } from '#network/pod-network/model.ts';
import {
  NodeNetwork,
  type PodNetworkSettings,
  systemPodNetwork,
} from '#network/pod-network/index.ts';
import { LabCluster, until } from '#network/pod-network/testing/cluster.ts';
import { labIsMissing, type LabMachine, MachineLab } from '#network/pod-network/testing/lab.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { heading, note, quantile, show } from '../report.ts';

const NODES = Number(process.env['NODES'] ?? 1000);
const CHANGES = Number(process.env['CHANGES'] ?? 100);
const ROUNDS = 10;

export async function podNetwork(): Promise<void> {
  const missing = labIsMissing();
  if (missing !== undefined) {
    note(`pod-network: skipped, ${missing}`);
    return;
  }
  heading('pod-network: a node joins');
  for (const mode of ['routes', 'vxlan'] as const) {
    const values = await joinTimes(mode);
    show({
      what: `from the Node to the first packet between pods, ${mode}`,
      unit: 'ms',
      values,
      goal: { atMost: 1000 },
    });
  }
  heading(`pod-network: ${NODES} nodes`);
  for (const mode of ['routes', 'vxlan'] as const) {
    const { allMs, adoptedMs, changesMs } = await manyNodes(mode);
    show({ what: `all nodes, of nothing, ${mode}`, unit: 'ms', values: [allMs] });
    show({ what: `all nodes, adopted, ${mode}`, unit: 'ms', values: [adoptedMs] });
    show({
      what: `one more node, ${mode}, median`,
      unit: 'ms',
      values: [quantile(changesMs, 0.5)],
      goal: { atMost: 50 },
    });
    show({ what: `one more node, ${mode}, p99`, unit: 'ms', values: [quantile(changesMs, 0.99)] });
  }
}

async function joinTimes(mode: 'routes' | 'vxlan'): Promise<number[]> {
  const lab = new MachineLab();
  const cluster = await LabCluster.start();
  const values: number[] = [];
  try {
    const [first, second] = [await lab.machine('a', 1), await lab.machine('a', 2)];
    await cluster.register('n1', first.address);
    await cluster.allocate('n1', '10.202.1.0/24');
    cluster.agent('n1', first, { mode });
    cluster.agent('n2', second, { mode });
    await until(async () => (await cluster.condition('n1')) === 'False RouteCreated');
    const from = await first.pod();
    const to = await second.pod({
      mtu: mode === 'vxlan' ? 1450 : 1500,
      subnets: ['10.202.2.0/24'],
    });
    for (let round = 0; round < ROUNDS; round++) {
      const start = systemClock.monotonic();
      await cluster.register('n2', second.address);
      await cluster.allocate('n2', '10.202.2.0/24');
      while ((await from.prober.send('udp', to.address, 1, 10)) === null);
      values.push(systemClock.monotonic() - start);
      await until(async () => (await cluster.condition('n2')) === 'False RouteCreated');
      await cluster.remove('n2');
      await until(() => !first.run('ip', 'route').includes('10.202.2.0/24'));
    }
  } finally {
    await cluster.stop();
    await lab.stop();
  }
  return values;
}

interface ManyNodes {
  readonly allMs: number;
  readonly adoptedMs: number;
  readonly changesMs: readonly number[];
}

async function manyNodes(mode: 'routes' | 'vxlan'): Promise<ManyNodes> {
  const lab = new MachineLab();
  const dir = temporaryDirectory('cox-bench-');
  try {
    const machine = await lab.machine('a', 1);
    // All nodes have addresses on this link.
    machine.run('ip', 'address', 'add', '10.90.0.1/16', 'dev', 'eth0');
    const records = Array.from({ length: NODES + 1 }, (_, index) => record(index));
    const network = networkOf(machine, mode, dir);
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const start = systemClock.monotonic();
      await work();
      return systemClock.monotonic() - start;
    };
    const allMs = await timed(() => network.sync(records));
    const changesMs: number[] = [];
    for (let change = 1; change <= CHANGES; change++) {
      records.push(record(NODES + change));
      changesMs.push(await timed(() => network.sync(records)));
    }
    const adoptedMs = await timed(() => networkOf(machine, mode, dir).sync(records));
    return { allMs, adoptedMs, changesMs };
  } finally {
    await lab.stop();
    rmSync(dir, { recursive: true });
  }
}

function networkOf(
  machine: LabMachine,
  mode: PodNetworkSettings['mode'],
  dir: string,
): NodeNetwork {
  return new NodeNetwork({
    nodeName: 'n0',
    settings: {
      mode,
      names: machine.names,
      vxlanId: 1,
      vxlanPort: 8472,
      clusterCidrs: ['10.100.0.0/14'],
      serviceCidrs: [],
    },
    cni: { confDir: dir, dataDir: dir, hostPorts: false },
    system: systemPodNetwork(['nsenter', `--net=/run/netns/${machine.inside.at(-1)!}`]),
    logger: silentLogger,
  });
}

function record(index: number): NodeRecord {
  const [high, low] = [index >> 8, index & 255];
  const address = `10.90.${high + 1}.${low}`;
  return {
    name: `n${index}`,
    created: '2026-01-01T00:00:00Z',
    podCidrs: [`10.${100 + high}.${low}.0/24`],
    addresses: [index === 0 ? '10.90.0.1' : address],
  };
}
