// Decisions about the pods and the status of a DaemonSet, as values.

import type { DaemonSet, DaemonSetStatus } from '#api/groups/apps/v1/index.ts';
import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { getScaledValueFromIntOrPercent } from '#machinery/text/int-or-string.ts';
import { isPodAvailable, isPodReady } from '../pod-state.ts';
import { isUpdated, placementOn } from './placement.ts';

type ReadDaemonSet = Immutable<DaemonSet>;
type ReadNode = Immutable<Node>;
type ReadPod = Immutable<Pod>;

export interface Facts {
  readonly set: ReadDaemonSet;
  readonly nodes: readonly ReadNode[];
  /**
   * By the name of the node where the pods run, or to which they will be bound. It has no empty
   * lists.
   */
  readonly podsByNode: ReadonlyMap<string, readonly ReadPod[]>;
  /** The hash of the current revision. */
  readonly hash: string;
  readonly nowMs: number;
}

export interface Plan {
  /** The names of nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly ReadPod[];
}

/** Ended pods on nodes that should have a running one. */
export interface Ended {
  readonly pod: ReadPod;
  readonly node: string;
}

export interface NodesPlan extends Plan {
  /** Failed pods, which are removed too, each with a longer back-off on its node. */
  readonly failed: readonly Ended[];
  readonly succeeded: readonly Ended[];
}

/** Plans one pod on each eligible node, and none on the others. */
export function planNodes(facts: Facts): NodesPlan {
  const create: string[] = [];
  const remove: ReadPod[] = [];
  const failed: Ended[] = [];
  const succeeded: Ended[] = [];
  const surges = maxSurge(facts) > 0;
  for (const node of facts.nodes) {
    const { name } = node.metadata;
    const { shouldRun, shouldContinueRunning } = placementOn(node, facts.set);
    const present = facts.podsByNode.get(name);
    if (present === undefined) {
      if (shouldRun) create.push(name);
      continue;
    }
    const staying = present.filter(isStaying);
    if (!shouldContinueRunning) {
      remove.push(...staying);
      continue;
    }
    const running = staying
      .filter(({ status }) => status.phase !== 'Failed' && status.phase !== 'Succeeded')
      .toSorted(oldestFirst);
    failed.push(
      ...staying.flatMap((pod) => (pod.status.phase === 'Failed' ? [{ pod, node: name }] : [])),
    );
    succeeded.push(
      ...staying.flatMap((pod) => (pod.status.phase === 'Succeeded' ? [{ pod, node: name }] : [])),
    );
    if (!surges) remove.push(...running.slice(1));
    else if (running.length > 1) remove.push(...surplusWhenSurging(facts, running));
    else if (running.length === 0 && shouldRun && staying.length === 0) create.push(name);
  }
  // No other component removes a pod that waits for a node which does not exist.
  const known = new Set(facts.nodes.map(({ metadata }) => metadata.name));
  for (const [node, pods] of facts.podsByNode) {
    if (!known.has(node))
      remove.push(...pods.filter((pod) => !pod.spec.nodeName && isStaying(pod)));
  }
  return { create, remove, failed, succeeded };
}

/**
 * Returns surplus pods of a surging update. While a new pod becomes ready beside the old one, two
 * pods are allowed. `running`: oldest first.
 */
function surplusWhenSurging(facts: Facts, running: readonly ReadPod[]): readonly ReadPod[] {
  const { set, hash, nowMs } = facts;
  const [fresh, ...moreFresh] = running.filter((pod) => isUpdated(pod, set, hash));
  const [old, ...moreOld] = running.filter((pod) => !isUpdated(pod, set, hash));
  const surplus = [...moreFresh, ...moreOld];
  if (fresh === undefined || old === undefined) return surplus;
  const replaced = !isPodReady(old) || isPodAvailable(fresh, set.spec.minReadySeconds ?? 0, nowMs);
  return replaced ? [...surplus, old] : surplus;
}

/**
 * Plans the next step of a rolling update: as many pods at a time as maxUnavailable or maxSurge
 * allows.
 */
export function planUpdate(facts: Facts): Plan {
  const { set, nodes, podsByNode, hash, nowMs } = facts;
  const surge = maxSurge(facts);
  const available = (pod: ReadPod): boolean =>
    isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  const wanted = nodes
    .filter((node) => placementOn(node, set).shouldRun)
    .map(({ metadata }) => metadata.name);
  const states = [...new Set([...wanted, ...podsByNode.keys()])].map((name) => {
    const staying = (podsByNode.get(name) ?? []).filter(isStaying);
    const fresh = staying.filter((pod) => isUpdated(pod, set, hash));
    const old = staying.filter((pod) => !isUpdated(pod, set, hash));
    // Several pods of one revision on a node are cleaned up by planNodes.
    return { name, fresh: fresh[0], old: old[0], unclear: fresh.length > 1 || old.length > 1 };
  });
  if (surge > 0) {
    const mustCreate: string[] = [];
    const mayCreate: string[] = [];
    const remove: ReadPod[] = [];
    let surging = 0;
    for (const { name, fresh, old, unclear } of states) {
      if (unclear) surging++;
      else if (old === undefined) continue;
      else if (fresh === undefined) (available(old) ? mayCreate : mustCreate).push(name);
      else if (!available(old) || available(fresh)) remove.push(old);
      else surging++;
    }
    return { create: [...mustCreate, ...mayCreate.slice(0, Math.max(0, surge - surging))], remove };
  }
  const mustGo: ReadPod[] = [];
  const mayGo: ReadPod[] = [];
  let unavailable = 0;
  for (const { fresh, old, unclear } of states) {
    const only = fresh ?? old;
    if (
      unclear ||
      only === undefined ||
      (fresh !== undefined && old !== undefined) ||
      !available(only)
    )
      unavailable++;
    if (unclear || old === undefined || fresh !== undefined) continue;
    (available(old) ? mayGo : mustGo).push(old);
  }
  return {
    create: [],
    remove: [...mustGo, ...mayGo.slice(0, Math.max(0, maxUnavailable(facts) - unavailable))],
  };
}

/** Returns the status. `observe`: the DaemonSet's generation has been acted on. */
export function calculateStatus(facts: Facts, observe: boolean): Immutable<DaemonSetStatus> {
  const { set, nodes, podsByNode, hash, nowMs } = facts;
  let [desired, current, misscheduled, ready, updated, availableCount] = [0, 0, 0, 0, 0, 0];
  for (const node of nodes) {
    const pod = podsByNode.get(node.metadata.name)?.toSorted(oldestFirst)[0];
    if (!placementOn(node, set).shouldRun) {
      if (pod !== undefined) misscheduled++;
      continue;
    }
    desired++;
    if (pod === undefined) continue;
    current++;
    if (isPodReady(pod)) ready++;
    if (isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)) availableCount++;
    if (isUpdated(pod, set, hash)) updated++;
  }
  const { observedGeneration, collisionCount, conditions } = set.status;
  const observed = observe ? set.metadata.generation : observedGeneration;
  return {
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    ...(observed !== undefined && { observedGeneration: observed }),
    ...(updated > 0 && { updatedNumberScheduled: updated }),
    ...(availableCount > 0 && { numberAvailable: availableCount }),
    ...(desired > availableCount && { numberUnavailable: desired - availableCount }),
    ...(collisionCount !== undefined && { collisionCount }),
    ...(conditions !== undefined && { conditions }),
  };
}

function desiredCount({ set, nodes }: Facts): number {
  return nodes.filter((node) => placementOn(node, set).shouldRun).length;
}

function maxSurge(facts: Facts): number {
  const { type, rollingUpdate } = facts.set.spec.updateStrategy;
  if (type !== 'RollingUpdate') return 0;
  return getScaledValueFromIntOrPercent(rollingUpdate?.maxSurge ?? 0, desiredCount(facts), true);
}

/**
 * Returns how many pods may be unavailable. Without surge at least one: otherwise the update would
 * never progress.
 */
function maxUnavailable(facts: Facts): number {
  const { rollingUpdate } = facts.set.spec.updateStrategy;
  return Math.max(
    1,
    getScaledValueFromIntOrPercent(rollingUpdate?.maxUnavailable ?? 1, desiredCount(facts), true),
  );
}

function isStaying({ metadata }: ReadPod): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** Orders pods: bound pods before unbound ones, then by age, the oldest first. */
function oldestFirst(a: ReadPod, b: ReadPod): number {
  if (Boolean(a.spec.nodeName) !== Boolean(b.spec.nodeName)) return a.spec.nodeName ? -1 : 1;
  const [first, second] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
