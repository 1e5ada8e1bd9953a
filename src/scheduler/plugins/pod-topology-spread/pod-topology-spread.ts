// PodTopologySpread: spreads pods evenly over zones, hosts or other topologies, by constraints that
// are required (DoNotSchedule) or preferred (ScheduleAnyway).

import type { UnsatisfiableConstraintAction } from '#api/groups/core/v1/index.ts';
import type { Selector } from '#machinery/selectors/labels.ts';
import type { PodSelection } from '#scheduler/framework/snapshot.ts';
import { demandedLabel, selectorIdentity } from '#scheduler/framework/affinity-terms.ts';
import { type CycleState, type StateKey, stateKey } from '#scheduler/framework/cycle-state.ts';
import type { ClusterEventWithHint } from '#scheduler/framework/events.ts';
import type { Handle, PluginRegistration } from '#scheduler/framework/handle.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import {
  type Answer,
  type FilterPlugin,
  MAX_NODE_SCORE,
  type PreFilterPlugin,
  type PreScorePlugin,
  type ScorePlugin,
} from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { HOSTNAME, topologyValue } from '../topology/labels.ts';
import { NodeDomains } from '../topology/node-domains.ts';
import { DomainCounts, DomainTally, NodeTally } from '../topology/tally.ts';
import { TallyCache } from '../topology/tally-cache.ts';
import { readSpreadArgs, type SpreadArgs } from './args.ts';
import {
  countsFor,
  hasAllTopologies,
  NodeInclusion,
  readConstraints,
  type SpreadConstraint,
} from './constraints.ts';
import { type DefaultSelector, defaultSelectorFrom } from './default-selector.ts';
import { spreadEvents } from './hints.ts';

const NAME = 'PodTopologySpread';
const REASON = "node(s) didn't match pod topology spread constraints";
const SKEWED = new Status('Unschedulable', [REASON], NAME);
const NO_LABEL = new Status(
  'UnschedulableAndUnresolvable',
  [`${REASON} (missing required label)`],
  NAME,
);
const NONE: readonly SpreadConstraint[] = [];
const SKIP = new Status('Skip', [], NAME);

/** A required constraint, with the pods counted so far. */
interface Hard {
  readonly constraint: SpreadConstraint;
  readonly counts: DomainCounts;
  /** 1 if the pod itself matches, otherwise 0. */
  readonly self: number;
}

interface HardState {
  readonly all: readonly SpreadConstraint[];
  readonly hard: readonly Hard[];
  readonly inclusion: NodeInclusion;
}

/** A preferred constraint. */
interface Soft {
  readonly constraint: SpreadConstraint;
  readonly count: (node: NodeInfo) => number;
  /** Returns the same by the node's position; undefined if the position does not tell it. */
  readonly countAt: (position: number) => number | undefined;
  /** The domains of the nodes. Undefined: positions of nodes are not known. */
  readonly domains: NodeDomains | undefined;
  /**
   * The weight grows with the number of domains, so that constraints with few and with many domains
   * have a similar influence.
   */
  readonly weight: number;
}

interface SoftState {
  readonly soft: readonly Soft[];
  /** Nodes without one of these topologies are ignored. Undefined: no node is ignored. */
  readonly demanded: readonly SpreadConstraint[] | undefined;
  /** 1 for each feasible node that is ignored, in their order. Undefined: no node is ignored. */
  readonly ignored: Uint8Array | undefined;
}

const HARD: StateKey<HardState> = stateKey(`${NAME}/hard`, (state) => ({
  ...state,
  hard: state.hard.map((hard) => ({ ...hard, counts: hard.counts.clone() })),
}));
const SOFT: StateKey<SoftState> = stateKey(`${NAME}/soft`);

class PodTopologySpread implements PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin {
  readonly name = NAME;
  readonly #args: SpreadArgs;
  readonly #handle: Handle;
  readonly #tallies: TallyCache;
  /** By topology key, of preferred constraints by default. */
  readonly #nodeDomains = new Map<string, NodeDomains>();
  readonly #defaultSelector: DefaultSelector | undefined;

  constructor(args: SpreadArgs, handle: Handle) {
    this.#args = args;
    this.#handle = handle;
    this.#tallies = new TallyCache(handle.snapshot);
    if (args.defaultConstraints.length === 0) return;
    // A stale list is acceptable for scoring, but not for filtering.
    const atOnce = args.defaultConstraints.some(
      ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
    );
    this.#defaultSelector = defaultSelectorFrom(handle, atOnce);
  }

