// Long work in parts: between two of them the event loop serves everything else.

/** Resolves in the next turn of the event loop. No time passes on a virtual clock. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Work in steps: it yields where the event loop may serve something else, and returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all steps at once and returns the result. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does each step in a turn of the event loop of its own. The first one is done at once. */
export async function runStepsInTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
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
