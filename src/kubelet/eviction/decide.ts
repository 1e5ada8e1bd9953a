// Decides what to do about the resources of a node, as a pure function of observations: the
// conditions of the Node, pods to evict, and what the node itself can free first.

import { podUid, type Pod } from '../types.ts';
import { isCriticalPod } from './critical.ts';
import { evictionMessage } from './message.ts';
import type { Observations } from './observations.ts';
import type { StatsOfPods } from './pod-stats.ts';
import { rankPods } from './rank.ts';
import {
  conditionOf,
  isDiskSignal,
  isMemorySignal,
  type PressureCondition,
  resourceOf,
  type Signal,
  type StarvedResource,
} from './signals.ts';
import { type StorageLimitSignal, storageViolation } from './storage-limits.ts';
import { type DiskLayout, isHard, type Threshold, thresholdQuantity } from './thresholds.ts';

export interface EvictionPolicy {
  /** With those of containerfs derived. */
  readonly thresholds: readonly Threshold[];
  readonly layout: DiskLayout;
  /** A condition holds this long after its thresholds were last met. */
  readonly pressureTransitionMs: number;
  /** The maximum grace period of pods that are evicted for a soft threshold, in seconds. */
  readonly maxPodGracePeriodSeconds: number;
}

/** The memory of past observations that the next decision needs. */
export interface EvictionState {
  readonly conditions: readonly PressureCondition[];
  /** The wall-clock time at which a condition's threshold was last met, in milliseconds. */
  readonly conditionObservedAt: ReadonlyMap<PressureCondition, number>;
  /** Since when thresholds have been met. */
  readonly metSince: ReadonlyMap<Threshold, number>;
  /** Thresholds that were met for their grace period, and not resolved since. */
  readonly met: readonly Threshold[];
  readonly observations: Observations;
}

export const INITIAL_STATE: EvictionState = {
  conditions: [],
  conditionObservedAt: new Map(),
  metSince: new Map(),
  met: [],
  observations: new Map(),
};

export interface Eviction {
  readonly pod: Pod;
  readonly signal: Signal | StorageLimitSignal;
  readonly gracePeriodSeconds: number;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Whether the pod gets the condition DisruptionTarget: the node is the reason, not the pod. */
  readonly disruption: boolean;
}

/** The kinds of garbage that the node can free without ending pods, in this order. */
export type NodeReclaim = 'containers' | 'images';

export interface Reclaim {
  readonly threshold: Threshold;
  readonly resource: StarvedResource;
  readonly nodeLevel: readonly NodeReclaim[];
  /** The pod to evict if that is not enough. Absent: no pod may be evicted. */
  readonly eviction: Eviction | undefined;
  /** The signals that were acted on, with the times of their measurements. */
  readonly observedAt: ReadonlyMap<Signal, number>;
}

export interface Decision {
  readonly state: EvictionState;
  /** Pods above their own limits, all to be evicted at once. */
  readonly violations: readonly Eviction[];
  readonly reclaim: Reclaim | undefined;
}

export interface EvictionInput {
  readonly state: EvictionState;
  readonly policy: EvictionPolicy;
  readonly observations: Observations;
  readonly pods: readonly Pod[];
  readonly stats: StatsOfPods;
  /** The wall-clock time in milliseconds. */
  readonly now: number;
}

/** The grace period of pods that must go at once. */
const IMMEDIATE_SECONDS = 1;

export function decide(input: EvictionInput): Decision {
  const { policy, observations, now } = input;
  const { state, due } = advance(input);
  const violations = findViolations(input);
  const first = due.toSorted(byEvictionPriority)[0];
  // Pods above their limits may be the reason for the pressure: their eviction comes first.
  if (violations.length > 0 || first === undefined)
    return { state, violations, reclaim: undefined };
  const resource = resourceOf(first.signal);
  return {
    state,
    violations,
    reclaim: {
      threshold: first,
      resource,
      nodeLevel: nodeLevelReclaims(first.signal, policy.layout),
      eviction: chooseEviction(input, first, due),
      observedAt: new Map(due.map(({ signal }) => [signal, observations.get(signal)?.time ?? now])),
    },
  };
}

