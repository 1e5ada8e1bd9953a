// Forks of a cluster with many pods: what they cost until they are used, and what the first use costs.

import { configMaps, pods as podType } from '#api/groups/core/v1/index.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { heading, note, show } from '../report.ts';
import { liveMB } from './heap.ts';

const ROUNDS = 5;
const PODS_OF_A_NODE = 100;

export async function fork({
  pods,
  forks,
}: {
  readonly pods: number;
  readonly forks: number;
}): Promise<void> {
  heading(`embedded: forks of a cluster with ${pods} pods`);
  const nodes = Math.max(1, Math.ceil(pods / PODS_OF_A_NODE));
  const cluster = await startCluster({ clock: 'virtual', nodes });
  const began = systemClock.monotonic();
  await cluster.apply(deployment(pods));
  await cluster.clock.runUntil(async () => {
    const list = await cluster.list(podType, { namespace: 'default' });
    return list.filter(({ status }) => status.phase === 'Running').length === pods;
  });
  note(`${nodes} nodes and their pods are there after ${seconds(began)} s`);
  const figures = { fork: [], size: [], read: [], write: [], used: [] } as Record<string, number[]>;
  const measure = async (name: string, action: () => Promise<unknown>): Promise<void> => {
    const start = systemClock.monotonic();
    const cpu = process.cpuUsage();
    await action();
    figures[name]!.push(systemClock.monotonic() - start);
    const { user, system } = process.cpuUsage(cpu);
    (figures[`${name}Cpu`] ??= []).push((user + system) / 1000);
  };
  for (let round = 0; round < ROUNDS; round++) {
    const before = await liveMB();
    let copy: typeof cluster | undefined;
    await measure('fork', async () => void (copy = await cluster.fork()));
    figures.size!.push(Math.max(0.001, (await liveMB()) - before));
    const used = copy!;
    await measure('read', () => used.list(configMaps, { namespace: 'default' }));
    await measure('write', () => used.apply(configMap));
    await used.clock.settle();
    figures.used!.push((await liveMB()) - before);
    await used.stop();
  }
  show({ what: 'fork', unit: 'ms', values: figures.fork!, goal: { atMost: 10 } });
  show({ what: 'memory of a fork', unit: 'MB', values: figures.size!, goal: { atMost: 1 } });
  show({ what: 'first read of a fork (its API server begins)', unit: 'ms', values: figures.read! });
  show({ what: '  CPU', unit: 'ms', values: figures.readCpu! });
  show({ what: 'first write (all components begin)', unit: 'ms', values: figures.write! });
  show({ what: '  CPU', unit: 'ms', values: figures.writeCpu! });
  show({ what: 'memory of a fork in use', unit: 'MB', values: figures.used! });
  const before = await liveMB();
  const start = systemClock.monotonic();
  const copies: { stop(): Promise<void> }[] = [];
  for (let n = 0; n < forks; n++) copies.push(await cluster.fork());
  const tookMs = systemClock.monotonic() - start;
  const sizeMB = (await liveMB()) - before;
  show({ what: `${forks} forks`, unit: 's', values: [tookMs / 1000] });
  show({ what: `memory of ${forks} forks`, unit: 'MB', values: [sizeMB], goal: { atMost: forks } });
  for (const copy of copies) await copy.stop();
  await cluster.stop();
}

const seconds = (since: number): string => ((systemClock.monotonic() - since) / 1000).toFixed(1);

const configMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'written', namespace: 'default' },
};

const deployment = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    },
  },
});
