// Checks literals that would always fail at run time (durations, timestamps, patterns), so that
// they are compile errors. Also checks lists and maps with items of several types.

import type { Call, Expression, ListLiteral, MapLiteral } from './ast.ts';
import { EvaluationError, type Issue } from './errors.ts';
import { checkFormat } from './format-check.ts';
import { compileRegex } from './standard/strings.ts';
import { parseDuration, parseTimestamp } from './standard/time-text.ts';
import { DYN, formatType, sameType, type Type } from './types.ts';

const READERS: Readonly<
  Record<string, { readonly member: boolean; readonly read: (text: string) => unknown }>
> = {
  duration: { member: false, read: parseDuration },
  timestamp: { member: false, read: parseTimestamp },
  matches: { member: true, read: compileRegex },
};

/** Functions whose arguments may have items of several types. */
const EXEMPT: ReadonlySet<string> = new Set(['format']);

/**
 * Returns the issues of all literals. `types`: of the expression's parts. `homogeneous`: the items
 * of a list or map literal must have one type.
 */
export function checkLiterals(
  root: Expression,
  types: ReadonlyMap<Expression, Type>,
  homogeneous: boolean,
): Issue[] {
  const issues: Issue[] = [];
  // Macros use some trees twice.
  const seen = new Set<Expression>();
  const visit = (node: Expression, exact: boolean): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === 'call') checkCall(node, homogeneous ? types : undefined, issues);
    else if (exact && node.kind === 'list') checkList(node, types, issues);
    else if (exact && node.kind === 'map') checkMap(node, types, issues);
    const inside = exact && !(node.kind === 'call' && EXEMPT.has(node.function));
    for (const child of childrenOf(node)) visit(child, inside);
  };
  visit(root, homogeneous);
  return issues;
}

/** Checks a call. `types`: absent if arguments of format are not checked. */
function checkCall(
  node: Call,
  types: ReadonlyMap<Expression, Type> | undefined,
  issues: Issue[],
): void {
  const format = types === undefined ? undefined : checkFormat(node, types);
  if (format !== undefined) issues.push(format);
  const reader = Object.hasOwn(READERS, node.function) ? READERS[node.function] : undefined;
  const [argument] = node.arguments;
  if (reader === undefined || reader.member !== (node.target !== undefined)) return;
  if (argument?.kind !== 'literal' || typeof argument.value !== 'string') return;
  try {
    reader.read(argument.value);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    issues.push({ offset: argument.offset, message: `invalid ${node.function} argument` });
  }
}

/**
 * Checks a list. An item with a dynamic type differs from items with other types, whatever its
 * value is at run time.
 */
function checkList(
  { elements, optionalIndices }: ListLiteral,
  types: ReadonlyMap<Expression, Type>,
  issues: Issue[],
): void {
  const typesOf = elements.map((element, index) =>
    itemType(types.get(element), optionalIndices.has(index)),
  );
  const [expected] = typesOf;
  const at = typesOf.findIndex((type) => expected !== undefined && !sameType(expected, type));
  // Only the first mismatch is reported.
  if (at > 0) mismatch(issues, elements[at]!, expected!, typesOf[at]!);
}

function checkMap(
  { entries }: MapLiteral,
  types: ReadonlyMap<Expression, Type>,
  issues: Issue[],
): void {
  const typesOf = entries.map(({ key, value, optional }) => ({
    key: itemType(types.get(key), false),
    value: itemType(types.get(value), optional),
  }));
  const [expected] = typesOf;
  for (const [index, type] of typesOf.entries()) {
    const entry = entries[index]!;
    if (!sameType(expected!.key, type.key)) mismatch(issues, entry.key, expected!.key, type.key);
    if (!sameType(expected!.value, type.value)) {
      mismatch(issues, entry.value, expected!.value, type.value);
    }
  }
}

/**
 * Returns the type of an item. `optional`: the item has a '?', so its type is that inside the
 * optional.
 */
function itemType(type: Type | undefined, optional: boolean): Type {
  return optional && type?.kind === 'opaque' ? (type.parameters[0] ?? DYN) : (type ?? DYN);
}

function mismatch(issues: Issue[], { offset }: Expression, expected: Type, found: Type): void {
  issues.push({
    offset,
    message: `expected type '${formatType(expected)}' but found '${formatType(found)}'`,
  });
}

export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return [];
    case 'select':
      return [node.operand];
    case 'call':
      return node.target === undefined ? node.arguments : [node.target, ...node.arguments];
    case 'list':
      return node.elements;
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return node.fields.map(({ value }) => value);
    case 'comprehension':
      return [node.range, node.init, node.condition, node.step, node.result];
  }
}
