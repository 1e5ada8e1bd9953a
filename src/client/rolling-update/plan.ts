// Computes the next replicas of the two controllers of a rolling update: pure functions.

export interface Limits {
  /** The final number of replicas of the new controller. */
  readonly desired: number;
  /** The maximum number of pods above `desired`. */
  readonly maxSurge: number;
  /** The maximum number of unavailable pods, out of `desired`. */
  readonly maxUnavailable: number;
}

export interface Scale {
  /** The replicas in the specs. */
  readonly old: number;
  readonly new: number;
}

/** Returns the minimum number of available pods. */
export function minAvailable({ desired, maxUnavailable }: Limits): number {
  return desired === 0 ? 0 : Math.max(0, desired - maxUnavailable);
}

/** Returns the replicas of the new controller after the next step. */
export function scaleUpTo(scale: Scale, { desired, maxSurge }: Limits): number {
  if (scale.new === desired) return desired;
  // The old controller has no replicas left, so maxSurge does not limit the step.
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
