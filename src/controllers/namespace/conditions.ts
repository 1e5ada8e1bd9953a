// The conditions of a terminating namespace about the progress of its deletion.

import type { NamespaceCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Condition = Immutable<NamespaceCondition>;

/** The problems in deleting a namespace's content. */
export interface Findings {
  /** The error of discovery, or undefined. */
  readonly discoveryFailure?: string;
  /** The errors of deletions, by resource. */
  readonly failures: readonly string[];
  /** 'resource.group' → the number of remaining objects. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Finalizer → the number of objects that have it. */
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Described {
  readonly reason: string;
  readonly message: string;
}

/** By condition type: its reason and message without problems. */
const FINE: Readonly<Record<string, Described>> = {
  NamespaceDeletionDiscoveryFailure: {
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  NamespaceDeletionGroupVersionParsingFailure: {
    reason: 'ParsedGroupVersions',
    message: 'All legacy kube types successfully parsed',
  },
  NamespaceDeletionContentFailure: {
    reason: 'ContentDeleted',
    message: 'All content successfully deleted, may be waiting on finalization',
  },
  NamespaceContentRemaining: {
    reason: 'ContentRemoved',
    message: 'All content successfully removed',
  },
  NamespaceFinalizersRemaining: {
    reason: 'ContentHasNoFinalizers',
    message: 'All content-preserving finalizers finished',
  },
};

/**
 * Returns the conditions for these findings; the same array if nothing has changed. `now`: a
 * metav1.Time.
 */
export function conditionsWith(
  present: readonly Condition[],
  findings: Findings,
  now: string,
): readonly Condition[] {
  const problems = problemsOf(findings);
  let changed = false;
  const next = [...present];
  for (const [type, fine] of Object.entries(FINE)) {
    const problem = problems.get(type);
    const status = problem === undefined ? 'False' : 'True';
    const { reason, message } = problem ?? fine;
    const index = next.findIndex((condition) => condition.type === type);
    const before = next[index];
    if (
      before !== undefined &&
      before.status === status &&
      before.reason === reason &&
      before.message === message
    )
      continue;
    changed = true;
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    const condition: Condition = { type, status, lastTransitionTime, reason, message };
    if (before === undefined) next.push(condition);
    else next[index] = condition;
  }
  return changed ? next : present;
}

function problemsOf({
  discoveryFailure,
  failures,
  remaining,
  finalizers,
}: Findings): ReadonlyMap<string, Described> {
  const problems = new Map<string, Described>();
  if (discoveryFailure !== undefined) {
    problems.set('NamespaceDeletionDiscoveryFailure', {
      reason: 'DiscoveryFailed',
      message: discoveryFailure,
    });
  }
  if (failures.length > 0) {
    problems.set('NamespaceDeletionContentFailure', {
      reason: 'ContentDeletionFailed',
      message: `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(', ')}`,
    });
  }
  if (remaining.size > 0) {
    const counts = [...remaining].map(
      ([resource, count]) => `${resource} has ${count} resource instances`,
    );
    problems.set('NamespaceContentRemaining', {
      reason: 'SomeResourcesRemain',
      message: `Some resources are remaining: ${counts.sort().join(', ')}`,
    });
  }
  if (finalizers.size > 0) {
    const counts = [...finalizers].map(
      ([finalizer, count]) => `${finalizer} in ${count} resource instances`,
    );
    problems.set('NamespaceFinalizersRemaining', {
      reason: 'SomeFinalizersRemain',
      message: `Some content in the namespace has finalizers remaining: ${counts.sort().join(', ')}`,
    });
  }
  return problems;
}
