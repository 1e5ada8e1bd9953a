// Drives a workload at any API server and scheduler: creates nodes and pods, and watches until the
// pods are bound. The figures are those of upstream's scheduler_perf: pods seen with a node by an
// informer, from the first created pod on.

import { namespaces, nodes, pods, services, type Pod } from '#api/groups/core/v1/index.ts';
import { priorityClasses } from '#api/groups/scheduling/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { cycleQuantileMs, cycleTimes } from './cycle-time.ts';
import { nodeOf, podOf, priorityClassOf } from './templates.ts';
import { limitVolumes, makeVolumes, withClaim } from './volumes.ts';
import type { Churn, PodGroup, Workload } from './workloads.ts';

/** The number of requests under way at a time. */
const CREATORS = 32;

export interface Measured {
  /** The time from the first measured pod's creation until the last one was seen with a node. */
  readonly seconds: number;
  readonly pods: number;
  /** Processor time of the measured processes, in seconds. */
  readonly cpuSeconds: number;
  /** Pods scheduled within each second, from the first second on. */
  readonly perSecond: readonly number[];
  /** Memory of the process with the scheduler. */
  readonly memoryMB: number;
  /** The 99th percentile of the time of one scheduling decision. */
  readonly p99Ms: number;
}

export interface Driven {
  /** The administrator's client. */
  readonly client: Client;
  /** Whether pods get their priority from a class (see podOf). */
  readonly byClass: boolean;
  /** Called when the nodes exist. Starts the scheduling of pods. */
  readonly startScheduling: () => void;
  /** Processor time used so far, in seconds. */
  readonly cpuSeconds: () => number;
  readonly memoryMB: () => number | Promise<number>;
  /** Returns the scheduler's /metrics page. */
  readonly metrics: () => Promise<string>;
}

export async function drive(
  workload: Workload,
  { client, byClass, startScheduling, cpuSeconds, memoryMB, metrics }: Driven,
): Promise<Measured> {
  const clock = systemClock;
  await makeNodes(client, workload);
  const stop = new AbortController();
  const watching = new SharedInformerFactory({
    client,
    clock,
    random: new SeededRandom(2),
    logger: silentLogger,
  });
  const bound = new BoundPods();
  const informer = watching.informerFor(pods);
  informer.addEventHandler({
    onAdd: (pod) => bound.see(pod),
    onUpdate: (_, pod) => bound.see(pod),
  });
  watching.start(stop.signal);
  await watching.waitForCacheSync(stop.signal);
  startScheduling();

  const { existing, deleted, churn } = workload;
  const priority = churn?.pod.priority;
  if (byClass && priority !== undefined) {
    await client
      .resource(priorityClasses)
      .create({ metadata: { name: priorityClassOf(priority) }, value: priority });
  }
  if (existing !== undefined) {
    await makePods(client, 'existing', existing);
    if (existing.stayPending !== true) await bound.reaches('existing', existing.count);
  }
  if (deleted !== undefined) {
    await makePods(client, 'deleted', deleted);
    await bound.reaches('deleted', deleted.count);
  }
  await namespaceNamed(client, 'measured');
  if (workload.service === true) {
    await client
      .resource(services)
      .namespace('measured')
      .create({
        metadata: { name: 'web' },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      });
  }
  globalThis.gc?.();
  const meanwhile = Promise.all([
    churn !== undefined && comeAndGo(client, churn, byClass, stop.signal),
    deleted !== undefined && deletePods(client, deleted, stop.signal),
  ]);
  const cyclesBefore = cycleTimes(await metrics());
  const cpuBefore = cpuSeconds();
  bound.began = clock.monotonic();
  const { count } = workload.measured;
  await Promise.all([
    makePods(client, 'measured', workload.measured),
    bound.reaches('measured', count),
  ]);
  const seconds = (clock.monotonic() - bound.began) / 1000;
  const measured = { seconds, cpuSeconds: cpuSeconds() - cpuBefore, memoryMB: await memoryMB() };
  const p99Ms = cycleQuantileMs(cyclesBefore, cycleTimes(await metrics()), 0.99);
  stop.abort();
  await meanwhile;
  return { ...measured, p99Ms, pods: count, perSecond: bound.perSecond };
}

/** Counts the pods that have a node, by the group in their namespace's name. */
class BoundPods {
  began = 0;
  readonly perSecond: number[] = [];
  readonly #seen = new Map<string, Set<string>>();
  #waiting:
    | { readonly group: string; readonly count: number; readonly reached: () => void }
    | undefined;

  see(pod: Immutable<Pod>): void {
    if (!pod.spec.nodeName) return;
    const group = (pod.metadata.namespace ?? '').split('-')[0]!;
    const seen = this.#of(group);
    const before = seen.size;
    seen.add(pod.metadata.uid ?? '');
    if (seen.size === before) return;
    if (group === 'measured') {
      const second = Math.floor((systemClock.monotonic() - this.began) / 1000);
      this.perSecond[second] = (this.perSecond[second] ?? 0) + 1;
    }
    const waiting = this.#waiting;
    if (waiting !== undefined && waiting.group === group && seen.size >= waiting.count) {
      this.#waiting = undefined;
      waiting.reached();
    }
  }

