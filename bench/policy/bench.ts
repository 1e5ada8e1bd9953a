// Measures network policies at scale, in a network namespace: 1,000 policies, 10,000 pods, a
// hundred of them on this node. The figures: the time until all rules are installed, the time from
// a write until the kernel has the change, and how long the agent occupies the event loop
// meanwhile.

import { execFileSync } from 'node:child_process';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { namespaces, pods, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { networkPolicies } from '#api/groups/networking/v1/index.ts';
import type { Client } from '#client/client.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { type Nft, NftSession } from '#machinery/net/nft/index.ts';
import { systemRandom } from '#machinery/random.ts';
import { NodePolicies } from '#network/index.ts';
import { heading, note, quantile, show } from '../report.ts';

const POLICIES = Number(process.env['POLICIES'] ?? 1000);
const PODS = Number(process.env['PODS'] ?? 10_000);
const CHANGES = Number(process.env['CHANGES'] ?? 100);
const NAMESPACES = 100;
/** Every 99th pod is on this node, in a namespace of its own as long as there are enough. */
const LOCAL_EVERY = 99;
const WRITERS = 32;
const NAMESPACE = `cox-bench-policy-${process.pid}`;
/** Unlike `ip netns exec`, nsenter mounts nothing; the mounts would take longer than nft. */
const INSIDE = ['nsenter', `--net=/run/netns/${NAMESPACE}`];

export async function policy(): Promise<void> {
  if (process.getuid?.() !== 0) {
    note('policy: skipped, network namespaces need root');
    return;
  }
  heading(`policy: ${POLICIES} network policies, ${PODS} pods`);
  const logger = createLogger({ level: 'error' });
  const cluster = await startCluster({
    nodes: 0,
    port: 0,
    controllers: ['ttl-controller'],
    logger,
  });
  const abort = new AbortController();
  const nft = new TimedNft();
  execFileSync('ip', ['netns', 'add', NAMESPACE]);
  try {
    const { client } = cluster;
    await each(NAMESPACES, (index) => createNamespace(client, index));
    await each(PODS, (index) => createPod(client, index));
    await each(POLICIES, (index) => createPolicy(client, index));
    const settings = { table: 'bench', podCidrs: ['10.0.0.0/24'] };
    const random = systemRandom;
    const policies = new NodePolicies({
      client,
      nodeName: 'here',
      settings,
      clock: systemClock,
      random,
      logger,
      nft,
    });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const started = performance.now();
    const running = policies.run(abort.signal);
    await nft.next((commands) => commands.length > 100);
    show({
      what: 'all rules there, of nothing',
      unit: 's',
      values: [(performance.now() - started) / 1000],
    });
    note(
      `the longest turn of the event loop until then, lists of objects included: ${longest(delay)} ms`,
    );
    const report = async (
      what: string,
      change: (turn: number) => Promise<unknown>,
    ): Promise<void> => {
      delay.reset();
      const [times, sizes]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < CHANGES; turn++) {
        const since = performance.now();
        const programmed = nft.next((commands) => commands.length > 0);
        await change(turn);
        sizes.push(await programmed);
        times.push(performance.now() - since);
      }
      show({ what: `${what}, p50`, unit: 'ms', values: [quantile(times, 0.5)] });
      show({ what: `${what}, p99`, unit: 'ms', values: [quantile(times, 0.99)] });
      note(
        `commands of a transaction: at most ${Math.max(...sizes)}; longest turn: ${longest(delay)} ms`,
      );
    };
    await report('an address of a pod elsewhere, from the write to the rules', (turn) =>
      setAddress(client, 1, `10.200.0.${turn}`),
    );
    await report('a label of a pod of this node', (turn) =>
      setLabel(client, 0, turn % 2 === 0 ? 'none' : 'a0'),
    );
    await report('the rules of a policy', (turn) => setPort(client, 0, 1000 + turn));
    abort.abort(new Error('over'));
    await running;
  } finally {
    abort.abort(new Error('over'));
    await nft.close();
    await cluster.stop();
    execFileSync('ip', ['netns', 'delete', NAMESPACE]);
  }
}

