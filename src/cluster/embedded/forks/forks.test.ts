import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { deployments, replicaSets } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { configMaps, events, nodes, pods, type Node } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { ForkableCluster, StartClusterOptions } from '../embedded-cluster.ts';
import { startCluster } from '../start-cluster.ts';
import type { Checkpoint } from './forking.ts';

const live: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const cluster of live.splice(0)) await cluster.stop();
});

async function start(
  options: Pick<StartClusterOptions, 'nodes' | 'seed' | 'forks' | 'logger'> = {},
): Promise<ForkableCluster> {
  const cluster = await startCluster({ ...options, clock: 'virtual' });
  live.push(cluster);
  return cluster;
}

async function copy(cluster: ForkableCluster): Promise<ForkableCluster> {
  const fork = await cluster.fork();
  live.push(fork);
  return fork;
}

function web(replicas: number, command?: readonly string[]) {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'nginx', ...(command && { command }) }] },
      },
    },
  };
}

function pod(name: string, command?: readonly string[]) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'nginx', ...(command && { command }) }] },
  };
}

function configMap(name: string, value: string) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    data: { value },
  };
}

async function running(cluster: ForkableCluster): Promise<number> {
  return (await cluster.list(pods)).filter(({ status }) => status.phase === 'Running').length;
}

async function readyNodes(cluster: ForkableCluster): Promise<unknown[]> {
  const isReady = (node: Immutable<Node>): boolean =>
    node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ===
    true;
  return (await cluster.list(nodes)).filter(isReady).map(({ metadata }) => metadata.name);
}

const EVERYTHING = [pods, deployments, replicaSets, configMaps, nodes, events];
const HEARTBEATS = [pods, deployments, leases];

/** Everything that is stored of these kinds, with names, UIDs, times and revisions. */
async function contentOf(
  cluster: ForkableCluster,
  types: readonly ResourceType<KubeObject>[] = EVERYTHING,
): Promise<unknown> {
  const content: unknown[] = [cluster.clock.now()];
  for (const type of types) content.push(await cluster.list(type));
  for (const { metadata, status } of await cluster.list(pods))
    if (status.phase === 'Running') content.push(await cluster.logs(metadata.name ?? ''));
  return content;
}

/** Changes the cluster at random. */
async function act(cluster: ForkableCluster, random: SeededRandom, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    const all = await cluster.list(pods);
    const some = all[random.int(Math.max(1, all.length))]?.metadata.name;
    switch (random.int(7)) {
      case 0:
        await cluster.apply(web(random.int(6)));
        break;
      case 1:
        await cluster.apply(configMap(`m${random.int(4)}`, String(random.int(100))));
        break;
      case 2:
        if (some !== undefined) await cluster.delete(pods, some);
        break;
      case 3:
        await cluster.apply(pod(`p${random.int(1e9)}`, ['sh', '-c', 'echo hi; sleep 7; echo ho']));
        break;
      default:
        await cluster.clock.advance(random.int(15_000));
    }
    await cluster.clock.settle();
  }
}

async function revisionOf(cluster: ForkableCluster): Promise<string> {
  return (await cluster.client.resource(pods).list()).metadata.resourceVersion ?? '';
}

