// Composes what keeps a node from running out of resources: the eviction manager and the garbage
// collection of images.

import type { ImageService, RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { ActivePods } from './active-pods.ts';
import type { PodCgroups } from './cgroups/pod-cgroups.ts';
import { endPod } from './end-pod.ts';
import type { PodEvents } from './events.ts';
import type { Eviction } from './eviction/decide.ts';
import { EVICTED } from './eviction/admission.ts';
import { EvictionManager } from './eviction/manager.ts';
import { NodeObserver } from './eviction/observer.ts';
import type { EvictionSettings } from './eviction/settings.ts';
import type { NodeSystem } from './node/system.ts';
import type { Threshold } from './eviction/thresholds.ts';
import type { GarbageCollector } from './garbage.ts';
import { ImageGarbage } from './images/image-garbage.ts';
import type { ImageGcPolicy } from './images/image-records.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import type { NodeEvents } from './node/node-events.ts';
import type { Pleg } from './pleg.ts';
import type { PodWorkers } from './pod-workers.ts';
import type { Pod } from './types.ts';

export interface PressureConfig {
  readonly system: NodeSystem;
  readonly eviction: EvictionSettings;
  readonly thresholds: readonly Threshold[];
  readonly imageGc: ImageGcPolicy;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly metrics: KubeletMetrics;
  readonly events: PodEvents;
  readonly nodeEvents: NodeEvents;
  readonly active: ActivePods;
  readonly workers: PodWorkers;
  readonly pleg: Pleg;
  readonly garbage: GarbageCollector;
  /** Absent: pods have no cgroups of their own. */
  readonly cgroups: PodCgroups | undefined;
  /** Called when the conditions of the node have changed. */
  readonly onConditions: () => void;
}

export interface Pressure {
  readonly evictions: EvictionManager;
  readonly imageGarbage: ImageGarbage;
}

export function makePressure(config: PressureConfig): Pressure {
  const { system, clock, logger, runtime, images, pleg, metrics, nodeEvents, eviction } = config;
  const { cgroups } = config;
  const observer = new NodeObserver({
    system,
    runtime,
    images,
    clock,
    logger,
    rootDir: config.rootDir,
    podLogsDir: config.podLogsDir,
    podCgroup: (uid) => cgroups?.usageOf(uid) ?? Promise.resolve(undefined),
    podsMemory: () => cgroups?.podsMemory() ?? Promise.resolve(undefined),
    volumeStatsMs: eviction.volumeStatsMs,
  });
  const imageGarbage = new ImageGarbage({
    clock,
    logger,
    images,
    runtime,
    policy: config.imageGc,
    volumeImages: () => volumeImages(config.active.list()),
    fileSystem: () => observer.imageFileSystem(),
    warn: (reason, message) => nodeEvents.warning(reason, message),
    onRemoved: (reason) => metrics.imageCollected(reason),
  });
  const evictions = new EvictionManager({
    clock,
    logger,
    observer,
    thresholds: config.thresholds,
    pressureTransitionMs: eviction.pressureTransitionMs,
    maxPodGracePeriodSeconds: eviction.maxPodGracePeriodSeconds,
    localStorageIsolation: eviction.localStorageIsolation,
    monitoringMs: eviction.monitoringMs,
    activePods: () => config.active.list(),
    evict: (one, signal) => evict(config, one, signal),
    isCleanedUp: (uid) => config.workers.isFinished(uid) && !hasContainers(pleg, uid),
    reclaim: {
      containers: (signal) => removeEndedPods(config, signal),
      images: (signal) => imageGarbage.removeUnused(signal),
    },
    onReclaim: ({ resource, observedAt, eviction: chosen }) => {
      nodeEvents.warning('EvictionThresholdMet', `Attempting to reclaim ${resource}`);
      if (chosen === undefined) return;
      for (const [signal, time] of observedAt)
        metrics.evictionBasedOn(signal, Math.max(0, clock.now() - time) / 1000);
    },
    onConditions: config.onConditions,
  });
  return { evictions, imageGarbage };
}

async function evict(config: PressureConfig, one: Eviction, signal: AbortSignal): Promise<void> {
  const { events, metrics } = config;
  const { pod, message, annotations } = one;
  events.warning(pod, EVICTED, message, annotations);
  metrics.podEvicted(one.signal);
  await endPod(config, pod, {
    reason: EVICTED,
    message,
    gracePeriodSeconds: one.gracePeriodSeconds,
    ...(one.disruption && { disruption: message }),
    signal,
  });
}

/** Removes the ended containers of one pod. A failure is logged, and tried again under pressure. */
export async function removeEndedPod(
  uid: string,
  {
    pleg,
    garbage,
    logger,
    signal,
  }: Pick<PressureConfig, 'pleg' | 'garbage' | 'logger'> & {
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const status = pleg.get(uid);
  if (status === undefined) return;
  try {
    await garbage.removeEnded(status);
    await pleg.refresh(uid);
  } catch (error) {
    if (!signal.aborted) logger.warn('containers of an ended pod not removed', { uid, err: error });
  }
}

/** Removes containers of pods that have ended, as well as of those that were ended by evictions. */
async function removeEndedPods(
  { workers, pleg, garbage }: PressureConfig,
  signal: AbortSignal,
): Promise<void> {
  for (const status of pleg.pods()) {
    signal.throwIfAborted();
    if (workers.isFinished(status.uid)) {
      await garbage.removeEnded(status);
      await pleg.refresh(status.uid);
    } else await garbage.collect(status);
  }
}

function hasContainers(pleg: Pleg, uid: string): boolean {
  return (pleg.get(uid)?.containers.length ?? 0) > 0;
}

function volumeImages(pods: readonly Pod[]): ReadonlySet<string> {
  return new Set(
    pods.flatMap(({ spec }) => (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? [])),
  );
}
