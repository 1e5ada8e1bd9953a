// /stats/summary: what the node's pods use, as far as the runtime tells.

import type { ContainerStats, PodSandboxStats } from '../../cri/index.ts';
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL, CONTAINER_NAME_LABEL } from '../runtime/labels.ts';
import { formatTime, timestamp } from '../time.ts';
import type { KubeletServerConfig } from './server.ts';

type Usage = Readonly<Record<string, unknown>>;

export async function statsSummary(config: KubeletServerConfig): Promise<unknown> {
  const { runtime } = config.runtime;
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandboxStats(), runtime.listContainerStats()]);
  return {
    node: { nodeName: config.nodeName, startTime: timestamp(config.startedAt) },
    pods: sandboxes.map((sandbox) => podStats(config, sandbox, containers)),
  };
}

function podStats(config: KubeletServerConfig, sandbox: PodSandboxStats, containers: readonly ContainerStats[]): unknown {
  const labels = sandbox.attributes?.labels ?? {};
  const uid = labels[POD_UID_LABEL] ?? '';
  const status = config.runtimeStatus(uid);
  return {
    podRef: { name: labels[POD_NAME_LABEL] ?? '', namespace: labels[POD_NAMESPACE_LABEL] ?? '', uid },
    startTime: formatTime(status?.sandboxes.find(({ id }) => id === sandbox.attributes?.id)?.createdAt ?? 0),
    containers: containers
      .filter((stats) => stats.attributes?.labels[POD_UID_LABEL] === uid)
      .map((stats) => ({
        name: stats.attributes?.labels[CONTAINER_NAME_LABEL] ?? '',
        startTime: formatTime(status?.containers.find(({ id }) => id === stats.attributes?.id)?.startedAt ?? 0),
        ...cpuAndMemory(stats.cpu, stats.memory),
      })),
    ...cpuAndMemory(sandbox.linux?.cpu, sandbox.linux?.memory),
  };
}

function cpuAndMemory(cpu: ContainerStats['cpu'], memory: ContainerStats['memory']): Readonly<Record<string, Usage>> {
  return {
    ...(cpu !== undefined
      ? {
          cpu: {
            ...timeOf(cpu.timestamp),
            ...(cpu.usageNanoCores !== undefined ? { usageNanoCores: cpu.usageNanoCores.value } : {}),
            ...(cpu.usageCoreNanoSeconds !== undefined ? { usageCoreNanoSeconds: cpu.usageCoreNanoSeconds.value } : {}),
          },
        }
      : {}),
    ...(memory !== undefined
      ? {
          memory: {
            ...timeOf(memory.timestamp),
            ...(memory.usageBytes !== undefined ? { usageBytes: memory.usageBytes.value } : {}),
            ...(memory.workingSetBytes !== undefined ? { workingSetBytes: memory.workingSetBytes.value } : {}),
            ...(memory.rssBytes !== undefined ? { rssBytes: memory.rssBytes.value } : {}),
          },
        }
      : {}),
  };
}

function timeOf(nanoseconds: number): { readonly time: string } {
  return { time: timestamp(nanoseconds / 1e6) };
}