describe('a fork', () => {
  test('has the state of the cluster, and writes nothing on its own', async () => {
    const cluster = await start({ nodes: 2 });
    await cluster.apply(web(3));
    await cluster.waitFor(deployments, 'web', 'Available');
    await cluster.clock.advance('17s');
    const fork = await copy(cluster);
    expect(fork.clock.now()).toBe(cluster.clock.now());
    expect(await contentOf(fork)).toEqual(await contentOf(cluster));
    await fork.clock.advance(0);
    expect(await revisionOf(fork)).toBe(await revisionOf(cluster));
    // Heartbeats, too, come when the cluster's own would.
    for (const side of [fork, cluster]) await side.clock.advance('5m');
    expect(await contentOf(fork, HEARTBEATS)).toEqual(await contentOf(cluster, HEARTBEATS));
  });

  test('goes its own way', async () => {
    const cluster = await start();
    await cluster.apply(web(2));
    await cluster.waitFor(deployments, 'web', 'Available');
    const fork = await copy(cluster);
    await fork.apply(web(5));
    await fork.clock.runUntil(async () => (await running(fork)) === 5);
    await cluster.delete(deployments, 'web');
    await cluster.clock.advance('1m');
    expect(await cluster.list(pods)).toEqual([]);
    expect(await running(fork)).toBe(5);
  });

  test('has the logs and processes of containers, and execs', async () => {
    const cluster = await start();
    const script =
      'i=0; while true; do echo $i >> /tmp/n; echo line $i; i=$((i+1)); sleep 10; done';
    await cluster.apply(pod('counter', ['sh', '-c', script]));
    await cluster.waitFor(pods, 'counter', 'Ready');
    await cluster.exec('counter', ['sh', '-c', 'echo hello > /tmp/file']);
    await cluster.clock.advance('25s');
    const fork = await copy(cluster);
    expect(await fork.logs('counter')).toBe('line 0\nline 1\nline 2\n');
    await fork.clock.advance('10s');
    await cluster.exec('counter', ['rm', '/tmp/file']);
    const { stdout } = await fork.exec('counter', ['sh', '-c', 'cat /tmp/file /tmp/n']);
    expect(stdout).toBe('hello\n0\n1\n2\n3\n');
    expect(await fork.logs('counter', { tailLines: 1 })).toBe('line 3\n');
    expect(await cluster.logs('counter')).toBe('line 0\nline 1\nline 2\n');
  });

  test('keeps nodes that are stopped, and starts them', async () => {
    const cluster = await start({ nodes: 2 });
    await cluster.stopNode('node-2');
    await cluster.clock.advance('20s');
    const fork = await copy(cluster);
    for (const side of [fork, cluster]) {
      await side.clock.advance('25s');
      expect(await readyNodes(side)).toEqual(['node-1', 'node-2']);
      await side.clock.advance('15s');
      expect(await readyNodes(side)).toEqual(['node-1']);
    }
    await fork.startNode('node-2');
    await fork.clock.advance('1m');
    expect(await readyNodes(fork)).toEqual(['node-1', 'node-2']);
    expect(await readyNodes(cluster)).toEqual(['node-1']);
  });

  test('of a fork, and of a cluster that is stopped', async () => {
    const cluster = await startCluster({ clock: 'virtual' });
    const unused = await copy(cluster);
    await cluster.apply(pod('a'));
    const fork = await copy(cluster);
    await cluster.stop();
    await expect(cluster.list(pods)).rejects.toThrow('shutting down');
    const names = async (side: ForkableCluster): Promise<string[]> =>
      (await side.list(pods)).map(({ metadata }) => metadata.name ?? '');
    await fork.apply(pod('b'));
    const second = await copy(fork);
    await second.apply(pod('c'));
    expect(await names(await copy(unused))).toEqual([]);
    expect(await names(fork)).toEqual(['a', 'b']);
    expect(await names(second)).toEqual(['a', 'b', 'c']);
    await second.waitFor(pods, 'c', 'Ready');
  });

  test('works with another client library, by its agent', async () => {
    const cluster = await start();
    const fork = await copy(cluster);
    const body = await new Promise<string>((resolve, reject) => {
      get('http://coxswain/api/v1/namespaces/default', { agent: fork.agent }, (response) => {
        text(response).then(resolve, reject);
      }).on('error', reject);
    });
    expect(JSON.parse(body)).toMatchObject({ kind: 'Namespace', metadata: { name: 'default' } });
  });

  test('has the handlers of the program, and no faults', async () => {
    const cluster = await start();
    await cluster.webhooks.validate(configMaps, ({ object, deny }) => {
      if (object.metadata.name === 'bad') deny('no bad ones');
    });
    cluster.faults.fail(500, { component: 'test', kind: 'ConfigMap' });
    const fork = await copy(cluster);
    await expect(fork.apply(configMap('bad', '1'))).rejects.toThrow('no bad ones');
    await fork.apply(configMap('good', '1'));
    expect(fork.faults.list()).toEqual([]);
    await expect(cluster.apply(configMap('good', '1'))).rejects.toThrow('fault');
  });

  test('many at once', async () => {
    const cluster = await start();
    await cluster.apply(web(2));
    await cluster.waitFor(deployments, 'web', 'Available');
    const forks = await Promise.all(Array.from({ length: 100 }, () => copy(cluster)));
    for (const [index, fork] of forks.entries())
      if (index % 25 === 0) await fork.apply(configMap('mine', String(index)));
    for (const [index, fork] of forks.entries())
      if (index % 25 === 0)
        expect((await fork.get(configMaps, 'mine')).data).toEqual({ value: String(index) });
    await expect(cluster.get(configMaps, 'mine')).rejects.toThrow('not found');
  });
});

