// How fast the scheduler decides, and how fast pods get nodes through an API server in the same process.
//
//   npx tsx bench/scheduler/bench.ts            # all
//   npx tsx bench/scheduler/bench.ts decide     # only decisions: snapshot, filter, score, choose, assume
//   npx tsx bench/scheduler/bench.ts end-to-end # pods created, decided, bound through the handler chain, memory store
//
// Nodes have 4 cores, 32 GiB and take 110 pods; pods ask for 100m and 500Mi. Times are of this process's CPU where it says so.

import { nodes, pods, type PodSpec, serviceAccounts } from '../../src/api/core/v1/index.ts';
import { ApiServer } from '../../src/apiserver/server.ts';
import { createClient } from '../../src/client/create-client.ts';
import { createInProcessTransport } from '../../src/client/in-process.ts';
import { SharedInformerFactory } from '../../src/client/informers/index.ts';
import { systemClock } from '../../src/machinery/clock.ts';
import { SeededRandom } from '../../src/machinery/random.ts';
import { SchedulerCache } from '../../src/scheduler/cache/cache.ts';
import { Snapshot } from '../../src/scheduler/cache/snapshot.ts';
import { readConfiguration } from '../../src/scheduler/config/configuration.ts';
import { resolveProfile } from '../../src/scheduler/config/profile.ts';
import { CycleState } from '../../src/scheduler/framework/cycle-state.ts';
import { Framework } from '../../src/scheduler/framework/framework.ts';
import type { Pod } from '../../src/scheduler/framework/objects.ts';
import { PodInfo } from '../../src/scheduler/framework/pod-info.ts';
import { WaitingPods } from '../../src/scheduler/framework/waiting-pods.ts';
import { inTreeRegistry } from '../../src/scheduler/plugins/registry.ts';
import { SchedulingAlgorithm } from '../../src/scheduler/schedule-one.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { makeHandle, RecordingLogger } from '../../src/scheduler/testing/handle.ts';
import { makeNode, makePod } from '../../src/scheduler/testing/objects.ts';
import { createMemoryStorage } from '../../src/storage/memory/index.ts';

const REQUESTS = { cpu: '100m', memory: '500Mi' };

/** The p-th part of sorted values. */
function quantile(sorted: Float64Array, p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
}

/** What pods ask for besides their requests, as in the workloads of upstream's scheduler_perf. */
interface Workload {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
}

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const blue = { color: 'blue' };
const term = (topologyKey: string) => ({ topologyKey, labelSelector: { matchLabels: blue } });
const preferred = (topologyKey: string) => [{ weight: 1, podAffinityTerm: term(topologyKey) }];
const spread = (whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway') => ({
  topologySpreadConstraints: [{ maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable, labelSelector: { matchLabels: blue } }],
});
const PLAIN: Workload = { name: 'plain' };
const WORKLOADS: readonly Workload[] = [
  { name: 'topology spreading', spec: spread('DoNotSchedule') },
  { name: 'preferred topology spreading', spec: spread('ScheduleAnyway') },
  {
    name: 'pod anti-affinity (host)',
    spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(HOST)] } } },
  },
  {
    name: 'pod affinity (zone)',
    spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(ZONE)] } } },
  },
  {
    name: 'preferred pod affinity (host)',
    spec: { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred(HOST) } } },
  },
  {
    name: 'preferred pod anti-affinity (host)',
    spec: { affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred(HOST) } } },
  },
].map((workload) => ({ ...workload, labels: blue }));

