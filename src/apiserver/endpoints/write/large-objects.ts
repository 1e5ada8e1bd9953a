// Writes of objects that are large: their steps have turns of the event loop of their own, and what
// is too large for the storage is written again without managed fields.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { nextTurn } from '#machinery/turn.ts';
import { ObjectTooLarge } from '../../registry/storage-errors.ts';

/** Does the work now, or in the next turn of the event loop if it takes long. */
export function inTurns<T>(large: boolean, work: () => Awaitable<T>): Awaitable<T> {
  return large ? nextTurn().then(work) : work();
}

/** Does the same as inTurns, with another turn after the work. */
export function between(large: boolean, work: () => Awaitable<void>): Awaitable<void> {
  return large ? nextTurn().then(work).then(nextTurn) : work();
}

export type Smaller = (object: KubeObject) => KubeObject;

/**
 * Writes an object. If it is too large for the storage, it is written again without its managed
 * fields, which may be larger than the rest, as upstream.
 */
export async function smallerIfTooLarge<T>(write: (smaller: Smaller) => Awaitable<T>): Promise<T> {
  try {
    return await write((object) => object);
  } catch (error) {
    if (!(error instanceof ObjectTooLarge)) throw error;
    return write((object) => {
      const { managedFields: _fields, ...metadata } = object.metadata;
      return { ...object, metadata };
    });
  }
}
