// /stats/summary: the usage of the node and its pods, in the form of upstream's
// stats/v1alpha1.Summary.

import { formatTime } from '#machinery/text/time.ts';
import { timeIfKnown } from '../time.ts';
import type { FsDetails, NodeDetails } from '../node/node-details.ts';
import type { SystemContainerUsage } from '../node/system-containers.ts';
import type { PodFiles, Used, VolumeStats } from '../volume-stats/types.ts';
import type {
  CpuSample,
  IoSample,
  MemorySample,
  PodUsage,
  SwapSample,
  Usage,
} from '../node/usage.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface SummaryInput {
  readonly usage: Usage;
  readonly nodeName: string;
  /** When the kubelet started, in wall-clock milliseconds. */
  readonly startedAt: number;
  /** Absent: the query parameter only_cpu_and_memory was given. */
  readonly details: NodeDetails | undefined;
  /** The files of pods, by UID. Absent: they are not measured, or were not asked for. */
  readonly files: ReadonlyMap<string, PodFiles> | undefined;
  readonly systemContainers: readonly SystemContainerUsage[];
}

export function statsSummary({
  usage,
  nodeName,
  startedAt,
  details,
  files,
  systemContainers,
}: SummaryInput): Fields {
  const { node, pods } = usage;
  return {
    node: {
      nodeName,
      startTime: formatTime(details?.bootTime ?? startedAt),
      ...(systemContainers.length > 0 && {
        systemContainers: systemContainers.map((container) => ({
          name: container.name,
          startTime: timeIfKnown(container.startedAt),
          ...(container.cpu !== undefined && { cpu: cpuFields(container.cpu) }),
          ...(container.memory !== undefined && { memory: memoryFields(container.memory) }),
          ...(container.swap !== undefined && { swap: swapFields(container.swap) }),
        })),
      }),
      ...(node !== undefined && {
        cpu: cpuFields({
          time: node.time,
          coreNanoseconds: node.cpuNanoseconds,
          ...(node.nanoCores !== undefined && { nanoCores: node.nanoCores }),
          ...(node.pressure !== undefined && { psi: node.pressure.cpu }),
        }),
        memory: memoryFields({
          ...node,
          ...(node.pressure !== undefined && { psi: node.pressure.memory }),
        }),
        ...(node.pressure !== undefined && {
          io: ioFields({ time: node.time, psi: node.pressure.io }),
        }),
        swap: swapFields({ time: node.time, ...node.swap }),
      }),
      ...(details !== undefined && detailFields(details)),
    },
    pods: pods.map((pod) => podFields(pod, details, files?.get(pod.uid))),
  };
}

/** The interface whose counters upstream's kubelet repeats outside of the list. */
const DEFAULT_INTERFACE = 'eth0';

function detailFields({ time, fs, imageFs, tasks, interfaces = [] }: NodeDetails): Fields {
  const counters = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const main = counters.find(({ name }) => name === DEFAULT_INTERFACE);
  return {
    ...(counters.length > 0 && {
      network: { time: formatTime(time), ...(main ?? { name: '' }), interfaces: counters },
    }),
    ...(fs !== undefined && { fs: fsFields(fs) }),
    ...(imageFs !== undefined && {
      runtime: { imageFs: fsFields(imageFs), containerFs: fsFields(imageFs) },
    }),
    ...(tasks !== undefined && {
      rlimit: { time: formatTime(time), maxpid: tasks.max, curproc: tasks.running },
    }),
  };
}

const fsFields = ({ time, ...fields }: FsDetails): Fields => ({
  time: formatTime(time),
  ...fields,
});

function podFields(
  pod: PodUsage,
  details: NodeDetails | undefined,
  files: PodFiles | undefined,
): Fields {
  const onlyCpuAndMemory = details === undefined;
  const { availableBytes, capacityBytes, inodesFree, inodes } = details?.imageFs ?? {};
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: timeIfKnown(pod.startedAt),
    containers: pod.containers.map((container) => ({
      name: container.name,
      startTime: timeIfKnown(container.startedAt),
      ...(container.cpu !== undefined && { cpu: cpuFields(container.cpu) }),
      ...(container.memory !== undefined && { memory: memoryFields(container.memory) }),
      ...(container.swap !== undefined && { swap: swapFields(container.swap) }),
      ...(container.io !== undefined && { io: ioFields(container.io) }),
      ...(!onlyCpuAndMemory &&
        container.writableLayer !== undefined && {
          rootfs: fsFields({
            time: container.writableLayer.timestamp / 1e6,
            ...(availableBytes !== undefined && { availableBytes }),
            ...(capacityBytes !== undefined && { capacityBytes }),
            usedBytes: container.writableLayer.usedBytes?.value ?? 0,
            ...(inodesFree !== undefined && { inodesFree }),
            ...(inodes !== undefined && { inodes }),
            inodesUsed: container.writableLayer.inodesUsed?.value ?? 0,
          }),
        }),
      ...logFields(details, files?.logs.get(container.name)),
    })),
    ...(pod.cpu !== undefined && { cpu: cpuFields(pod.cpu) }),
    ...(pod.memory !== undefined && { memory: memoryFields(pod.memory) }),
    ...(pod.io !== undefined && { io: ioFields(pod.io) }),
    ...(!onlyCpuAndMemory && pod.network !== undefined && { network: networkFields(pod.network) }),
    ...(!onlyCpuAndMemory &&
      pod.processCount !== undefined && { process_stats: { process_count: pod.processCount } }),
    ...(files !== undefined && { volume: files.volumes.map(volumeFields) }),
    ...(details?.fs !== undefined &&
      files !== undefined && { 'ephemeral-storage': ephemeralStorage(pod, details.fs, files) }),
  };
}

