// Measures the restart of a cluster with many nodes and pods: the time from the start of the
// process until the API server is ready, every node is Ready, and every pod is Running and Ready,
// with the UIDs that the pods had before. Meanwhile a client sends small requests and measures the
// latency of each.

import { rmSync } from 'node:fs';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes as nodeType, pods, type Node, type Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster, readKubeconfig, type Target } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, mainThreadMs, peakResidentMB, residentMB } from '../process-usage.ts';
import { pauseDeployment } from '../workloads.ts';
import { heading, median, note, quantile, show } from '../report.ts';

export interface RestartOptions {
  readonly nodes: number;
  readonly pods: number;
  /** The number of measured restarts. */
  readonly rounds: number;
  /**
   * A directory that an earlier run has filled, or that this run fills and keeps. Absent: a
   * temporary one.
   */
  readonly dataDir: string | undefined;
  /** Flags of Node for the process of the restarted cluster. */
  readonly nodeFlags: readonly string[];
}

interface Round {
  /** The time from the start of the process until the program reports that it is ready. */
  readonly readyMs: number;
  /**
   * The time from the start of the process until all nodes are Ready and all pods are Running and
   * Ready.
   */
  readonly settledMs: number;
  readonly cpuMs: number;
  readonly mainThreadMs: number;
  readonly peakMB: number;
  readonly residentMB: number;
  /** Latencies of small requests while the cluster started. */
  readonly requestMs: readonly number[];
  /** The time from the start of the process until the first small request was answered. */
  readonly answersAfterMs: number;
  readonly failedRequests: number;
  /** Revisions of the store, from the start until no pod changes any more. */
  readonly writes: number;
  /** The number of pods whose containers were restarted. */
  readonly restarted: number;
  readonly listAllMs: number;
  readonly listFromCacheMs: number;
}

interface PodState {
  readonly uid: string;
  /** Restarts of all containers of the pod. */
  readonly restarts: number;
}

/** The states of pods by name; all pods are in one namespace. */
type PodStates = ReadonlyMap<string, PodState>;

interface Filled {
  readonly pods: PodStates;
  /** The store's revision at that time. */
  readonly revision: number;
}

const NAMESPACE = 'default';
const REPLICAS = 20;
const CREATORS = 16;
const FILL_TIMEOUT_MS = 1_800_000;
const TIMEOUT_MS = 900_000;
/** The cluster has settled when no pod has changed for this long. */
const QUIET_MS = 5000;
const POLL_MS = 500;
const SMALL_REQUEST_INTERVAL_MS = 50;
const GOAL_S = 30;