function decide(
  nodeCount: number,
  podCount: number,
  requests: Readonly<Record<string, string>>,
  { name, labels, spec }: Workload = PLAIN,
): string {
  const random = new SeededRandom(1);
  const logger = new RecordingLogger();
  const cache = new SchedulerCache({ clock: systemClock, logger });
  for (let i = 0; i < nodeCount; i++) {
    cache.putNode(makeNode(`node-${i}`, { labels: { 'topology.kubernetes.io/zone': `zone-${i % 3}` } }));
  }
  const snapshot = new Snapshot();
  const nominator = { nominatedPodsForNode: () => [], version: () => 0, nominatedNode: () => undefined };
  const [profile] = readConfiguration(undefined).profiles;
  if (profile === undefined) throw new Error('there is a default profile');
  const framework = new Framework({
    profileName: profile.schedulerName,
    plugins: resolveProfile(profile, inTreeRegistry, makeHandle({ snapshot, random, nominator })),
    clock: systemClock,
    nominator,
    waitingPods: new WaitingPods(),
  });
  const algorithm = new SchedulingAlgorithm({ snapshot, random });
  const made: Pod[] = Array.from({ length: podCount }, (_, i) =>
    makePod(`pod-${i}`, { requests, ...(labels && { labels }), ...(spec && { spec }) }),
  );
  const times = new Float64Array(podCount);
  let placed = 0;
  const start = performance.now();
  for (let i = 0; i < podCount; i++) {
    const began = performance.now();
    const info = new PodInfo(made[i] as Pod);
    cache.updateSnapshot(snapshot);
    const result = algorithm.schedule(framework, new CycleState(), info);
    if (result.kind === 'node') {
      cache.assumePod(info, result.node);
      placed++;
    }
    times[i] = performance.now() - began;
  }
  const elapsed = performance.now() - start;
  times.sort();
  const rate = Math.round((podCount / elapsed) * 1000);
  const us = (p: number): string => `${(quantile(times, p) * 1000).toFixed(0)} µs`;
  return `decide, ${name}: ${nodeCount} nodes, ${placed}/${podCount} pods placed: ${rate}/s, p50 ${us(0.5)}, p99 ${us(0.99)}`;
}

async function endToEnd(nodeCount: number, podCount: number, requests: Readonly<Record<string, string>>): Promise<string> {
  const clock = systemClock;
  const logger = new RecordingLogger();
  const storage = createMemoryStorage({ clock, logger });
  const server = new ApiServer({
    random: new SeededRandom(1),
    logger,
    port: 0,
    clock,
    storage,
    disableAdmissionPlugins: ['TaintNodesByCondition'],
  });
  await server.start();
  const clientOf = (name: string, groups: readonly string[]) =>
    createClient(createInProcessTransport({ handler: server.inProcess({ name, groups }) }));
  const admin = clientOf('admin', ['system:masters', 'system:authenticated']);
  for (let i = 0; i < nodeCount; i++) {
    const { metadata, spec, status } = makeNode(`node-${i}`);
    const created = await admin.resource(nodes).create({ metadata: { name: metadata.name, labels: metadata.labels }, spec });
    await admin.resource(nodes).updateStatus({ ...created, status });
  }
  // Pods run as somebody; there is no controller here that makes it.
  await admin
    .resource(serviceAccounts)
    .namespace('default')
    .create({ metadata: { name: 'default' } });
  const client = clientOf('system:kube-scheduler', ['system:authenticated']);
  const random = new SeededRandom(2);
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const watching = new SharedInformerFactory({ client: admin, clock, random, logger });
  const stop = new AbortController();
  let bound = 0;
  let allBound: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    allBound = resolve;
  });
  watching.informerFor(pods).addEventHandler({
    onUpdate(before, after) {
      if (!before.spec.nodeName && after.spec.nodeName && ++bound === podCount) allBound();
    },
  });
  watching.start(stop.signal);
  await watching.waitForCacheSync(stop.signal);
  const spec = makePod('p', { requests }).spec;
  // First the pods, then the scheduler: what is measured is scheduling.
  for (let i = 0; i < podCount; i++)
    await admin
      .resource(pods)
      .namespace('default')
      .create({ metadata: { name: `pod-${i}` }, spec });
  const cpu = process.cpuUsage();
  const start = performance.now();
  const scheduler = new Scheduler({ client, informers, clock, random, logger });
  const run = scheduler.run(stop.signal);
  await done;
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  stop.abort();
  await run;
  await server.stop();
  await storage.close();
  const rate = Math.round((podCount / elapsed) * 1000);
  const cpuMs = Math.round((user + system) / 1000);
  return `end to end: ${nodeCount} nodes, ${podCount} pods seen bound in ${Math.round(elapsed)} ms: ${rate}/s, CPU ${cpuMs} ms (API server included)`;
}

const only = process.argv[2];
if (only === undefined || only === 'decide') {
  for (const [nodeCount, podCount] of [
    [20, 800],
    [100, 2000],
    [1000, 5000],
    [5000, 10_000],
    [20_000, 5000],
  ] as const) {
    console.log(decide(nodeCount, podCount, REQUESTS));
  }
  for (const workload of WORKLOADS) console.log(decide(5000, 4000, REQUESTS, workload));
  // Fits nowhere: every node is looked at.
  console.log(decide(5000, 200, { cpu: '5' }));
}
if (only === undefined || only === 'end-to-end') {
  console.log(await endToEnd(20, 1000, { cpu: '10m' }));
  console.log(await endToEnd(5000, 5000, REQUESTS));
}
