// Long work in steps. Between two steps the event loop serves other work.

import type { Awaitable } from './awaitable.ts';
import { inNextTurn } from './pending-work.ts';

/** Resolves in the next turn of the event loop. No time passes on a virtual clock. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    inNextTurn(resolve);
  });
}

/** Work in steps. It yields where the event loop may serve other work, and returns the result. */
export type Steps<T> = Generator<undefined, T, unknown>;

/**
 * Work in steps. A step that waits yields a promise and receives its value or its error. See
 * waitFor.
 */
export type WaitingSteps<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** Waits for a value. Takes no step if the value is available. */
export function* waitFor<T>(value: Awaitable<T>): WaitingSteps<T> {
  return value instanceof Promise ? ((yield value) as T) : value;
}

/** Runs all steps in the current turn and returns the result. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Runs the steps up to the first that waits, and returns the result if none does. Otherwise the
 * remaining steps run when the promises resolve.
 */
export function runWaitingSteps<T>(steps: WaitingSteps<T>): Awaitable<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) return runRemaining(steps, value, () => undefined);
  }
}

/** Runs each step in its own turn of the event loop; the first one synchronously. */
export async function runStepsInTurns<T>(steps: WaitingSteps<T>): Promise<T> {
  const { done, value } = steps.next();
  return done === true ? value : runRemaining(steps, value, nextTurn);
}

/**
 * Runs the steps after the one that yielded `yielded`. `pause` is awaited before each step that
 * follows a step without a promise.
 */
async function runRemaining<T>(
  steps: WaitingSteps<T>,
  yielded: Promise<unknown> | undefined,
  pause: () => Awaitable<void>,
): Promise<T> {
  let result: IteratorResult<Promise<unknown> | undefined, T> = { done: false, value: yielded };
  while (result.done !== true) {
    if (result.value === undefined) {
      await pause();
      result = steps.next();
    } else {
      result = await result.value.then(
        (value) => steps.next(value),
        (error: unknown) => steps.throw(error),
      );
    }
  }
  return result.value;
}

/**
 * From this number of values on, each step of a request (decoding, admission, validation, encoding)
 * takes milliseconds.
 */
const LARGE_VALUES = 2000;

/**
 * Reports whether a JSON value has so many values that work on it should be split. Visits at most
 * LARGE_VALUES of them.
 */
export function isLarge(value: unknown): boolean {
  return countUpTo(value, LARGE_VALUES) >= LARGE_VALUES;
}

/**
 * Returns the number of fields and items in a JSON value; a number of at least `limit` if there are
 * more.
 */
export function countUpTo(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  if (Array.isArray(value)) {
    for (const item of value) {
      count += countUpTo(item, limit - count);
      if (count >= limit) return count;
    }
    return count;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const key in object) {
    count += countUpTo(object[key], limit - count);
    if (count >= limit) return count;
  }
  return count;
}