export async function restart(options: RestartOptions): Promise<void> {
  const { nodes, pods: podCount, rounds } = options;
  heading(`restart: ${nodes} simulated nodes, ${podCount} pods, embedded store`);
  const dataDir = options.dataDir ?? temporaryDirectory('coxswain-bench-restart-');
  try {
    let before = await fill(dataDir, options);
    const results: Round[] = [];
    for (let i = 0; i < rounds; i++) {
      const { round, after } = await measure(dataDir, before, options);
      results.push(round);
      before = after;
    }
    report(results, nodes >= 1000 && podCount >= 20_000);
  } finally {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
}

function report(rounds: readonly Round[], hasGoal: boolean): void {
  const goal = hasGoal ? { goal: { atMost: GOAL_S } } : {};
  show({
    what: 'program reports ready',
    unit: 's',
    values: rounds.map(({ readyMs }) => readyMs / 1000),
  });
  show({
    what: 'all nodes Ready, all pods Running',
    unit: 's',
    values: rounds.map(({ settledMs }) => settledMs / 1000),
    ...goal,
  });
  show({ what: '  CPU', unit: 's', values: rounds.map((round) => round.cpuMs / 1000) });
  show({
    what: '  CPU of the API server thread',
    unit: 's',
    values: rounds.map((round) => round.mainThreadMs / 1000),
  });
  show({ what: '  writes', unit: '', values: rounds.map(({ writes }) => writes) });
  show({
    what: '  pods with restarted containers',
    unit: '',
    values: rounds.map(({ restarted }) => restarted),
  });
  show({
    what: '  first request answered',
    unit: 's',
    values: rounds.map(({ answersAfterMs }) => answersAfterMs / 1000),
  });
  show({
    what: '  small requests meanwhile: p50',
    unit: 'ms',
    values: rounds.map(({ requestMs }) => median(requestMs)),
  });
  show({
    what: '    p99',
    unit: 'ms',
    values: rounds.map(({ requestMs }) => quantile(requestMs, 0.99)),
  });
  show({
    what: '    longest',
    unit: 'ms',
    values: rounds.map(({ requestMs }) => Math.max(...requestMs)),
  });
  show({
    what: '    failed',
    unit: '',
    values: rounds.map(({ failedRequests }) => failedRequests),
  });
  show({
    what: '  list of all pods, then',
    unit: 'ms',
    values: rounds.map(({ listAllMs }) => listAllMs),
  });
  show({
    what: '  the same with resourceVersion=0',
    unit: 'ms',
    values: rounds.map(({ listFromCacheMs }) => listFromCacheMs),
  });
  show({ what: '  resident, at most', unit: 'MB', values: rounds.map(({ peakMB }) => peakMB) });
  show({
    what: '  resident after it',
    unit: 'MB',
    values: rounds.map((round) => round.residentMB),
  });
}

/** Starts the cluster, and creates the missing nodes and pods. */
async function fill(dataDir: string, { nodes, pods: podCount }: RestartOptions): Promise<Filled> {
  const cluster = await BuiltCluster.start({ flags: flagsFor(nodes), dataDir });
  note(`the start before: ${(cluster.readyMs / 1000).toFixed(1)} s`);
  const { client, close } = connectTo(cluster.target);
  try {
    const began = systemClock.monotonic();
    const namespaced = client.resource(deployments).namespace(NAMESPACE);
    const existing = new Set((await namespaced.list()).items.map(({ metadata }) => metadata.name));
    const wanted = Array.from({ length: Math.ceil(podCount / REPLICAS) }, (_, i) => `bench-${i}`);
    const missing = wanted.filter((name) => !existing.has(name)).values();
    const creator = async (): Promise<void> => {
      for (const name of missing) await namespaced.create(pauseDeployment(name, REPLICAS));
    };
    await Promise.all(Array.from({ length: CREATORS }, creator));
    const total = wanted.length * REPLICAS;
    for (;;) {
      const filled = await podsNow(client);
      if (filled.pods.size === total) {
        const seconds = (systemClock.monotonic() - began) / 1000;
        note(
          `filled in ${seconds.toFixed(1)} s; resident ${residentMB(cluster.pid).toFixed(0)} MB`,
        );
        return filled;
      }
      if (systemClock.monotonic() - began > FILL_TIMEOUT_MS)
        throw new Error(`only ${filled.pods.size} of ${total} pods run`);
      await systemClock.sleep(2000);
    }
  } finally {
    close();
    await cluster.stop();
  }
}

async function measure(
  dataDir: string,
  before: Filled,
  { nodes, nodeFlags }: RestartOptions,
): Promise<{ round: Round; after: Filled }> {
  const target = readKubeconfig(dataDir);
  const startedAt = systemClock.now();
  const began = systemClock.monotonic();
  const requests = new SmallRequests(target);
  requests.begin();
  const cluster = await BuiltCluster.start({
    flags: flagsFor(nodes, target.port),
    dataDir,
    nodeFlags,
  });
  const readyMs = systemClock.monotonic() - began;
  const { client, close } = connectTo(cluster.target);
  try {
    const lastChange = await settle(client, { nodes, pods: before.pods, startedAt, began });
    const requestMs = await requests.end();
    const usage = { cpuMs: cpuMs(cluster.pid), mainThreadMs: mainThreadMs(cluster.pid) };
    const { pods: podStates, revision } = await podsNow(client);
    mustBeTheSame(before.pods, podStates);
    const round: Round = {
      readyMs,
      settledMs: lastChange - began,
      ...usage,
      requestMs,
      answersAfterMs: requests.firstAnswerMs,
      failedRequests: requests.failed,
      writes: revision - before.revision,
      restarted: [...podStates].filter(
        ([name, { restarts }]) => restarts !== before.pods.get(name)?.restarts,
      ).length,
      listAllMs: await timed(() => client.resource(pods).list()),
      listFromCacheMs: await timed(() => client.resource(pods).list({ resourceVersion: '0' })),
      peakMB: peakResidentMB(cluster.pid),
      residentMB: residentMB(cluster.pid),
    };
    return { round, after: { pods: podStates, revision } };
  } finally {
    await requests.end();
    close();
    await cluster.stop();
  }
}

/**
 * Waits until every node has renewed its lease since the start and is Ready, all pods run, and no
 * pod has changed for QUIET_MS. Returns when the last of these changes was seen (monotonic ms).
 */
async function settle(
  client: Client,
  expected: {
    readonly nodes: number;
    readonly pods: PodStates;
    readonly startedAt: number;
    readonly began: number;
  },
): Promise<number> {
  const deadline = expected.began + TIMEOUT_MS;
  const list = await client.resource(pods).list();
  const running = new Set(list.items.filter(isRunning).map(({ metadata }) => metadata.name));
  let lastChange = systemClock.monotonic();
  const watch = await client.resource(pods).watch({
    resourceVersion: list.metadata.resourceVersion,
    timeoutSeconds: TIMEOUT_MS / 1000,
  });
  const following = (async () => {
    for await (const { type, object } of watch) {
      if (type === 'BOOKMARK') continue;
      lastChange = systemClock.monotonic();
      if (type !== 'DELETED' && isRunning(object)) running.add(object.metadata.name);
      else running.delete(object.metadata.name);
    }
  })();
  try {
    for (;;) {
      const now = systemClock.monotonic();
      if (now > deadline)
        throw new Error(
          `only ${running.size} of ${expected.pods.size} pods run, after ${TIMEOUT_MS / 1000} s`,
        );
      if (running.size === expected.pods.size && now - lastChange > QUIET_MS) return lastChange;
      if (!(await nodesReady(client, expected.nodes, expected.startedAt)))
        lastChange = systemClock.monotonic();
      await systemClock.sleep(POLL_MS);
    }
  } finally {
    watch.stop();
    await following;
  }
}

async function nodesReady(client: Client, count: number, since: number): Promise<boolean> {
  const renewed = (await client.resource(leases).namespace('kube-node-lease').list()).items.filter(
    ({ spec }) => Date.parse(spec?.renewTime ?? '') >= since,
  );
  if (renewed.length < count) return false;
  const { items } = await client.resource(nodeType).list();
  return items.filter(isReady).length === count;
}

function isReady({ status, spec }: Immutable<Node>): boolean {
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return ready && !(spec.taints ?? []).some(({ key }) => key.startsWith('node.kubernetes.io/'));
}

function isRunning({ status }: Immutable<Pod>): boolean {
  return (
    status.phase === 'Running' &&
    status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  );
}

/** Returns the pods that run and are Ready. */
async function podsNow(client: Client): Promise<Filled> {
  const { items, metadata } = await client.resource(pods).list();
  const states = items.filter(isRunning).map((pod): [string, PodState] => {
    const restarts = (pod.status.containerStatuses ?? []).reduce(
      (sum, { restartCount }) => sum + restartCount,
      0,
    );
    return [pod.metadata.name, { uid: pod.metadata.uid, restarts }];
  });
  return { pods: new Map(states), revision: Number(metadata.resourceVersion) };
}

function mustBeTheSame(before: PodStates, after: PodStates): void {
  for (const [name, { uid }] of before) {
    if (after.get(name)?.uid !== uid) throw new Error(`pod ${name} was recreated, or is gone`);
  }
  if (after.size !== before.size)
    throw new Error(`there are ${after.size} pods instead of ${before.size}`);
}

/**
 * A client that gets one small object again and again, like a person with kubectl, and measures
 * each request.
 */
class SmallRequests {
  readonly #client: Client;
  readonly #close: () => void;
  readonly #stop = new AbortController();
  readonly #took: number[] = [];
  #running: Promise<void> = Promise.resolve();
  /** The time from begin() until the first response. */
  firstAnswerMs = Number.NaN;
  /** The number of requests that failed after the first one was answered. */
  failed = 0;

  constructor(target: Target) {
    ({ client: this.#client, close: this.#close } = connectTo(target));
  }

  begin(): void {
    this.#running = this.#run();
  }

  /** Stops the requests. Idempotent. Returns the latency of each request. */
  async end(): Promise<readonly number[]> {
    this.#stop.abort();
    await this.#running;
    this.#close();
    return this.#took;
  }

  async #run(): Promise<void> {
    const began = systemClock.monotonic();
    const namespaced = this.#client.resource(deployments).namespace(NAMESPACE);
    while (!this.#stop.signal.aborted) {
      const sent = systemClock.monotonic();
      try {
        await namespaced.get('bench-0');
        const now = systemClock.monotonic();
        if (this.#took.length === 0) this.firstAnswerMs = now - began;
        this.#took.push(now - sent);
      } catch {
        // Failures before the server listens do not count; a later failed request counts with its
        // duration.
        if (this.#took.length > 0) {
          this.#took.push(systemClock.monotonic() - sent);
          this.failed++;
        }
      }
      await systemClock.sleep(SMALL_REQUEST_INTERVAL_MS);
    }
  }
}

function flagsFor(nodes: number, port?: number): readonly string[] {
  const flags = ['--runtime', 'simulated', '--nodes', String(nodes)];
  return port === undefined ? flags : [...flags, '--secure-port', String(port)];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = systemClock.monotonic();
  await work();
  return systemClock.monotonic() - began;
}
