// Our table as it was programmed, and the commands that change it to the desired state. The size of
// the commands is proportional to the change.

import type { Steps } from '#machinery/turn.ts';
import type { Direction, GroupElements, NodeRules, PodRules, RulesChange } from '../model.ts';
import {
  blockDeclaration,
  blockElements,
  type BlockSet,
  type PolicyObjects,
  policyObjects,
} from './policy-rules.ts';
import {
  addressType,
  DIRECTIONS,
  FAMILIES,
  familyOf,
  groupSet,
  podsChain,
  policyChain,
  type PolicyTableSettings,
  selfSet,
  tableCommands,
  verdictMap,
} from './table.ts';

/** The number of elements per command: a longer line takes nft more memory, not less time. */
const ELEMENTS_PER_COMMAND = 500;
const STALE_AFTER_MS = 1000;

interface Programmed {
  readonly pods: Map<string, PodRules>;
  readonly policies: Map<string, PolicyObjects>;
  /** Chains of pods with the same policies → the number of elements that refer to the chain. */
  readonly podsChains: Map<string, number>;
  readonly blocks: Map<string, { readonly block: BlockSet; users: number; isMade: boolean }>;
  readonly groups: Set<string>;
  /** Unused empty chains → since when. */
  readonly stale: Map<string, number>;
}

const nothing = (): Programmed => ({
  pods: new Map(),
  policies: new Map(),
  podsChains: new Map(),
  blocks: new Map(),
  groups: new Set(),
  stale: new Map(),
});

export class PolicyTable {
  readonly #settings: PolicyTableSettings;
  #programmed: Programmed | undefined;

  constructor(settings: PolicyTableSettings) {
    this.#settings = settings;
  }

  get isProgrammed(): boolean {
    return this.#programmed !== undefined;
  }

  /** Drops the programmed state, which is unknown after an error. */
  forget(): void {
    this.#programmed = undefined;
  }

  /**
   * Returns the commands of one transaction, in parts of a few milliseconds of work. They count as
   * programmed: after an error, call `forget`. Without `change`, and for the first time, they
   * create the table. `nowMs`: monotonic.
   */
  *commands(
    rules: NodeRules,
    change: RulesChange | undefined,
    nowMs: number,
  ): Generator<readonly string[]> {
    const isNew = change === undefined || this.#programmed === undefined;
    const programmed = isNew ? nothing() : (this.#programmed as Programmed);
    this.#programmed = programmed;
    if (isNew) yield tableCommands(this.#settings);
    const writer = new TransactionWriter(`inet ${this.#settings.table}`, programmed, nowMs);
    for (const id of isNew ? rules.groups.keys() : change.groups.keys()) {
      writer.setGroup(id, rules.groups.get(id), change?.groups.get(id));
      yield [];
    }
    for (const key of isNew ? rules.policies.keys() : change.policies) {
      const policy = rules.policies.get(key);
      writer.setPolicy(
        key,
        policy === undefined ? undefined : yield* objectsIn(policyObjects(policy)),
      );
      yield [];
    }
    for (const address of isNew ? rules.pods.keys() : change.pods)
      writer.setPod(address, rules.pods.get(address));
    yield* writer.commands();
  }

  get hasStaleChains(): boolean {
    return (this.#programmed?.stale.size ?? 0) > 0;
  }

  /**
   * Returns the commands that delete chains which have been unused for a second. Kernels before 6.2
   * reject the deletion of a chain for some time after the last element that refers to it is gone.
   */
  deleteStaleChains(nowMs: number): readonly string[] {
    const stale = this.#programmed?.stale ?? new Map<string, number>();
    const due = [...stale]
      .filter(([, since]) => nowMs - since >= STALE_AFTER_MS)
      .map(([chain]) => chain);
    for (const chain of due) stale.delete(chain);
    return due.map((chain) => `delete chain inet ${this.#settings.table} ${chain}`);
  }
}

/** Runs the steps, without commands in between. */
function* objectsIn(steps: Steps<PolicyObjects>): Generator<readonly string[], PolicyObjects> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    yield [];
  }
}

/**
 * Collects the commands of one transaction, and returns them in an order in which references are
 * satisfied.
 */
class TransactionWriter {
  readonly #name: string;
  readonly #programmed: Programmed;
  readonly #nowMs: number;
  readonly #declared: string[] = [];
  readonly #flushed = new Set<string>();
  readonly #rules = new Map<string, readonly string[]>();
  readonly #removed = new Map<string, string[]>();
  readonly #added = new Map<string, string[]>();
  readonly #removedSets: string[] = [];
  readonly #touchedBlocks = new Set<string>();

  constructor(name: string, programmed: Programmed, nowMs: number) {
    this.#name = name;
    this.#programmed = programmed;
    this.#nowMs = nowMs;
  }

