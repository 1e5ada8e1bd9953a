// The usage of simulated containers and pods, which their annotations choose.

import { complete, type ContainerStats, type PodSandboxStats } from '#cri/index.ts';
import { attributesOf, type Sandbox } from '../pod-table.ts';
import type { SimulatedContainer } from './container.ts';
import { usageAt, usageUntil } from './usage-schedule.ts';

/** Returns the usage of a container. `now`: in nanoseconds. */
export function containerStats(container: SimulatedContainer, now: number): ContainerStats {
  const { record, running } = container;
  const memory = { value: running ? memoryOf(container, now) : 0 };
  return complete('ContainerStats', {
    attributes: attributesOf(record),
    cpu: {
      timestamp: now,
      usageCoreNanoSeconds: { value: cpuTime(container, now) },
      usageNanoCores: { value: running ? nanoCoresOf(container, now) : 0 },
    },
    memory: { timestamp: now, workingSetBytes: memory, usageBytes: memory, rssBytes: memory },
    writableLayer: {
      timestamp: now,
      fsId: { mountpoint: '/' },
      usedBytes: { value: 0 },
      inodesUsed: { value: 0 },
    },
  });
}

/**
 * Returns the CPU time since the container's start, in nanoseconds; a start alone takes a
 * microsecond.
 */
function cpuTime({ record, simulation }: SimulatedContainer, now: number): number {
  const { startedAt, finishedAt } = record;
  if (startedAt === 0) return 0;
  const ageMs = ((finishedAt || now) - startedAt) / 1e6;
  return Math.floor(usageUntil(simulation.cpu, ageMs) * 1e6) + 1000;
}

function nanoCoresOf(
  { record: { startedAt }, simulation }: SimulatedContainer,
  now: number,
): number {
  return Math.round(usageAt(simulation.cpu, (now - startedAt) / 1e6) * 1e9);
}

function memoryOf({ record: { startedAt }, simulation }: SimulatedContainer, now: number): number {
  return Math.floor(usageAt(simulation.memory, (now - startedAt) / 1e6));
}

/** Returns the usage of a pod: the sums of its running containers. `now`: in nanoseconds. */
export function sandboxStats(
  { record, containers }: Sandbox<SimulatedContainer>,
  now: number,
): PodSandboxStats {
  const running = containers.filter((container) => container.running);
  const sum = (value: (container: SimulatedContainer) => number): { value: number } => ({
    value: running.reduce((total, container) => total + value(container), 0),
  });
  const memory = sum((container) => memoryOf(container, now));
  return complete('PodSandboxStats', {
    attributes: attributesOf(record),
    linux: {
      cpu: {
        timestamp: now,
        usageCoreNanoSeconds: sum((container) => cpuTime(container, now)),
        usageNanoCores: sum((container) => nanoCoresOf(container, now)),
      },
      memory: { timestamp: now, workingSetBytes: memory, usageBytes: memory, rssBytes: memory },
      process: { timestamp: now, processCount: { value: running.length } },
      containers: running.map((container) => containerStats(container, now)),
    },
  });
}
