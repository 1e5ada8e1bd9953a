// /stats/summary: the usage of the node and its pods, in the form of upstream's
// stats/v1alpha1.Summary.

import { formatTime } from '#machinery/text/time.ts';
import { timeIfKnown } from '../time.ts';
import type { CpuSample, MemorySample, PodUsage, SwapSample, Usage } from '../node/usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the summary. `onlyCpuAndMemory`: the query parameter only_cpu_and_memory. `startedAt`:
 * when the kubelet started, in wall-clock milliseconds.
 */
export function statsSummary(
  { node, pods }: Usage,
  nodeName: string,
  startedAt: number,
  onlyCpuAndMemory: boolean,
): Fields {
  return {
    node: {
      nodeName,
      startTime: formatTime(startedAt),
      ...(node !== undefined && {
        cpu: cpuFields({
          time: node.time,
          coreNanoseconds: node.cpuNanoseconds,
          ...(node.nanoCores !== undefined && { nanoCores: node.nanoCores }),
        }),
        memory: memoryFields(node),
        swap: swapFields({ time: node.time, ...node.swap }),
      }),
    },
    pods: pods.map((pod) => podFields(pod, onlyCpuAndMemory)),
  };
}

function podFields(pod: PodUsage, onlyCpuAndMemory: boolean): Fields {
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: timeIfKnown(pod.startedAt),
    containers: pod.containers.map((container) => ({
      name: container.name,
      startTime: timeIfKnown(container.startedAt),
      ...(container.cpu !== undefined && { cpu: cpuFields(container.cpu) }),
      ...(container.memory !== undefined && { memory: memoryFields(container.memory) }),
      ...(container.swap !== undefined && { swap: swapFields(container.swap) }),
      ...(!onlyCpuAndMemory &&
        container.writableLayer !== undefined && {
          rootfs: {
            time: formatTime(container.writableLayer.timestamp / 1e6),
            usedBytes: container.writableLayer.usedBytes?.value ?? 0,
            inodesUsed: container.writableLayer.inodesUsed?.value ?? 0,
          },
        }),
    })),
    ...(pod.cpu !== undefined && { cpu: cpuFields(pod.cpu) }),
    ...(pod.memory !== undefined && { memory: memoryFields(pod.memory) }),
    ...(!onlyCpuAndMemory && pod.network !== undefined && { network: networkFields(pod.network) }),
    ...(!onlyCpuAndMemory &&
      pod.processCount !== undefined && { process_stats: { process_count: pod.processCount } }),
  };
}

function cpuFields({ time, coreNanoseconds, nanoCores }: CpuSample): Fields {
  return {
    time: formatTime(time),
    ...(nanoCores !== undefined && { usageNanoCores: nanoCores }),
    ...(coreNanoseconds !== undefined && { usageCoreNanoSeconds: coreNanoseconds }),
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
  } = memory;
  return {
    time: formatTime(time),
    ...(availableBytes !== undefined && { availableBytes }),
    ...(usageBytes !== undefined && { usageBytes }),
    ...(workingSetBytes !== undefined && { workingSetBytes }),
    ...(rssBytes !== undefined && { rssBytes }),
    ...(pageFaults !== undefined && { pageFaults }),
    ...(majorPageFaults !== undefined && { majorPageFaults }),
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
