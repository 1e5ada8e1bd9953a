// Limits of work that costs too little in upstream's units: comparing nested values, formatting them
// as text. A value may contain the same part many times, so that it is small in memory and huge to
// traverse; and a loop may traverse a large object in each of its turns. An attempt to evaluate is
// synchronous, so the work of the current one is counted here.

import { endOfTurn, evaluationError } from './errors.ts';

/**
 * The number of parts that one step, or all steps of an evaluation, may visit. An object of the
 * largest request has a tenth of it.
 */
const MAX_PARTS = 1_600_000;
/**
 * The length of text that one step, or all steps of an evaluation, may create, in UTF-16 units.
 */
const MAX_TEXT = 32 * 1024 * 1024;

/** The work of visiting a part, in units of cost. */
export const WORK_OF_PART = 0.25;

/** The work of all steps of one attempt to evaluate. */
export class Work {
  parts = 0;
  text = 0;
  /** In units of cost. */
  uncharged = 0;
  /** The uncharged work of a turn. The attempt ends beyond it. */
  readonly #turnWork: number;

  constructor(turnWork = Infinity) {
    this.#turnWork = turnWork;
  }

  /** The work that has no cost in upstream's units, in units of cost. */
  get beyondCost(): number {
    return this.uncharged + this.parts * WORK_OF_PART;
  }

  addUncharged(units: number): void {
    this.uncharged += units;
    this.#endTurnIfDue();
  }

  addParts(count: number): void {
    this.parts += count;
    if (this.parts > MAX_PARTS) throw tooMuch();
    this.#endTurnIfDue();
  }

  #endTurnIfDue(): void {
    if (this.beyondCost > this.#turnWork) throw endOfTurn();
  }
}

/**
 * The work of the innermost evaluation: a lazy value of one may be an evaluation of its own.
 * Undefined: none takes place.
 */
let evaluation: Work | undefined;

/** Counts the work of `evaluate` in `work`. */
export function countingWork<T>(work: Work, evaluate: () => T): T {
  const outer = evaluation;
  evaluation = work;
  try {
    return evaluate();
  } finally {
    evaluation = outer;
  }
}

/**
 * Counts work that upstream's cost leaves out, such as compiling a pattern, for the length of turns.
 * `units`: as much work as this cost. Throws Suspension if this turn's work is done.
 */
export function countUncharged(units: number): void {
  evaluation?.addUncharged(units);
}

/**
 * Counts the characters that a function reads although its cost does not depend on them, ten as one
 * part. Throws EvaluationError if there are too many.
 */
export function countCharacters(text: string): void {
  evaluation?.addParts(text.length / 10);
}

const tooMuch = (): Error =>
  evaluationError('operation cancelled: actual cost limit exceeded', 'costLimitExceeded');

export class WorkLimit {
  #parts = 0;
  #text = 0;

  /** Counts one part, or several. Throws EvaluationError if there are too many. */
  part(count = 1): void {
    this.#parts += count;
    if (this.#parts > MAX_PARTS) throw tooMuch();
    evaluation?.addParts(count);
  }

  /** Counts text. Throws EvaluationError if there is too much. */
  text(length: number): void {
    this.#text += length;
    if (evaluation !== undefined) evaluation.text += length;
    if (Math.max(this.#text, evaluation?.text ?? 0) > MAX_TEXT) throw tooMuch();
  }
}

/** Checks the length before a text is created. Throws EvaluationError if it is too long. */
export function checkTextLength(length: number): void {
  if (length > MAX_TEXT) throw tooMuch();
}
