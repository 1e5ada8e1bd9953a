// Measures the start of a large cluster on its data, and requests to it afterwards. The data is that
// of a small cluster, repeated (grow-state.ts), so 150,000 pods are there in minutes. Costs are
// processor time and memory of the process.

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { Http1Connection } from '../load/http1-connection.ts';
import { mainThreadMs, peakResidentMB, residentMB, threadsMs } from '../process-usage.ts';
import { heading, median, note, quantile } from '../report.ts';
import { HEAP_FLAGS, type Heaps, heapsOf, totalMB } from '../scale/heap.ts';
import { type Figures, showGoals } from '../scale/goals.ts';
import * as load from '../scale/load.ts';
import { growState, podRangeOf, SMALL_NODES } from './grow-state.ts';

export interface GrownOptions {
  readonly nodes: number;
  readonly pods: number;
  /** Whether the kubelets of all nodes run. Otherwise one does, and no node is found dead. */
  readonly kubelets: boolean;
  /** A directory that an earlier run has filled, or that this run fills and keeps. */
  readonly dataDir: string | undefined;
  readonly nodeFlags: readonly string[];
  /**
   * The figures to measure after the start. Default: all. Without 'rest', nothing waits until the
   * events of the start are written, and the others are those of a busy cluster.
   */
  readonly only?: ReadonlySet<string>;
}

/** The names of `GrownOptions.only`. */
export const GROWN_FIGURES = [
  'rest',
  'lists',
  'changes',
  'starts',
  'deployments',
  'heaps',
] as const;
type GrownFigure = (typeof GROWN_FIGURES)[number];

/** The controllers that would evict the pods of nodes without kubelets. */
const WITHOUT_EVICTION =
  '*,-node-lifecycle-controller,-taint-eviction-controller,-pod-garbage-collector-controller';
const LISTS = 3;
const CHANGES = 300;
const STARTS = 100;
/** Deployments that are added to the state: a tenth of those in it, at most so many. */
const FURTHER_PART = 0.1;
const MAX_DEPLOYMENTS = 500;
/** The longest time of one figure. */
const LIMIT_MS = 1_500_000;
const SETTLE_MS = 2000;
/** Six periods of a node's heartbeats. A shorter time has a full collection of garbage or not. */
const REST_MS = 60_000;
const MAX_WINDOWS = 10;
const REQUESTS = /^apiserver_request_total\{(.*)\} (\S+)$/gm;
const WRITES = /verb="(?:POST|PUT|PATCH|APPLY)"/;

export async function grown(options: GrownOptions): Promise<void> {
  const { nodes, pods, kubelets } = options;
  heading(
    `grown: ${nodes} nodes, ${pods} pods, ${kubelets ? 'all kubelets run' : 'one kubelet runs'}`,
  );
  const dataDir = options.dataDir ?? temporaryDirectory('coxswain-bench-grown-');
  try {
    if (!existsSync(join(dataDir, 'store'))) await fill(dataDir, options);
    await measure(dataDir, options);
  } finally {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
}

async function fill(dataDir: string, size: GrownOptions): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  const cluster = await BuiltCluster.start({ flags: flagsFor(size, SMALL_NODES), dataDir });
  const { client, close } = connectTo(cluster.target);
  try {
    await load.untilNodesReady(client, SMALL_NODES);
    await load.createDeployments(client, 1);
    await systemClock.sleep(SETTLE_MS);
  } finally {
    close();
    await cluster.stop();
  }
  const began = systemClock.monotonic();
  await growState(dataDir, size, (pods) =>
    note(`${pods} pods after ${seconds(systemClock.monotonic() - began)} s`),
  );
  note(`filled in ${seconds(systemClock.monotonic() - began)} s`);
}

/**
 * Returns the processor time of all threads at rest, in ms for each ms. It is that of the first window
 * in which no event is written, and that needs less than a core: kubelets that start write events, and
 * those of thousands are written slowly. Where no window is like that, it is the lowest of all: the
 * kubelets of 100,000 nodes need hours for their events.
 */
async function rateAtRest(pid: number, client: Client): Promise<number> {
  let events = await writtenEvents(client);
  let lowest = Infinity;
  for (let window = 0; window < MAX_WINDOWS; window++) {
    const before = threadsMs(pid);
    await systemClock.sleep(REST_MS);
    const used = threadsMs(pid) - before;
    const written = (await writtenEvents(client)) - events;
    events += written;
    if (written === 0 && used < REST_MS) return used / REST_MS;
    lowest = Math.min(lowest, used / REST_MS);
    note(`not at rest: ${written} writes of events, ${((1000 * used) / REST_MS).toFixed(0)} ms/s`);
  }
  note(`after ${seconds(MAX_WINDOWS * REST_MS)} s events are still written`);
  return lowest;
}

/** Returns the number of requests so far that write an event. */
async function writtenEvents(client: Client): Promise<number> {
  const metrics = await client.transport.text({ method: 'GET', path: '/metrics' });
  let sum = 0;
  for (const [, labels = '', count] of metrics.matchAll(REQUESTS))
    if (labels.includes('resource="events"') && WRITES.test(labels)) sum += Number(count);
  return sum;
}

