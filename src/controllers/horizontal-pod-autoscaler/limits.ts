// Limits the recommendation of the metrics to the change that is allowed now, as pure functions.
// Recent recommendations limit it (stabilization), and so do recent changes (policies). The
// algorithm is upstream's.

import { scaleDownRules, scaleUpRules } from '#api/groups/autoscaling/v2/defaults.ts';
import type { HorizontalPodAutoscaler, HPAScalingRules } from '#api/groups/autoscaling/v2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Behavior = Immutable<NonNullable<HorizontalPodAutoscaler['spec']['behavior']>>;
type Rules = Immutable<HPAScalingRules>;

/** The default stabilization window for scaling down. */
const DOWNSCALE_STABILIZATION_MS = 5 * 60_000;
/** Without policies, one step at most doubles the pods, or reaches the minimum limit. */
const SCALE_UP_FACTOR = 2;
const SCALE_UP_MINIMUM = 4;

/** An amount at a time, in milliseconds on any one scale. */
export interface Timed {
  readonly at: number;
  readonly replicas: number;
}

/** The history of an autoscaler. */
export interface Past {
  /** The recent recommendations of the metrics. */
  readonly recommendations: readonly Timed[];
  /** By how many pods the target grew and shrank; never negative. */
  readonly ups: readonly Timed[];
  readonly downs: readonly Timed[];
}

export interface Wish {
  readonly current: number;
  /** The recommendation of the metrics. */
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly behavior: Behavior | undefined;
}

export interface News {
  readonly type: 'AbleToScale' | 'ScalingLimited';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

const LOWERED = {
  reason: 'ScaleUpStabilized',
  message:
    'recent recommendations were lower than current one, applying the lowest recent recommendation',
} as const;
const RAISED = {
  reason: 'ScaleDownStabilized',
  message:
    'recent recommendations were higher than current one, applying the highest recent recommendation',
} as const;

export function limit(
  wish: Wish,
  past: Past,
  now: number,
): { readonly replicas: number; readonly news: readonly News[] } {
  const stabilized =
    wish.behavior === undefined
      ? highestRecent(wish, past, now)
      : stabilize(wish, wish.behavior, past, now);
  const { replicas, reason, message } =
    wish.behavior === undefined
      ? withinBounds(stabilized, wish)
      : withinRates(stabilized, wish, wish.behavior, past, now);
  const why = wish.behavior !== undefined && wish.desired >= wish.current ? LOWERED : RAISED;
  const able =
    stabilized === wish.desired
      ? { reason: 'ReadyForNewScale', message: 'recommended size matches current size' }
      : why;
  return {
    replicas,
    news: [
      { type: 'AbleToScale', status: 'True', ...able },
      {
        type: 'ScalingLimited',
        status: replicas === stabilized ? 'False' : 'True',
        reason,
        message,
      },
    ],
  };
}

/** Returns the part of the history that is still relevant. */
export function forget(past: Past, behavior: Behavior | undefined, now: number): Past {
  const windows = [behavior?.scaleUp, behavior?.scaleDown].map(
    (rules) => (rules?.stabilizationWindowSeconds ?? 0) * 1000,
  );
  const periods = (rules: Rules | undefined): number =>
    Math.max(0, ...(rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds * 1000));
  const since =
    (cutoff: number) =>
    ({ at }: Timed) =>
      at > now - cutoff;
  return {
    recommendations: past.recommendations.filter(
      since(Math.max(DOWNSCALE_STABILIZATION_MS, ...windows)),
    ),
    // A policy of either direction counts the changes of both.
    ups: past.ups.filter(since(Math.max(periods(behavior?.scaleUp), periods(behavior?.scaleDown)))),
    downs: past.downs.filter(
      since(Math.max(periods(behavior?.scaleUp), periods(behavior?.scaleDown))),
    ),
  };
}

function highestRecent({ desired }: Wish, { recommendations }: Past, now: number): number {
  const recent = recommendations.filter(({ at }) => at > now - DOWNSCALE_STABILIZATION_MS);
  return Math.max(desired, ...recent.map(({ replicas }) => replicas));
}

/**
 * Stabilizes a recommendation: scaling up follows the lowest recommendation in its window, scaling
 * down the highest in its own.
 */
function stabilize(
  { current, desired }: Wish,
  { scaleUp, scaleDown }: Behavior,
  past: Past,
  now: number,
): number {
  const upMs = (scaleUp?.stabilizationWindowSeconds ?? 0) * 1000;
  const downWindow = scaleDown?.stabilizationWindowSeconds;
  const downMs = downWindow === undefined ? DOWNSCALE_STABILIZATION_MS : downWindow * 1000;
  const within = (ms: number): number[] =>
    past.recommendations.filter(({ at }) => at > now - ms).map(({ replicas }) => replicas);
  const lowest = Math.min(desired, ...within(upMs));
  const highest = Math.max(desired, ...within(downMs));
  return Math.min(Math.max(current, lowest), highest);
}

interface Limited {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
}

const TOO_FEW = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const TOO_MANY = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const TOO_FAST_UP = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const TOO_FAST_DOWN = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};
const WITHIN = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};

