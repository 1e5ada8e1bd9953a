// The accepted names (status.acceptedNames) of the definitions of each group, and the definitions
// that still wait for some.

import { semanticEqual } from '#machinery/deep.ts';
import { acceptedNamesOf, type Definition, type Names } from './definition.ts';

/** The names that definitions of a group use, including the definition that is being decided. */
export interface TakenNames {
  hasResource(name: string): boolean;
  hasKind(name: string): boolean;
}

/**
 * A multiset of names: several definitions may have the same name if different servers accepted
 * them at the same moment.
 */
class Counts {
  readonly #counts = new Map<string, number>();

  has(name: string): boolean {
    return this.#counts.has(name);
  }

  add(name: string, change: 1 | -1): void {
    const count = (this.#counts.get(name) ?? 0) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}

class Group implements TakenNames {
  readonly #resources = new Counts();
  readonly #kinds = new Counts();
  /** Definitions with names that are not accepted. */
  readonly waiting = new Set<string>();

  hasResource(name: string): boolean {
    return this.#resources.has(name);
  }

  hasKind(name: string): boolean {
    return this.#kinds.has(name);
  }

  count({ plural, singular = '', shortNames, kind, listKind = '' }: Names, change: 1 | -1): void {
    for (const name of [plural, singular, ...(shortNames ?? [])]) this.#resources.add(name, change);
    for (const name of [kind, listKind]) this.#kinds.add(name, change);
  }
}

interface Entry {
  readonly group: string;
  readonly resourceVersion: number;
  readonly names: Names;
}

const NONE_TAKEN: TakenNames = { hasResource: () => false, hasKind: () => false };

export class GroupNames {
  readonly #groups = new Map<string, Group>();
  readonly #entries = new Map<string, Entry>();

  /** Returns the names in use in a group. */
  takenIn(group: string): TakenNames {
    return this.#groups.get(group) ?? NONE_TAKEN;
  }

  /**
   * Records a version of a definition, unless it is older than the recorded one. Returns the
   * definitions of its group that wait for names and may get them now.
   */
  set(definition: Definition): readonly string[] {
    const { name, resourceVersion } = definition.metadata;
    const before = this.#entries.get(name);
    const revision = Number(resourceVersion);
    if (before !== undefined && before.resourceVersion >= revision) return [];
    const names = acceptedNamesOf(definition);
    const { group: groupName } = definition.spec;
    const group = this.#groups.get(groupName) ?? new Group();
    this.#groups.set(groupName, group);
    if (before !== undefined) group.count(before.names, -1);
    group.count(names, 1);
    this.#entries.set(name, { group: groupName, resourceVersion: revision, names });
    if (semanticEqual(definition.spec.names, names)) group.waiting.delete(name);
    else group.waiting.add(name);
    // A name that is no longer used is free for others.
    return before === undefined || semanticEqual(before.names, names)
      ? []
      : [...group.waiting].filter((each) => each !== name);
  }

  /** Forgets a deleted definition. Returns the definitions that may get its names now. */
  delete(name: string): readonly string[] {
    const entry = this.#entries.get(name);
    if (entry === undefined) return [];
    this.#entries.delete(name);
    const group = this.#groups.get(entry.group)!;
    group.count(entry.names, -1);
    group.waiting.delete(name);
    return [...group.waiting];
  }
}
