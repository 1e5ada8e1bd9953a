// Hourly CronJobs over days, beside pods that just run. Everything that must have happened follows
// from the schedule, and is compared with what a client has seen.

import { cronJobs, jobs, type Job } from '#api/groups/batch/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes, pods, type Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type EmbeddedCluster, startCluster } from '#cluster/index.ts';
import { systemClock, type VirtualClock } from '#machinery/clock.ts';
import { formatTime } from '#machinery/text/time.ts';

export interface CronMonthOptions {
  readonly nodes: number;
  /** Pods of a Deployment. */
  readonly pods: number;
  /** The first of them always fails. */
  readonly cronJobs: number;
  readonly days: number;
}

export interface CronMonth {
  /** The real time in which the days went by. */
  readonly advanceMs: number;
  /** Differences from what follows from the schedule. */
  readonly problems: readonly string[];
}

const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** How long the pod of a Job runs. */
const RUN_MS = 30_000;
/** After the last Job: it has ended long ago. */
const REST_MS = 30 * MINUTE_MS;
/** How many Jobs a CronJob keeps: the defaults of the API. */
const KEPT = { successful: 3, failed: 1 } as const;

const cronJobName = (index: number): string => `cron-${index}`;
const isFailing = (index: number): boolean => index === 0;

/** Runs a cluster for some days of virtual time. */
export async function cronMonth(options: CronMonthOptions): Promise<CronMonth> {
  const cluster = await startCluster({
    clock: 'virtual',
    startMs: START,
    nodes: options.nodes,
  });
  try {
    return await run(cluster, options);
  } finally {
    await cluster.stop();
  }
}

async function run(
  cluster: EmbeddedCluster<VirtualClock>,
  options: CronMonthOptions,
): Promise<CronMonth> {
  const { client, clock } = cluster;
  await cluster.apply(deployment(options.pods));
  await clock.runUntil(async () => (await runningPods(cluster)).length === options.pods);
  const before = await runningPods(cluster);
  for (let index = 0; index < options.cronJobs; index++) await cluster.apply(cronJob(index));
  const recorded = recordJobs(
    await client.resource(jobs).watch({ timeoutSeconds: 10 ** 9, resourceVersion: '0' }),
  );
  const end = START + options.days * 24 * HOUR_MS + REST_MS;
  const began = systemClock.monotonic();
  await clock.advance(end - clock.now());
  const advanceMs = systemClock.monotonic() - began;
  const problems = [
    ...jobProblems(options, await recorded.stop()),
    ...(await stateProblems(cluster, options, before)),
  ];
  return { advanceMs, problems };
}

/** The times at which a CronJob is due: each full hour after the first. */
function dueTimes({ days }: CronMonthOptions): readonly number[] {
  return Array.from({ length: days * 24 }, (_, hour) => START + (hour + 1) * HOUR_MS);
}

const jobName = (index: number, due: number): string => `${cronJobName(index)}-${due / MINUTE_MS}`;

interface JobRecord {
  readonly created: string | undefined;
  outcome: string;
}

function recordJobs(
  stream: AsyncIterable<{ readonly type: string; readonly object: Immutable<Job> }> & {
    stop(): void;
  },
): { stop(): Promise<ReadonlyMap<string, JobRecord>> } {
  const seen = new Map<string, JobRecord>();
  const reading = (async () => {
    for await (const { type, object } of stream) {
      const { name, creationTimestamp } = object.metadata;
      if (type === 'ADDED')
        seen.set(name, { created: creationTimestamp ?? undefined, outcome: 'none' });
      const record = seen.get(name);
      const ended = object.status.conditions?.find(
        (condition) =>
          ['Complete', 'Failed'].includes(condition.type) && condition.status === 'True',
      );
      if (record !== undefined && ended !== undefined)
        record.outcome = `${ended.type} at ${ended.lastTransitionTime}`;
    }
  })();
  return {
    async stop() {
      stream.stop();
      await reading;
      return seen;
    },
  };
}

