// The groups that policies of this node refer to, with their elements, updated pod by pod. A group
// costs nothing while no policy of a local pod refers to it.

import type { Steps } from '#machinery/turn.ts';
import { isNamespaceIn } from './decide.ts';
import type { Group, GroupElements, Labels, PolicyPod } from './model.ts';
import { elementsOf } from './rules/compile.ts';

/** A pod with the addresses that no newer pod has. */
export interface PlacedPod {
  readonly pod: PolicyPod;
  readonly addresses: readonly string[];
}

interface LiveGroup {
  readonly group: Group;
  users: number;
  readonly elements: Set<string>;
  /** The namespaces with pods in the group. */
  readonly namespaces: Set<string>;
  /** Elements are missing: traffic of their pods is not allowed. */
  isIncomplete: boolean;
}

/** The number of pods per step. */
const PODS_PER_STEP = 500;
/**
 * The maximum number of elements in all groups. Without a limit, policies of one namespace could
 * exhaust the memory of all nodes.
 */
const MAX_ELEMENTS = 2_000_000;

export class Groups {
  readonly #live = new Map<string, LiveGroup>();
  /** Groups that select one namespace by name. */
  readonly #byNamespace = new Map<string, Set<LiveGroup>>();
  /** Groups that select namespaces by labels. */
  readonly #selecting = new Set<LiveGroup>();
  readonly #elements = new Map<string, GroupElements>();
  #changes = new Map<string, Map<string, boolean>>();
  readonly #maxElements: number;
  #count = 0;

  constructor(maxElements = MAX_ELEMENTS) {
    this.#maxElements = maxElements;
  }

  /** The elements of each group, by the group's id. */
  get elements(): ReadonlyMap<string, GroupElements> {
    return this.#elements;
  }

  /** The number of groups without all of their elements, because of the limit. */
  get incomplete(): number {
    return [...this.#live.values()].filter(({ isIncomplete }) => isIncomplete).length;
  }

  /** Adds missing elements to incomplete groups, as far as the limit allows. */
  *complete(placed: ReadonlyMap<string, ReadonlyMap<string, PlacedPod>>): Steps<void> {
    for (const live of this.#live.values()) {
      if (!live.isIncomplete || this.#count >= this.#maxElements) continue;
      live.isIncomplete = false;
      for (const namespace of live.namespaces)
        yield* this.#each(live, (placed.get(namespace) ?? NO_PODS).values(), true);
    }
  }

  /** Returns the difference since the last call. Groups without users are removed. */
  takeChanges(): ReadonlyMap<string, ReadonlyMap<string, boolean>> {
    for (const [id, live] of this.#live) {
      if (live.users > 0) continue;
      this.#live.delete(id);
      this.#count -= live.elements.size;
      this.#elements.delete(id);
      this.#selecting.delete(live);
      const { namespaces } = live.group;
      if (typeof namespaces === 'string') this.#byNamespace.get(namespaces)?.delete(live);
      this.#changes.set(id, new Map());
    }
    const changes = this.#changes;
    this.#changes = new Map();
    return changes;
  }

  /** Adds a user of the group. A new group is filled. */
  *acquire(
    group: Group,
    namespaces: ReadonlyMap<string, Labels>,
    placed: ReadonlyMap<string, ReadonlyMap<string, PlacedPod>>,
  ): Steps<void> {
    const present = this.#live.get(group.id);
    if (present !== undefined) {
      present.users++;
      return;
    }
    const live: LiveGroup = {
      group,
      users: 1,
      elements: new Set(),
      namespaces: new Set(),
      isIncomplete: false,
    };
    this.#live.set(group.id, live);
    this.#elements.set(group.id, { hasPorts: group.ports !== undefined, elements: live.elements });
    this.#changes.set(group.id, new Map());
    if (typeof group.namespaces !== 'string') {
      this.#selecting.add(live);
    } else {
      const others = this.#byNamespace.get(group.namespaces) ?? new Set();
      this.#byNamespace.set(group.namespaces, others.add(live));
    }
    for (const [namespace, pods] of namespacesOf(group, placed)) {
      if (!isNamespaceIn(group, namespace, namespaces.get(namespace))) continue;
      live.namespaces.add(namespace);
      yield* this.#each(live, pods.values(), true);
    }
  }

  release(group: Group): void {
    const live = this.#live.get(group.id);
    if (live !== undefined) live.users--;
  }

  /** Replaces a pod; undefined: it did not exist before, or is gone. */
  movePod(
    previous: PlacedPod | undefined,
    next: PlacedPod | undefined,
    labels: Labels | undefined,
  ): void {
    const namespace = (previous ?? next)?.pod.namespace ?? '';
    const groups = [...(this.#byNamespace.get(namespace) ?? []), ...this.#selecting];
    for (const live of groups) {
      if (!isNamespaceIn(live.group, namespace, labels)) continue;
      live.namespaces.add(namespace);
      const before = previous === undefined ? [] : membersOf(live.group, previous);
      const after = next === undefined ? [] : membersOf(live.group, next);
      for (const element of before) if (!after.includes(element)) this.#put(live, element, false);
      for (const element of after) this.#put(live, element, true);
    }
  }

  /** Updates a namespace whose labels have changed; `labels` is undefined if it is gone. */
  *setNamespace(
    name: string,
    labels: Labels | undefined,
    pods: ReadonlyMap<string, PlacedPod> | undefined,
  ): Steps<void> {
    for (const live of this.#selecting) {
      const isIn = isNamespaceIn(live.group, name, labels);
      if (isIn === live.namespaces.has(name)) continue;
      if (isIn) live.namespaces.add(name);
      else live.namespaces.delete(name);
      yield* this.#each(live, (pods ?? NO_PODS).values(), isIn);
    }
  }

  *#each(live: LiveGroup, pods: Iterable<PlacedPod>, isAdded: boolean): Steps<void> {
    let count = 0;
    for (const placed of pods) {
      for (const element of membersOf(live.group, placed)) this.#put(live, element, isAdded);
      if (++count % PODS_PER_STEP === 0) yield;
    }
    yield;
  }

  #put(live: LiveGroup, element: string, isAdded: boolean): void {
    const { group, elements } = live;
    if (elements.has(element) === isAdded) return;
    if (isAdded && this.#count >= this.#maxElements) {
      live.isIncomplete = true;
      return;
    }
    this.#count += isAdded ? 1 : -1;
    if (isAdded) elements.add(element);
    else elements.delete(element);
    const changes = this.#changes.get(group.id) ?? new Map<string, boolean>();
    this.#changes.set(group.id, changes);
    // An element that was added and removed again is no change.
    if (changes.get(element) === !isAdded) changes.delete(element);
    else changes.set(element, isAdded);
  }
}

const NO_PODS: ReadonlyMap<string, PlacedPod> = new Map();

const membersOf = (group: Group, { pod, addresses }: PlacedPod): readonly string[] =>
  group.pods.matches(pod.labels) ? elementsOf(group, pod, addresses) : [];

function namespacesOf(
  { namespaces }: Group,
  placed: ReadonlyMap<string, ReadonlyMap<string, PlacedPod>>,
): Iterable<readonly [string, ReadonlyMap<string, PlacedPod>]> {
  if (typeof namespaces !== 'string') return placed;
  const pods = placed.get(namespaces);
  return pods === undefined ? [] : [[namespaces, pods]];
}
