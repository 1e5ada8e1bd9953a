// InterPodAffinity: pods that must, must not, or preferably should (not) run in one topology domain
// with certain other pods. Terms of existing pods that match the new pod count as well.

import {
  type AffinityTerm,
  allTermsMatch,
  demandedLabel,
  termMatches,
  type WeightedAffinityTerm,
} from '#scheduler/framework/affinity-terms.ts';
import { type CycleState, type StateKey, stateKey } from '#scheduler/framework/cycle-state.ts';
import type { ClusterEventWithHint } from '#scheduler/framework/events.ts';
import type { Handle, PluginRegistration } from '#scheduler/framework/handle.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import { layoutOf, type NodeAnswers, NodeMemo } from '#scheduler/framework/node-memo.ts';
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
import { readArgs } from '../args.ts';
import { topologyValue } from '../topology/labels.ts';
import { DomainCounts, DomainTally } from '../topology/tally.ts';
import { TallyCache } from '../topology/tally-cache.ts';
import { AffinityState, Existing, type OwnTerm } from './affinity-state.ts';
import { affinityEvents } from './hints.ts';
import { Namespaces } from './namespaces.ts';
import { type IndexedTerm, TermIndex } from './term-index.ts';

const NAME = 'InterPodAffinity';
const AFFINITY = new Status(
  'UnschedulableAndUnresolvable',
  ["node(s) didn't match pod affinity rules"],
  NAME,
);
const ANTI_AFFINITY = new Status(
  'Unschedulable',
  ["node(s) didn't match pod anti-affinity rules"],
  NAME,
);
const EXISTING_ANTI_AFFINITY = new Status(
  'Unschedulable',
  ["node(s) didn't satisfy existing pods anti-affinity rules"],
  NAME,
);
const SKIP = new Status('Skip', [], NAME);

const REQUIRED: StateKey<AffinityState> = stateKey(`${NAME}/required`, (state) => state.clone());
const PREFERRED: StateKey<readonly Preference[]> = stateKey(`${NAME}/preferred`);

/** Separates parts of a template. It occurs in no text of the API. */
const SEPARATOR = '\0';

/** The score (possibly negative) of a node for each matching pod in its domain. */
interface Preference {
  readonly topologyKey: string;
  readonly weight: number;
  readonly count: (domain: string) => number;
}

interface Args {
  /** The score for the required affinity of an existing pod to this pod. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

class InterPodAffinity implements PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin {
  readonly name = NAME;
  readonly #args: Args;
  readonly #handle: Handle;
  readonly #namespaces: Namespaces;
  readonly #tallies: TallyCache;
  /** The required anti-affinity of the pods on nodes. */
  readonly #avoided: TermIndex;
  /** The preferred affinity and anti-affinity of the pods on nodes. */
  readonly #preferred: TermIndex;
  readonly #memo = new NodeMemo<Answer>(undefined);