  *commands(): Generator<readonly string[]> {
    yield* this.#blockCommands();
    yield this.#declared;
    yield* elementCommands('delete', this.#name, this.#removed);
    yield [...this.#flushed].map((chain) => `flush chain ${this.#name} ${chain}`);
    for (const [chain, rules] of this.#rules)
      yield rules.map((rule) => `add rule ${this.#name} ${chain} ${rule}`);
    yield* elementCommands('add', this.#name, this.#added);
    yield this.#removedSets.map((set) => `delete set ${this.#name} ${set}`);
  }

  /**
   * Programs a group. `next`: undefined if the group is gone. `changes`: for a group that is
   * programmed already.
   */
  setGroup(
    id: string,
    next: GroupElements | undefined,
    changes: ReadonlyMap<string, boolean> | undefined,
  ): void {
    const { groups } = this.#programmed;
    if (next === undefined) {
      if (groups.delete(id))
        this.#removedSets.push(...FAMILIES.map((family) => groupSet(id, family)));
      return;
    }
    if (!groups.has(id)) {
      groups.add(id);
      for (const family of FAMILIES) {
        const type = `${addressType(family)}${next.hasPorts ? ' . inet_proto . inet_service' : ''}`;
        this.#declared.push(`add set ${this.#name} ${groupSet(id, family)} { type ${type}; }`);
      }
      for (const element of next.elements)
        push(this.#added, groupSet(id, familyOf(element)), element);
      return;
    }
    for (const [element, isAdded] of changes ?? []) {
      push(isAdded ? this.#added : this.#removed, groupSet(id, familyOf(element)), element);
    }
  }

  setPolicy(key: string, next: PolicyObjects | undefined): void {
    const { policies, blocks } = this.#programmed;
    const previous = policies.get(key);
    if (next === undefined) policies.delete(key);
    else policies.set(key, next);
    for (const [name, block] of next?.blocks ?? []) {
      const entry = blocks.get(name) ?? { block, users: 0, isMade: false };
      entry.users++;
      blocks.set(name, entry);
      this.#touchedBlocks.add(name);
    }
    for (const name of previous?.blocks.keys() ?? []) {
      const entry = blocks.get(name);
      if (entry !== undefined) entry.users--;
      this.#touchedBlocks.add(name);
    }
    for (const [chain, rules] of next?.chains ?? []) {
      const present = previous?.chains.get(chain);
      if (present === undefined || present.join('\n') !== rules.join('\n'))
        this.#writeChain(chain, rules);
    }
    for (const chain of previous?.chains.keys() ?? [])
      if (next?.chains.has(chain) !== true) this.#dropChain(chain);
  }

  setPod(address: string, next: PodRules | undefined): void {
    const { pods } = this.#programmed;
    const previous = pods.get(address);
    if (next === undefined) pods.delete(address);
    else pods.set(address, next);
    const family = familyOf(address);
    if (next === undefined && previous !== undefined)
      push(this.#removed, selfSet(family), `${address} . ${address}`);
    if (next !== undefined && previous === undefined)
      push(this.#added, selfSet(family), `${address} . ${address}`);
    for (const direction of DIRECTIONS) {
      const before = previous === undefined ? undefined : verdictOf(previous, direction);
      const after = next === undefined ? undefined : verdictOf(next, direction);
      if (before?.text === after?.text) continue;
      const map = verdictMap(direction, family);
      if (before !== undefined) push(this.#removed, map, address);
      if (after !== undefined) push(this.#added, map, `${address} : ${after.text}`);
      if (after?.chain !== undefined)
        this.#usePodsChain(after.chain, direction, next?.[direction] ?? []);
      if (before?.chain !== undefined) this.#releasePodsChain(before.chain);
    }
  }

  #usePodsChain(chain: string, direction: Direction, policies: readonly string[]): void {
    const { podsChains } = this.#programmed;
    const users = podsChains.get(chain) ?? 0;
    podsChains.set(chain, users + 1);
    if (users === 0) {
      this.#writeChain(chain, [
        ...policies.map((policy) => `jump ${policyChain(direction, policy)}`),
        'drop',
      ]);
    }
  }

  #releasePodsChain(chain: string): void {
    const { podsChains } = this.#programmed;
    const users = (podsChains.get(chain) ?? 0) - 1;
    if (users > 0) {
      podsChains.set(chain, users);
    } else {
      podsChains.delete(chain);
      this.#dropChain(chain);
    }
  }

  #writeChain(chain: string, rules: readonly string[]): void {
    this.#programmed.stale.delete(chain);
    this.#declared.push(`add chain ${this.#name} ${chain}`);
    this.#flushed.add(chain);
    this.#rules.set(chain, rules);
  }

  #dropChain(chain: string): void {
    this.#programmed.stale.set(chain, this.#nowMs);
    this.#flushed.add(chain);
    this.#rules.delete(chain);
  }

  *#blockCommands(): Generator<readonly string[]> {
    const { blocks } = this.#programmed;
    for (const name of this.#touchedBlocks) {
      const entry = blocks.get(name);
      if (entry === undefined) continue;
      if (entry.users === 0) {
        blocks.delete(name);
        if (entry.isMade) this.#removedSets.push(name);
      } else if (!entry.isMade) {
        entry.isMade = true;
        yield [`add set ${this.#name} ${name} ${blockDeclaration(entry.block)}`];
        yield* elementCommands('add', this.#name, new Map([[name, blockElements(entry.block)]]));
      }
    }
  }
}

function verdictOf(
  rules: PodRules,
  direction: Direction,
): { readonly text: string; readonly chain: string | undefined } {
  const policies = rules[direction];
  if (policies === undefined) return { text: 'accept', chain: undefined };
  const chain = podsChain(direction, policies);
  return { text: `goto ${chain}`, chain };
}

function push(lists: Map<string, string[]>, name: string, text: string): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [text]);
  else list.push(text);
}

function* elementCommands(
  verb: 'add' | 'delete',
  table: string,
  lists: ReadonlyMap<string, readonly string[]>,
): Generator<readonly string[]> {
  for (const [name, texts] of lists) {
    for (let at = 0; at < texts.length; at += ELEMENTS_PER_COMMAND) {
      yield [
        `${verb} element ${table} ${name} { ${texts.slice(at, at + ELEMENTS_PER_COMMAND).join(', ')} }`,
      ];
    }
  }
}
