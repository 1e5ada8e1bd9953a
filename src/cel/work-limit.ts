// Limits of work within a single step: comparing nested values, formatting them as text. A value
// may contain the same part many times, so that it is small in memory and huge to traverse.

import { evaluationError } from './errors.ts';

/** The number of parts that one step may visit. An object of the largest request has fewer. */
const MAX_PARTS = 1_600_000;
/** The length of text that one step may create, in UTF-16 units. */
const MAX_TEXT = 32 * 1024 * 1024;

const tooMuch = (): Error =>
  evaluationError('operation cancelled: actual cost limit exceeded', 'costLimitExceeded');

export class WorkLimit {
  #parts = 0;
  #text = 0;

  /** Counts one part. Throws EvaluationError if there are too many. */
  part(): void {
    if (++this.#parts > MAX_PARTS) throw tooMuch();
  }

  /** Counts text. Throws EvaluationError if there is too much. */
  text(length: number): void {
    this.#text += length;
    if (this.#text > MAX_TEXT) throw tooMuch();
  }
}

/** Checks the length before a text is created. Throws EvaluationError if it is too long. */
export function checkTextLength(length: number): void {
  if (length > MAX_TEXT) throw tooMuch();
}
