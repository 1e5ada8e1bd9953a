// The proxy's table in one address family: the programmed state, and the commands that change it to
// the desired state.

import type { IpFamily } from '#machinery/net/ip.ts';
import type { ServiceRules } from '../model.ts';
import type { Listing } from './listing.ts';
import { type NftObjects, objectsOf } from './objects.ts';
import {
  type Container,
  FIXED_CHAINS,
  tableCommands,
  type TableSettings,
  wordsOf,
} from './table.ts';

/** The number of elements per command: a longer line takes nft more memory, not less time. */
const ELEMENTS_PER_COMMAND = 500;

/** The changes of one transaction, before they become commands. */
interface Difference {
  readonly elements: Set<string>;
  readonly chains: Set<string>;
  readonly sets: Set<string>;
}

interface Wanted {
  readonly value: string;
  users: number;
}

export class FamilyTable {
  readonly #family: IpFamily;
  #settings: TableSettings;
  readonly #services = new Map<string, NftObjects>();
  readonly #elements = new Map<string, Wanted>();
  readonly #chains = new Map<string, { readonly rules: readonly string[]; users: number }>();
  readonly #sets = new Map<string, number>();
  /** The kernel's state. */
  readonly #programmed: {
    readonly elements: Map<string, string>;
    /** Undefined: a chain with unknown rules. */
    readonly chains: Map<string, readonly string[] | undefined>;
    readonly sets: Set<string>;
  };
  /** Unused empty chains → since when. */
  readonly #stale = new Map<string, number>();
  readonly #leftover: Listing['foreign'];
  #replaces: boolean;

  /**
   * Creates the table's state. `listing`: the existing content; undefined: none, or none to keep.
   * `replaces`: the first transaction deletes the existing table.
   */
  constructor(
    family: IpFamily,
    settings: TableSettings,
    listing: Listing | undefined,
    replaces: boolean,
  ) {
    this.#family = family;
    this.#settings = settings;
    this.#programmed = {
      elements: listing?.elements ?? new Map(),
      chains: new Map(
        [...(listing?.chains ?? [])]
          .filter((name) => !FIXED_CHAINS.has(name))
          .map((name) => [name, undefined]),
      ),
      sets: listing?.affinitySets ?? new Set(),
    };
    this.#leftover = listing?.foreign ?? new Map();
    this.#replaces = replaces;
  }

  get #name(): string {
    return `${wordsOf(this.#family).family} ${this.#settings.table}`;
  }

  /**
   * Changes the settings. Chains of services that depend on them follow when their services change.
   */
  useSettings(settings: TableSettings): void {
    this.#settings = settings;
  }

  get programmedElements(): number {
    return this.#programmed.elements.size;
  }

  /** Returns the commands that create the fixed part of the table. */
  initialCommands(): string[] {
    const isReplaced = this.#replaces;
    this.#replaces = false;
    const replaced = isReplaced ? [`add table ${this.#name}`, `delete table ${this.#name}`] : [];
    return [...replaced, ...tableCommands(this.#family, this.#settings)];
  }

  /**
   * Returns the commands for changed services. They count as programmed: after an error the table
   * must be created from a listing again. `nowMs`: monotonic.
   */
  change(services: Iterable<readonly [string, ServiceRules | undefined]>, nowMs: number): string[] {
    const difference: Difference = { elements: new Set(), chains: new Set(), sets: new Set() };
    for (const [key, rules] of services) {
      const previous = this.#services.get(key);
      const next =
        rules === undefined ? undefined : objectsOf(rules, this.#family, this.#settings, previous);
      if (next !== undefined) this.#use(next, difference);
      if (previous !== undefined) this.#release(previous, difference);
      if (next === undefined) this.#services.delete(key);
      else this.#services.set(key, next);
    }
    return this.#commands(difference, nowMs);
  }

  /**
   * Returns the commands that remove everything that no service has used since the table was
   * listed.
   */
  removeLeftovers(nowMs: number): string[] {
    const unused = <T>(present: Iterable<string>, wanted: ReadonlyMap<string, T>): Set<string> =>
      new Set([...present].filter((name) => !wanted.has(name)));
    const commands = this.#commands(
      {
        elements: unused(this.#programmed.elements.keys(), this.#elements),
        chains: unused(this.#programmed.chains.keys(), this.#chains),
        sets: unused(this.#programmed.sets, this.#sets),
      },
      nowMs,
    );
    for (const [name, kind] of this.#leftover)
      commands.push(`delete ${kind} ${this.#name} ${name}`);
    this.#leftover.clear();
    return commands;
  }

  /**
   * Returns the commands that delete chains which have been unused since before `nowMs` - 1 s.
   * Kernels before 6.2 hold a reference for some time after the last map element that refers to a
   * chain is gone, and reject its deletion until then.
   */
  deleteStaleChains(nowMs: number): string[] {
    const due = [...this.#stale]
      .filter(([, sinceMs]) => nowMs - sinceMs >= STALE_AFTER_MS)
      .map(([name]) => name);
    for (const name of due) this.#stale.delete(name);
    return due.map((name) => `delete chain ${this.#name} ${name}`);
  }

  get hasStaleChains(): boolean {
    return this.#stale.size > 0;
  }

  #use(objects: NftObjects, difference: Difference): void {
    for (const [id, value] of objects.elements) {
      const wanted = this.#elements.get(id);
      this.#elements.set(id, { value, users: (wanted?.users ?? 0) + 1 });
      difference.elements.add(id);
    }
    for (const [name, rules] of [...objects.chains, ...objects.shared]) {
      this.#chains.set(name, { rules, users: (this.#chains.get(name)?.users ?? 0) + 1 });
      difference.chains.add(name);
    }
    for (const [name, seconds] of objects.affinitySets) {
      this.#sets.set(name, seconds);
      difference.sets.add(name);
    }
  }

  #release(objects: NftObjects, difference: Difference): void {
    for (const id of objects.elements.keys()) {
      const wanted = this.#elements.get(id);
      if (wanted !== undefined && --wanted.users === 0) this.#elements.delete(id);
      difference.elements.add(id);
    }
    for (const name of [...objects.chains.keys(), ...objects.shared.keys()]) {
      const wanted = this.#chains.get(name);
      if (wanted !== undefined && --wanted.users === 0) this.#chains.delete(name);
      difference.chains.add(name);
    }
    // The sets belong to one service: those still in use are in difference.sets already.
    for (const name of objects.affinitySets.keys()) {
      if (!difference.sets.has(name)) this.#sets.delete(name);
      difference.sets.add(name);
    }
  }

  #commands(difference: Difference, nowMs: number): string[] {
    const { elements, chains, sets } = this.#programmed;
    const name = this.#name;
    const declared: string[] = [];
    const flushed: string[] = [];
    const rules: string[] = [];
    const removedSets: string[] = [];
    const { type } = wordsOf(this.#family);
    for (const set of difference.sets) {
      const seconds = this.#sets.get(set);
      if (seconds !== undefined && !sets.has(set)) {
        declared.push(
          `add set ${name} ${set} { type ${type}; flags dynamic,timeout; timeout ${seconds}s; }`,
        );
        sets.add(set);
      } else if (seconds === undefined && sets.delete(set)) {
        removedSets.push(`delete set ${name} ${set}`);
      }
    }
    for (const chain of difference.chains) {
      const wanted = this.#chains.get(chain)?.rules;
      const present = chains.get(chain);
      if (wanted === undefined) {
        if (!chains.delete(chain)) continue;
        flushed.push(`flush chain ${name} ${chain}`);
        this.#stale.set(chain, nowMs);
      } else if (present === undefined || !sameRules(present, wanted)) {
        this.#stale.delete(chain);
        declared.push(`add chain ${name} ${chain}`);
        flushed.push(`flush chain ${name} ${chain}`);
        for (const rule of wanted) rules.push(`add rule ${name} ${chain} ${rule}`);
        chains.set(chain, wanted);
      }
    }
    const removed = new Map<Container, string[]>();
    const added = new Map<Container, string[]>();
    for (const id of difference.elements) {
      const wanted = this.#elements.get(id)?.value;
      const present = elements.get(id);
      if (wanted === present) continue;
      const [container, key] = id.split('\t') as [Container, string];
      if (present !== undefined) push(removed, container, key);
      if (wanted === undefined) {
        elements.delete(id);
      } else {
        push(added, container, wanted === '' ? key : `${key} : ${wanted}`);
        elements.set(id, wanted);
      }
    }
    return [
      ...declared,
      ...elementCommands('delete', name, removed),
      ...flushed,
      ...rules,
      ...elementCommands('add', name, added),
      ...removedSets,
    ];
  }
}

const STALE_AFTER_MS = 1000;

const sameRules = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((rule, index) => rule === b[index]));

function push(lists: Map<Container, string[]>, container: Container, text: string): void {
  const list = lists.get(container);
  if (list === undefined) lists.set(container, [text]);
  else list.push(text);
}

function* elementCommands(
  verb: 'add' | 'delete',
  table: string,
  lists: ReadonlyMap<Container, string[]>,
): Generator<string> {
  for (const [container, texts] of lists) {
    for (let at = 0; at < texts.length; at += ELEMENTS_PER_COMMAND) {
      yield `${verb} element ${table} ${container} { ${texts.slice(at, at + ELEMENTS_PER_COMMAND).join(', ')} }`;
    }
  }
}
