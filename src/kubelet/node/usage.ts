// A snapshot of the usage of the node, its pods and their containers: the common source of
// /stats/summary, /metrics/resource and /metrics/cadvisor.

import type { ContainerStats, PodSandboxStats, RuntimeService } from '#cri/index.ts';
import type { NodeUsage, NodeUsageSource } from './node-usage.ts';
import { type PressureStall, pressureOf } from './pressure-stall.ts';
import type { UsageRates } from './usage-rates.ts';
import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
} from '../runtime/labels.ts';
import type { ContainerRecord, RuntimePodStatus } from '../pod/pod-status.ts';

type Network = NonNullable<NonNullable<PodSandboxStats['linux']>['network']>;
type Psi = NonNullable<ContainerStats['cpu']>['psi'];
type WritableLayer = NonNullable<ContainerStats['writableLayer']>;

export interface CpuSample {
  /** The wall-clock time in milliseconds. */
  readonly time: number;
  readonly coreNanoseconds?: number;
  readonly nanoCores?: number;
  /** Absent with cgroups v1. */
  readonly psi?: PressureStall;
}

export interface MemorySample {
  readonly time: number;
  readonly workingSetBytes?: number;
  readonly usageBytes?: number;
  readonly rssBytes?: number;
  readonly availableBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PressureStall;
}

export interface IoSample {
  readonly time: number;
  readonly psi: PressureStall;
}

export interface SwapSample {
  readonly time: number;
  readonly usageBytes?: number;
  readonly availableBytes?: number;
}

export interface ContainerUsage {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  /** The wall-clock time in milliseconds; 0 if unknown. */
  readonly startedAt: number;
  readonly cpu?: CpuSample;
  readonly memory?: MemorySample;
  readonly swap?: SwapSample;
  readonly io?: IoSample;
  readonly writableLayer?: WritableLayer;
}

export interface PodUsage {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxId: string;
  readonly startedAt: number;
  readonly cpu?: CpuSample;
  readonly memory?: MemorySample;
  readonly processCount?: number;
  readonly io?: IoSample;
  readonly network?: Network;
  readonly containers: readonly ContainerUsage[];
}

export interface Usage {
  readonly node: NodeUsage | undefined;
  readonly pods: readonly PodUsage[];
}

export interface UsageConfig {
  readonly runtime: RuntimeService;
  readonly node: NodeUsageSource;
  /** Absent: the rates of the runtime stay. */
  readonly rates?: UsageRates;
  readonly runtimeStatus: (uid: string) => RuntimePodStatus | undefined;
}

/** Reads the usage of pods with a ready sandbox. Rejects with CriError. */
export async function readUsage(config: UsageConfig): Promise<Usage> {
  const { runtime, node, runtimeStatus } = config;
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxStats(),
    runtime.listContainerStats(),
  ]);
  const byPod = new Map<string, ContainerStats[]>();
  for (const stats of containers) {
    const uid = stats.attributes?.labels[POD_UID_LABEL] ?? '';
    const list = byPod.get(uid);
    if (list === undefined) byPod.set(uid, [stats]);
    else list.push(stats);
  }
  const pods: PodUsage[] = [];
  for (const sandbox of sandboxes) {
    const uid = sandbox.attributes?.labels[POD_UID_LABEL] ?? '';
    const status = runtimeStatus(uid);
    // A restarted pod also has stopped sandboxes, which use nothing.
    const record = status?.sandboxes.find(({ id }) => id === sandbox.attributes?.id);
    if (record !== undefined && !record.ready) continue;
    pods.push(podUsage(sandbox, byPod.get(uid) ?? [], record?.createdAt ?? 0, status));
  }
  const usage = { node: await node.read(containers), pods };
  return node.hasExactRates === true || config.rates === undefined
    ? usage
    : withRates(usage, config.rates);
}

/** Returns the same usage, with CPU rates since the last requests. */
function withRates({ node, pods }: Usage, rates: UsageRates): Usage {
  const rated = <T extends { readonly cpu?: CpuSample }>(id: string, usage: T): T => {
    const { cpu } = usage;
    if (cpu?.coreNanoseconds === undefined) return usage;
    const { time, coreNanoseconds } = cpu;
    const nanoCores = rates.rate(id, time, coreNanoseconds);
    return {
      ...usage,
      cpu: {
        time,
        coreNanoseconds,
        ...(nanoCores !== undefined && { nanoCores }),
        ...(cpu.psi !== undefined && { psi: cpu.psi }),
      },
    };
  };
  const ofNode = node && rates.rate('', node.time, node.cpuNanoseconds);
  const usage = {
    node: node && { ...node, ...(ofNode !== undefined && { nanoCores: ofNode }) },
    pods: pods.map((pod) => ({
      ...rated(`pod ${pod.uid}`, pod),
      containers: pod.containers.map((container) => rated(container.id, container)),
    })),
  };
  rates.sweep();
  return usage;
}

