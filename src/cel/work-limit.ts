// Limits of work that costs too little in upstream's units: comparing nested values, formatting them
// as text. A value may contain the same part many times, so that it is small in memory and huge to
// traverse; and a loop may traverse a large object in each of its turns. An evaluation is synchronous,
// so the work of the current one is counted here.

import { evaluationError } from './errors.ts';

/**
 * The number of parts that one step, or all steps of an evaluation, may visit. An object of the
 * largest request has a tenth of it.
 */
const MAX_PARTS = 1_600_000;
/**
 * The length of text that one step, or all steps of an evaluation, may create, in UTF-16 units.
 */
const MAX_TEXT = 32 * 1024 * 1024;

/** The work of all steps of the current evaluation. */
const evaluation = { parts: 0, text: 0 };

export function beginEvaluation(): void {
  evaluation.parts = 0;
  evaluation.text = 0;
}

const tooMuch = (): Error =>
  evaluationError('operation cancelled: actual cost limit exceeded', 'costLimitExceeded');

export class WorkLimit {
  #parts = 0;
  #text = 0;

  /** Counts one part, or several. Throws EvaluationError if there are too many. */
  part(count = 1): void {
    this.#parts += count;
    evaluation.parts += count;
    if (this.#parts > MAX_PARTS || evaluation.parts > MAX_PARTS) throw tooMuch();
  }

  /** Counts text. Throws EvaluationError if there is too much. */
  text(length: number): void {
    this.#text += length;
    evaluation.text += length;
    if (this.#text > MAX_TEXT || evaluation.text > MAX_TEXT) throw tooMuch();
  }
}

/** Checks the length before a text is created. Throws EvaluationError if it is too long. */
export function checkTextLength(length: number): void {
  if (length > MAX_TEXT) throw tooMuch();
}
