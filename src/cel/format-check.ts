// Checks calls of `format` with a literal template and arguments: an unsuitable argument is a
// compile error.

import type { Call, Expression } from './ast.ts';
import { EvaluationError, type Issue } from './errors.ts';
import { clausesOf } from './library/format-text.ts';
import { DYN, typeName, type Type } from './types.ts';

interface Clause {
  readonly kinds: readonly string[];
  readonly expected: string;
}

const DOUBLES = ['double', 'string'];
const TEXT: Clause = {
  kinds: 'list map int uint double bool string timestamp bytes duration type null'.split(' '),
  expected:
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, ' +
    'types, durations, and timestamps',
};
const CLAUSES: Readonly<Record<string, Clause>> = {
  s: TEXT,
  d: { kinds: ['int', 'uint'], expected: 'decimal clause can only be used on integers' },
  f: { kinds: DOUBLES, expected: 'fixed-point clause can only be used on doubles' },
  e: { kinds: DOUBLES, expected: 'scientific clause can only be used on doubles' },
  b: {
    kinds: ['int', 'uint', 'bool'],
    expected: 'only integers and bools can be formatted as binary',
  },
  o: { kinds: ['int', 'uint'], expected: 'octal clause can only be used on integers' },
  x: {
    kinds: ['int', 'uint', 'string', 'bytes'],
    expected: 'only integers, byte buffers, and strings can be formatted as hex',
  },
};

/** Returns the issue of a call; undefined if the call is valid or of another function. */
export function checkFormat(node: Call, types: ReadonlyMap<Expression, Type>): Issue | undefined {
  const { target } = node;
  const [list] = node.arguments;
  if (node.function !== 'format' || node.arguments.length !== 1 || list?.kind !== 'list')
    return undefined;
  if (target?.kind !== 'literal' || typeof target.value !== 'string') return undefined;
  const { elements } = list;
  let used = 0;
  try {
    for (const verb of clausesOf(target.value)) {
      if (verb === undefined) continue;
      const argument = elements[used];
      if (argument === undefined)
        return { offset: node.offset, message: `index ${used} out of range` };
      used++;
      const problem = wrongPart(argument, CLAUSES[verb.toLowerCase()]!, types);
      if (problem !== undefined) return problem;
    }
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { offset: node.offset, message: error.message };
  }
  if (elements.length <= used) return undefined;
  const counts = `(expected ${used}, got ${elements.length})`;
  return { offset: node.offset, message: `too many arguments supplied to string.format ${counts}` };
}

function wrongPart(
  node: Expression,
  clause: Clause,
  types: ReadonlyMap<Expression, Type>,
): Issue | undefined {
  const type = types.get(node) ?? DYN;
  if (type.kind !== 'dyn' && !clause.kinds.includes(type.kind)) {
    const givenType = type.kind === 'error' ? '!error!' : typeName(type);
    return {
      offset: node.offset,
      message: `error during formatting: ${clause.expected}, was given ${givenType}`,
    };
  }
  if (clause !== TEXT) return undefined;
  const parts =
    node.kind === 'list'
      ? node.elements
      : node.kind === 'map'
        ? node.entries.flatMap(({ key, value }) => [key, value])
        : [];
  for (const part of parts) {
    const problem = wrongPart(part, clause, types);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
