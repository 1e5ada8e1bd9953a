// How good or bad a cell of a table is, for its colour. The words are those that Kubernetes' own
// columns use; custom kinds mostly use the same ones.

import type { Cell } from './row.ts';

export type Severity = 'problem' | 'waiting' | 'ok' | 'neutral';

const STATE_COLUMN = /^(status|phase|state|ready|condition|health|available|established|synced)$/i;

const PROBLEM = new RegExp(
  'BackOff|Err|Fail|Evicted|OOMKilled|NotReady|Unknown|Lost|Invalid|Deadline|Denied|Unhealthy|' +
    'Degraded|^False|Unschedulable|NodeLost|Preempt|Dead|ContainerCannotRun|StartError',
);
const WAITING = new RegExp(
  'Pending|Creating|Initializing|Init:|Terminating|Waiting|Progressing|Suspended|' +
    'SchedulingDisabled|Released|Scheduling|NotTriggerScaleUp|Provisioning|Updating',
);
const OK = new RegExp(
  '^(Running|Ready|Active|Bound|Available|Complete|Completed|Succeeded|True|Healthy|' +
    'Established|Approved,Issued|Issued|Synced|Normal)\\b',
);

/** Returns the severity of a cell in a column; 'neutral' if the column says nothing about state. */
export function cellSeverity(column: string, cell: Cell | undefined): Severity {
  if (!STATE_COLUMN.test(column) || cell == null) return 'neutral';
  const text = String(cell);
  const ratio = /^(\d+)\/(\d+)$/.exec(text);
  if (ratio !== null) return ratio[1] === ratio[2] ? 'neutral' : 'waiting';
  if (PROBLEM.test(text)) return 'problem';
  if (WAITING.test(text)) return 'waiting';
  return OK.test(text) ? 'ok' : 'neutral';
}