  preFilter(state: CycleState, { pod }: PodInfo): Answer {
    const all = this.#constraintsOf(pod, 'DoNotSchedule');
    if (all.length === 0) return SKIP;
    const inclusion = new NodeInclusion(pod);
    const hard = all.map((constraint) => ({
      constraint,
      counts: new DomainCounts(this.#domains(pod, constraint, all, inclusion)),
      self: constraint.selector.matches(pod.metadata.labels) ? 1 : 0,
    }));
    state.write(HARD, { all, hard, inclusion });
    return undefined;
  }

  addPod(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer {
    count(state.read(HARD), pod, added, node, 1);
    return undefined;
  }

  removePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer {
    count(state.read(HARD), pod, removed, node, -1);
    return undefined;
  }

  filter(state: CycleState, _pod: PodInfo, { node }: NodeInfo, position?: number): Answer {
    for (const { constraint, counts, self } of state.read(HARD)?.hard ?? []) {
      let count = position === undefined ? undefined : counts.countAt(position);
      if (count === undefined) {
        // The node is not counted itself, but may be in a counted domain.
        const domain = topologyValue(node, constraint.topologyKey);
        if (domain === undefined) return NO_LABEL;
        count = counts.count(domain);
      }
      // With fewer domains than minDomains, the minimum is 0.
      const least = counts.size < constraint.minDomains ? 0 : counts.least();
      if (count + self - least > constraint.maxSkew) return SKEWED;
    }
    return undefined;
  }

  preScore(
    state: CycleState,
    { pod }: PodInfo,
    nodes: readonly NodeInfo[],
    positions?: readonly number[],
  ): Answer {
    const constraints = this.#constraintsOf(pod, 'ScheduleAnyway');
    if (constraints.length === 0) return SKIP;
    // With upstream's defaults, hosts count even if a node has no zone.
    const own = (pod.spec.topologySpreadConstraints?.length ?? 0) > 0;
    const demanded = own || !this.#args.systemDefaulted ? constraints : undefined;
    const domainsOf = constraints.map(({ topologyKey }) =>
      positions === undefined ? undefined : this.#nodeDomainsOf(topologyKey),
    );
    const ignored =
      demanded === undefined ? undefined : ignoredNodes(nodes, demanded, positions, domainsOf);
    const scored = nodes.length - (ignored?.reduce((sum, one) => sum + one, 0) ?? 0);
    const inclusion = new NodeInclusion(pod);
    const soft = constraints.map((constraint, index): Soft => {
      const { topologyKey } = constraint;
      const domains = domainsOf[index];
      if (topologyKey === HOSTNAME) {
        const tally = this.#perNode(pod, constraint);
        return {
          constraint,
          count: (node) => tally.count(node),
          countAt: (position) => tally.countAt(position),
          domains,
          weight: Math.log(scored + 2),
        };
      }
      const tally = this.#domains(pod, constraint, demanded ?? [], inclusion);
      const different =
        domains === undefined || positions === undefined
          ? differentDomains(nodes, topologyKey, ignored)
          : domains.different(positions, nodes.length, ignored);
      return {
        constraint,
        count: ({ node }) => tally.count(topologyValue(node, topologyKey) ?? ''),
        countAt: (position) => tally.countAt(position),
        domains,
        weight: Math.log(different + 2),
      };
    });
    state.write(SOFT, { soft, demanded, ignored });
    return undefined;
  }

  /** Returns a higher score for more pods: normalizeScore inverts it. */
  score(state: CycleState, _pod: PodInfo, info: NodeInfo): number {
    const { soft, demanded } = state.read(SOFT) as SoftState;
    if (demanded !== undefined && !hasAllTopologies(info.node, demanded)) return 0;
    let score = 0;
    for (const { constraint, count: countOn, weight } of soft) {
      if (topologyValue(info.node, constraint.topologyKey) === undefined) continue;
      // With a greater maxSkew, differences weigh less.
      score += countOn(info) * weight + (constraint.maxSkew - 1);
    }
    return Math.round(score);
  }

  /** Does the same as `score` by arrays, constraint by constraint. */
  scoreByPosition(
    state: CycleState,
    _pod: PodInfo,
    nodes: readonly NodeInfo[],
    positions: readonly number[],
    scores: number[],
  ): boolean {
    const { soft, ignored } = state.read(SOFT) as SoftState;
    scores.fill(0);
    for (const { constraint, count, countAt, domains, weight } of soft) {
      if (domains === undefined) return false;
      const base = constraint.maxSkew - 1;
      for (let i = 0; i < nodes.length; i++) {
        const position = positions[i]!;
        if (!domains.has(position)) continue;
        // In the order in which `score` adds, so that roundings are equal.
        scores[i] = scores[i]! + ((countAt(position) ?? count(nodes[i]!)) * weight + base);
      }
    }
    for (let i = 0; i < nodes.length; i++)
      scores[i] = ignored?.[i] === 1 ? 0 : Math.round(scores[i]!);
    return true;
  }

  normalizeScore(state: CycleState, _pod: PodInfo, scores: number[]): Answer {
    const { ignored } = state.read(SOFT) as SoftState;
    let [least, most] = [Infinity, 0];
    for (let i = 0; i < scores.length; i++) {
      if (ignored?.[i] === 1) continue;
      const score = scores[i]!;
      if (score < least) least = score;
      if (score > most) most = score;
    }
    for (let i = 0; i < scores.length; i++) {
      if (ignored?.[i] === 1) scores[i] = 0;
      else
        scores[i] =
          most === 0
            ? MAX_NODE_SCORE
            : Math.trunc((MAX_NODE_SCORE * (most + least - scores[i]!)) / most);
    }
    return undefined;
  }

  eventsToRegister(): readonly ClusterEventWithHint[] {
    return spreadEvents((pod) => this.#constraintsOf(pod, 'DoNotSchedule'));
  }

  #constraintsOf(pod: Pod, action: UnsatisfiableConstraintAction): readonly SpreadConstraint[] {
    const own = pod.spec.topologySpreadConstraints ?? [];
    if (own.length > 0) return readConstraints(own, pod, action);
    const defaults = this.#args.defaultConstraints;
    if (
      this.#defaultSelector === undefined ||
      !defaults.some((constraint) => constraint.whenUnsatisfiable === action)
    )
      return NONE;
    const selector = this.#defaultSelector(pod);
    if (selector.empty()) return NONE;
    return readConstraints(defaults, pod, action).map((constraint) => ({
      ...constraint,
      selector,
    }));
  }

  #nodeDomainsOf(topologyKey: string): NodeDomains {
    let domains = this.#nodeDomains.get(topologyKey);
    if (domains === undefined) {
      domains = new NodeDomains(this.#handle.snapshot, topologyKey);
      this.#nodeDomains.set(topologyKey, domains);
    }
    domains.update();
    return domains;
  }

  /**
   * Returns the constraint's pods by domain, on nodes that have all topologies of `together` and
   * that the pod's policies include.
   */
  #domains(
    { metadata: { namespace } }: Pod,
    constraint: SpreadConstraint,
    together: readonly SpreadConstraint[],
    inclusion: NodeInclusion,
  ): DomainTally {
    const { topologyKey, selector } = constraint;
    const topology = JSON.stringify([
      topologyKey,
      together.map((other) => other.topologyKey).sort(),
      inclusion.identity(constraint),
    ]);
    const key = JSON.stringify([namespace, selectorIdentity(selector), topology]);
    return this.#tallies.get(key, () => {
      const layout = this.#tallies.layout(topology, (info) => {
        if (!hasAllTopologies(info.node, together) || !inclusion.includes(info, constraint))
          return undefined;
        return topologyValue(info.node, topologyKey) ?? '';
      });
      return new DomainTally(this.#handle.snapshot, layout, selectionOf(namespace, selector));
    });
  }

  #perNode({ metadata: { namespace } }: Pod, { selector }: SpreadConstraint): NodeTally {
    const key = JSON.stringify(['node', namespace, selectorIdentity(selector)]);
    return this.#tallies.get(
      key,
      () => new NodeTally(this.#handle.snapshot, selectionOf(namespace, selector)),
    );
  }
}