describe('forks share nothing that changes', () => {
  test('both sides, changed at random, are equal to clusters of their own', async () => {
    const begin = async (): Promise<ForkableCluster> => {
      const cluster = await start({ nodes: 2, seed: 'same' });
      await act(cluster, new SeededRandom('begin'), 15);
      return cluster;
    };
    const [left, right] = [() => new SeededRandom('left'), () => new SeededRandom('right')];
    const cluster = await begin();
    const fork = await copy(cluster);
    const [randomLeft, randomRight] = [left(), right()];
    for (let round = 0; round < 5; round++) {
      await act(cluster, randomLeft, 4);
      await act(fork, randomRight, 4);
    }
    // A cluster that was never forked.
    const alone = await begin();
    await act(alone, left(), 20);
    expect(await contentOf(cluster)).toEqual(await contentOf(alone));
    // A fork of a cluster that does nothing else.
    const idle = await begin();
    const forkAlone = await copy(idle);
    await act(forkAlone, right(), 20);
    expect(await contentOf(fork)).toEqual(await contentOf(forkAlone));
  });

  test('clients do not see whether kubelets begin with the fork or when they are needed', async () => {
    const contents: unknown[] = [];
    for (const forks of ['lazy', 'eager'] as const) {
      const cluster = await start({ nodes: 4, seed: 'same', forks });
      await act(cluster, new SeededRandom('begin'), 12);
      const fork = await copy(cluster);
      await act(fork, new SeededRandom('fork'), 25);
      const second = await copy(fork);
      await act(second, new SeededRandom('second'), 10);
      contents.push(await contentOf(fork), await contentOf(second));
      // Heartbeats.
      await second.clock.advance('7m');
      contents.push(await contentOf(second, [...EVERYTHING, leases]));
    }
    expect(contents.slice(3)).toEqual(contents.slice(0, 3));
  });

  test('objects that were read from one side are the same after changes of the other', async () => {
    const cluster = await start();
    await cluster.apply(web(3));
    await cluster.waitFor(deployments, 'web', 'Available');
    const fork = await copy(cluster);
    const objects = [...(await cluster.list(pods)), ...(await fork.list(pods))];
    // A component that changed a shared object would throw.
    for (const object of objects) deepFreeze(object);
    const before = JSON.stringify(objects);
    await act(fork, new SeededRandom('a'), 10);
    await act(cluster, new SeededRandom('b'), 10);
    expect(JSON.stringify(objects)).toBe(before);
  });
});

describe('a kubelet of a fork that has nothing to do', () => {
  test('begins when something happens on its node', async () => {
    const logger = recordingLogger();
    const cluster = await start({ nodes: 3, logger });
    await cluster.clock.advance('1m');
    const fork = await copy(cluster);
    const starts = (): number =>
      logger.records.filter(({ message }) => message === 'kubelet started').length;
    const before = starts();
    await fork.apply(configMap('a', '1'));
    await fork.clock.settle();
    expect(starts()).toBe(before);
    // A fault of the network does not keep it from beginning, only from reporting.
    const cut = fork.faults.partition('kubelet/node-3');
    await fork.clock.advance('80s');
    expect(await readyNodes(fork)).toEqual(['node-1', 'node-2']);
    cut.end();
    await fork.apply({ ...pod('p'), spec: { ...pod('p').spec, nodeName: 'node-2' } });
    await fork.waitFor(pods, 'p', 'Ready');
    expect(await fork.logs('p')).toBe('');
    expect(starts()).toBe(before + 3);
  });
});

