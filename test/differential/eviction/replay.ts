// Plays a case with our eviction manager, and returns its actions in the form of upstream's answers.

import { endedStatus } from '#kubelet/end-pod.ts';
import { EVICTED } from '#kubelet/eviction/admission.ts';
import type { Eviction } from '#kubelet/eviction/decide.ts';
import { EvictionManager } from '#kubelet/eviction/manager.ts';
import type { Observation, Observations } from '#kubelet/eviction/observations.ts';
import type { FsUsage } from '#kubelet/node/system.ts';
import type { PodStats, StatsOfPods } from '#kubelet/eviction/pod-stats.ts';
import type { Signal } from '#kubelet/eviction/signals.ts';
import { parseThresholds } from '#kubelet/eviction/thresholds.ts';
import type { Pod, PodStatus } from '#kubelet/types.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import type { Case, Step } from './cases.ts';

export interface Answer {
  readonly Conditions: readonly string[];
  /** 'OBJECT TYPE REASON MESSAGE ANNOTATIONS'. */
  readonly Events: readonly string[];
  readonly Kills: readonly {
    readonly Pod: string;
    readonly Grace: number;
    readonly Status: PodStatus;
  }[];
  readonly Reclaims: readonly string[];
}

interface Summary {
  readonly node: {
    readonly memory: { readonly availableBytes: number; readonly workingSetBytes: number };
    readonly fs: Disk;
    readonly runtime: { readonly imageFs: Disk; readonly containerFs: Disk };
    readonly rlimit: { readonly maxpid: number; readonly curproc: number };
  };
  readonly pods: readonly PodSummary[];
}
interface Disk {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}
interface PodSummary {
  readonly podRef: { readonly uid: string };
  readonly memory: { readonly workingSetBytes: number };
  readonly process_stats: { readonly process_count: number };
  readonly containers: readonly {
    readonly name: string;
    readonly memory: { readonly workingSetBytes: number };
    readonly rootfs: FsUsage;
    readonly logs: FsUsage;
  }[];
  readonly volume: readonly ({ readonly name: string } & FsUsage)[];
}

/** The manager of a case runs on the time of its steps. */
class StepClock extends VirtualClock {
  time = 0;
  override now(): number {
    return this.time;
  }
}

export async function play(input: Case): Promise<readonly Answer[]> {
  const clock = new StepClock();
  let step: Step | undefined;
  let isFreed = false;
  let events: string[] = [];
  let kills: Answer['Kills'][number][] = [];
  let reclaims: string[] = [];
  const current = (): Summary => (isFreed ? step?.After : step?.Before) as unknown as Summary;
  const event = (object: string, reason: string, message: string, annotations: object): void => {
    events.push(`${object} Warning ${reason} ${message} ${sortedJson(annotations)}`);
  };
  const manager = new EvictionManager({
    clock,
    logger: silentLogger,
    observer: {
      layout: () =>
        Promise.resolve({ dedicatedImageFs: input.ImageFs, splitContainerFs: input.Split }),
      observeNode: () => Promise.resolve(observationsOf(current(), clock.time)),
      observePods: (pods) => Promise.resolve(statsOf(current(), pods)),
    },
    thresholds: parseThresholds({
      hard: input.Hard,
      soft: input.Soft,
      softGracePeriod: input.Grace,
      minimumReclaim: input.MinReclaim,
      enforceAllocatable: input.Allocatable,
    }),
    pressureTransitionMs: input.TransitionMs,
    maxPodGracePeriodSeconds: input.MaxGrace,
    localStorageIsolation: true,
    monitoringMs: 10_000,
    activePods: () => (step?.Pods ?? []) as unknown as readonly Pod[],
    evict: (eviction) => {
      const { pod, message, annotations, gracePeriodSeconds } = eviction;
      event(pod.metadata.name, EVICTED, message, annotations);
      kills.push({
        Pod: pod.metadata.name,
        Grace: gracePeriodSeconds,
        Status: statusOf(eviction),
      });
      return Promise.resolve();
    },
    isCleanedUp: () => true,
    reclaim: {
      containers: () => Promise.resolve(void reclaims.push('containers')),
      images: () => Promise.resolve(void reclaims.push('images')),
    },
    onReclaim: ({ resource, nodeLevel }) => {
      event('node', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`, {});
      isFreed = nodeLevel.length > 0;
    },
    onConditions: () => undefined,
  });
  const answers: Answer[] = [];
  for (const next of input.Steps) {
    [step, isFreed, events, kills, reclaims] = [next, false, [], [], []];
    clock.time = next.NowMs;
    await manager.synchronize(new AbortController().signal);
    const Conditions = [...manager.conditions].toSorted();
    answers.push({ Conditions, Events: events, Kills: kills, Reclaims: reclaims });
  }
  // As upstream's answers are: without fields that are undefined.
  return JSON.parse(JSON.stringify(answers)) as readonly Answer[];
}

function statusOf({ pod, message, disruption }: Eviction): PodStatus {
  return endedStatus(
    pod,
    {},
    {
      reason: EVICTED,
      message,
      ...(disruption && { disruption: message }),
    },
  );
}

function observationsOf({ node }: Summary, time: number): Observations {
  const observations = new Map<Signal, Observation>();
  const { availableBytes, workingSetBytes } = node.memory;
  const { maxpid, curproc } = node.rlimit;
  const add = (signal: Signal, available: number, capacity: number): void =>
    void observations.set(signal, { available, capacity, time });
  add('memory.available', availableBytes, availableBytes + workingSetBytes);
  add('pid.available', maxpid - curproc, maxpid);
  for (const [name, disk] of [
    ['nodefs', node.fs],
    ['imagefs', node.runtime.imageFs],
    ['containerfs', node.runtime.containerFs],
  ] as const) {
    add(`${name}.available`, disk.availableBytes, disk.capacityBytes);
    add(`${name}.inodesFree`, disk.inodesFree, disk.inodes);
  }
  return observations;
}

function statsOf({ pods }: Summary, wanted: readonly Pod[]): StatsOfPods {
  const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
  return new Map(
    pods
      .filter(({ podRef }) => uids.has(podRef.uid))
      .map((pod): [string, PodStats] => [
        pod.podRef.uid,
        {
          memoryBytes: pod.memory.workingSetBytes,
          processes: pod.process_stats.process_count,
          containers: pod.containers.map(({ name, memory, rootfs, logs }) => ({
            name,
            memoryBytes: memory.workingSetBytes,
            rootfs,
            logs,
          })),
          volumes: new Map(pod.volume.map((volume) => [volume.name, volume])),
        },
      ]),
  );
}

function sortedJson(value: object): string {
  return JSON.stringify(Object.fromEntries(Object.entries(value).toSorted()));
}
