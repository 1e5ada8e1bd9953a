// DefaultPreemption: nominates a pod that fits nowhere to a node, and evicts pods of lower priority
// from it.

import { ConfigurationError } from '#scheduler/config/reader.ts';
import * as field from '#machinery/validation/field.ts';
import type { CycleState } from '#scheduler/framework/cycle-state.ts';
import { fitErrorMessage } from '#scheduler/framework/fit-error.ts';
import type { Handle, PluginRegistration } from '#scheduler/framework/handle.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import { layoutOf, NodeMemo } from '#scheduler/framework/node-memo.ts';
import { NodeToStatus } from '#scheduler/framework/node-to-status.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { PostFilterPlugin, PostFilterResult, Trial } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { readArgs } from '../args.ts';
import { DisruptionBudgets } from './disruption-budgets.ts';
import { evict } from './eviction.ts';
import {
  bestCandidate,
  type Candidate,
  candidateOf,
  hasVictims,
  NO_VICTIMS,
  selectVictims,
} from './victims.ts';

const NAME = 'DefaultPreemption';

interface Args {
  /** The number of candidates to find, as a percentage of the potential nodes. */
  readonly minCandidateNodesPercentage: number;
  /** The minimum number of candidates to find. */
  readonly minCandidateNodesAbsolute: number;
}

const NOT_HELPFUL = new Status(
  'UnschedulableAndUnresolvable',
  ['Preemption is not helpful for scheduling'],
  NAME,
);
const MAX_INT32 = 2 ** 31 - 1;

class DefaultPreemption implements PostFilterPlugin {
  readonly name = NAME;
  readonly #args: Args;
  readonly #handle: Handle;
  readonly #known = new NodeMemo<Candidate | Status>(NO_VICTIMS);
  readonly #budgets: DisruptionBudgets;
  /**
   * In this cycle: the positions of potential nodes, and the statuses of evaluated nodes that are
   * no candidates. Reused, so that a cycle allocates little.
   */
  readonly #positions: number[] = [];
  readonly #refused: (Status | undefined)[] = [];
  /** By UID, the pods whose victims are being deleted, and whether each was retried meanwhile. */
  readonly #evicting = new Map<string, { triedAgain: boolean }>();

  constructor(args: Args, handle: Handle) {
    this.#args = args;
    this.#handle = handle;
    this.#budgets = new DisruptionBudgets(handle);
  }

  postFilter(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
    trial: Trial,
  ): PostFilterResult | Promise<PostFilterResult> {
    const why = this.#notEligible(pod, statuses);
    if (why !== undefined) return { status: refusal(why), victims: undefined };
    const { snapshot } = this.#handle;
    const tried = new NodeToStatus();
    const candidates = this.#candidates(state, pod, statuses, trial, tried);
    if (candidates.length === 0) {
      tried.setAbsent(NOT_HELPFUL);
      const message = fitErrorMessage({
        nodeCount: snapshot.nodes.length,
        statuses: tried,
        unschedulablePlugins: new Set(),
        pendingPlugins: new Set(),
        preFilterMessage: '',
        postFilterMessage: '',
      });
      return { nominatedNode: '', status: refusal(message), victims: undefined };
    }
    return this.#handle.extenders.preempts(pod)
      ? this.#afterExtenders(pod, candidates)
      : this.#take(pod, candidates);
  }

