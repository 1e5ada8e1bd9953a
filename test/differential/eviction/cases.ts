// Random cases for the eviction manager, in the form that upstream's takes them: thresholds, and
// steps of a node's statistics and pods.

import { type Random, SeededRandom } from '#machinery/random.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Step {
  readonly NowMs: number;
  /** The statistics before and after the node has freed what it can: stats/v1alpha1 Summary. */
  readonly Before: Json;
  readonly After: Json;
  readonly Pods: readonly Json[];
}

export interface Case {
  readonly Hard: Readonly<Record<string, string>>;
  readonly Soft: Readonly<Record<string, string>>;
  readonly Grace: Readonly<Record<string, string>>;
  readonly MinReclaim: Readonly<Record<string, string>>;
  readonly Allocatable: boolean;
  readonly TransitionMs: number;
  readonly MaxGrace: number;
  readonly ImageFs: boolean;
  readonly Split: boolean;
  readonly Steps: readonly Step[];
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** The shortages that a case may have. One at a time, because upstream's order of several is random. */
const SHORTAGES = ['memory', 'nodefs', 'nodefsInodes', 'imagefs', 'pids', 'none'] as const;
type Shortage = (typeof SHORTAGES)[number];

/** Returns the same cases for the same seed. */
export function makeCases(seed: string, count: number): readonly Case[] {
  return Array.from({ length: count }, (_, index) =>
    randomCase(new SeededRandom(`${seed} ${index}`)),
  );
}

function randomCase(random: Random): Case {
  const pick = <T>(values: readonly T[]): T => values[random.int(values.length)] as T;
  const chance = (share: number): boolean => random.float() < share;
  const soft = chance(0.4);
  const layout = pick([
    [false, false],
    [true, false],
    [true, true],
  ]);
  const [dedicated = false, split = false] = layout;
  const shortage = pick(SHORTAGES);
  const pods = Array.from({ length: 1 + random.int(8) }, (_, index) => randomPod(random, index));
  const steps: Step[] = [];
  let now = 1_700_000_000_000;
  for (let count = 1 + random.int(5); count > 0; count--) {
    now += pick([1, 10, 30, 60, 301]) * 1000;
    const scarce = chance(0.75);
    const kept = pods.filter(() => chance(0.9));
    const make = (isShort: boolean): Json =>
      summary(random, now, isShort ? shortage : 'none', dedicated, kept);
    steps.push({
      NowMs: now,
      Before: make(scarce),
      After: make(scarce && chance(0.7)),
      Pods: kept,
    });
  }
  const signals = ['memory.available', 'nodefs.available', 'imagefs.available', 'pid.available'];
  return {
    Hard: {
      'memory.available': pick(['100Mi', '2%', '150M']),
      'nodefs.available': pick(['10%', '5Gi', '7.5%']),
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'pid.available': pick(['10%', '500']),
    },
    Soft: soft ? Object.fromEntries(signals.map((signal) => [signal, '20%'])) : {},
    Grace: soft ? Object.fromEntries(signals.map((signal) => [signal, '35s'])) : {},
    MinReclaim: chance(0.5) ? { 'memory.available': '300Mi', 'nodefs.available': '10Gi' } : {},
    Allocatable: false,
    TransitionMs: pick([0, 30_000, 300_000]),
    MaxGrace: pick([0, 5, 120]),
    ImageFs: dedicated,
    Split: split,
    Steps: steps,
  };
}

function randomPod(random: Random, index: number): Json {
  const pick = <T>(values: readonly T[]): T => values[random.int(values.length)] as T;
  const priority = pick([undefined, 0, 0, 10, 1000, 2_000_000_000]);
  const containers = Array.from({ length: 1 + random.int(2) }, (_, number) => ({
    name: `c${number}`,
    resources: {
      requests: {
        ...(random.float() < 0.7 && { memory: pick(['50Mi', '200Mi', '1G', '1500Mi']) }),
        ...(random.float() < 0.5 && { 'ephemeral-storage': pick(['1Gi', '500M', '10Gi']) }),
        cpu: '100m',
      },
      limits: {
        ...(random.float() < 0.15 && { 'ephemeral-storage': pick(['2Gi', '8000M', '20Gi']) }),
      },
    },
  }));
  return {
    metadata: { name: `pod-${index}`, namespace: 'default', uid: `uid-${index}`, generation: 3 },
    spec: {
      ...(priority !== undefined && { priority }),
      ...(random.float() < 0.5 && { terminationGracePeriodSeconds: pick([1, 30, 600]) }),
      ...(random.float() < 0.2 && { overhead: { memory: '30Mi', cpu: '10m' } }),
      ...(random.float() < 0.15 && { resources: { requests: { memory: '100Mi' } } }),
      containers,
      volumes: [
        {
          name: 'scratch',
          emptyDir: {
            ...(random.float() < 0.15 && { sizeLimit: pick(['1Gi', '4000M']) }),
            ...(random.float() < 0.2 && { medium: 'Memory' }),
          },
        },
        { name: 'settings', configMap: { name: 'settings' } },
        { name: 'host', hostPath: { path: '/tmp' } },
      ],
    },
    status: {},
  };
}

/** Returns statistics in which nothing but `shortage` is scarce. All amounts are distinct. */
function summary(
  random: Random,
  now: number,
  shortage: Shortage,
  dedicated: boolean,
  pods: readonly Json[],
): Json {
  const time = new Date(now).toISOString();
  const amount = (most: number): number => 1 + random.int(most);
  const disk = (isShort: boolean, inodesShort: boolean): Json => ({
    time,
    capacityBytes: 100 * GIB,
    availableBytes: isShort ? amount(15) * 100 * MIB : 60 * GIB + amount(MIB),
    inodes: 1_000_000,
    inodesFree: inodesShort ? amount(49_000) : 800_000,
  });
  const nodeFs = disk(shortage === 'nodefs', shortage === 'nodefsInodes');
  const imageFs = dedicated ? disk(shortage === 'imagefs', false) : nodeFs;
  const memoryAvailable = shortage === 'memory' ? amount(90) * MIB : 4 * GIB + amount(MIB);
  const usage = (most: number): Json => ({
    time,
    usedBytes: amount(most),
    inodesUsed: amount(100_000),
  });
  const podStats = pods
    .filter(() => random.float() < 0.95)
    .map((pod) => {
      const { name, namespace, uid } = pod['metadata'] as Readonly<Record<string, string>>;
      const { containers } = pod['spec'] as {
        readonly containers: readonly { readonly name: string }[];
      };
      const own = containers.map((container) => ({
        name: container.name,
        startTime: time,
        memory: { time, workingSetBytes: amount(2 * GIB) },
        rootfs: usage(5 * GIB),
        logs: usage(GIB),
      }));
      const volumes = [
        { name: 'scratch', ...usage(5 * GIB) },
        { name: 'settings', ...usage(MIB) },
      ];
      return {
        podRef: { name, namespace, uid },
        startTime: time,
        memory: {
          time,
          workingSetBytes: own.reduce((sum, { memory }) => sum + memory.workingSetBytes, 0),
        },
        process_stats: { process_count: amount(5000) },
        containers: own,
        volume: volumes,
        'ephemeral-storage': { time, usedBytes: ephemeral(pod, own, volumes) },
      };
    });
  return {
    node: {
      nodeName: 'node',
      startTime: time,
      memory: { time, availableBytes: memoryAvailable, workingSetBytes: 8 * GIB - memoryAvailable },
      fs: nodeFs,
      runtime: { imageFs, containerFs: imageFs },
      rlimit: {
        time,
        maxpid: 32_768,
        curproc: shortage === 'pids' ? 32_768 - amount(300) : 1000 + amount(100),
      },
      systemContainers: [],
    },
    pods: podStats,
  };
}

interface Used {
  readonly name?: string;
  readonly usedBytes?: unknown;
}

/** Returns the sum that upstream's statistics have: what is on the node's disk, memory excluded. */
function ephemeral(
  pod: Json,
  containers: readonly { readonly rootfs: Used; readonly logs: Used }[],
  volumes: readonly Used[],
): number {
  const spec = pod['spec'] as {
    readonly volumes: readonly { readonly name: string; readonly emptyDir?: { medium?: string } }[];
  };
  const local = spec.volumes.filter(({ emptyDir }) => emptyDir?.medium === undefined);
  const onDisk = volumes.filter(({ name }) => local.some((volume) => volume.name === name));
  return [...containers.flatMap(({ rootfs, logs }) => [rootfs, logs]), ...onDisk].reduce(
    (sum, { usedBytes }) => sum + Number(usedBytes ?? 0),
    0,
  );
}
