// The pods on a snapshot's nodes, grouped by the properties that selectors can match. Pods of one
// template form one group, and a counter of pods is notified of the groups that it selects only: a
// pod that comes or goes costs only the counters that select it, independent of the number of other
// counters.

import type { NodeInfo } from '../framework/node-info.ts';
import type { Pod } from '../framework/objects.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { PodList } from '../framework/pod-list.ts';
import type { PodCounter, PodGroupIndex, SnapshotReader } from '../framework/snapshot.ts';
import { SnapshotChanges, SnapshotFollower } from '../framework/snapshot-changes.ts';

interface Group {
  readonly key: string;
  /** Any pod of the group: every selection treats them the same. */
  readonly pod: Pod;
  /** Node → the number of pods. No entry is 0. */
  readonly counts: Map<string, number>;
  readonly counters: Set<PodCounter>;
}

const NO_PODS = new PodList();

export class PodGroups implements PodGroupIndex {
  readonly #snapshot: SnapshotReader;
  #follower: SnapshotFollower | undefined;
  /** By name: the nodes as they were counted. */
  readonly #counted = new Map<string, NodeInfo>();
  readonly #groups = new Map<string, Group>();
  /** 'key=value' → the groups whose pods have the label. */
  readonly #groupsWith = new Map<string, Set<Group>>();
  /** The counters, with the groups that they select. */
  readonly #counters = new Map<PodCounter, Set<Group>>();
  /**
   * 'key=value' → the counters whose selection requires the label; '' → the counters whose
   * selection requires no label.
   */
  readonly #countersOf = new Map<string, Set<PodCounter>>();
  /**
   * The positions whose Node object has changed, as opposed to positions where only pods have
   * changed.
   */
  readonly nodeChanges = new SnapshotChanges();
  /** The snapshot's structure as of the last update. */
  #structure = -1;

  constructor(snapshot: SnapshotReader) {
    this.#snapshot = snapshot;
  }

  /**
   * Updates the groups to the snapshot's state, and notifies the counters. Costs nothing if it is
   * never called.
   */
  update(): void {
    const { nodes, changes } = this.#snapshot;
    this.#follower ??= new SnapshotFollower(changes);
    this.#follower.follow(
      () => this.#recount(changes.structure),
      (position) => this.#replace(position, nodes[position]!),
    );
  }

  follow(counter: PodCounter): void {
    const { selects, label } = counter.selection;
    const groups = new Set<Group>();
    for (const group of label === undefined
      ? this.#groups.values()
      : (this.#groupsWith.get(textOf(label)) ?? [])) {
      if (!selects(group.pod)) continue;
      groups.add(group);
      group.counters.add(counter);
    }
    this.#counters.set(counter, groups);
    enter(this.#countersOf, textOf(label), counter);
  }

  unfollow(counter: PodCounter): void {
    for (const group of this.#counters.get(counter) ?? []) group.counters.delete(counter);
    this.#counters.delete(counter);
    leave(this.#countersOf, textOf(counter.selection.label), counter);
  }

  /** Calls back with the number of selected pods by position; a position may be repeated. */
  forEachCount(counter: PodCounter, found: (position: number, count: number) => void): void {
    for (const { counts } of this.#counters.get(counter) ?? []) {
      for (const [node, count] of counts) {
        const position = this.#snapshot.positionOf(node);
        if (position !== undefined) found(position, count);
      }
    }
  }

  #recount(structure: number): void {
    // Positions refer to other nodes now: every counter starts again.
    if (structure !== this.#structure) this.nodeChanges.restructure();
    this.#structure = structure;
    const { nodes } = this.#snapshot;
    nodes.forEach((node, position) => this.#replace(position, node));
    if (this.#counted.size === nodes.length) return;
    for (const [name, before] of this.#counted) {
      if (this.#snapshot.positionOf(name) !== undefined) continue;
      this.#count(undefined, name, before.pods, NO_PODS);
      this.#counted.delete(name);
    }
  }

  #replace(position: number, after: NodeInfo): void {
    const before = this.#counted.get(after.name);
    if (before === after) return;
    this.#counted.set(after.name, after);
    if (before !== undefined && before.node !== after.node)
      this.nodeChanges.add(position, this.#snapshot.nodes.length);
    this.#count(position, after.name, before?.pods ?? NO_PODS, after.pods);
  }

  #count(position: number | undefined, node: string, before: PodList, after: PodList): void {
    const added = after.addedTo(before);
    if (added !== undefined) {
      for (const pod of added) this.#change(this.#groupOf(pod), position, node, 1);
      return;
    }
    const differences = new Map<Group, number>();
    for (const pod of after) {
      const group = this.#groupOf(pod);
      differences.set(group, (differences.get(group) ?? 0) + 1);
    }
    for (const pod of before) {
      const group = this.#groupOf(pod);
      differences.set(group, (differences.get(group) ?? 0) - 1);
    }
    for (const [group, by] of differences) if (by !== 0) this.#change(group, position, node, by);
  }

  #change(group: Group, position: number | undefined, node: string, by: number): void {
    const count = (group.counts.get(node) ?? 0) + by;
    if (count !== 0) group.counts.set(node, count);
    else group.counts.delete(node);
    if (position !== undefined) for (const counter of group.counters) counter.changed(position, by);
    if (group.counts.size === 0) this.#drop(group);
  }

  #groupOf(info: PodInfo): Group {
    return this.#groups.get(info.group) ?? this.#add(info);
  }

  #add({ group: key, pod }: PodInfo): Group {
    const group: Group = { key, pod, counts: new Map(), counters: new Set() };
    this.#groups.set(key, group);
    const choose = (counters: ReadonlySet<PodCounter> | undefined): void => {
      for (const counter of counters ?? []) {
        if (!counter.selection.selects(pod)) continue;
        group.counters.add(counter);
        this.#counters.get(counter)?.add(group);
      }
    };
    choose(this.#countersOf.get(''));
    for (const label of labelsOf(pod)) {
      enter(this.#groupsWith, label, group);
      choose(this.#countersOf.get(label));
    }
    return group;
  }

  #drop(group: Group): void {
    this.#groups.delete(group.key);
    for (const counter of group.counters) this.#counters.get(counter)?.delete(group);
    for (const label of labelsOf(group.pod)) leave(this.#groupsWith, label, group);
  }
}

function labelsOf({ metadata: { labels } }: Pod): readonly string[] {
  return Object.entries(labels ?? {}).map(textOf);
}

/** Returns the label as text; '' for none, which is not the text of any label. */
function textOf(label: readonly [key: string, value: string] | undefined): string {
  return label === undefined ? '' : `${label[0]}=${label[1]}`;
}

function enter<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([item]));
  else set.add(item);
}

function leave<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}
