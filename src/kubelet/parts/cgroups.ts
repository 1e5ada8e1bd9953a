// Composes the cgroups of the node and its pods.

import type { Logger } from '#machinery/log.ts';
import type { ActivePods } from '../active-pods.ts';
import { podsLimit } from '../allocatable.ts';
import type { KubeletConfig } from '../config.ts';
import { LinuxCgroups } from '../node/writable-cgroups.ts';
import { DEFAULT_EVICTION } from '../eviction/settings.ts';
import { PodCgroups } from '../pod-cgroups/pod-cgroups.ts';
import { sharesOf } from '../pod-cgroups/settings.ts';
import { amounts } from '../pod/resources.ts';
import type { ResourceManagers } from '../resource-managers/resource-managers.ts';
import type { ResourceList } from '../types.ts';

/** Creates the cgroups of the node. Rejects if the kernel does not allow it. */
export async function makeCgroups(
  config: KubeletConfig,
  capacity: ResourceList,
  active: ActivePods,
  managers: ResourceManagers | undefined,
  logger: Logger,
): Promise<PodCgroups | undefined> {
  const { cgroupRoot: root, kubeReserved, systemReserved, podPidsLimit } = config;
  if (root === undefined) return undefined;
  const limit = amounts(
    podsLimit(capacity, {
      ...(kubeReserved !== undefined && { kubeReserved }),
      ...(systemReserved !== undefined && { systemReserved }),
    }),
  );
  const memoryBytes = limit.get('memory');
  const isEnforced = { ...DEFAULT_EVICTION, ...config.eviction }.enforceAllocatable;
  const cgroups = new PodCgroups({
    system: config.cgroupSystem ?? (await LinuxCgroups.open()),
    logger,
    root,
    node: {
      cpuShares: sharesOf(limit.get('cpu') ?? 0),
      ...(isEnforced && memoryBytes !== undefined && { memoryBytes }),
    },
    maxProcessesPerPod: podPidsLimit,
    activePods: () => active.list(),
    hasExclusiveCpus: (pod) => managers?.hasExclusiveCpus(pod) === true,
  });
  await cgroups.start();
  return cgroups;
}
