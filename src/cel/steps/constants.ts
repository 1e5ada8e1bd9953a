// Parts of an expression that are evaluated before the first evaluation.

import { Frame } from '../cost.ts';
import type { Expression } from '../ast.ts';
import { equals } from '../equality.ts';
import type { Value } from '../values.ts';
import type { Step } from './step.ts';

/**
 * Functions that are evaluated when the expression is compiled if their argument is a literal; they
 * cost nothing then.
 */
const CONVERSIONS: ReadonlySet<string> = new Set(
  'bool bytes double dyn duration int string timestamp type uint'.split(' '),
);

/**
 * Reports whether upstream creates the value when it compiles the expression: literals, lists and
 * maps of them, and their conversions.
 */
export function isConstant(node: Expression): boolean {
  switch (node.kind) {
    case 'literal':
      return true;
    case 'list':
      return node.optionalIndices.size === 0 && node.elements.every(isConstant);
    case 'map':
      return node.entries.every(
        ({ key, value, optional }) => !optional && isConstant(key) && isConstant(value),
      );
    case 'call': {
      const [argument] = node.arguments;
      if (
        node.target !== undefined ||
        node.arguments.length !== 1 ||
        !CONVERSIONS.has(node.function)
      )
        return false;
      return isConstant(argument!);
    }
    default:
      return false;
  }
}

/**
 * Returns a step that makes a call with constant arguments once, and charges its cost each time.
 * All functions are pure.
 */
export function foldCall(call: Step): Step {
  let folded: { readonly value: Value; readonly cost: number } | undefined;
  return (frame) => {
    if (folded === undefined) {
      const once = new Frame([], Infinity);
      const value = call(once);
      folded = { value, cost: once.cost };
    }
    frame.charge(folded.cost);
    return folded.value;
  };
}

/**
 * Does the same as foldCall without cost, for values that upstream creates when it compiles the
 * expression.
 */
export function foldFree(call: Step): Step {
  const folded = foldCall(call);
  const free = new Frame([], Infinity);
  return () => folded(free);
}

/**
 * Returns a function that reports whether a value is in a list of literals, without traversing it;
 * undefined for other nodes.
 */
export function constantSet(node: Expression): ((item: Value) => boolean) | undefined {
  if (node.kind !== 'list' || node.optionalIndices.size > 0 || node.elements.length === 0)
    return undefined;
  const set = new Set<Value>();
  for (const element of node.elements) {
    if (
      element.kind !== 'literal' ||
      !['string', 'number', 'boolean'].includes(typeof element.value)
    )
      return undefined;
    set.add(element.value);
  }
  const items = [...set];
  return (item) =>
    typeof item === 'object' ? items.some((other) => equals(item, other)) : set.has(item);
}
