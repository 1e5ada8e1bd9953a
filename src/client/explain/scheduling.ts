// The scheduler's present decision about a pod, as a value. The scheduler makes it (scheduler/dry-run.ts); here it
// becomes causes.

import { type Cause, cause } from './cause.ts';

export interface PluginVerdict {
  readonly plugin: string;
  /** The extension point: 'PreEnqueue', 'PreFilter' or 'Filter'. */
  readonly point: string;
  readonly code: string;
  readonly reasons: readonly string[];
}

export interface NodeVerdict {
  readonly node: string;
  /** The plugins that reject the pod on this node. Empty: the pod fits. */
  readonly rejections: readonly PluginVerdict[];
  /** For a node on which the pod fits: by plugin, the normalized score (0 to 100) and its weight. */
  readonly scores?: readonly {
    readonly plugin: string;
    readonly score: number;
    readonly weight: number;
  }[];
  /** The weighted sum of the scores. */
  readonly total?: number;
}

export interface SchedulingVerdict {
  readonly profile: string;
  /** The plugins that ran, in order. */
  readonly plugins: readonly string[];
  /** Rejections that do not depend on the node. */
  readonly rejections: readonly PluginVerdict[];
  readonly nodes: readonly NodeVerdict[];
  /** The error that kept the scheduler from a verdict. */
  readonly error?: string;
}

/** The maximum number of node names in a text. */
const NAMED_NODES = 5;

/** Returns one cause for each rejection of a plugin, those of most nodes first; or that nodes fit. */
export function schedulingCauses(verdict: SchedulingVerdict): readonly Cause[] {
  const { nodes, rejections, error, profile } = verdict;
  if (error !== undefined)
    return [cause('info', `the scheduler's decision cannot be repeated here: ${error}`)];
  const general = rejections.map((each) =>
    cause(
      each.code === 'Pending' || each.point === 'PreEnqueue' ? 'waiting' : 'problem',
      each.reasons.join(', ') || `rejected by ${each.plugin}`,
      { source: sourceOf(each) },
    ),
  );
  if (general.length > 0) return general;
  if (nodes.length === 0) return [cause('problem', 'there are no nodes', { source: profile })];
  const fitting = nodes.filter((node) => node.rejections.length === 0);
  const severity = fitting.length > 0 ? 'info' : 'problem';
  const byReason = new Map<string, { readonly verdict: PluginVerdict; readonly nodes: string[] }>();
  for (const { node, rejections: ofNode } of nodes) {
    for (const each of ofNode) {
      const key = `${each.point} ${each.plugin} ${each.reasons.join(', ')}`;
      const group = byReason.get(key);
      if (group === undefined) byReason.set(key, { verdict: each, nodes: [node] });
      else group.nodes.push(node);
    }
  }
  const rejecting = [...byReason.values()]
    .toSorted((a, b) => b.nodes.length - a.nodes.length)
    .map(({ verdict: each, nodes: names }) =>
      cause(
        severity,
        `${names.length} of ${nodes.length} nodes: ${each.reasons.join(', ')} (${named(names)})`,
        { source: sourceOf(each) },
      ),
    );
  if (fitting.length === 0) return rejecting;
  const best = fitting.toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0));
  const fits = cause(
    'waiting',
    `${fitting.length} of ${nodes.length} nodes fit now: the pod is about to be scheduled, ` +
      `or waits for another to leave (${named(best.map(({ node }) => node))})`,
    { source: `scheduler ${profile}`, causes: best.slice(0, NAMED_NODES).map(scoreCause) },
  );
  return [fits, ...rejecting];
}

function scoreCause({ node, scores = [], total = 0 }: NodeVerdict): Cause {
  const parts = scores
    .filter(({ score, weight }) => score * weight > 0)
    .map(({ plugin, score, weight }) => `${plugin} ${score}${weight === 1 ? '' : `×${weight}`}`);
  return cause('info', `${node} scores ${total}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`);
}

const sourceOf = ({ plugin, point }: PluginVerdict): string =>
  `scheduler plugin ${plugin} (${point})`;

/** Returns the first names, and how many more there are. */
function named(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_NODES).join(', ');
  const more = names.length - NAMED_NODES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
