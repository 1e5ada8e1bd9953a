// The statistics of containers and pods in namespaces: of cgroups, of what a container has written to
// its root, and of a pod's interfaces.

import { complete, type ContainerStats, type PodSandboxStats } from '#cri/index.ts';
import { attributesOf } from '../../pod-table.ts';
import type { ContainerRecord, SandboxRecord } from '../../records.ts';
import type { Isolation } from './isolation.ts';

interface Counted {
  readonly record: ContainerRecord;
  readonly running: boolean;
}

interface CountedPod {
  readonly record: SandboxRecord;
  readonly containers: readonly Counted[];
}

const value = (number: number | undefined): { readonly value: number } | undefined =>
  number === undefined ? undefined : { value: number };

/** Returns the statistics of a container. Without cgroups, all but its files is 0. */
export async function isolatedContainerStats(
  isolation: Isolation,
  { record, running }: Counted,
  sandbox: SandboxRecord,
  timestamp: number,
): Promise<ContainerStats> {
  const usage = running ? isolation.usage(record, sandbox.config) : undefined;
  const { bytes, inodes } = await isolation.changedFiles(record);
  return complete('ContainerStats', {
    attributes: attributesOf(record),
    cpu: { timestamp, usageCoreNanoSeconds: value(usage?.cpuNanoseconds ?? 0) },
    memory: {
      timestamp,
      workingSetBytes: value(usage?.workingSetBytes ?? 0),
      availableBytes: value(usage?.availableBytes),
      usageBytes: value(usage?.usageBytes ?? 0),
      rssBytes: value(usage?.residentBytes ?? 0),
      pageFaults: value(usage?.pageFaults ?? 0),
      majorPageFaults: value(usage?.majorPageFaults ?? 0),
    },
    writableLayer: {
      timestamp,
      fsId: { mountpoint: isolation.images.dir },
      usedBytes: value(bytes),
      inodesUsed: value(inodes),
    },
  });
}

/** Returns the statistics of a pod: the sums of its running containers', and its network's. */
export async function isolatedSandboxStats(
  isolation: Isolation,
  { record, containers }: CountedPod,
  timestamp: number,
): Promise<PodSandboxStats> {
  const running = containers.filter((container) => container.running);
  const stats = await Promise.all(
    running.map((container) => isolatedContainerStats(isolation, container, record, timestamp)),
  );
  const sum = (of: (one: ContainerStats) => number | undefined): { value: number } => ({
    value: stats.reduce((total, one) => total + (of(one) ?? 0), 0),
  });
  const interfaces = (await isolation.pods.interfaces(record)).map(
    ({ name, receive, transmit }) => ({
      name,
      rxBytes: value(receive[0]),
      rxErrors: value(receive[2]),
      txBytes: value(transmit[0]),
      txErrors: value(transmit[2]),
    }),
  );
  const processes = running.map(
    (container) => isolation.usage(container.record, record.config)?.processes ?? 0,
  );
  return complete('PodSandboxStats', {
    attributes: attributesOf(record),
    linux: {
      cpu: { timestamp, usageCoreNanoSeconds: sum(({ cpu }) => cpu?.usageCoreNanoSeconds?.value) },
      memory: {
        timestamp,
        workingSetBytes: sum(({ memory }) => memory?.workingSetBytes?.value),
        usageBytes: sum(({ memory }) => memory?.usageBytes?.value),
        rssBytes: sum(({ memory }) => memory?.rssBytes?.value),
        pageFaults: sum(({ memory }) => memory?.pageFaults?.value),
        majorPageFaults: sum(({ memory }) => memory?.majorPageFaults?.value),
      },
      ...(interfaces.length > 0 && {
        network: { timestamp, defaultInterface: interfaces[0], interfaces },
      }),
      process: {
        timestamp,
        processCount: { value: processes.reduce((total, count) => total + count, 0) },
      },
      containers: stats,
    },
  });
}
