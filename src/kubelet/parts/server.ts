// Composes the server of the node.

import { join } from 'node:path';
import { versionInfo } from '#machinery/version-info.ts';
import type { Allocations } from '../allocations.ts';
import { CgroupReader } from '../cgroups/reader.ts';
import type { CgroupSystem } from '../cgroups/system.ts';
import type { KubeletConfig } from '../config.ts';
import { kubeletConfiguration } from '../configz.ts';
import type { Csi } from '../csi.ts';
import type { DesiredPods } from '../desired-pods.ts';
import type { PodEvents } from '../events.ts';
import type { KubeletGauges } from '../metrics/kubelet-metrics.ts';
import { LinuxSystem } from '../node/linux-system.ts';
import { linuxCgroups } from '../node/linux-cgroups.ts';
import { MachineDetails, SimulatedDetails } from '../node/node-details.ts';
import type { NodeFactsSource } from '../node/node-facts.ts';
import { MachineUsage, SimulatedUsage } from '../node/node-usage.ts';
import { processFiles } from '../node/process-files.ts';
import { ownCgroup, SystemContainers } from '../node/system-containers.ts';
import { UsageRates } from '../node/usage-rates.ts';
import { readUsage } from '../node/usage.ts';
import { checkpointsDir } from '../paths.ts';
import type { Pleg } from '../pleg.ts';
import { isRunning, type RuntimePodStatus } from '../pod/pod-status.ts';
import { amountOf } from '../pod/resources.ts';
import type { ProbeManager } from '../probes/probe-manager.ts';
import { ApiAccess } from '../server/access.ts';
import { runningPod } from '../server/running-pods.ts';
import { KubeletServer } from '../server/server.ts';
import { isStaticPod } from '../static-pods/static-pods.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { podUid, type Pod } from '../types.ts';
import { LocalVolumeError, removeLocalVolume } from '../volumes/local-volumes.ts';
import { PodFilesReader } from '../volume-stats/pod-files-reader.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { Base } from './base.ts';
import type { Settings } from './settings.ts';

const DEFAULT_KUBELET_VERSION = 'v1.36.3';

export interface ServerParts {
  readonly base: Base;
  readonly csi: Csi;
  readonly podEvents: PodEvents;
  readonly settings: Settings;
  readonly node: NodeFactsSource;
  /** The node's memory, in bytes. */
  readonly memoryCapacity: number;
  readonly desired: DesiredPods;
  readonly pleg: Pleg;
  readonly statuses: StatusManager;
  readonly probes: ProbeManager;
  readonly volumes: VolumeManager;
  readonly allocations: Allocations;
}

