// Estimates the maximal cost of an expression from its text and from the sizes in its variables'
// types. Upstream accepts or rejects rules by this estimate. The calculation follows upstream's, so
// that the same rules are accepted.

import { operators, type Call, type Comprehension, type Expression, type Select } from './ast.ts';
import type { Checked } from './checker.ts';
import { LIST_CREATE, MAP_CREATE, STRUCT_CREATE } from './cost.ts';
import { estimateCall, type EstimatedNode } from './estimate-calls.ts';
import {
  either,
  exactly,
  ONE,
  plus,
  times,
  UNKNOWN,
  upTo,
  ZERO,
  type Range,
} from './estimate-range.ts';
import { codePointLength } from './text.ts';
import { DYN, optionalOf, type Type } from './types.ts';

/**
 * Kubernetes' limits for one rule of a CustomResourceDefinition, and for all its rules together.
 */
export const STATIC_COST_LIMIT = 10_000_000;
export const STATIC_COST_TOTAL_LIMIT = 100_000_000;

/**
 * Estimates the cost of an expression. `root`: the type of the only variable, for rules of a
 * schema. As upstream, sizes of parts of a value that the expression creates are then taken from
 * the same path in the variable. Without `root`, such sizes are unknown.
 */
export function estimateCost(expression: Expression, checked: Checked, root?: Type): Range {
  return new Estimator(checked, root).cost(expression);
}

/** The declared type of the value's place in a variable; null: the value has no place. */
type Declared = Type | null;

/** The sizes of the keys (or indices) and values of a container that the expression creates. */
interface EntrySize {
  readonly container: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly size: Range | undefined;
  readonly entry: EntrySize | undefined;
  /** The declared type of its place in a variable; undefined: the expression creates the value. */
  readonly declared: Declared | undefined;
}

class Estimator {
  readonly #checked: Checked;
  readonly #root: Type | undefined;
  readonly #sizes = new Map<Expression, Range>();
  readonly #entries = new Map<Expression, EntrySize>();
  /** The declared types of parts of variables. Only they limit sizes. */
  readonly #declared = new Map<Expression, Declared>();
  readonly #locals = new Map<string, Local[]>();
  /** Macros use some trees twice. Each use is charged, but the tree is estimated once. */
  readonly #costs = new Map<Expression, Range>();

  constructor(checked: Checked, root: Type | undefined) {
    this.#checked = checked;
    this.#root = root;
  }

  cost(node: Expression): Range {
    const cached = this.#costs.get(node);
    if (cached !== undefined) return cached;
    const cost = this.#costOf(node);
    if (node.kind === 'call' || node.kind === 'comprehension') this.#costs.set(node, cost);
    return cost;
  }

