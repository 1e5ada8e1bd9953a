// Plugins whose work may take long: they do a part of it, keep their progress in the CycleState, and
// throw Unfinished. The caller repeats its own work in a later turn of the event loop.

import type { Awaitable } from '#machinery/awaitable.ts';
import { nextTurn } from '#machinery/turn.ts';

/** A plugin needs more turns of the event loop. Called again with the same state, it continues. */
export class Unfinished extends Error {
  override name = 'Unfinished';

  constructor() {
    super('a plugin needs more time');
  }
}

/**
 * Returns the result of `work`, which calls plugins. Repeats the work in later turns of the event
 * loop while a plugin is unfinished: until it returns, it must have no effect.
 */
export function untilFinished<T>(work: () => Awaitable<T>): Awaitable<T> {
  const again = (error: unknown): Promise<T> => {
    if (error instanceof Unfinished) return repeated(work);
    throw error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    return again(error);
  }
}

async function repeated<T>(work: () => Awaitable<T>): Promise<T> {
  for (;;) {
    await nextTurn();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error;
    }
  }
}