function jobProblems(
  options: CronMonthOptions,
  seen: ReadonlyMap<string, JobRecord>,
): readonly string[] {
  const expected = new Map<string, JobRecord>();
  for (const due of dueTimes(options)) {
    for (let index = 0; index < options.cronJobs; index++) {
      const type = isFailing(index) ? 'Failed' : 'Complete';
      const outcome = `${type} at ${formatTime(due + RUN_MS)}`;
      expected.set(jobName(index, due), { created: formatTime(due), outcome });
    }
  }
  const problems: string[] = [];
  for (const [name, record] of expected) {
    const found = seen.get(name);
    if (JSON.stringify(found) !== JSON.stringify(record))
      problems.push(`Job ${name}: ${JSON.stringify(found)}, not ${JSON.stringify(record)}`);
  }
  for (const name of seen.keys()) if (!expected.has(name)) problems.push(`Job ${name} was not due`);
  return problems;
}

/** Compares what is there in the end. */
async function stateProblems(
  { client, clock }: EmbeddedCluster<VirtualClock>,
  options: CronMonthOptions,
  before: readonly Immutable<Pod>[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  const check = (what: string, found: unknown, expected: unknown): void => {
    const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
    if (is !== should) problems.push(`${what}: ${is}, not ${should}`);
  };
  const due = dueTimes(options);
  const kept = Array.from({ length: options.cronJobs }, (_, index) =>
    due
      .slice(isFailing(index) ? -KEPT.failed : -KEPT.successful)
      .map((each) => jobName(index, each)),
  ).flat();
  const { items: allJobs } = await client.resource(jobs).list();
  check('Jobs that are kept', allJobs.map(({ metadata }) => metadata.name).sort(), kept.sort());
  const last = due.at(-1) as number;
  for (const { metadata, status } of (await client.resource(cronJobs).list()).items)
    check(`last schedule of ${metadata.name}`, status.lastScheduleTime, formatTime(last));

  const { items: allPods } = await client.resource(pods).list();
  const owners = allPods.map(({ metadata }) => metadata.ownerReferences?.[0]?.name ?? '');
  const ofJobs = owners.filter((name) => name.startsWith('cron-'));
  check('pods of Jobs', ofJobs.sort(), kept);
  const uids = (list: readonly Immutable<Pod>[]): string[] =>
    list.map(({ metadata }) => metadata.uid ?? '').sort();
  const after = allPods.filter(isOfDeployment);
  check('pods of the Deployment', uids(after), uids(before));
  const unwell = after.filter(
    ({ status }) => status.phase !== 'Running' || status.containerStatuses?.[0]?.restartCount !== 0,
  );
  check('pods that do not run', uids(unwell), []);

  for (const { metadata, status } of (await client.resource(nodes).list()).items) {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    check(`${metadata.name} is ready`, ready?.status, 'True');
    check(`${metadata.name} has been ready since`, ready?.lastTransitionTime, formatTime(START));
    const heartbeat = Date.parse(ready?.lastHeartbeatTime ?? '');
    check(`${metadata.name} has reported`, clock.now() - heartbeat <= 301_000, true);
    const lease = await client.resource(leases).namespace('kube-node-lease').get(metadata.name);
    const renewed = Date.parse(lease.spec?.renewTime ?? '');
    check(`${metadata.name} has renewed`, clock.now() - renewed <= 10_000, true);
  }
  return problems;
}

const isOfDeployment = ({ metadata }: Immutable<Pod>): boolean =>
  metadata.labels?.['app'] === 'web';

async function runningPods({ client }: EmbeddedCluster): Promise<readonly Immutable<Pod>[]> {
  const { items } = await client.resource(pods).list({ labelSelector: 'app=web' });
  return items.filter(({ status }) => status.phase === 'Running');
}

const deployment = (replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`;

const cronJob = (index: number): string => `
apiVersion: batch/v1
kind: CronJob
metadata: {name: ${cronJobName(index)}}
spec:
  schedule: '0 * * * *'
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: c
              image: busybox
              command: [sh, -c, 'sleep ${RUN_MS / 1000}; exit ${isFailing(index) ? 1 : 0}']
`;
