// Long work in parts: between two of them the event loop serves everything else.

import type { Awaitable } from './awaitable.ts';
import { inNextTurn } from './pending-work.ts';

/** Resolves in the next turn of the event loop. No time passes on a virtual clock. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    inNextTurn(resolve);
  });
}

/** Work in steps: it yields where the event loop may serve something else, and returns the result. */
export type Steps<T> = Generator<undefined, T, unknown>;

/** Steps of which some wait: such a step yields a promise, and gets its value or its error back. See waitFor. */
export type WaitingSteps<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** The step that waits for a value; no step at all if the value is there. */
export function* waitFor<T>(value: Awaitable<T>): WaitingSteps<T> {
  return value instanceof Promise ? ((yield value) as T) : value;
}

/** Does all steps at once and returns the result. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does all steps up to the first that waits, and returns the result if none does; otherwise does the others as they can be done. */
export function runWaitingSteps<T>(steps: WaitingSteps<T>): Awaitable<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) return goOn(steps, value, () => undefined);
  }
}

/** Does each step in a turn of the event loop of its own. The first one is done at once. */
export async function runStepsInTurns<T>(steps: WaitingSteps<T>): Promise<T> {
  const { done, value } = steps.next();
  return done === true ? value : goOn(steps, value, nextTurn);
}

/** Does the steps after one that has yielded `yielded`. `pause` is called before a step, unless the step before it waits. */
async function goOn<T>(
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

/** From so many values on, the steps of a request (decoding, admission, validation, encoding) take milliseconds each. */
const LARGE_VALUES = 2000;

/** Reports whether a JSON value has so many values that work on it should be split. Looks at a bounded part of it. */
export function isLarge(value: unknown): boolean {
  return countUpTo(value, LARGE_VALUES) >= LARGE_VALUES;
}

/** Returns how many fields and items a JSON value has in all, or a number of at least `limit` if there are more. */
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