function podUsage(
  sandbox: PodSandboxStats,
  containers: readonly ContainerStats[],
  startedAt: number,
  status: RuntimePodStatus | undefined,
): PodUsage {
  const labels = sandbox.attributes?.labels ?? {};
  const { cpu, memory, network, process, io } = sandbox.linux ?? {};
  const records = new Map(status?.containers.map((record) => [record.id, record]));
  const usages = containers
    .filter((stats) => stats.attributes?.labels[CONTAINER_NAME_LABEL] !== undefined)
    .map((stats) => [stats, records.get(stats.attributes?.id ?? '')] as const)
    // Containers that have ended use nothing.
    .filter(([, record]) => record === undefined || record.state === 'running')
    .map(([stats, record]) => containerUsage(stats, record));
  return {
    uid: labels[POD_UID_LABEL] ?? '',
    name: labels[POD_NAME_LABEL] ?? '',
    namespace: labels[POD_NAMESPACE_LABEL] ?? '',
    sandboxId: sandbox.attributes?.id ?? '',
    startedAt,
    ...(network !== undefined && { network }),
    ...(process?.processCount !== undefined && { processCount: process.processCount.value }),
    // For runtimes without statistics of the sandbox, the sum over its containers is used.
    ...definedCpu(cpuSample(cpu) ?? sumCpu(usages)),
    ...definedMemory(memorySample(memory) ?? sumMemory(usages)),
    ...ioFields(io),
    containers: usages,
  };
}

const definedCpu = (cpu: CpuSample | undefined): { readonly cpu?: CpuSample } =>
  cpu === undefined ? {} : { cpu };
const definedMemory = (memory: MemorySample | undefined): { readonly memory?: MemorySample } =>
  memory === undefined ? {} : { memory };

function containerUsage(
  stats: ContainerStats,
  record: ContainerRecord | undefined,
): ContainerUsage {
  const { attributes, swap, writableLayer } = stats;
  return {
    id: attributes?.id ?? '',
    name: attributes?.labels[CONTAINER_NAME_LABEL] ?? '',
    image: record?.image ?? '',
    startedAt: record?.startedAt ?? 0,
    ...definedCpu(cpuSample(stats.cpu)),
    ...definedMemory(memorySample(stats.memory)),
    ...ioFields(stats.io),
    ...(swap !== undefined && {
      swap: {
        time: swap.timestamp / 1e6,
        ...(swap.swapUsageBytes !== undefined && { usageBytes: swap.swapUsageBytes.value }),
        ...(swap.swapAvailableBytes !== undefined && {
          availableBytes: swap.swapAvailableBytes.value,
        }),
      },
    }),
    ...(writableLayer !== undefined && { writableLayer }),
  };
}

function psiField(psi: Psi): { readonly psi?: PressureStall } {
  const stall = pressureOf(psi);
  return stall === undefined ? {} : { psi: stall };
}

function ioFields(io: ContainerStats['io']): { readonly io?: IoSample } {
  const psi = pressureOf(io?.psi);
  return io === undefined || psi === undefined ? {} : { io: { time: io.timestamp / 1e6, psi } };
}

function cpuSample(cpu: ContainerStats['cpu']): CpuSample | undefined {
  if (cpu === undefined) return undefined;
  return {
    time: cpu.timestamp / 1e6,
    ...(cpu.usageCoreNanoSeconds !== undefined && {
      coreNanoseconds: cpu.usageCoreNanoSeconds.value,
    }),
    ...(cpu.usageNanoCores !== undefined && { nanoCores: cpu.usageNanoCores.value }),
    ...psiField(cpu.psi),
  };
}

function memorySample(memory: ContainerStats['memory']): MemorySample | undefined {
  if (memory === undefined) return undefined;
  const { workingSetBytes, usageBytes, rssBytes, availableBytes, pageFaults, majorPageFaults } =
    memory;
  return {
    time: memory.timestamp / 1e6,
    ...(workingSetBytes !== undefined && { workingSetBytes: workingSetBytes.value }),
    ...(usageBytes !== undefined && { usageBytes: usageBytes.value }),
    ...(rssBytes !== undefined && { rssBytes: rssBytes.value }),
    ...(availableBytes !== undefined && { availableBytes: availableBytes.value }),
    ...(pageFaults !== undefined && { pageFaults: pageFaults.value }),
    ...(majorPageFaults !== undefined && { majorPageFaults: majorPageFaults.value }),
    ...psiField(memory.psi),
  };
}

function sumCpu(containers: readonly ContainerUsage[]): CpuSample | undefined {
  const samples = containers.flatMap(({ cpu }) =>
    cpu?.coreNanoseconds === undefined ? [] : [cpu],
  );
  if (samples.length === 0) return undefined;
  return {
    time: Math.max(...samples.map(({ time }) => time)),
    coreNanoseconds: samples.reduce((sum, { coreNanoseconds = 0 }) => sum + coreNanoseconds, 0),
    ...(samples.every(({ nanoCores }) => nanoCores !== undefined) && {
      nanoCores: samples.reduce((sum, { nanoCores = 0 }) => sum + nanoCores, 0),
    }),
  };
}

function sumMemory(containers: readonly ContainerUsage[]): MemorySample | undefined {
  const samples = containers.flatMap(({ memory }) =>
    memory?.workingSetBytes === undefined ? [] : [memory],
  );
  if (samples.length === 0) return undefined;
  return {
    time: Math.max(...samples.map(({ time }) => time)),
    workingSetBytes: samples.reduce((sum, { workingSetBytes = 0 }) => sum + workingSetBytes, 0),
  };
}