  constructor(args: Args, handle: Handle) {
    this.#args = args;
    this.#handle = handle;
    this.#namespaces = new Namespaces(handle);
    this.#tallies = new TallyCache(handle.snapshot);
    this.#avoided = new TermIndex(handle.snapshot, (pod) =>
      pod.affinityTerms.requiredAntiAffinity.map((term) => ({ term, weight: 1 })),
    );
    this.#preferred = new TermIndex(handle.snapshot, (pod) => this.#preferencesOf(pod));
  }

  preFilter(state: CycleState, pod: PodInfo): Answer {
    const { requiredAffinity, requiredAntiAffinity, error } = pod.affinityTerms;
    if (error !== undefined)
      return new Status('UnschedulableAndUnresolvable', [`parsing pod: ${error}`], NAME);
    const existing = this.#avoided.matching(pod.pod, this.#namespaces.labelsOf);
    if (existing.length === 0 && requiredAffinity.length === 0 && requiredAntiAffinity.length === 0)
      return SKIP;
    const affinity = requiredAffinity.map((term) => this.#own(term, requiredAffinity));
    const antiAffinity = requiredAntiAffinity.map((term) => this.#own(term, [term]));
    const firstOfItsKind = allTermsMatch(requiredAffinity, pod.pod, this.#namespaces.labelsOf);
    const known =
      requiredAffinity.length === 0 ? this.#known(pod, antiAffinity, existing) : undefined;
    state.write(
      REQUIRED,
      new AffinityState(affinity, antiAffinity, new Existing(existing), firstOfItsKind, known),
    );
    return undefined;
  }

  addPod(state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo): Answer {
    state.read(REQUIRED)?.count(pod, added, node, 1, this.#namespaces.labelsOf);
    return undefined;
  }

  removePod(state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo): Answer {
    state.read(REQUIRED)?.count(pod, removed, node, -1, this.#namespaces.labelsOf);
    return undefined;
  }

  filter(state: CycleState, _pod: PodInfo, node: NodeInfo, position?: number): Answer {
    const required = state.read(REQUIRED);
    if (required === undefined) return undefined;
    const { known } = required;
    if (known === undefined || position === undefined) return verdict(required, node, position);
    if (known.has(position)) return known.get(position);
    const answer = verdict(required, node, position);
    known.set(position, answer);
    return answer;
  }

  preScore(state: CycleState, pod: PodInfo): Answer {
    const { preferredAffinity, preferredAntiAffinity } = pod.affinityTerms;
    const own = preferredAffinity.length + preferredAntiAffinity.length;
    if (own === 0 && this.#args.ignorePreferredTermsOfExistingPods) return SKIP;
    const preferences: Preference[] = [];
    const prefer = ({ term, weight }: WeightedAffinityTerm, sign: 1 | -1): void => {
      const { counts } = this.#own(term, [term]);
      if (counts.total === 0) return;
      preferences.push({
        topologyKey: term.topologyKey,
        weight: sign * weight,
        count: (domain) => counts.count(domain),
      });
    };
    for (const term of preferredAffinity) prefer(term, 1);
    for (const term of preferredAntiAffinity) prefer(term, -1);
    for (const { term, weight, counts } of this.#preferred.matching(
      pod.pod,
      this.#namespaces.labelsOf,
    )) {
      preferences.push({
        topologyKey: term.topologyKey,
        weight,
        count: (domain) => counts.get(domain) ?? 0,
      });
    }
    if (preferences.length === 0) return SKIP;
    state.write(PREFERRED, preferences);
    return undefined;
  }

  score(state: CycleState, _pod: PodInfo, { node }: NodeInfo): number {
    let score = 0;
    for (const { topologyKey, weight, count } of state.read(PREFERRED) ?? []) {
      const domain = topologyValue(node, topologyKey);
      if (domain !== undefined) score += weight * count(domain);
    }
    return score;
  }

  /** The best node gets 100, the worst 0; all get 0 if they are equal. */
  normalizeScore(_state: CycleState, _pod: PodInfo, scores: number[]): Answer {
    let [least, most] = [Infinity, -Infinity];
    for (const score of scores) {
      if (score < least) least = score;
      if (score > most) most = score;
    }
    const range = most - least;
    for (let i = 0; i < scores.length; i++) {
      scores[i] = range > 0 ? Math.trunc(MAX_NODE_SCORE * ((scores[i]! - least) / range)) : 0;
    }
    return undefined;
  }

  eventsToRegister(): readonly ClusterEventWithHint[] {
    const { labelsOf } = this.#namespaces;
    return affinityEvents(labelsOf, (pod) => this.#avoided.matching(pod, labelsOf).length > 0);
  }

  /**
   * Returns remembered results about nodes for the pod's template. They are valid until the node
   * changes, as long as each node is a separate domain for all relevant terms, so that only pods on
   * the node itself matter.
   */
  #known(
    pod: PodInfo,
    antiAffinity: readonly OwnTerm[],
    existing: readonly IndexedTerm[],
  ): NodeAnswers<Answer> | undefined {
    if (
      !antiAffinity.every(({ counts }) => counts.separate) ||
      !existing.every(({ separate }) => separate)
    )
      return undefined;
    let template = `${this.#namespaces.version}${SEPARATOR}${pod.group}`;
    for (const { identity } of pod.affinityTerms.requiredAntiAffinity)
      template += SEPARATOR + identity;
    return this.#memo.of(template, layoutOf(this.#handle.snapshot));
  }

  /** Returns the number of pods that match all of `terms`, by domain of the term's topology. */
  #own(term: AffinityTerm, terms: readonly AffinityTerm[]): OwnTerm {
    const { labelsOf, version } = this.#namespaces;
    // If a namespace selector is used, the result depends on labels of namespaces; then the tally
    // is computed again.
    const selects = terms.some(
      ({ namespaceSelector }) => namespaceSelector !== undefined && !namespaceSelector.empty(),
    );
    const key = JSON.stringify([
      term.topologyKey,
      selects ? version : null,
      ...terms.map(({ identity }) => identity),
    ]);
    const tally = this.#tallies.get(
      key,
      () =>
        new DomainTally(
          this.#handle.snapshot,
          this.#tallies.layout(term.topologyKey, ({ node }) =>
            topologyValue(node, term.topologyKey),
          ),
          {
            selects: (pod) => allTermsMatch(terms, pod, labelsOf),
            label: demandedLabel(term.selector),
          },
        ),
    );
    const matches = (other: PodInfo): boolean =>
      terms.length === 1
        ? termMatches(term, other.pod, labelsOf)
        : allTermsMatch(terms, other.pod, labelsOf);
    return { topologyKey: term.topologyKey, matches, counts: new DomainCounts(tally) };
  }

  #preferencesOf({ affinityTerms }: PodInfo): readonly WeightedAffinityTerm[] {
    const { hardPodAffinityWeight: weight } = this.#args;
    const { requiredAffinity, preferredAffinity, preferredAntiAffinity } = affinityTerms;
    return [
      ...(weight > 0 ? requiredAffinity.map((term) => ({ term, weight })) : []),
      ...preferredAffinity,
      ...preferredAntiAffinity.map((weighted) => ({
        term: weighted.term,
        weight: -weighted.weight,
      })),
    ];
  }
}

function verdict(required: AffinityState, node: NodeInfo, position: number | undefined): Answer {
  if (!required.meetsAffinity(node, position)) return AFFINITY;
  if (!required.meetsAntiAffinity(node, position)) return ANTI_AFFINITY;
  return required.meetsExisting(node, position) ? undefined : EXISTING_ANTI_AFFINITY;
}

export const interPodAffinity: PluginRegistration = {
  name: NAME,
  create(args, handle) {
    const fields = ['hardPodAffinityWeight', 'ignorePreferredTermsOfExistingPods'];
    const read = readArgs(NAME, args, fields, (reader) => ({
      hardPodAffinityWeight: reader.child('hardPodAffinityWeight').integer(0, 100) ?? 1,
      ignorePreferredTermsOfExistingPods:
        reader.child('ignorePreferredTermsOfExistingPods').boolean() ?? false,
    }));
    return new InterPodAffinity(read, handle);
  },
};
