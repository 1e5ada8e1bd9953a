// Decides which conditions of an object are problems. Types of built-in kinds are in tables; types of custom
// resources are judged by their names.

import type { Severity } from './cause.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Condition types for which True is a problem. */
const NEGATIVE = new RegExp(
  '(Pressure|Failure|Failed|Errors?|Conflicts?|Degraded|Stalled|Unavailable|Denied|Violation|' +
    'NonStructuralSchema|Nonconformant|FailureTarget)$',
);
/** Condition types for which False and Unknown are problems. */
const POSITIVE = new RegExp(
  '(Ready|Available|Healthy|Established|Accepted|Programmed|ResolvedRefs|Synced|Reconciled|Initialized|Bound|' +
    'Valid|Active|Installed|Progressing|PodScheduled|AbleToScale)$',
);
/** Condition types for which False is no problem: a running job is not complete, a claim need not be resized. */
const NEUTRAL =
  /^(Complete|Succeeded|Reconciling|SuccessCriteriaMet|Suspended|DisruptionAllowed|PodReadyToStartContainers)$/;

/** Returns the conditions of an object; none if it has no list of them. */
export function conditionsOf(object: unknown): readonly Condition[] {
  const list = (object as { status?: { conditions?: unknown } } | undefined)?.status?.conditions;
  if (!Array.isArray(list)) return [];
  return list.filter(
    (each: unknown): each is Condition =>
      typeof each === 'object' &&
      each !== null &&
      typeof (each as Condition).type === 'string' &&
      typeof (each as Condition).status === 'string',
  );
}

/**
 * Returns 'problem' for a condition that says that something is wrong, 'ok' for one that says that it is right,
 * otherwise 'info'.
 */
export function conditionSeverity({ type, status }: Condition): Severity {
  if (NEUTRAL.test(type)) return 'info';
  if (NEGATIVE.test(type)) return status === 'True' ? 'problem' : 'ok';
  if (POSITIVE.test(type)) return status === 'True' ? 'ok' : 'problem';
  return 'info';
}

/** `MemoryPressure=True (KubeletHasInsufficientMemory): kubelet has insufficient memory available`. */
export function conditionText({ type, status, reason, message }: Condition): string {
  return `${type}=${status}${reason ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`;
}
