// The progress of an evaluation that was suspended: the results of expensive parts, and the
// positions of loops. The next attempt evaluates the expression from its start, but takes these
// results, and continues the loops. Cheap parts are evaluated again.
//
// Steps are pure: in one iteration of the loops around it, a step has one result. So results are kept
// by step in a scope, which is the expression or one iteration of a loop, and ends with it.

import { endOfTurn, EvaluationError } from './errors.ts';
import type { Value } from './values.ts';
import { Work, WORK_OF_PART } from './work-limit.ts';

/** The work of one turn, in units of cost: some milliseconds. */
export const TURN_WORK = 40_000;
/** The share of a turn's work from which on a result is kept. */
const KEPT_SHARE = 1 / 40;

/** An attempt to evaluate, as far as it counts the cost. */
interface Charged {
  readonly cost: number;
  charge(cost: number): void;
}

/** Work, in units of cost, visited parts, and UTF-16 units of text. */
interface Spent {
  readonly cost: number;
  readonly parts: number;
  readonly text: number;
}

type Result = { readonly value: Value } | { readonly error: EvaluationError };

/** The state of one step in its scope. */
interface Entry {
  /** The work up to the state, from the start of the step. */
  spent: Spent;
  result?: Result;
}

type Scope = Map<object, Entry>;

/** The position of a loop. */
export interface Position {
  /** The number of finished iterations. */
  done: number;
  /** No iteration follows, even if there are further elements. */
  isLast: boolean;
  /** The keys of a range that is a map. */
  keys?: readonly Value[];
}

/** The state of a loop. `S`: of its kind. */
export interface LoopProgress<S> extends Entry, Position {
  readonly range: Value;
  readonly state: S;
  readonly iteration: Scope;
}

export class Progress {
  readonly #turnWork: number;
  readonly #expression: Scope = new Map();
  #scope = this.#expression;
  #work = new Work();
  /** The work of earlier attempts that this one did not repeat. */
  #skipped = 0;
  /** The work at which this attempt ends. */
  #end = 0;

  constructor(turnWork: number) {
    this.#turnWork = turnWork;
  }

  /** Begins an attempt whose work is counted in `work`. */
  begin(work: Work): void {
    this.#scope = this.#expression;
    this.#work = work;
    this.#skipped = 0;
    this.#end = this.#turnWork;
  }

  /** Evaluates a step, or returns its kept result. May end the turn after it. */
  evaluate<F extends Charged>(frame: F, step: (frame: F) => Value): Value {
    const entry = this.#scope.get(step);
    if (entry !== undefined) return this.#resultOf(frame, entry)!.value;
    const before = this.#total(frame);
    const result = settle(() => step(frame));
    const spent = this.#since(frame, before);
    if (workOf(spent) >= this.#turnWork * KEPT_SHARE) {
      this.#scope.set(step, { spent, result });
      this.endTurnIfDue(frame);
    }
    return valueOf(result);
  }

  /** Evaluates a loop. `begin` returns its state, `iterate` does what remains of it. */
  loop<S>(
    frame: Charged,
    loop: object,
    begin: () => { readonly range: Value; readonly state: S },
    iterate: (progress: LoopProgress<S>, finishIteration: (isLast: boolean) => void) => Value,
  ): Value {
    const scope = this.#scope;
    const before = this.#total(frame);
    let progress = scope.get(loop) as LoopProgress<S> | undefined;
    if (progress === undefined) {
      const begun = begin();
      const spent = this.#since(frame, before);
      progress = { ...begun, done: 0, isLast: false, spent, iteration: new Map() };
      scope.set(loop, progress);
    } else {
      const result = this.#resultOf(frame, progress);
      if (result !== undefined) return result.value;
    }
    this.#scope = progress.iteration;
    const current = progress;
    const result = settle(() =>
      iterate(current, (isLast) => {
        current.done++;
        current.isLast = isLast;
        current.spent = this.#since(frame, before);
        if (current.iteration.size > 0) current.iteration.clear();
      }),
    );
    this.#scope = scope;
    progress.spent = this.#since(frame, before);
    progress.result = result;
    progress.iteration.clear();
    return valueOf(result);
  }

  /** Throws Suspension if the work of this turn is done. */
  endTurnIfDue(frame: Charged): void {
    if (this.#newWork(frame) >= this.#end) throw endOfTurn();
  }

  /**
   * Charges the work of an entry, and returns its result if it has one. What this attempt has
   * repeated so far is not lost in vain: at least as much new work follows.
   */
  #resultOf(frame: Charged, { spent, result }: Entry): { readonly value: Value } | undefined {
    const repeated = this.#newWork(frame);
    this.#end = repeated + Math.max(repeated, this.#turnWork);
    const before = frame.cost + this.#work.beyondCost;
    this.#work.parts += spent.parts;
    this.#work.text += spent.text;
    try {
      frame.charge(spent.cost);
    } finally {
      this.#skipped += frame.cost + this.#work.beyondCost - before;
    }
    return result === undefined ? undefined : { value: valueOf(result) };
  }

  #newWork(frame: Charged): number {
    return frame.cost + this.#work.beyondCost - this.#skipped;
  }

  #total(frame: Charged): Spent {
    return { cost: frame.cost, parts: this.#work.parts, text: this.#work.text };
  }

  #since(frame: Charged, before: Spent): Spent {
    return {
      cost: frame.cost - before.cost,
      parts: this.#work.parts - before.parts,
      text: this.#work.text - before.text,
    };
  }
}

const workOf = ({ cost, parts }: Spent): number => cost + parts * WORK_OF_PART;

function settle(evaluate: () => Value): Result {
  try {
    return { value: evaluate() };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { error };
  }
}

function valueOf(result: Result): Value {
  if ('error' in result) throw result.error;
  return result.value;
}
