// Some work is done inside of one step: comparing nested values, writing them as text. A value may hold the same part many times
// over, so that it is small in memory and huge to go through; therefore such work has limits of its own.

import { evaluationError } from './errors.ts';

/** Parts of a value that are gone through in one step. An object of the largest request has fewer. */
const MAX_PARTS = 1_600_000;
/** UTF-16 units of a text that is made in one step. */
const MAX_TEXT = 32 * 1024 * 1024;

const tooMuch = (): Error =>
  evaluationError('operation cancelled: actual cost limit exceeded', 'costLimitExceeded');

export class WorkLimit {
  #parts = 0;
  #text = 0;

  /** One more part. Throws EvaluationError if there are too many. */
  part(): void {
    if (++this.#parts > MAX_PARTS) throw tooMuch();
  }

  /** So much more text. Throws EvaluationError if it is too much. */
  text(length: number): void {
    this.#text += length;
    if (this.#text > MAX_TEXT) throw tooMuch();
  }
}

/** Before a text of the length is made. Throws EvaluationError if it is too long. */
export function checkTextLength(length: number): void {
  if (length > MAX_TEXT) throw tooMuch();
}
