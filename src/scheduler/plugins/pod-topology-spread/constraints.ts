// A pod's topology spread constraints, parsed for one scheduling cycle.

import type {
  TopologySpreadConstraint,
  UnsatisfiableConstraintAction,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  labelSelectorAsSelector,
  type Selector,
  selectorFromSet,
} from '#machinery/selectors/labels.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Node, Pod } from '#scheduler/framework/objects.ts';
import { type NodeMatcher, requiredBy } from '../node-selector.ts';
import { allTolerated } from '../tolerations.ts';
import { topologyValue } from '../topology/labels.ts';

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: Selector;
  readonly minDomains: number;
  /** Nodes that the pod's node affinity and selector exclude are not counted. */
  readonly honorsAffinity: boolean;
  /** Nodes with taints that the pod does not tolerate are not counted. */
  readonly honorsTaints: boolean;
}

/** Returns the constraints with this whenUnsatisfiable. Throws if a selector is invalid. */
export function readConstraints(
  constraints: readonly Immutable<TopologySpreadConstraint>[],
  pod: Pod,
  action: UnsatisfiableConstraintAction,
): readonly SpreadConstraint[] {
  return constraints
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map((constraint) => ({
      maxSkew: constraint.maxSkew,
      topologyKey: constraint.topologyKey,
      selector: withLabelKeys(
        labelSelectorAsSelector(constraint.labelSelector),
        constraint.matchLabelKeys,
        pod,
      ),
      minDomains: constraint.minDomains ?? 1,
      honorsAffinity: (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor',
      honorsTaints: (constraint.nodeTaintsPolicy ?? 'Ignore') === 'Honor',
    }));
}

/**
 * Returns the selector restricted to pods with the pod's own values of these labels; labels that it
 * lacks are left out.
 */
function withLabelKeys(
  selector: Selector,
  keys: readonly string[] | undefined,
  pod: Pod,
): Selector {
  const labels = pod.metadata.labels;
  const present = (keys ?? []).filter((key) => labels !== undefined && Object.hasOwn(labels, key));
  if (labels === undefined || present.length === 0) return selector;
  const same = selectorFromSet(Object.fromEntries(present.map((key) => [key, labels[key]!])));
  // As upstream, the keys alone select if the constraint has no selector.
  return same.add(...(selector.requirements() ?? []));
}

export function hasAllTopologies(
  node: Node | undefined,
  constraints: readonly SpreadConstraint[],
): boolean {
  for (const { topologyKey } of constraints)
    if (topologyValue(node, topologyKey) === undefined) return false;
  return true;
}

/** Reports whether a constraint of the pod counts a node, by its inclusion policies. */
export class NodeInclusion {
  readonly #pod: Pod;
  #required: NodeMatcher | null | undefined;

  constructor(pod: Pod) {
    this.#pod = pod;
  }

  includes({ node, hardTaints }: NodeInfo, constraint: SpreadConstraint): boolean {
    if (node === undefined) return false;
    if (constraint.honorsAffinity) {
      this.#required ??= requiredBy(this.#pod) ?? null;
      if (this.#required !== null && !this.#required(node)) return false;
    }
    return !constraint.honorsTaints || allTolerated(hardTaints, this.#pod.spec.tolerations);
  }

  /** Returns an identity of everything that `includes` depends on. */
  identity({ honorsAffinity, honorsTaints }: SpreadConstraint): unknown {
    const { nodeSelector, affinity, tolerations } = this.#pod.spec;
    const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    return [
      honorsAffinity ? [nodeSelector, required] : null,
      honorsTaints ? (tolerations ?? []) : null,
    ];
  }
}

/** Reports whether the pod counts. Terminating pods do not: their place is free soon. */
export function countsFor(namespace: string | undefined, selector: Selector, pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    pod.metadata.namespace === namespace &&
    selector.matches(pod.metadata.labels)
  );
}