/** Logs are on the file system of the kubelet. */
function logFields(details: NodeDetails | undefined, used: Used | undefined): Fields {
  if (details?.fs === undefined || used === undefined) return {};
  return { logs: fsFields({ ...details.fs, ...used }) };
}

function volumeFields({ claim, abnormal, name, isEphemeral, ...stats }: VolumeStats): Fields {
  void isEphemeral;
  return {
    ...fsFields(stats),
    name,
    ...(claim !== undefined && { pvcRef: claim }),
    ...(abnormal !== undefined && { volumeHealthStats: { abnormal } }),
  };
}

/** Returns what the pod takes of the node's local storage. */
function ephemeralStorage(pod: PodUsage, fs: FsDetails, files: PodFiles): Fields {
  const ephemeral = files.volumes.filter(({ isEphemeral }) => isEphemeral);
  const layers = pod.containers.map(({ writableLayer }) => ({
    usedBytes: writableLayer?.usedBytes?.value ?? 0,
    inodesUsed: writableLayer?.inodesUsed?.value ?? 0,
  }));
  const parts: readonly Used[] = [
    ...layers,
    ...ephemeral,
    ...files.logs.values(),
    ...(files.hosts === undefined ? [] : [files.hosts]),
  ];
  const sum = (key: keyof Used): number => parts.reduce((total, part) => total + part[key], 0);
  return fsFields({
    ...fs,
    time: Math.max(fs.time, ...ephemeral.map(({ time }) => time)),
    usedBytes: sum('usedBytes'),
    inodesUsed: sum('inodesUsed'),
  });
}

function ioFields({ time, psi }: IoSample): Fields {
  return { time: formatTime(time), psi };
}

function cpuFields({ time, coreNanoseconds, nanoCores, psi }: CpuSample): Fields {
  return {
    time: formatTime(time),
    ...(nanoCores !== undefined && { usageNanoCores: nanoCores }),
    ...(coreNanoseconds !== undefined && { usageCoreNanoSeconds: coreNanoseconds }),
    ...(psi !== undefined && { psi }),
  };
}

function memoryFields(memory: MemorySample): Fields {
  const {
    time,
    availableBytes,
    usageBytes,
    workingSetBytes,
    rssBytes,
    pageFaults,
    majorPageFaults,
    psi,
  } = memory;
  return {
    time: formatTime(time),
    ...(availableBytes !== undefined && { availableBytes }),
    ...(usageBytes !== undefined && { usageBytes }),
    ...(workingSetBytes !== undefined && { workingSetBytes }),
    ...(rssBytes !== undefined && { rssBytes }),
    ...(pageFaults !== undefined && { pageFaults }),
    ...(majorPageFaults !== undefined && { majorPageFaults }),
    ...(psi !== undefined && { psi }),
  };
}

function swapFields({ time, usageBytes, availableBytes }: SwapSample): Fields {
  return {
    time: formatTime(time),
    ...(availableBytes !== undefined && { swapAvailableBytes: availableBytes }),
    ...(usageBytes !== undefined && { swapUsageBytes: usageBytes }),
  };
}

function networkFields({
  timestamp: nanoseconds,
  defaultInterface,
  interfaces,
}: NonNullable<PodUsage['network']>): Fields {
  const fields = (one: typeof defaultInterface): Fields => ({
    name: one?.name ?? '',
    rxBytes: one?.rxBytes?.value ?? 0,
    rxErrors: one?.rxErrors?.value ?? 0,
    txBytes: one?.txBytes?.value ?? 0,
    txErrors: one?.txErrors?.value ?? 0,
  });
  return {
    time: formatTime(nanoseconds / 1e6),
    ...(defaultInterface !== undefined && fields(defaultInterface)),
    interfaces: (interfaces.length > 0
      ? interfaces
      : defaultInterface === undefined
        ? []
        : [defaultInterface]
    ).map(fields),
  };
}