  #costOf(node: Expression): Range {
    switch (node.kind) {
      case 'literal':
        return ZERO;
      case 'identifier': {
        const local = this.#local(node.name);
        this.#declare(
          node,
          local === undefined ? (this.#root ?? this.#typeOf(node)) : local.declared,
        );
        return ONE;
      }
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list': {
        const costs = node.elements.map((element) => this.cost(element));
        const value = this.#unionOf(node.elements);
        this.#entries.set(node, { container: 'list', key: ONE, value });
        return plus(...costs, exactly(LIST_CREATE));
      }
      case 'map': {
        const costs = node.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
        const key = this.#unionOf(node.entries.map((entry) => entry.key));
        const value = this.#unionOf(node.entries.map((entry) => entry.value));
        this.#entries.set(node, { container: 'map', key, value });
        return plus(...costs, exactly(MAP_CREATE));
      }
      case 'struct':
        return plus(...node.fields.map(({ value }) => this.cost(value)), exactly(STRUCT_CREATE));
      case 'comprehension':
        return isBind(node) ? this.#bind(node) : this.#comprehension(node);
    }
  }

  #declare(node: Expression, declared: Declared | undefined): void {
    if (declared !== undefined) this.#declared.set(node, declared);
  }

  /** Returns the place of a part of a value. */
  #partOf(node: Expression, part: (type: Type) => Type | undefined): Declared | undefined {
    const declared = this.#declared.get(node);
    if (declared === undefined) return this.#root;
    return declared === null
      ? null
      : (part(declared) ?? (this.#root === undefined ? undefined : null));
  }

  #typeOf(node: Expression): Type {
    return this.#checked.types.get(node) ?? DYN;
  }

  #unionOf(nodes: readonly Expression[]): Range {
    const sizes = nodes.map((node) => this.#sizeOrUnknown(node));
    return sizes.length === 0 ? ZERO : sizes.reduce(either);
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #within<T>(locals: readonly (readonly [string, Local])[], run: () => T): T {
    for (const [name, local] of locals)
      this.#locals.set(name, [...(this.#locals.get(name) ?? []), local]);
    const result = run();
    for (const [name] of locals) this.#locals.get(name)?.pop();
    return result;
  }

  #select(node: Select): Range {
    const reference = this.#checked.references.get(node);
    if (reference?.kind === 'variable') {
      this.#declared.set(node, this.#typeOf(node));
      return ONE;
    }
    if (reference?.kind === 'constant') return ONE;
    const operand = this.cost(node.operand);
    // Testing for presence costs nothing, but the path to the field does.
    if (node.testOnly) return operand;
    this.#declare(
      node,
      this.#partOf(node.operand, (type) => partOf(type, node.field, this.#root !== undefined)),
    );
    const { kind } = this.#typeOf(node.operand);
    return kind === 'map' || kind === 'object' ? plus(operand, ONE) : operand;
  }

  #call(node: Call): Range {
    const reference = this.#checked.references.get(node);
    if (node.function === 'dyn' && node.target === undefined) {
      const [argument] = node.arguments as [Expression];
      const cost = this.cost(argument);
      this.#copySizes(node, argument);
      return plus(cost, ONE);
    }
    const costs = node.arguments.map((argument) => this.cost(argument));
    if (reference?.kind !== 'function')
      return plus(...costs, node.function === operators.optionalSelect ? ONE : ZERO);
    const args = node.arguments.map((argument) => this.#estimated(argument));
    const isMember = node.target !== undefined && !reference.qualified;
    const target = isMember ? node.target : undefined;
    const targetCost = target === undefined ? ZERO : this.cost(target);
    const receiver = target === undefined ? undefined : this.#estimated(target);
    let total: Range | undefined;
    let size: Range | undefined;
    for (const { id } of reference.overloads) {
      const estimate = this.#overload(node, reference.name, id, receiver, args, costs);
      total = total === undefined ? estimate.cost : either(total, estimate.cost);
      if (estimate.size !== undefined)
        size = size === undefined ? estimate.size : either(size, estimate.size);
      if (id === 'index_list' || id === 'index_map') {
        const [operand] = node.arguments as [Expression];
        size = this.#entry(operand)?.value;
        this.#declare(node, this.#partOf(operand, valuesOf));
      }
      size ??= this.#size(node);
    }
    if (size !== undefined) this.#sizes.set(node, size);
    return plus(targetCost, total ?? ZERO);
  }

  #overload(
    node: Call,
    name: string,
    overload: string,
    target: EstimatedNode | undefined,
    args: readonly EstimatedNode[],
    costs: readonly Range[],
  ): { readonly cost: Range; readonly size?: Range | undefined } {
    const [first, second, third] = costs as [Range, Range, Range];
    switch (overload) {
      case 'logical_and':
      case 'logical_or':
        // The first operand may decide.
        return { cost: { min: first.min, max: plus(first, second).max } };
      case 'conditional': {
        const [, yes, no] = node.arguments as [Expression, Expression, Expression];
        this.#setEntry(node, this.#entry(yes), this.#entry(no));
        return {
          cost: plus(first, either(second, third)),
          size: either(this.#sizeOrUnknown(yes), this.#sizeOrUnknown(no)),
        };
      }
      case 'add_list':
      case 'add_string':
      case 'add_bytes': {
        const [left, right] = node.arguments as [Expression, Expression];
        this.#setEntry(node, this.#entry(left), this.#entry(right));
        break;
      }
      default:
    }
    const estimate = estimateCall(name, overload, { target, args });
    return { cost: plus(estimate.cost, ...costs), size: estimate.size };
  }

  #estimated(expression: Expression): EstimatedNode {
    const declared = this.#declared.get(expression) ?? undefined;
    const items = declared === undefined ? undefined : valuesOf(declared);
    return {
      expression,
      type: this.#typeOf(expression),
      size: this.#size(expression),
      itemSize: items === undefined ? undefined : declaredSize(items),
    };
  }

  #size(node: Expression): Range | undefined {
    const computed = this.#sizes.get(node) ?? literalSize(node);
    if (computed !== undefined) return computed;
    const declared = this.#declared.get(node) ?? undefined;
    const size = declared === undefined ? undefined : declaredSize(declared);
    if (size !== undefined || (declared !== undefined && this.#root === undefined)) return size;
    if (isScalar(this.#typeOf(node))) return ONE;
    return node.kind === 'identifier' ? this.#local(node.name)?.size : undefined;
  }

  #sizeOrUnknown(node: Expression): Range {
    return this.#size(node) ?? UNKNOWN;
  }

  #entry(node: Expression): EntrySize | undefined {
    return (
      this.#entries.get(node) ??
      (node.kind === 'identifier' ? this.#local(node.name)?.entry : undefined)
    );
  }

  #setEntry(node: Expression, a: EntrySize | undefined, b: EntrySize | undefined): void {
    if (a === undefined || b === undefined) return;
    this.#entries.set(node, {
      container: a.container,
      key: either(a.key, b.key),
      value: either(a.value, b.value),
    });
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to, size);
    const entry = this.#entry(from);
    if (entry !== undefined) this.#entries.set(to, entry);
  }

  #localOf(node: Expression): Local {
    return { size: this.#size(node), entry: this.#entry(node), declared: this.#declared.get(node) };
  }

  #bind(node: Comprehension): Range {
    const costs = [this.cost(node.range), this.cost(node.init)];
    costs.push(
      this.#within([[node.accumulator, this.#localOf(node.init)]], () => this.cost(node.result)),
    );
    this.#copySizes(node, node.result);
    return plus(...costs);
  }

  #comprehension(node: Comprehension): Range {
    const costs = [this.cost(node.range), this.cost(node.init)];
    const accumulator: readonly [string, Local] = [node.accumulator, this.#localOf(node.init)];
    const each = this.#within([accumulator, ...this.#loopVariables(node)], () => {
      const condition = this.cost(node.condition);
      return plus(condition, this.cost(node.step));
    });
    costs.push(this.#within([accumulator], () => this.cost(node.result)));
    const count = this.#sizeOrUnknown(node.range);
    if (node.init.kind === 'literal') {
      const size = this.#size(node.init);
      if (size !== undefined) this.#sizes.set(node, size);
    } else if (node.init.kind === 'list' || node.init.kind === 'map') {
      this.#sizes.set(node, count);
      const entry = this.#entry(node.step);
      if (entry !== undefined) this.#entries.set(node, entry);
    }
    return plus(...costs, times(count, each));
  }

  #loopVariables(node: Comprehension): (readonly [string, Local])[] {
    const entry = this.#entry(node.range);
    const isList = (entry?.container ?? this.#typeOf(node.range).kind) === 'list';
    const local = (size: Range | undefined, declared: Declared | undefined): Local => ({
      size,
      declared,
      entry: undefined,
    });
    const values = local(entry?.value, this.#partOf(node.range, valuesOf));
    const keys = local(
      entry?.key,
      this.#partOf(node.range, (type) => (type.kind === 'map' && !isList ? type.key : undefined)),
    );
    if (node.variable2 !== undefined) {
      return [
        [node.variable, keys],
        [node.variable2, values],
      ];
    }
    return [[node.variable, isList ? values : keys]];
  }
}