  #take(pod: PodInfo, candidates: readonly Candidate[]): PostFilterResult {
    const best = bestCandidate(candidates);
    void this.#evict(pod, best);
    return { nominatedNode: best.node, status: undefined, victims: best.victims.pods.length };
  }

  async #afterExtenders(pod: PodInfo, candidates: readonly Candidate[]): Promise<PostFilterResult> {
    const { extenders, snapshot } = this.#handle;
    const byNode = new Map(candidates.map(({ node, victims }) => [node, victims]));
    try {
      const left = await extenders.preempt(pod, byNode, (node) => snapshot.get(node)?.pods);
      if (left.size > 0)
        return this.#take(
          pod,
          Array.from(left, ([node, victims]) => candidateOf(node, victims)),
        );
      return { status: refusal('no candidate node for preemption') };
    } catch (error) {
      return { status: Status.error(error, NAME) };
    }
  }

  #notEligible(pod: PodInfo, statuses: NodeToStatus): string | undefined {
    if (pod.pod.spec.preemptionPolicy === 'Never')
      return 'not eligible due to preemptionPolicy=Never.';
    const evicting = this.#evicting.get(pod.uid);
    if (evicting !== undefined) {
      evicting.triedAgain = true;
      return 'waiting for the preemption for this pod to be finished';
    }
    const nominated =
      this.#handle.nominator.nominatedNode(pod.uid) ?? pod.pod.status.nominatedNodeName;
    // If evictions from that node cannot help any more, the pod has to use another node.
    if (!nominated || statuses.get(nominated)?.code === 'UnschedulableAndUnresolvable')
      return undefined;
    const node = this.#handle.snapshot.get(nominated);
    const waits =
      node?.pods.some((other) => other.priority < pod.priority && isBeingPreempted(other.pod)) ??
      false;
    return waits ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
  }

  /**
   * Returns enough candidates, from some node on, including one that violates no budget if there is
   * any. `tried`: the reasons if there are none.
   */
  #candidates(
    state: CycleState,
    pod: PodInfo,
    statuses: NodeToStatus,
    trial: Trial,
    tried: NodeToStatus,
  ): readonly Candidate[] {
    const { snapshot, nominator, random } = this.#handle;
    const all = statuses.allWith('Unschedulable', snapshot);
    // A list of all nodes would contain no information.
    const positions = all ? undefined : this.#positions;
    const count = all ? snapshot.nodes.length : this.#inQuestion(statuses);
    const candidates: Candidate[] = [];
    if (count === 0) return candidates;
    const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } =
      this.#args;
    const wanted = Math.max(Math.trunc((count * percentage) / 100), absolute);
    // Begins at the nominated node, if there is one: among equal nodes, a started preemption
    // continues (possibly of another scheduler).
    const { nominatedNodeName } = pod.pod.status;
    const at = nominatedNodeName ? snapshot.positionOf(nominatedNodeName) : undefined;
    const nominatedIndex =
      at === undefined ? -1 : positions === undefined ? at : positions.indexOf(at);
    const first =
      nominatedIndex < 0 || nominatedIndex >= count ? random.int(count) : nominatedIndex;
    const template = trial.template(state, pod);
    const known =
      template === undefined
        ? undefined
        : this.#known.of(
            `${pod.priority} ${this.#budgets.version} ${template}`,
            layoutOf(snapshot),
          );
    // The pod's own nomination does not count against it: remembered results of other pods are not
    // valid for that node.
    const ownNode = nominator.nominatedNode(pod.uid);
    const own = ownNode === undefined ? undefined : snapshot.positionOf(ownNode);
    const refused = this.#refused;
    let next = first;
    let lawful = false;
    for (let i = 0; i < count && (candidates.length < wanted || !lawful); i++) {
      const position = positions === undefined ? next : positions[next]!;
      if (++next === count) next = 0;
      let candidate: Candidate | Status;
      if (known !== undefined && position !== own && known.has(position)) {
        candidate = known.get(position);
      } else {
        candidate = this.#candidateAt(snapshot.nodes[position]!, state, pod, trial);
        if (position !== own) known?.set(position, candidate);
      }
      refused[i] = candidate instanceof Status ? candidate : undefined;
      if (candidate instanceof Status) continue;
      candidates.push(candidate);
      lawful ||= candidate.price.violations === 0;
    }
    // Otherwise the statuses are not needed.
    if (candidates.length === 0) {
      for (let i = 0; i < count; i++) {
        const index = (first + i) % count;
        const position = positions === undefined ? index : positions[index]!;
        tried.set(snapshot.nodes[position]!, refused[i]!, position);
      }
    }
    return candidates;
  }

  /**
   * Writes the positions of nodes with less important pods into #positions. Returns their number.
   */
  #inQuestion(statuses: NodeToStatus): number {
    const { snapshot } = this.#handle;
    if (statuses.absent?.code !== 'Unschedulable') {
      return statuses.positionsWith('Unschedulable', snapshot, this.#positions);
    }
    let count = 0;
    snapshot.nodes.forEach(({ name }, position) => {
      if (statuses.get(name)?.code === 'Unschedulable') this.#positions[count++] = position;
    });
    return count;
  }

  /** Returns the node with its victims; a status if evictions from it would not help. */
  #candidateAt(node: NodeInfo, state: CycleState, pod: PodInfo, trial: Trial): Candidate | Status {
    if (!hasVictims(pod, node)) return NO_VICTIMS;
    const victims = selectVictims(state.clone(), pod, node.clone(), trial, this.#budgets);
    if (victims instanceof Status) return victims;
    if (victims.pods.length > 0) return candidateOf(node.name, victims);
    return Status.error(`expected at least one victim pod on node "${node.name}"`, NAME);
  }

  /** Evicts the victims in the background. Never rejects. */
  async #evict(pod: PodInfo, candidate: Candidate): Promise<void> {
    const { logger, ended, activate, metrics } = this.#handle;
    const start = metrics?.now() ?? 0;
    const evicting = { triedAgain: false };
    this.#evicting.set(pod.uid, evicting);
    let failed = false;
    try {
      await evict(this.#handle, NAME, pod, candidate);
    } catch (error) {
      failed = true;
      if (!ended.aborted)
        logger.warn('preemption failed', { pod: pod.key, node: candidate.node, err: error });
    }
    this.#evicting.delete(pod.uid);
    metrics?.evictionEnded(failed ? 'error' : 'success', start);
    // Otherwise the end of the victims requeues the pod. Here that event may have been missed, or
    // will not come.
    if ((failed || evicting.triedAgain) && !ended.aborted) activate([pod.pod]);
  }
}

function refusal(why: string): Status {
  return new Status('Unschedulable', [`preemption: ${why}`], NAME);
}

function isBeingPreempted(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp === undefined) return false;
  const condition = pod.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return condition?.status === 'True' && condition.reason === 'PreemptionByScheduler';
}

export const defaultPreemption: PluginRegistration = {
  name: NAME,
  create(args, handle) {
    const read = readArgs(
      NAME,
      args,
      ['minCandidateNodesPercentage', 'minCandidateNodesAbsolute'],
      (reader) => ({
        minCandidateNodesPercentage:
          reader.child('minCandidateNodesPercentage').integer(0, 100) ?? 10,
        minCandidateNodesAbsolute:
          reader
            .child('minCandidateNodesAbsolute')
            .integer(0, MAX_INT32, 'not in valid range [0, inf)') ?? 100,
      }),
    );
    if (read.minCandidateNodesPercentage === 0 && read.minCandidateNodesAbsolute === 0) {
      const path = field.path(args.path);
      const names = ['minCandidateNodesPercentage', 'minCandidateNodesAbsolute'] as const;
      const errors = names.map((name, i) =>
        field.invalid(path.child(name), 0, `cannot be zero at the same time as ${names[1 - i]}`),
      );
      throw new ConfigurationError(`arguments of plugin ${NAME}`, errors);
    }
    return new DefaultPreemption(read, handle);
  },
};