function selectionOf(namespace: string | undefined, selector: Selector): PodSelection {
  return { selects: (pod) => countsFor(namespace, selector, pod), label: demandedLabel(selector) };
}

/**
 * Returns 1 for each node without one of these topologies, in the order of `nodes`; undefined if all
 * nodes have all of them. `positions` and `domains`: as in preScore, of each topology.
 */
function ignoredNodes(
  nodes: readonly NodeInfo[],
  demanded: readonly SpreadConstraint[],
  positions: readonly number[] | undefined,
  domains: readonly (NodeDomains | undefined)[],
): Uint8Array | undefined {
  let ignored: Uint8Array | undefined;
  for (const [index, node] of nodes.entries()) {
    const position = positions?.[index];
    const hasAll =
      position === undefined
        ? hasAllTopologies(node.node, demanded)
        : domains.every((ofTopology) => ofTopology?.has(position) !== false);
    if (!hasAll) (ignored ??= new Uint8Array(nodes.length))[index] = 1;
  }
  return ignored;
}

/** Returns the number of different domains of the nodes that are not ignored. */
function differentDomains(
  nodes: readonly NodeInfo[],
  topologyKey: string,
  ignored: Uint8Array | undefined,
): number {
  const domains = new Set<string>();
  for (const [index, { node }] of nodes.entries())
    if (ignored?.[index] !== 1) domains.add(topologyValue(node, topologyKey) ?? '');
  return domains.size;
}

/** Adds `other` to the node (`by` 1) or removes it (-1). */
function count(
  state: HardState | undefined,
  { pod }: PodInfo,
  other: PodInfo,
  node: NodeInfo,
  by: 1 | -1,
): void {
  if (state === undefined || !hasAllTopologies(node.node, state.all)) return;
  for (const { constraint, counts } of state.hard) {
    if (!countsFor(pod.metadata.namespace, constraint.selector, other.pod)) continue;
    const domain = topologyValue(node.node, constraint.topologyKey);
    if (domain !== undefined && state.inclusion.includes(node, constraint)) counts.add(domain, by);
  }
}

export const podTopologySpread: PluginRegistration = {
  name: NAME,
  create: (args, handle) => new PodTopologySpread(readSpreadArgs(NAME, args), handle),
};