/** Reports whether the node is a cel.bind: a loop over an empty list. */
const isBind = (node: Comprehension): boolean =>
  node.range.kind === 'list' &&
  node.range.elements.length === 0 &&
  node.condition.kind === 'literal' &&
  node.condition.value === false;

/** Returns the type of a field. `exact`: a field of a map has no place. */
function partOf(type: Type, field: string, exact: boolean): Type | undefined {
  if (type.kind === 'object') return type.field(field)?.type;
  return type.kind === 'map' && !exact ? type.value : undefined;
}

function valuesOf(type: Type): Type | undefined {
  if (type.kind === 'list') return type.element;
  return type.kind === 'map' ? type.value : undefined;
}

/** Returns the size in a declared type; undefined if values of the type have no size. */
function declaredSize(type: Type): Range | undefined {
  switch (type.kind) {
    case 'list':
      return type.maxItems === undefined ? undefined : upTo(type.maxItems);
    case 'map':
      return type.maxProperties === undefined ? undefined : upTo(type.maxProperties);
    case 'string':
    case 'bytes':
    case 'dyn':
    case 'any':
      return type.maxLength === undefined ? undefined : upTo(type.maxLength);
    case 'timestamp':
    case 'duration':
      return upTo(type.maxLength ?? 32);
    default:
      return ZERO;
  }
}

function literalSize(node: Expression): Range | undefined {
  switch (node.kind) {
    case 'literal':
      if (typeof node.value === 'string') return exactly(codePointLength(node.value));
      return exactly(node.value instanceof Uint8Array ? node.value.length : 1);
    case 'list':
      return exactly(node.elements.length);
    case 'map':
      return exactly(node.entries.length);
    default:
      return undefined;
  }
}

function isScalar(type: Type): boolean {
  if (['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind)) return true;
  const inner = optionalOf(type);
  return inner !== undefined && isScalar(inner);
}
