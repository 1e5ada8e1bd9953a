// Evaluates JSONPath expressions on JSON values. A missing field is not an error: it has no
// results.

import { getOwn, isPlainObject } from '#machinery/deep.ts';
import { JsonPathError, type PathNode } from './nodes.ts';

/**
 * The maximum number of visited values. One descent visits each value of an object twice, of which
 * there are at most 100,000; nested descents visit the same values many times.
 */
const MAX_VISITED = 200_000;
/** So many characters of a text count as one value. */
const CHARACTERS = 16;

/** Limits the work of evaluations. Those of one row of a table share it. */
export class PathWork {
  #left = MAX_VISITED;

  /** Counts visited values. Throws JsonPathError if they are too many. */
  visit(values: number): void {
    this.#left -= values;
    if (this.#left < 0) throw new JsonPathError(`more than ${MAX_VISITED} values are visited`);
  }

  /** Counts the reading of a text. */
  read(text: string): void {
    this.visit(text.length / CHARACTERS);
  }

  /** Counts a value with all that it contains. */
  visitAll(value: unknown): void {
    if (typeof value === 'string') this.read(value);
    else for (const child of childrenOf(value, this)) this.visitAll(child);
  }
}

type Slice = Extract<PathNode, { type: 'slice' }>;
type Filter = Extract<PathNode, { type: 'filter' }>;

/**
 * Returns the values at the path, in order. Throws JsonPathError if the object does not fit the
 * path, or after too much work.
 */
export function evaluateJsonPath(
  path: readonly PathNode[],
  object: unknown,
  work: PathWork = new PathWork(),
): readonly unknown[] {
  return walk(path, [object], work);
}

function walk(
  path: readonly PathNode[],
  from: readonly unknown[],
  work: PathWork,
): readonly unknown[] {
  let values = from;
  for (const node of path) {
    work.visit(values.length);
    values = step(node, values, work);
  }
  return values;
}

function step(node: PathNode, values: readonly unknown[], work: PathWork): readonly unknown[] {
  switch (node.type) {
    case 'field':
      return values.flatMap((value) => {
        const field = isPlainObject(value) ? getOwn(value, node.name) : undefined;
        return field === undefined ? [] : [field];
      });
    case 'slice':
      return values.flatMap((value) => {
        if (value === null) return [];
        const items = sliced(node, listOf(value));
        work.visit(items.length);
        return items;
      });
    case 'union':
      return node.paths.flatMap((path) => walk(path, values, work));
    case 'filter':
      return values.flatMap((value) => listOf(value).filter((item) => passes(node, item, work)));
    case 'wildcard':
      return values.flatMap((value) => childrenOf(value, work));
    case 'recursive': {
      const descendants: unknown[] = [];
      descend(values, descendants, work);
      return descendants;
    }
    case 'literal':
      return values.map(() =>
        node.isFloat === true ? new Float(node.value as number) : node.value,
      );
  }
}

/** A number that was written with a decimal point. It is not comparable with integers. */
class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new JsonPathError('the value is not array or slice');
}

function childrenOf(value: unknown, work: PathWork): readonly unknown[] {
  if (Array.isArray(value)) {
    work.visit(value.length);
    return value;
  }
  if (isPlainObject(value)) {
    const children = Object.values(value);
    work.visit(children.length);
    return children;
  }
  if (typeof value !== 'string') return [];
  work.visit(value.length);
  return [...Buffer.from(value)];
}

/** Adds all lists and objects below the values, each before its content. */
function descend(values: readonly unknown[], descendants: unknown[], work: PathWork): void {
  for (const value of values) {
    // Nothing is below the characters of a text.
    const isText = typeof value === 'string';
    const children = isText ? [] : childrenOf(value, work);
    if (isText ? value === '' : children.length === 0) continue;
    descendants.push(value);
    descend(children, descendants, work);
  }
}

function sliced(
  { start: givenStart = 0, end: givenEnd, step: every }: Slice,
  list: readonly unknown[],
): readonly unknown[] {
  const { length } = list;
  const start = givenStart < 0 ? givenStart + length : givenStart;
  let end = givenEnd === 'next' ? givenStart + 1 : (givenEnd ?? length);
  if (end < 0 || (end === 0 && givenEnd === 'next')) end += length;
  if (start === end) return [];
  if (start < 0 || start >= length || end < 0 || end > length || start > end)
    throw new JsonPathError('array index out of bounds');
  if (every !== undefined && every <= 0) throw new JsonPathError('step must be > 0');
  const items = list.slice(start, end);
  return every === undefined ? items : items.filter((_, index) => index % every === 0);
}

function passes({ left, operator, right }: Filter, item: unknown, work: PathWork): boolean {
  work.visit(1);
  if (operator === 'exists') return exists(left, item, work);
  const lefts = walk(left, [item], work);
  if (lefts.length === 0) return false;
  if (lefts.length > 1) throw new JsonPathError('can only compare one element at a time');
  const rights = walk(right, [item], work);
  if (rights.length === 0) return false;
  if (rights.length > 1) throw new JsonPathError('can only compare one element at a time');
  if (typeof lefts[0] === 'string') work.read(lefts[0]);
  return compare(operator, lefts[0], rights[0]);
}

function exists(path: readonly PathNode[], item: unknown, work: PathWork): boolean {
  try {
    return walk(path, [item], work).length > 0;
  } catch (error) {
    if (error instanceof JsonPathError) return false;
    throw error;
  }
}

/**
 * Compares as Go's templates do: only values of the same basic type; integers and floats are
 * different types.
 */
function compare(operator: string, left: unknown, right: unknown): boolean {
  const type = typeOf(left);
  if (type !== typeOf(right)) throw new JsonPathError('incompatible types for comparison');
  const [a, b] = [plain(left), plain(right)];
  switch (operator) {
    case '==':
      return a === b;
    case '!=':
      return a !== b;
    case '<':
    case '>':
    case '<=':
    case '>=':
      if (type === 'bool') throw new JsonPathError('invalid type for comparison');
      return ordered(operator, order(a, b));
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

function ordered(operator: '<' | '>' | '<=' | '>=', sign: number): boolean {
  if (operator === '<') return sign < 0;
  if (operator === '>') return sign > 0;
  return operator === '<=' ? sign <= 0 : sign >= 0;
}

function order(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return (a as number) - (b as number);
}

function plain(value: unknown): unknown {
  return value instanceof Float ? value.value : value;
}

function typeOf(value: unknown): 'bool' | 'int' | 'float' | 'string' {
  if (value instanceof Float) return 'float';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float';
    default:
      throw new JsonPathError('invalid type for comparison');
  }
}
