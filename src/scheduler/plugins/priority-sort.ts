// PrioritySort: pods of higher priority first; with equal priority, the pod that has waited longer.

import type { PluginRegistration } from '../framework/handle.ts';
import type { Queued, QueueSortPlugin } from '../framework/plugin.ts';
import { noArgs } from './args.ts';

export const prioritySort: PluginRegistration = {
  name: 'PrioritySort',
  create(args) {
    noArgs(prioritySort.name, args);
    return { name: prioritySort.name, less: byPriority } satisfies QueueSortPlugin;
  },
};

export function byPriority(a: Queued, b: Queued): boolean {
  if (a.info.priority !== b.info.priority) return a.info.priority > b.info.priority;
  if (a.timestampMs !== b.timestampMs) return a.timestampMs < b.timestampMs;
  return a.sequence < b.sequence;
}