export function makeServer(parts: ServerParts): KubeletServer {
  const { base, settings, node, memoryCapacity, desired, pleg, statuses, probes, volumes, csi } =
    parts;
  const { config, metrics, logger } = base;
  const { client, clock } = config;
  const { hostFiles, podLogsDir, localVolumesDir, mounter } = settings;
  // The machine of a simulated node is not the node: the usage of the node is that of its
  // containers.
  const rates = new UsageRates();
  const nodeUsage = hostFiles ? new MachineUsage(clock) : new SimulatedUsage(clock, memoryCapacity);
  const cgroups = hostFiles ? linuxCgroups() : undefined;
  const runtimeStatus = (uid: string): RuntimePodStatus | undefined => pleg.get(uid);
  const withStatus = (pod: Pod): Pod => {
    const status = statuses.get(podUid(pod));
    return status === undefined ? pod : { ...pod, status };
  };
  return new KubeletServer({
    clock,
    logger,
    access: new ApiAccess({ client, clock, nodeName: config.nodeName, settings: config.access }),
    metrics,
    gauges: makeGauges(parts),
    probeMetrics: () => probes.metrics.text(),
    runningPods: () => [...pleg.pods()].filter(isRunning).map(runningPod),
    usage: () =>
      readUsage({ runtime: base.runtime.runtime, node: nodeUsage, rates, runtimeStatus }),
    details: hostFiles
      ? new MachineDetails({ clock, rootDir: settings.rootDir, images: base.runtime.images })
      : new SimulatedDetails(
          clock,
          amountOf('ephemeral-storage', node.capacity['ephemeral-storage'] ?? '0'),
        ),
    ...(hostFiles && {
      files: new PodFilesReader({
        system: config.nodeSystem ?? new LinuxSystem(),
        clock,
        logger,
        rootDir: settings.rootDir,
        podLogsDir,
        mountedVolumes: (uid) => volumes.mountedVolumes(uid),
        isLocalVolume: (uid, path) => volumes.isLocalVolume(uid, path),
        driverStats: (uid, path, signal) => csi.volumes.stats(uid, path, signal),
        onAbnormal: (pod, name, message) =>
          parts.podEvents.warning(pod, 'VolumeConditionAbnormal', `Volume ${name}: ${message}`),
        signal: base.signal,
      }),
    }),
    ...(cgroups !== undefined && {
      cgroups: new CgroupReader(cgroups, processFiles()),
      systemContainers: systemContainers(config, cgroups),
    }),
    machine: () => ({
      cpuCores: amountOf('cpu', node.capacity['cpu'] ?? '0') / 1000,
      memoryBytes: memoryCapacity,
      machineID: node.machine.machineID,
      systemUUID: node.machine.systemUUID,
      bootID: node.machine.bootID,
      kernelVersion: node.machine.kernelVersion,
      osVersion: node.machine.osImage,
    }),
    configuration: (port) =>
      kubeletConfiguration({
        config,
        port,
        maxPods: Number(node.capacity['pods'] ?? config.maxPods ?? 110),
        podLogsDir,
      }),
    runtime: base.runtime,
    podLogsDir,
    checkpointsDir: checkpointsDir(settings.rootDir),
    ...(config.systemLogsDir !== undefined && { systemLogsDir: config.systemLogsDir }),
    pods: () => [...desired.values()].map(withStatus),
    completePods: () => pleg.completeAll(),
    runtimeStatus,
    removeLocalVolume: async (name) => {
      if (volumes.usesPath(join(localVolumesDir, name)))
        throw new LocalVolumeError(`volume ${name} is in use`);
      if (hostFiles) await removeLocalVolume(name, localVolumesDir, mounter);
    },
    startedAt: clock.now(),
    nodeName: config.nodeName,
    version: versionInfo(config.kubeletVersion ?? DEFAULT_KUBELET_VERSION),
    flags: config.flags,
    ...(config.otherMetrics !== undefined && { otherMetrics: config.otherMetrics }),
    ...(config.server !== undefined ? { listen: config.server } : {}),
  });
}

function systemContainers(
  { clock, cgroupRoot }: KubeletConfig,
  cgroups: CgroupSystem,
): SystemContainers {
  const kubelet = ownCgroup();
  return new SystemContainers({
    clock,
    cgroups,
    ...(kubelet !== undefined && { kubelet }),
    ...(cgroupRoot !== undefined && { pods: join('/', cgroupRoot, 'kubepods') }),
    startedAt: clock.now(),
  });
}

function makeGauges(parts: ServerParts): KubeletGauges {
  const { base, desired, pleg, allocations, statuses, volumes } = parts;
  const { nodeName, clock } = base.config;
  return {
    nodeName,
    runningPods: () =>
      [...pleg.pods()].filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length,
    containers: () => countContainers(pleg.pods()),
    desiredPods: () => {
      const all = [...desired.values()];
      const fromFiles = all.filter(isStaticPod).length;
      return { api: all.length - fromFiles, static: fromFiles };
    },
    resizes: () => ({
      ...allocations.countPending(),
      inProgress: [...desired.values()].filter((pod) =>
        statuses.get(podUid(pod))?.conditions?.some(({ type }) => type === 'PodResizeInProgress'),
      ).length,
    }),
    volumes: () => volumes.counts.counts(),
    lastRelist: () => Math.max(0, clock.now() - (clock.monotonic() - pleg.lastRelist)),
  };
}

function countContainers(
  all: Iterable<RuntimePodStatus>,
): Record<'created' | 'running' | 'exited' | 'unknown', number> {
  const counts = { created: 0, running: 0, exited: 0, unknown: 0 };
  for (const { containers } of all) for (const { state } of containers) counts[state]++;
  return counts;
}
