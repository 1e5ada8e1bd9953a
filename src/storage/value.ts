// Reads of values that may be made when they are read.

import type { KeyValue } from './interface.ts';

/** A state whose value is made when it is read. */
export interface MadeValue extends KeyValue {
  /** The number of bytes of the value. */
  readonly size: number;
  /**
   * Returns at least the first `length` bytes of the value, or all of a shorter one. Those before
   * `from` may be others. Default: 0.
   */
  start(length: number, from?: number): Uint8Array;
  /** Returns the value in memory that the next call of any state may overwrite. */
  passing(): Uint8Array;
}

function isMade(kv: KeyValue): kv is MadeValue {
  return 'start' in kv;
}

/** Returns the number of bytes of the value, without making it. */
export function sizeOf(kv: KeyValue): number {
  return isMade(kv) ? kv.size : kv.value.length;
}

/**
 * Returns at least the first `length` bytes of the value, unless it is shorter. Those before `from`
 * may be others.
 */
export function startOf(kv: KeyValue, length: number, from = 0): Uint8Array {
  return isMade(kv) ? kv.start(length, from) : kv.value;
}

/**
 * Returns the value for a reader that copies or decodes it at once: the next call may overwrite it. A
 * list of all pods would otherwise make gigabytes of buffers, and V8 a full collection for each 64 MiB
 * of them.
 */
export function passingValueOf(kv: KeyValue): Uint8Array {
  return isMade(kv) ? kv.passing() : kv.value;
}