async function measure(dataDir: string, options: GrownOptions): Promise<void> {
  const { nodes, pods, kubelets, nodeFlags } = options;
  const cluster = await BuiltCluster.start({
    flags: [
      ...flagsFor(options, kubelets ? nodes : 1),
      ...(kubelets ? [] : ['--controllers', WITHOUT_EVICTION]),
    ],
    dataDir,
    nodeFlags: [...HEAP_FLAGS, ...nodeFlags],
  });
  const { pid, target } = cluster;
  const { client, close } = connectTo(target);
  const usage = (what: string): void =>
    note(
      `${what}: CPU ${seconds(threadsMs(pid))} s, of the main thread ${seconds(mainThreadMs(pid))} s; ` +
        `resident ${residentMB(pid).toFixed(0)} MB, at most ${peakResidentMB(pid).toFixed(0)} MB`,
    );
  try {
    note(`ready after ${seconds(cluster.readyMs)} s`);
    const restartCpuSeconds = mainThreadMs(pid) / 1000;
    usage('ready');
    if (kubelets) {
      await load.untilNodesReady(client, nodes);
      usage('all nodes Ready');
      await load.untilAvailable(client, Math.ceil(pods / load.REPLICAS));
      usage('all pods available');
    }
    const figures: Figures = {
      restartSeconds: cluster.readyMs / 1000,
      restartCpuSeconds,
      ...(await measureUse(cluster, client, options, usage)),
    };
    if (isWanted(options, 'heaps'))
      await attempt('heaps', async () => note(heapsText(await heapsOf(pid), pods)));
    usage('at the end');
    showGoals(options, { ...figures, peakMB: peakResidentMB(pid) });
  } finally {
    close();
    await cluster.stop();
  }
}

/** Measures a cluster at rest, then requests to it. A figure that is not reached is left out. */
async function measureUse(
  cluster: BuiltCluster,
  client: Client,
  options: GrownOptions,
  usage: (what: string) => void,
): Promise<Figures> {
  const { pid } = cluster;
  const { pods, kubelets } = options;
  const figures: { -readonly [K in keyof Figures]: Figures[K] } = {};
  const figure = async (
    part: GrownFigure,
    name: keyof Figures,
    what: string,
    measured: () => Promise<number>,
  ): Promise<void> => {
    if (!isWanted(options, part)) return;
    const value = await attempt(what, measured);
    if (value !== undefined) figures[name] = value;
    usage(what);
  };
  await figure('rest', 'restPercent', 'at rest', async () => {
    const rate = await rateAtRest(pid, client);
    note(`at rest: ${(1000 * rate).toFixed(0)} ms/s`);
    return rate * 100;
  });
  await figure('lists', 'listSeconds', 'lists of all pods', () => measureLists(cluster));
  if (pods > 0)
    await figure('changes', 'changeP99', 'changes of pods', async () =>
      p99('changes of pods', await load.changePods(client, CHANGES)),
    );
  if (!kubelets) return figures;
  await figure('starts', 'podStartP99', 'starts of pods', async () =>
    p99('starts of pods', await load.startPods(client, STARTS)),
  );
  await figure('deployments', 'availablePerSecond', 'further Deployments', async () => {
    const first = Math.ceil(pods / load.REPLICAS);
    const count = Math.min(MAX_DEPLOYMENTS, Math.max(1, Math.floor(first * FURTHER_PART)));
    const began = systemClock.monotonic();
    await load.addDeployments(client, first, count);
    const ms = systemClock.monotonic() - began;
    const more = count * load.REPLICAS;
    note(`${more} pods of further Deployments available after ${seconds(ms)} s`);
    return (1000 * more) / ms;
  });
  return figures;
}

function isWanted({ only }: GrownOptions, part: GrownFigure): boolean {
  return only === undefined || only.has(part);
}

/**
 * Returns the result, or undefined after an error or too long a time: the other figures are then
 * measured nevertheless.
 */
async function attempt<T>(what: string, measured: () => Promise<T>): Promise<T | undefined> {
  const limit = new AbortController();
  const late = async (): Promise<never> => {
    await systemClock.sleep(LIMIT_MS, limit.signal);
    throw new Error(`took more than ${seconds(LIMIT_MS)} s`);
  };
  try {
    return await Promise.race([measured(), late()]);
  } catch (error) {
    note(`${what}: not reached: ${errorMessage(error)}`);
    return undefined;
  } finally {
    limit.abort();
  }
}

/** Returns the heaps of all threads as a text. */
function heapsText(heaps: Heaps, pods: number): string {
  const each = [heaps.main, ...heaps.threads].map(
    ({ heapMB, externalMB }) => `${heapMB.toFixed(0)}+${externalMB.toFixed(0)}`,
  );
  const perPod = ((1000 * totalMB(heaps)) / pods).toFixed(1);
  return `heaps after collection: ${each.join(', ')} MB, ${perPod} kB per pod in all`;
}

/** Prints the median and the p99 of times in ms. Returns the latter. */
function p99(what: string, values: readonly number[]): number {
  const at = quantile(values, 0.99);
  note(`${what}: p50 ${quantile(values, 0.5).toFixed(0)} ms, p99 ${at.toFixed(0)} ms`);
  return at;
}

/** Returns the median time of a list of all pods, in seconds. */
async function measureLists({ pid, target }: BuiltCluster): Promise<number> {
  const connection = await Http1Connection.open(target);
  const times: number[] = [];
  try {
    for (let i = 0; i < LISTS; i++) {
      const [cpu, began] = [threadsMs(pid), systemClock.monotonic()];
      await load.listAllPods(connection);
      const ms = systemClock.monotonic() - began;
      times.push(ms / 1000);
      note(`list of all pods: ${seconds(ms)} s, CPU ${seconds(threadsMs(pid) - cpu)} s`);
    }
    return median(times);
  } finally {
    connection.close();
  }
}

/** The range of pods must be the same whatever the number of nodes. */
function flagsFor(size: GrownOptions, nodes: number): readonly string[] {
  const range = ['--pod-cidr', podRangeOf(size.nodes).cidr];
  return ['--runtime', 'simulated', '--nodes', String(nodes), ...range];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