  async reaches(group: string, count: number): Promise<void> {
    if (this.#of(group).size >= count) return;
    await new Promise<void>((reached) => (this.#waiting = { group, count, reached }));
  }

  #of(group: string): Set<string> {
    const seen = this.#seen.get(group) ?? new Set();
    this.#seen.set(group, seen);
    return seen;
  }
}

async function makeNodes(
  client: Client,
  { nodes: { count, template = {} }, theOneNode }: Workload,
): Promise<void> {
  const make = async (name: string, i: number, of = template): Promise<void> => {
    const { status, ...node } = nodeOf(name, i, of);
    // Nodes are patched, since controllers write to the same nodes meanwhile.
    const patch = (of: object, options = {}) =>
      client.resource(nodes).patch(name, 'application/merge-patch+json', of, options);
    await client.resource(nodes).create(node);
    const updated = await patch({ status }, { subresource: 'status' });
    // Admission or a controller may have tainted the new node, because it was not ready; now it is.
    if ((updated.spec.taints ?? []).length > 0) await patch({ spec: { taints: null } });
    if (of.volumes !== undefined) await limitVolumes(client, name, of.volumes);
  };
  await atOnce(count, (i) => make(`node-${i}`, i));
  if (theOneNode === true)
    await make('the-one', 0, { capacity: { cpu: '4', memory: '32Gi', pods: '90000' } });
}

async function namespaceNamed(client: Client, name: string): Promise<void> {
  try {
    await client.resource(namespaces).create({ metadata: { name, labels: { team: 'devops' } } });
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
  }
}

async function makePods(client: Client, group: string, of: PodGroup): Promise<void> {
  const { count, templates, namespaces: spread = 1, volumesOf } = of;
  const names = Array.from({ length: spread }, (_, i) => (spread === 1 ? group : `${group}-${i}`));
  for (const name of names) await namespaceNamed(client, name);
  await atOnce(count, async (i) => {
    const template = templates[i % templates.length]!;
    // The pods have no priority.
    const pod = podOf(`pod-${i}`, template, false);
    const namespace = names[i % names.length]!;
    if (volumesOf !== undefined) await makeVolumes(client, namespace, i, volumesOf);
    const inNamespace = client.resource(pods).namespace(namespace);
    await untilAllowed(() =>
      inNamespace.create(volumesOf === undefined ? pod : withClaim(pod, namespace, i)),
    );
  });
}

/**
 * Repeats the create until it is allowed: a new namespace gets its service account first, if pods
 * need one.
 */
async function untilAllowed(create: () => Promise<unknown>): Promise<void> {
  const enough = systemClock.monotonic() + 10_000;
  for (;;) {
    try {
      await create();
      return;
    } catch (error) {
      if (!apierrors.isForbidden(error) || systemClock.monotonic() > enough) throw error;
      await systemClock.sleep(50);
    }
  }
}

/** Calls `work` for 0 … count-1, with a bounded number of calls at a time. */
async function atOnce(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      await work(next++);
      // Gives other tasks a turn, as after a response over a connection. Without it, nothing else
      // would run until all objects are created.
      await systemClock.sleep(0);
    }
  };
  await Promise.all(Array.from({ length: CREATORS }, worker));
}

/** Creates and deletes objects until the signal is aborted. */
async function comeAndGo(
  client: Client,
  { pod, everyMs, recreated = false }: Churn,
  byClass: boolean,
  signal: AbortSignal,
): Promise<void> {
  await namespaceNamed(client, 'churn');
  const inChurn = {
    pods: client.resource(pods).namespace('churn'),
    services: client.resource(services).namespace('churn'),
  };
  for (let round = 0; !signal.aborted; round++) {
    const name = `churn-${round}`;
    if (recreated) {
      const { status, ...node } = nodeOf(name, 0, { capacity: { pods: '0' } });
      const created = await client.resource(nodes).create(node);
      await client
        .resource(nodes)
        .updateStatus({ ...created, status: { ...created.status, ...status } });
    }
    await untilAllowed(() => inChurn.pods.create(podOf(name, pod, byClass)));
    if (recreated) {
      await inChurn.services.create({
        metadata: { name },
        spec: { selector: { app: 'churn' }, ports: [{ port: 80 }] },
      });
    }
    await untilNext(everyMs, signal);
    if (!recreated) continue;
    await client.resource(nodes).delete(name);
    await inChurn.pods.delete(name, { gracePeriodSeconds: 0 });
    await inChurn.services.delete(name);
  }
}

/** Deletes the pods one by one, until all are gone or the signal is aborted. */
async function deletePods(
  client: Client,
  { count, perSecond }: { count: number; perSecond: number },
  signal: AbortSignal,
): Promise<void> {
  const inNamespace = client.resource(pods).namespace('deleted');
  for (let i = 0; i < count && !signal.aborted; i++) {
    await inNamespace.delete(`pod-${i}`);
    await untilNext(1000 / perSecond, signal);
  }
}

/** Resolves after the time, or at once if `signal` is aborted. */
async function untilNext(ms: number, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
