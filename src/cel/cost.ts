// The cost of evaluation in upstream's units, so that a limit means the same here: about one per
// step, and one per ten characters of traversed text.

import { endOfTurn, evaluationError } from './errors.ts';
import type { CallCost } from './declarations.ts';
import type { Progress } from './progress.ts';
import { codePointLength } from './text.ts';
import {
  isList,
  isMap,
  listItems,
  listSize,
  mapGet,
  mapKeys,
  mapSize,
  OpaqueValue,
  type Value,
} from './values.ts';
import { WorkLimit } from './work-limit.ts';

export const LIST_CREATE = 10;
export const MAP_CREATE = 30;
export const STRUCT_CREATE = 40;
export const TEXT_FACTOR = 0.1;
export const REGEX_FACTOR = 0.25;

/**
 * Upstream's limits: for one expression, and for all expressions of one policy (or one custom
 * resource).
 */
export const PER_CALL_LIMIT = 1_000_000;
export const RUNTIME_BUDGET = 10_000_000;

/** The common budget of several evaluations. */
export class Budget {
  remaining: number;

  constructor(total: number = RUNTIME_BUDGET) {
    this.remaining = total;
  }

  get exhausted(): boolean {
    return this.remaining < 0;
  }
}

/** One attempt to evaluate: its variables and its cost so far. */
export class Frame {
  readonly slots: Value[];
  readonly limit: number;
  /** The record of earlier attempts. Undefined: nothing is recorded. */
  readonly progress: Progress | undefined;
  cost = 0;
  /** The cost at which the attempt ends: the limit, or the work of a turn. */
  readonly #end: number;

  /** `turn`: what earlier attempts recorded, or the cost at which an attempt without record ends. */
  constructor(slots: Value[], limit: number, turn: Progress | number = Infinity) {
    this.slots = slots;
    this.limit = limit;
    const isFirst = typeof turn === 'number';
    this.progress = isFirst ? undefined : turn;
    this.#end = isFirst ? Math.min(limit, turn) : limit;
  }

  charge(cost: number): void {
    this.cost += cost;
    if (this.cost <= this.#end) return;
    if (this.cost <= this.limit) throw endOfTurn();
    throw evaluationError('operation cancelled: actual cost limit exceeded', 'costLimitExceeded');
  }
}

/**
 * Returns the size of a value for cost calculations: the length of text, bytes, lists and maps, 1
 * for other values.
 */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return codePointLength(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (isList(value)) return listSize(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof OpaqueValue) return value.size?.() ?? 1;
  return isMap(value) ? mapSize(value) : 1;
}

export const traversal = (size: number): number => Math.ceil(size * TEXT_FACTOR);

/**
 * Returns the cost of traversing a value with all of its parts; text counts in bytes of UTF-8.
 * Throws EvaluationError if there is too much.
 */
function traversalOf(value: Value, limit: WorkLimit = new WorkLimit()): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * TEXT_FACTOR);
  if (value instanceof Uint8Array) return Math.floor(value.length * TEXT_FACTOR);
  limit.part();
  let cost = 0;
  if (isList(value)) {
    for (const item of listItems(value)) cost += traversalOf(item, limit);
  } else if (isMap(value)) {
    for (const key of mapKeys(value))
      cost += traversalOf(key, limit) + traversalOf(mapGet(value, key), limit);
  } else {
    cost = 1;
  }
  return cost;
}

/** The cost of traversing the first argument with all of its parts. */
export const traversesDeeply: CallCost = (args) => traversalOf(args[0]);
/** The cost of traversing the first argument. */
export const traversesFirst: CallCost = (args) => traversal(sizeOf(args[0]));
/** The cost of traversing the first argument and creating a result of about the same size. */
export const rewritesFirst: CallCost = (args) => traversal(sizeOf(args[0]) * 2);
/** Returns the cost of comparing two values, up to the end of the shorter one. */
export function comparison(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') {
    // Nearly all texts are short and need no counting.
    const shorter = a.length < b.length ? a.length : b.length;
    if (shorter <= 10) return shorter === 0 ? 0 : 1;
  } else if (typeof a !== 'object' || typeof b !== 'object') {
    return Math.min(sizeOf(a), sizeOf(b)) === 0 ? 0 : 1;
  }
  return traversal(Math.min(sizeOf(a), sizeOf(b)));
}
export const comparesTwo: CallCost = (args) => comparison(args[0], args[1]);
/** The cost of searching the first argument with a regular expression. */
export const matchesRegex: CallCost = (args) =>
  Math.ceil((1 + sizeOf(args[0])) * TEXT_FACTOR) * Math.ceil(sizeOf(args[1]) * REGEX_FACTOR);