describe('a past revision', () => {
  test('can be read, at its time', async () => {
    const cluster = await start();
    await cluster.apply(configMap('a', '1'));
    const revision = Number(await revisionOf(cluster));
    const then = cluster.clock.now();
    await cluster.clock.advance('1m');
    await cluster.apply(configMap('a', '2'));
    const past = await cluster.at(revision);
    live.push(past);
    expect(past.clock.now()).toBe(then);
    expect((await past.get(configMaps, 'a')).data).toEqual({ value: '1' });
    expect(await revisionOf(past)).toBe(String(revision));
    await past.clock.advance('1h');
    expect(await revisionOf(past)).toBe(String(revision));
    await expect(past.apply(configMap('a', '3'))).rejects.toThrow(
      `the cluster as it was at revision ${revision}, which can only be read by its client`,
    );
    await expect(past.exec('x', ['true'])).rejects.toThrow();
    expect((await cluster.get(configMaps, 'a')).data).toEqual({ value: '2' });
  });

  test('has to be in the history', async () => {
    const cluster = await start();
    const revision = Number(await revisionOf(cluster));
    await expect(cluster.at(3)).rejects.toThrow('before the cluster was ready');
    await expect(cluster.at(1e6)).rejects.toThrow('has not been reached');
    await expect(cluster.at(1.5)).rejects.toThrow('no revision');
    await cluster.clock.advance('1h');
    await expect(cluster.at(revision)).rejects.toThrow('compacted');
  });
});

describe('a checkpoint', () => {
  test('is gone back to, any number of times, by the same client and clock', async () => {
    const cluster = await start();
    const { client, clock } = cluster;
    await cluster.apply(web(2));
    await cluster.waitFor(deployments, 'web', 'Available');
    const checkpoint = await cluster.checkpoint();
    const before = await contentOf(cluster);
    expect(checkpoint).toMatchObject({ now: clock.now() });
    const outcomes: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      await cluster.apply(web(4));
      await cluster.delete(pods, (await cluster.list(pods))[0]?.metadata.name ?? '');
      await clock.advance('90s');
      outcomes.push(await contentOf(cluster));
      await cluster.restore(checkpoint);
      expect(await contentOf(cluster)).toEqual(before);
      expect(cluster.client).toBe(client);
      expect(cluster.clock).toBe(clock);
      expect((await client.resource(pods).list()).items).toHaveLength(2);
    }
    // The same actions from the same state have the same outcome.
    expect(outcomes[2]).toEqual(outcomes[1]);
  });

  test('of another cluster can be restored, something else cannot', async () => {
    const cluster = await start();
    await cluster.apply(pod('a'));
    const fork = await copy(cluster);
    await fork.apply(pod('b'));
    await cluster.restore(await fork.checkpoint());
    expect(await cluster.list(pods)).toHaveLength(2);
    await expect(cluster.restore({ revision: 1, now: 0 } as unknown as Checkpoint)).rejects.toThrow(
      'no checkpoint',
    );
  });

  test('stops what was open', async () => {
    const cluster = await start();
    const checkpoint = await cluster.checkpoint();
    const watch = await cluster.client.resource(pods).watch();
    await cluster.restore(checkpoint);
    const seen: unknown[] = [];
    for await (const event of watch) seen.push(event);
    expect(seen).toEqual([]);
  });
});

describe('a cluster that cannot be copied says why', () => {
  test('real clock', async () => {
    const cluster = await startCluster();
    live.push(cluster);
    const message = "start it with `clock: 'virtual'`";
    await expect(cluster.fork()).rejects.toThrow(message);
    await expect(cluster.at(1)).rejects.toThrow(message);
    await expect(cluster.checkpoint()).rejects.toThrow(message);
  });

  test('port', async () => {
    const cluster = await startCluster({ clock: 'virtual', port: 0 });
    live.push(cluster);
    await expect(cluster.checkpoint()).rejects.toThrow('without `port`');
    await expect(cluster.at(1)).rejects.toThrow('without `port`');
  });
});
