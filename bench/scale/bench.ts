// Measures each cost of a cluster at several sizes, to show which of them grow with the size. The
// built program runs as a user starts it, with simulated nodes and the embedded store. Costs are
// processor time of its process, which a loaded machine hardly changes. Times, rates and memory are
// printed for each size, with the goals that they have (goals.ts).

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { Http1Connection } from '../load/http1-connection.ts';
import { mainThreadMs, peakResidentMB, residentMB, threadsMs } from '../process-usage.ts';
import { heading, note, quantile } from '../report.ts';
import { nodeAt, NODE_PROGRAM } from '../node-program.ts';
import { BoundRate } from './bound-rate.ts';
import { type CostName, type Costs, type Result, type Size, tableOf } from './costs.ts';
import { type Figures, showGoals } from './goals.ts';
import { withTable } from './document.ts';
import { HEAP_FLAGS, heapsOf, type Heaps, totalMB } from './heap.ts';
import * as load from './load.ts';
import { measureObjects } from './object-bytes.ts';

export interface ScaleOptions {
  readonly sizes: readonly Size[];
  readonly nodeFlags: readonly string[];
  /** Replace the table of this version of Node in docs/scale.md. */
  readonly write: boolean;
}

const DOCUMENT = fileURLToPath(new URL('../../docs/scale.md', import.meta.url));
/** Twice the interval in which each node renews its lease. */
const REST_MS = 20_000;
const SETTLE_MS = 5000;
const SETTLE_ROUNDS = 12;
/** A cluster is at rest when it uses at least this part of the processor time of the round before. */
const SETTLED = 0.85;
const GETS = 4000;
const RENEWALS = 3000;
const CHANGES = 500;
const STARTS = 100;
const PAGES = 30;
/** The most Deployments that are rolled out, and the most nodes that fail. */
const MAX_ROLLED = 500;
const MAX_FAILED = 100;

export async function scale({ sizes, nodeFlags, write }: ScaleOptions): Promise<void> {
  const results: Result[] = [];
  for (const size of sizes) {
    heading(`scale: ${size.nodes} simulated nodes, ${size.pods} pods, embedded store`);
    const { costs, figures } = await measure(size, nodeFlags);
    results.push({ size, costs });
    heading(`times, rates and memory of ${size.nodes} nodes with ${size.pods} pods`);
    showGoals(size, figures);
  }
  heading('costs in processor time, as functions of the size');
  const table = tableOf(results);
  console.log(table);
  if (!write) return;
  const { version } = nodeAt(NODE_PROGRAM);
  writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8'), version, table));
}

/** Returns the sizes for lists such as '100,500' nodes and '2000,10000' pods. Throws RangeError. */
export function parseSizes(nodes: string, pods: string): readonly Size[] {
  const numbers = (text: string): number[] => text.split(',').map(Number);
  const [nodeCounts, podCounts] = [numbers(nodes), numbers(pods)];
  if (nodeCounts.length !== podCounts.length)
    throw new RangeError('--nodes and --pods must have the same number of sizes');
  return nodeCounts.map((each, i) => {
    const podCount = podCounts[i] as number;
    if (!Number.isInteger(each) || each < 2)
      throw new RangeError(`--nodes: at least 2 nodes, not '${nodes}'`);
    if (!Number.isInteger(podCount) || podCount < 0)
      throw new RangeError(`--pods: a number of pods, not '${pods}'`);
    return { nodes: each, pods: podCount };
  });
}

/** Costs that depend on the cluster alone, and figures that have goals. */
interface Measured<Name extends CostName> {
  readonly costs: Pick<Costs, Name>;
  readonly figures: Figures;
}

