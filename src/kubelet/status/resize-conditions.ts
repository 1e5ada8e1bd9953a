// The pod conditions about the progress of a resize. Without a resize there are none.

import type { PendingResize } from '../allocations.ts';
import type { Pod, PodCondition } from '../types.ts';
import { toCondition } from './conditions.ts';

export const RESIZE_CONDITIONS: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

export interface ResizeState {
  readonly pending: PendingResize | undefined;
  /** Set if a running container lacks its allocated resources, with the message of a failure. */
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