function withinBounds(desired: number, { current, min, max }: Wish): Limited {
  const fastest = Math.max(SCALE_UP_FACTOR * current, SCALE_UP_MINIMUM);
  if (desired < min) return { replicas: min, ...TOO_FEW };
  const most = Math.min(max, fastest);
  if (desired > most) return { replicas: most, ...(max > fastest ? TOO_FAST_UP : TOO_MANY) };
  return { replicas: desired, ...WITHIN };
}

function withinRates(
  desired: number,
  { current, min, max }: Wish,
  behavior: Behavior,
  past: Past,
  now: number,
): Limited {
  if (desired > current) {
    const fastest = Math.max(
      current,
      fastestUp(current, behavior.scaleUp ?? scaleUpRules(), past, now),
    );
    const most = Math.min(max, fastest);
    if (desired > most) return { replicas: most, ...(max > fastest ? TOO_FAST_UP : TOO_MANY) };
  } else if (desired < current) {
    const fastest = Math.min(
      current,
      fastestDown(current, behavior.scaleDown ?? scaleDownRules(), past, now),
    );
    const fewest = Math.max(min, fastest);
    if (desired < fewest) return { replicas: fewest, ...(min < fastest ? TOO_FAST_DOWN : TOO_FEW) };
  }
  return { replicas: desired, ...WITHIN };
}

function fastestUp(
  current: number,
  { selectPolicy, policies = [] }: Rules,
  past: Past,
  now: number,
): number {
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const start = startOfPeriod(current, past, periodSeconds, now);
    // Integers first, so that rounding up is not affected by floating-point errors.
    return type === 'Pods' ? start + value : Math.ceil((start * (100 + value)) / 100);
  });
  return selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits);
}

function fastestDown(
  current: number,
  { selectPolicy, policies = [] }: Rules,
  past: Past,
  now: number,
): number {
  if (selectPolicy === 'Disabled') return current;
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const start = startOfPeriod(current, past, periodSeconds, now);
    return type === 'Pods' ? start - value : Math.trunc((start * (100 - value)) / 100);
  });
  // When scaling down, the policy that allows the greatest change has the lowest limit.
  return selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}

/**
 * Returns the number of pods when the period began, computed by reverting this autoscaler's own
 * changes.
 */
function startOfPeriod(
  current: number,
  { ups, downs }: Past,
  periodSeconds: number,
  now: number,
): number {
  const during = (changes: readonly Timed[]): number =>
    changes
      .filter(({ at }) => at > now - periodSeconds * 1000)
      .reduce((sum, { replicas }) => sum + replicas, 0);
  return current - during(ups) + during(downs);
}
