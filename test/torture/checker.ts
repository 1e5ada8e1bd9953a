// Checks histories of operations on one key for linearizability: the operations could have happened
// one at a time, each at some moment between its call and its return.
//
//
//
// The algorithm is Wing and Gong's search with Lowe's cache of visited states («Testing for
// linearizability», 2017), as in Porcupine. Keys are independent, so each is checked alone (Herlihy
// and Wing: linearizability is local), which keeps the search small. The state of a key is the name
// of its value, unique to the write; '' if the key does not exist.

export type KeyInput =
  | { readonly type: 'get' }
  | { readonly type: 'put'; readonly value: string }
  | { readonly type: 'create'; readonly value: string }
  /** Writes if the key has this value. */
  | { readonly type: 'swap'; readonly expected: string; readonly value: string }
  | { readonly type: 'delete' };

/**
 * The answer to an operation; `read`: the value that was read (for a delete: the deleted value).
 * Unknown: the operation may have been done, or may be done later.
 */
export type KeyOutput =
  | { readonly type: 'done'; readonly read?: string }
  /** The precondition did not hold: the key existed, had another value, or did not exist. */
  | { readonly type: 'refused' }
  | { readonly type: 'unknown' };

export interface KeyOperation {
  readonly client: number;
  readonly input: KeyInput;
  readonly output: KeyOutput;
  /** Moments, in any unit that grows. An operation with an unknown outcome never returned. */
  readonly called: number;
  readonly returned: number;
}

/** Returns the state after the operation. Undefined: this answer is impossible in this state. */
export function step(state: string, input: KeyInput, output: KeyOutput): string | undefined {
  const [holds, next] = effect(state, input);
  switch (output.type) {
    case 'unknown':
      return holds ? next : state;
    case 'refused':
      return holds ? undefined : state;
    case 'done':
      return holds && (output.read === undefined || output.read === state) ? next : undefined;
  }
}

function effect(state: string, input: KeyInput): [holds: boolean, next: string] {
  switch (input.type) {
    case 'get':
      return [true, state];
    case 'put':
      return [true, input.value];
    case 'create':
      return [state === '', input.value];
    case 'swap':
      return [state === input.expected, input.value];
    case 'delete':
      return [state !== '', ''];
  }
}

/** A call or a return, in a list in the order of time. Entries are removed and inserted again. */
interface Entry {
  readonly operation: KeyOperation;
  readonly index: number;
  /** The return of a call. */
  readonly match: Entry | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
}

export function isLinearizable(operations: readonly KeyOperation[], initial = ''): boolean {
  const known = operations
    .filter(({ output }) => output.type !== 'unknown')
    .sort((a, b) => a.called - b.called);
  const head = listOf([...known, ...operations.filter(({ output }) => output.type === 'unknown')]);
  const taken = new Taken(known.length);
  let state = initial;
  /** Visited states: the operations that had taken effect, and the state after them. */
  const seen = new Set<string>();
  const stack: { readonly entry: Entry; readonly state: string }[] = [];
  let entry = head.next;
  // Operations with an unknown outcome need not have taken effect.
  while (taken.known < known.length) {
    if (entry?.match !== undefined) {
      const { operation, index } = entry;
      const next = step(state, operation.input, operation.output);
      // An operation with an unknown outcome that changes nothing can be left out.
      if (next !== undefined && !(next === state && operation.output.type === 'unknown')) {
        taken.add(index);
        const memory = `${taken.toString()} ${next}`;
        if (!seen.has(memory)) {
          seen.add(memory);
          stack.push({ entry, state });
          state = next;
          lift(entry);
          entry = head.next;
          continue;
        }
        taken.remove(index);
      }
      entry = entry.next;
      continue;
    }
    // The search has reached a return whose call cannot take effect before it, or the end, where
    // only unknown operations are left.
    const last = stack.pop();
    if (last === undefined) return false;
    state = last.state;
    taken.remove(last.entry.index);
    unlift(last.entry);
    entry = last.entry.next;
  }
  return true;
}

/**
 * The set of operations that have taken effect. Among the answered ones, in the order of their
 * calls, it has all up to some index, and few of the next ones: its text is short, however long the
 * history.
 */
class Taken {
  readonly #count: number;
  readonly #flags: boolean[] = [];
  /** All answered operations before this index are in the set. */
  #low = 0;
  #unknown = 0n;
  known = 0;

  /** The first `count` operations are the answered ones. */
  constructor(count: number) {
    this.#count = count;
  }

  add(index: number): void {
    if (index >= this.#count) {
      this.#unknown |= 1n << BigInt(index - this.#count);
      return;
    }
    this.#flags[index] = true;
    this.known++;
    while (this.#flags[this.#low] === true) this.#low++;
  }

  remove(index: number): void {
    if (index >= this.#count) {
      this.#unknown &= ~(1n << BigInt(index - this.#count));
      return;
    }
    this.#flags[index] = false;
    this.known--;
    this.#low = Math.min(this.#low, index);
  }

  toString(): string {
    const later: number[] = [];
    for (let index = this.#low, left = this.known - this.#low; left > 0; index++) {
      if (this.#flags[index] !== true) continue;
      later.push(index);
      left--;
    }
    return `${this.#low} ${later.join()} ${this.#unknown}`;
  }
}

function listOf(operations: readonly KeyOperation[]): Entry {
  const moments = operations.flatMap((operation, index) => {
    const returned: Entry = {
      operation,
      index,
      match: undefined,
      previous: undefined,
      next: undefined,
    };
    const called: Entry = {
      operation,
      index,
      match: returned,
      previous: undefined,
      next: undefined,
    };
    const end = operation.output.type === 'unknown' ? Number.POSITIVE_INFINITY : operation.returned;
    return [
      { at: operation.called, entry: called },
      { at: end, entry: returned },
    ];
  });
  moments.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at));
  const head: Entry = {
    operation: {} as KeyOperation,
    index: -1,
    match: undefined,
    previous: undefined,
    next: undefined,
  };
  let last = head;
  for (const { entry } of moments) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function lift(call: Entry): void {
  unlink(call);
  unlink(call.match as Entry);
}

function unlink(entry: Entry): void {
  if (entry.previous !== undefined) entry.previous.next = entry.next;
  if (entry.next !== undefined) entry.next.previous = entry.previous;
}

/** The order is reversed, so that each entry has its former neighbours. */
function unlift(call: Entry): void {
  for (const entry of [call.match as Entry, call]) {
    if (entry.previous !== undefined) entry.previous.next = entry;
    if (entry.next !== undefined) entry.next.previous = entry;
  }
}
