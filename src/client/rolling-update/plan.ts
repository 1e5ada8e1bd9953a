// How far the two controllers of a rolling update may be scaled now: pure decisions.

export interface Limits {
  /** So many replicas the new controller ends with. */
  readonly desired: number;
  /** So many pods there may be above `desired`. */
  readonly maxSurge: number;
  /** So many of `desired` pods may be unavailable. */
  readonly maxUnavailable: number;
}

export interface Scale {
  /** Replicas that the specs ask for. */
  readonly old: number;
  readonly new: number;
}

/** Returns the pods that have to stay available. */
export function minAvailable({ desired, maxUnavailable }: Limits): number {
  return desired === 0 ? 0 : Math.max(0, desired - maxUnavailable);
}

/** Returns the replicas of the new controller after the next step. */
export function scaleUpTo(scale: Scale, { desired, maxSurge }: Limits): number {
  if (scale.new === desired) return desired;
  // Nothing has to be replaced any more: the surge does not matter.
  if (scale.old === 0) return desired;
  const increment = desired + maxSurge - (scale.old + scale.new);
  return increment <= 0 ? scale.new : Math.min(scale.new + increment, desired);
}

/**
 * Returns the replicas of the old controller after the next step. `newAvailable`: the available
 * pods of the new controller.
 */
export function scaleDownTo(scale: Scale, newAvailable: number, limits: Limits): number {
  if (scale.old === 0) return 0;
  // Unavailable pods of the old controller count as available, so that a broken old controller can
  // be replaced.
  const decrement = scale.old + scale.new - minAvailable(limits) - (scale.new - newAvailable);
  if (decrement <= 0) return scale.old;
  if (scale.new === limits.desired && newAvailable === limits.desired) return 0;
  return Math.max(0, scale.old - decrement);
}