async function measure(size: Size, nodeFlags: readonly string[]): Promise<Measured<CostName>> {
  const dataDir = temporaryDirectory('coxswain-bench-scale-');
  try {
    const running = await measureRunning(size, dataDir, nodeFlags);
    const restarted = await measureRestart(size, dataDir, nodeFlags);
    const peakMB = Math.max(running.figures.peakMB ?? 0, restarted.figures.peakMB ?? 0);
    return {
      costs: { ...running.costs, ...restarted.costs },
      figures: { ...running.figures, ...restarted.figures, peakMB },
    };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The costs of a cluster that was started on its data. */
type RestartCost = Extract<
  CostName,
  | 'restart'
  | 'restartPerPod'
  | 'rest'
  | 'restPerNode'
  | 'get'
  | 'renewal'
  | 'change'
  | 'page'
  | 'listPerThousand'
  | 'podJson'
  | 'podStored'
  | 'podDecoded'
  | 'podDecodedKept'
  | 'podDecodedShared'
>;

async function measureRunning(
  size: Size,
  dataDir: string,
  nodeFlags: readonly string[],
): Promise<Measured<Exclude<CostName, RestartCost>>> {
  const cluster = await start(size, dataDir, nodeFlags);
  const { pid, target } = cluster;
  const { client, close } = connectTo(target);
  try {
    await load.untilNodesReady(client, size.nodes);
    const startPerNode = threadsMs(pid) / size.nodes;
    const empty = await heapsOf(pid);
    // After a full collection, code is compiled again.
    await settle(pid);

    const count = Math.ceil(size.pods / load.REPLICAS);
    const all = count * load.REPLICAS;
    const boundRate = new BoundRate(client);
    let creations: readonly number[] = [];
    const creation = await usage(pid, 0, async () => {
      creations = await load.createDeployments(client, count);
    });
    const boundPerSecond = await boundRate.stop();
    note(`${all} pods available after ${(creation.wallMs / 1000).toFixed(1)} s`);
    const rolled = Math.min(MAX_ROLLED, count, Math.max(1, Math.round(count / 10)));
    const rollout = await usage(pid, 0, () => load.rollOut(client, rolled, count));
    const failed = Math.min(MAX_FAILED, Math.max(1, Math.round(size.nodes / 50)));
    let moved = 0;
    const failure = await usage(pid, 0, async () => {
      moved = await load.failNodes(client, failed, count);
    });
    const resident = residentMB(pid);
    const full = await heapsOf(pid);
    note(`heaps: ${describe(full)}; ${describe(empty)} before there were pods`);
    note(`${failed} failed nodes with ${moved} pods: ${(failure.wallMs / 1000).toFixed(1)} s`);
    return {
      costs: {
        startPerNode,
        createPerPod: creation.cpuMs / all,
        rolloutPerPod: rollout.cpuMs / (rolled * load.REPLICAS),
        failurePerPod: failure.cpuMs / moved,
        heapPerNode: (totalMB(empty) * 1000) / size.nodes,
        heapServerPerPod: (1000 * (serverMB(full) - serverMB(empty))) / all,
        heapComponentsPerPod: (1000 * (componentsMB(full) - componentsMB(empty))) / all,
        residentMB: resident,
      },
      figures: {
        peakMB: peakResidentMB(pid),
        ...(all > 0 && {
          creationP99: quantile(creations, 0.99),
          availablePerSecond: (1000 * all) / creation.wallMs,
          boundPerSecond,
        }),
      },
    };
  } finally {
    close();
    await cluster.stop();
  }
}

/**
 * Measures the start on existing data, and then single requests: after a start no events of earlier
 * phases wait to be written, which takes minutes at the pace of all kubelets.
 */
async function measureRestart(
  size: Size,
  dataDir: string,
  nodeFlags: readonly string[],
): Promise<Measured<RestartCost>> {
  const cluster = await start(size, dataDir, nodeFlags);
  const { pid, target } = cluster;
  const { client, close } = connectTo(target);
  const connections: Http1Connection[] = [];
  const connect = async (): Promise<Http1Connection> => {
    const connection = await Http1Connection.open(target);
    connections.push(connection);
    return connection;
  };
  try {
    const count = Math.ceil(size.pods / load.REPLICAS);
    const all = count * load.REPLICAS;
    const restart = threadsMs(pid);
    const restartCpuSeconds = mainThreadMs(pid) / 1000;
    await load.untilNodesReady(client, size.nodes);
    await load.untilAvailable(client, count);
    const restartPerPod = threadsMs(pid) / all;
    note(`restarted: ready after ${(cluster.readyMs / 1000).toFixed(1)} s`);

    await settle(pid);
    const resting = await usage(pid, 0, () => systemClock.sleep(REST_MS));
    const restRate = resting.cpuMs / resting.wallMs;

    const per = async (times: number, action: () => Promise<unknown>): Promise<number> =>
      (await usage(pid, restRate, action)).cpuMs / times;
    const get = all === 0 ? Number.NaN : await per(GETS, () => load.getOne(client, GETS));
    const renewal = await per(RENEWALS, () => load.renewLeases(client, RENEWALS));
    let changes: readonly number[] = [];
    const change = await per(CHANGES, async () => {
      if (all > 0) changes = await load.changePods(client, CHANGES);
    });
    latencies('changes of pods', changes);
    const page = await per(PAGES, () => load.listPage(client, PAGES));
    const listBegan = systemClock.monotonic();
    await load.listAllPods(await connect());
    const listSeconds = (systemClock.monotonic() - listBegan) / 1000;
    const storm = await usage(pid, restRate, () =>
      load.listStorm(async () => load.listAllPods(await connect())),
    );
    note(`ten lists of all pods at once: ${(storm.wallMs / 1000).toFixed(2)} s`);
    const bytes = await podBytes(client);
    // The last load: events and the deletion of these pods go on for a while.
    const starts = await load.startPods(client, STARTS);
    latencies('starts of pods', starts);
    return {
      costs: {
        restart,
        restartPerPod,
        rest: restRate * 1000,
        restPerNode: (restRate * 1000) / size.nodes,
        get,
        renewal,
        change: all === 0 ? Number.NaN : change,
        page,
        listPerThousand: (storm.cpuMs / load.LISTERS / all) * 1000,
        ...bytes,
      },
      figures: {
        restartSeconds: cluster.readyMs / 1000,
        restartCpuSeconds,
        restPercent: restRate * 100,
        listSeconds,
        podStartP99: quantile(starts, 0.99),
        ...(all > 0 && { changeP99: quantile(changes, 0.99) }),
        peakMB: peakResidentMB(pid),
      },
    };
  } finally {
    for (const connection of connections) connection.close();
    close();
    await cluster.stop();
  }
}

function latencies(what: string, values: readonly number[]): void {
  if (values.length === 0) return;
  const at = (p: number): string => quantile(values, p).toFixed(0);
  note(`${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

const NO_PODS = {
  podJson: Number.NaN,
  podStored: Number.NaN,
  podDecoded: Number.NaN,
  podDecodedKept: Number.NaN,
  podDecodedShared: Number.NaN,
} as const;

async function podBytes(client: Client): Promise<Pick<Costs, Extract<CostName, `pod${string}`>>> {
  const { items } = await client.resource(pods).list({ limit: 100 });
  if (items.length === 0) return NO_PODS;
  const { json, stored, decoded, decodedKept, decodedShared } = measureObjects(items);
  return {
    podJson: json / 1000,
    podStored: stored / 1000,
    podDecoded: decoded / 1000,
    podDecodedKept: decodedKept / 1000,
    podDecodedShared: decodedShared / 1000,
  };
}

function start(size: Size, dataDir: string, nodeFlags: readonly string[]): Promise<BuiltCluster> {
  return BuiltCluster.start({
    flags: ['--runtime', 'simulated', '--nodes', String(size.nodes)],
    dataDir,
    nodeFlags: [...HEAP_FLAGS, ...nodeFlags],
  });
}

/** Waits until the work of earlier phases has ended: until the process uses as much as before. */
async function settle(pid: number): Promise<void> {
  let before = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SETTLE_ROUNDS; i++) {
    const { cpuMs } = await usage(pid, 0, () => systemClock.sleep(SETTLE_MS));
    if (cpuMs >= before * SETTLED) return;
    before = cpuMs;
  }
}

/**
 * Returns the processor time of the process during an action, without what it uses at rest
 * meanwhile (`restRate`: ms per ms).
 */
async function usage(
  pid: number,
  restRate: number,
  action: () => Promise<unknown>,
): Promise<{ readonly cpuMs: number; readonly wallMs: number }> {
  const [cpu, began] = [threadsMs(pid), systemClock.monotonic()];
  await action();
  const wallMs = systemClock.monotonic() - began;
  return { cpuMs: Math.max(0, threadsMs(pid) - cpu - restRate * wallMs), wallMs };
}

function serverMB({ main }: Heaps): number {
  return main.heapMB + main.externalMB;
}

function componentsMB(heaps: Heaps): number {
  return totalMB(heaps) - serverMB(heaps);
}

function describe(heaps: Heaps): string {
  const all = [heaps.main, ...heaps.threads];
  return all.map((each) => `${each.heapMB.toFixed(0)}+${each.externalMB.toFixed(0)}`).join(', ');
}