/** Returns the thresholds that are met, or were met and are not resolved by their minimum reclaim. */
export function pressing(
  { met }: EvictionState,
  { thresholds }: EvictionPolicy,
  observations: Observations,
): readonly Threshold[] {
  const now = thresholds.filter((threshold) => isMet(threshold, observations, false));
  const unresolved = met.filter(
    (threshold) => !now.includes(threshold) && isMet(threshold, observations, true),
  );
  return [...now, ...unresolved];
}

/** Reports whether the observations satisfy all thresholds with their minimum reclaim. */
export function isRelieved({ thresholds }: EvictionPolicy, observations: Observations): boolean {
  return !thresholds.some((threshold) => isMet(threshold, observations, true));
}

/** Returns the next state, and the thresholds to act on now. */
function advance({ state, policy, observations, now }: EvictionInput): {
  readonly state: EvictionState;
  readonly due: readonly Threshold[];
} {
  const current = pressing(state, policy, observations);
  const metSince = new Map(
    current.map((threshold) => [threshold, state.metSince.get(threshold) ?? now]),
  );
  const conditionObservedAt = new Map([
    ...state.conditionObservedAt,
    ...current.map(({ signal }) => [conditionOf(signal), now] as const),
  ]);
  const conditions = [...conditionObservedAt]
    .filter(([, at]) => now - at < policy.pressureTransitionMs)
    .map(([condition]) => condition);
  const met = current.filter(
    (threshold) => now - (metSince.get(threshold) ?? now) >= threshold.graceMs,
  );
  // A measurement that was acted on says nothing about the effect of the action.
  const due = met.filter(({ signal }) => {
    const time = observations.get(signal)?.time ?? 0;
    return time > (state.observations.get(signal)?.time ?? Number.NEGATIVE_INFINITY);
  });
  return { state: { conditions, conditionObservedAt, metSince, met, observations }, due };
}

function isMet(
  { signal, value, minReclaim }: Threshold,
  observations: Observations,
  withReclaim: boolean,
): boolean {
  const observed = observations.get(signal);
  if (observed === undefined) return false;
  let least = thresholdQuantity(value, observed.capacity).toNumber();
  if (withReclaim && minReclaim !== undefined)
    least += thresholdQuantity(minReclaim, observed.capacity).toNumber();
  return least > observed.available;
}

function findViolations({ pods, stats, policy }: EvictionInput): readonly Eviction[] {
  return pods.flatMap((pod) => {
    const usage = stats.get(podUid(pod));
    if (usage === undefined || isCriticalPod(pod)) return [];
    const violation = storageViolation(pod, usage, policy.layout.dedicatedImageFs);
    if (violation === undefined) return [];
    return [
      {
        ...violation,
        pod,
        gracePeriodSeconds: IMMEDIATE_SECONDS,
        annotations: {},
        disruption: false,
      },
    ];
  });
}

/** Memory precedes all other resources. */
function byEvictionPriority(a: Threshold, b: Threshold): number {
  return Number(isMemorySignal(b.signal)) - Number(isMemorySignal(a.signal));
}

function chooseEviction(
  { pods, stats, policy, observations }: EvictionInput,
  threshold: Threshold,
  due: readonly Threshold[],
): Eviction | undefined {
  const ranked = rankPods(pods, stats, threshold.signal, policy.layout);
  const pod = ranked.find((candidate) => !isCriticalPod(candidate));
  if (pod === undefined) return undefined;
  const own = pod.spec.terminationGracePeriodSeconds ?? Number.POSITIVE_INFINITY;
  return {
    pod,
    signal: threshold.signal,
    gracePeriodSeconds: isHard(threshold)
      ? IMMEDIATE_SECONDS
      : Math.min(policy.maxPodGracePeriodSeconds, own),
    ...evictionMessage(
      resourceOf(threshold.signal),
      pod,
      stats.get(podUid(pod)),
      due,
      observations,
    ),
    disruption: true,
  };
}

/** Returns what may free space on the file system of the signal. */
function nodeLevelReclaims(signal: Signal, layout: DiskLayout): readonly NodeReclaim[] {
  if (!isDiskSignal(signal)) return [];
  if (!layout.dedicatedImageFs) return ['containers', 'images'];
  if (layout.splitContainerFs) return signal.startsWith('imagefs.') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs.') ? [] : ['containers', 'images'];
}
