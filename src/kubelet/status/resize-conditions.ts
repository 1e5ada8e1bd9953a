// The conditions that tell how far a resize of a pod has come. Without a resize there is neither.

import type { PendingResize } from '../allocations.ts';
import type { Pod, PodCondition } from '../types.ts';
import { toCondition } from './conditions.ts';

export const RESIZE_CONDITIONS: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

export interface ResizeState {
  readonly pending: PendingResize | undefined;
  /**
   * Running containers have not all got yet what was allocated to them; the message if that failed.
   */
  readonly inProgress: { readonly error: string | undefined } | undefined;
}

export function resizeConditions(pod: Pod, { pending, inProgress }: ResizeState): PodCondition[] {
  const conditions: PodCondition[] = [];
  if (pending !== undefined)
    conditions.push(toCondition(pod, 'PodResizePending', { status: 'True', ...pending }));
  if (inProgress !== undefined) {
    const failure =
      inProgress.error === undefined ? {} : { reason: 'Error', message: inProgress.error };
    conditions.push(toCondition(pod, 'PodResizeInProgress', { status: 'True', ...failure }));
  }
  return conditions;
}
