// The explanation as a value: a tree from an object to the causes of its state. Renderers turn it into text, JSON or
// a picture.

/**
 * - problem: does not work, and will not by itself;
 * - waiting: not done yet, and nothing says that it fails;
 * - ok: as it should be;
 * - info: neither; worth knowing, such as an owner or a rule that applies.
 */
export type Severity = 'problem' | 'waiting' | 'ok' | 'info';

export interface ObjectRef {
  /** '' for the core group. */
  readonly group: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

export interface Cause {
  readonly severity: Severity;
  /** One sentence without a period at its end. It may contain text of users: renderers escape it. */
  readonly text: string;
  /**
   * Where the fact was read: 'condition Ready', 'event FailedMount', 'scheduler plugin NodeAffinity',
   * 'spec.nodeSelector'.
   */
  readonly source?: string;
  /** The object that the fact is about. */
  readonly object?: ObjectRef;
  /** The causes of this one, the most important first. */
  readonly causes: readonly Cause[];
}

export interface CauseParts {
  readonly source?: string;
  readonly object?: ObjectRef;
  readonly causes?: readonly Cause[];
}

/** Returns a cause. What waits for something that is a problem is one, too. */
export function cause(severity: Severity, text: string, parts: CauseParts = {}): Cause {
  const { source, object, causes = [] } = parts;
  return {
    severity: severity === 'waiting' && worst(causes) === 'problem' ? 'problem' : severity,
    text,
    ...(source !== undefined && { source }),
    ...(object !== undefined && { object }),
    causes: bySeverity(causes),
  };
}

/** Returns the cause as one that explains nothing, since another one does. */
export const asInfo = (each: Cause): Cause => ({ ...each, severity: 'info' });

const RANK: Readonly<Record<Severity, number>> = { problem: 0, waiting: 1, ok: 2, info: 3 };

/** Returns the causes with problems first, otherwise in their order. */
export function bySeverity(causes: readonly Cause[]): readonly Cause[] {
  return causes.toSorted((a, b) => RANK[a.severity] - RANK[b.severity]);
}

/** Returns the worst severity of the causes; 'ok' if none of them is a problem or waits. */
export function worst(causes: readonly Cause[]): 'problem' | 'waiting' | 'ok' {
  if (causes.some(({ severity }) => severity === 'problem')) return 'problem';
  return causes.some(({ severity }) => severity === 'waiting') ? 'waiting' : 'ok';
}

/**
 * Returns the ends of the chains of the tree's own severity: the answers to "why". Causes with the same text are one.
 * Empty if the tree has neither a problem nor something to wait for.
 */
export function rootCauses(tree: Cause): readonly Cause[] {
  const severity = worst([tree, ...tree.causes]);
  if (severity === 'ok') return [];
  const found = new Map<string, Cause>();
  const visit = (each: Cause): void => {
    const deeper = each.causes.filter((inner) => leadsTo(inner, severity));
    if (deeper.length > 0) for (const inner of deeper) visit(inner);
    else if (each.severity === severity && !found.has(each.text)) found.set(each.text, each);
  };
  visit(tree);
  return [...found.values()];
}

/**
 * Reports whether the cause is of this severity itself. What is below one of another severity is no cause of the
 * tree's state.
 */
const leadsTo = (each: Cause, severity: Severity): boolean => each.severity === severity;

/** Returns the object as a user types it: 'pod/web-0', 'widget.example.com/a'. */
export function refText({ group, kind, name }: ObjectRef): string {
  const shown = kind.toLowerCase();
  return `${BUILT_IN.test(group) ? shown : `${shown}.${group}`}/${name}`;
}

/** Groups of Kubernetes itself: their kinds are unambiguous without the group. */
const BUILT_IN = /^$|^(apps|batch|autoscaling|policy|extensions)$|\.k8s\.io$/;

/** Reports whether the group belongs to Kubernetes itself. */
export const isBuiltInGroup = (group: string): boolean => BUILT_IN.test(group);
