// Evaluates JSONPath expressions on JSON values. A missing field is not an error: it has no
// results.

import { getOwn, isPlainObject } from '#machinery/deep.ts';
import { JsonPathError, type PathNode } from './nodes.ts';

/** The maximum number of results. Nested recursive descents can find the same values many times. */
const MAX_RESULTS = 100_000;

type Slice = Extract<PathNode, { type: 'slice' }>;
type Filter = Extract<PathNode, { type: 'filter' }>;

/**
 * Returns the values at the path, in order. Throws JsonPathError if the object does not fit the
 * path.
 */
export function evaluateJsonPath(path: readonly PathNode[], object: unknown): readonly unknown[] {
  return walk(path, [object]);
}

function walk(path: readonly PathNode[], from: readonly unknown[]): readonly unknown[] {
  let values = from;
  for (const node of path) {
    values = step(node, values);
    if (values.length > MAX_RESULTS) throw new JsonPathError(`more than ${MAX_RESULTS} results`);
  }
  return values;
}

function step(node: PathNode, values: readonly unknown[]): readonly unknown[] {
  switch (node.type) {
    case 'field':
      return values.flatMap((value) => {
        const field = isPlainObject(value) ? getOwn(value, node.name) : undefined;
        return field === undefined ? [] : [field];
      });
    case 'slice':
      return values.flatMap((value) => (value === null ? [] : sliced(node, listOf(value))));
    case 'union':
      return node.paths.flatMap((path) => walk(path, values));
    case 'filter':
      return values.flatMap((value) => listOf(value).filter((item) => passes(node, item)));
    case 'wildcard':
      return values.flatMap(childrenOf);
    case 'recursive': {
      const descendants: unknown[] = [];
      descend(values, descendants);
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

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isPlainObject(value)) return Object.values(value);
  return typeof value === 'string' ? [...Buffer.from(value)] : [];
}

/** Adds all lists and objects below the values, each before its content. */
function descend(values: readonly unknown[], descendants: unknown[]): void {
  for (const value of values) {
    const children = childrenOf(value);
    if (children.length === 0) continue;
    descendants.push(value);
    if (descendants.length > MAX_RESULTS)
      throw new JsonPathError(`more than ${MAX_RESULTS} results`);
    descend(children, descendants);
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

function passes({ left, operator, right }: Filter, item: unknown): boolean {
  if (operator === 'exists') return exists(left, item);
  const lefts = walk(left, [item]);
  if (lefts.length === 0) return false;
  if (lefts.length > 1) throw new JsonPathError('can only compare one element at a time');
  const rights = walk(right, [item]);
  if (rights.length === 0) return false;
  if (rights.length > 1) throw new JsonPathError('can only compare one element at a time');
  return compare(operator, lefts[0], rights[0]);
}

function exists(path: readonly PathNode[], item: unknown): boolean {
  try {
    return walk(path, [item]).length > 0;
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