/** Returns the longest delay, less the resolution of the measurement. */
const longest = (delay: IntervalHistogram): string => Math.max(0, delay.max / 1e6 - 1).toFixed(0);

/** Counts the commands of each transaction when the kernel has applied it. */
class TimedNft implements Nft {
  readonly #nft = new NftSession({ clock: systemClock, prefix: INSIDE });
  #waiting:
    | {
        readonly matches: (commands: readonly string[]) => boolean;
        readonly done: (count: number) => void;
      }
    | undefined;

  async run(text: string): Promise<void> {
    await this.#nft.run(text);
    const commands = text.trim().split('\n');
    if (this.#waiting?.matches(commands) !== true) return;
    this.#waiting.done(commands.length);
    this.#waiting = undefined;
  }

  close(): Promise<void> {
    return this.#nft.close();
  }

  /** Resolves with the number of commands of the next transaction that matches. */
  next(matches: (commands: readonly string[]) => boolean): Promise<number> {
    return new Promise((done) => (this.#waiting = { matches, done }));
  }

  check: Nft['check'] = (commands) => this.#nft.check(commands);
  list: Nft['list'] = (family, table) => this.#nft.list(family, table);
  tables: Nft['tables'] = () => this.#nft.tables();
}

const namespaceOf = (index: number): string => `ns${index % NAMESPACES}`;
const isLocal = (index: number): boolean => index % LOCAL_EVERY === 0;
const addressOf = (index: number): string =>
  isLocal(index) ? `10.0.0.${index / LOCAL_EVERY + 1}` : `10.${1 + (index >> 8)}.0.${index & 255}`;

async function createNamespace(client: Client, index: number): Promise<void> {
  const name = `ns${index}`;
  await client
    .resource(namespaces)
    .create({ metadata: { name, labels: { team: `t${index % 10}` } } });
  await client
    .resource(serviceAccounts)
    .namespace(name)
    .create({ metadata: { name: 'default' } });
}

async function createPod(client: Client, index: number): Promise<void> {
  const all = client.resource(pods).namespace(namespaceOf(index));
  const pod = await all.create({
    metadata: { name: `p${index}`, labels: { app: `a${Math.floor(index / NAMESPACES) % 20}` } },
    spec: {
      nodeName: isLocal(index) ? 'here' : `node${index % 100}`,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i' }],
    },
  });
  await all.updateStatus({
    ...pod,
    status: { ...pod.status, phase: 'Running', podIPs: [{ ip: addressOf(index) }] },
  });
}

/** Creates a policy. The first policy selects a pod of this node, whatever its labels are. */
async function createPolicy(client: Client, index: number): Promise<void> {
  const app = `a${Math.floor(index / NAMESPACES) % 20}`;
  const from = [
    { podSelector: { matchLabels: { app } } },
    { namespaceSelector: { matchLabels: { team: `t${index % 10}` } } },
  ];
  await client
    .resource(networkPolicies)
    .namespace(namespaceOf(index))
    .create({
      metadata: { name: `p${index}` },
      spec: {
        podSelector: index === 0 ? {} : { matchLabels: { app } },
        ingress: [{ from, ports: [{ port: 80 }] }],
      },
    });
}

async function setAddress(client: Client, index: number, ip: string): Promise<void> {
  const all = client.resource(pods).namespace(namespaceOf(index));
  const pod = await all.get(`p${index}`);
  await all.updateStatus({ ...pod, status: { ...pod.status, podIP: ip, podIPs: [{ ip }] } });
}

const setLabel = (client: Client, index: number, app: string): Promise<unknown> =>
  client
    .resource(pods)
    .namespace(namespaceOf(index))
    .patch(`p${index}`, 'application/merge-patch+json', { metadata: { labels: { app } } });

async function setPort(client: Client, index: number, port: number): Promise<void> {
  const all = client.resource(networkPolicies).namespace(namespaceOf(index));
  const present = await all.get(`p${index}`);
  await all.update({ ...present, spec: { ...present.spec, ingress: [{ ports: [{ port }] }] } });
}

async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
}
