// The planner: turns a checked tree into closures. Decisions that are the same for every evaluation
// (the overload, the slot of a variable, a compiled pattern) are made here. The closures are in
// steps/.
//
// Costs are charged as in upstream's interpreter: 1 for a name or selection, the function's cost
// for a call, nothing for && || ?:. Upstream charges nothing for the name at the root of an
// attribute that is itself an index or a branch; `nested` marks this case.

import {
  operators,
  type Call,
  type Comprehension,
  type Expression,
  type Literal,
  type Select,
  type StructLiteral,
} from './ast.ts';
import type { Checked, Reference } from './checker.ts';
import { comparison, LIST_CREATE, MAP_CREATE, STRUCT_CREATE } from './cost.ts';
import type { Overload } from './declarations.ts';
import { compare, equals } from './equality.ts';
import { evaluationError, noSuchOverload, type EvaluationError } from './errors.ts';
import { indexInto } from './standard/operators.ts';
import { caller } from './steps/call.ts';
import { constantSet, foldCall, foldFree, isConstant } from './steps/constants.ts';
import { collect, existsOne, general, quantify } from './steps/loops.ts';
import { hasField, indexOptional, selectField, selectOptional } from './steps/select.ts';
import { absorbed, keeping, type Step } from './steps/step.ts';
import type { Type } from './types.ts';
import { MapValue, Optional, type Value } from './values.ts';

/** The inputs of the planner in addition to the tree. */
export interface PlanContext {
  readonly checked: Checked;
  /** Returns all overloads of a name, for unchecked calls. */
  overloadsOf(name: string): readonly Overload[];
}

export interface Plan {
  readonly step: Step;
  readonly slots: number;
  /** The variables from the activation, by slot. */
  readonly variables: readonly { readonly name: string; readonly slot: number }[];
}

export function plan(expression: Expression, context: PlanContext): Plan {
  const planner = new Planner(context);
  const step = planner.plan(expression);
  return {
    step,
    slots: planner.slots,
    variables: [...planner.variables].map(([name, slot]) => ({ name, slot })),
  };
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  [operators.less]: (order) => order < 0,
  [operators.lessEquals]: (order) => order <= 0,
  [operators.greater]: (order) => order > 0,
  [operators.greaterEquals]: (order) => order >= 0,
};

class Planner {
  readonly #context: PlanContext;
  readonly variables = new Map<string, number>();
  readonly #scope: { readonly name: string; readonly slot: number }[] = [];
  readonly #planned = new Map<Expression, Step>();
  slots = 0;

  constructor(context: PlanContext) {
    this.#context = context;
  }

  plan(node: Expression, nested = false): Step {
    if (nested || (node.kind !== 'call' && node.kind !== 'comprehension'))
      return this.#planNode(node, nested);
    // Macros use some trees twice. Planning a chain of them twice at each level would take
    // exponential time.
    const cached = this.#planned.get(node);
    if (cached !== undefined) return cached;
    const step = this.#planNode(node, false);
    this.#planned.set(node, step);
    return step;
  }

  #planNode(node: Expression, nested: boolean): Step {
    switch (node.kind) {
      case 'literal': {
        const { value } = node;
        return () => value;
      }
      case 'identifier':
        return this.#named(node, node.name, nested);
      case 'select':
        return this.#select(node, nested);
      case 'call':
        return this.#call(node, nested);
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'struct':
        return this.#struct(node);
      case 'comprehension':
        return this.#comprehension(node);
    }
  }

  #reference(node: Expression): Reference | undefined {
    return this.#context.checked.references.get(node);
  }

  #typeOf(node: Expression): Type {
    return this.#context.checked.types.get(node) ?? { kind: 'dyn' };
  }

  #named(node: Expression, written: string, nested: boolean): Step {
    const reference = this.#reference(node);
    if (reference?.kind === 'constant') {
      const { value } = reference;
      return () => value;
    }
    const name = reference?.kind === 'variable' ? reference.name : written;
    const slot = this.#scope.findLast((local) => local.name === name)?.slot ?? this.#variable(name);
    const cost = nested ? 0 : 1;
    return (frame) => {
      frame.charge(cost);
      const value = frame.slots[slot];
      if (value === undefined) throw evaluationError(`no such attribute(s): ${name}`);
      return value;
    };
  }

  #variable(name: string): number {
    const existing = this.variables.get(name);
    if (existing !== undefined) return existing;
    const slot = this.slots++;
    this.variables.set(name, slot);
    return slot;
  }

  /**
   * Plans an operand of a selection or index: as a part of the same attribute, or evaluated
   * separately for a cost of 1.
   */
  #operand(node: Expression, nested: boolean): Step {
    if (isAttribute(node)) return this.plan(node, nested);
    const operand = this.plan(node);
    if (nested) return operand;
    return (frame) => {
      frame.charge(1);
      return operand(frame);
    };
  }

  #select(node: Select, nested: boolean): Step {
    const reference = this.#reference(node);
    if (reference !== undefined) return this.#named(node, node.field, nested);
    const { field } = node;
    if (node.testOnly) {
      const operand = this.#operand(node.operand, true);
      return (frame) => hasField(operand(frame), field);
    }
    const operand = this.#operand(node.operand, nested);
    return (frame) => {
      const value = operand(frame);
      frame.charge(1);
      return selectField(value, field);
    };
  }

  #call(node: Call, nested: boolean): Step {
    const args = node.arguments;
    switch (node.function) {
      case operators.and:
        return this.#logical(this.#terms(node, operators.and), false);
      case operators.or:
        return this.#logical(this.#terms(node, operators.or), true);
      case operators.conditional:
        return this.#conditional(args as [Expression, Expression, Expression]);
      case operators.index:
      case operators.optionalIndex:
        return this.#index(node, nested);
      case operators.optionalSelect: {
        const operand = this.#operand(args[0]!, nested);
        const field = (args[1] as Literal).value as string;
        return (frame) => {
          const value = operand(frame);
          frame.charge(1);
          return selectOptional(value, field);
        };
      }
      case operators.equals:
      case operators.notEquals:
        return this.#equality(args as [Expression, Expression], node.function === operators.equals);
      case operators.less:
      case operators.lessEquals:
      case operators.greater:
      case operators.greaterEquals:
        return this.#ordering(
          args as [Expression, Expression],
          COMPARISONS[node.function] as (order: number) => boolean,
        );
      case operators.in: {
        const set = constantSet(args[1]!);
        if (set !== undefined) {
          const item = this.plan(args[0]!);
          return (frame) => set(item(frame));
        }
        break;
      }
      default:
    }
    return this.#function(node);
  }

  /** Returns the terms of a chain of the same operator, which is a balanced tree, in order. */
  #terms(node: Expression, operator: string): Step[] {
    if (node.kind === 'call' && node.function === operator && node.target === undefined) {
      return node.arguments.flatMap((argument) => this.#terms(argument, operator));
    }
    return [this.plan(node)];
  }

  /** Plans && or ||: any `decisive` term decides, even if other terms fail. */
  #logical(terms: readonly Step[], decisive: boolean): Step {
    return (frame) => {
      let failure: EvaluationError | undefined;
      for (const term of terms) {
        try {
          const value = term(frame);
          if (value === decisive) return decisive;
          if (value !== !decisive) failure ??= noSuchOverload();
        } catch (error) {
          // Even after another failure, an exceeded limit ends the evaluation.
          const absorbable = absorbed(error);
          failure ??= absorbable;
        }
      }
      if (failure !== undefined) throw failure;
      return !decisive;
    };
  }

  #conditional([condition, yes, no]: readonly [Expression, Expression, Expression]): Step {
    const test = this.plan(condition);
    const [then, otherwise] = [this.plan(yes, isAttribute(yes)), this.plan(no, isAttribute(no))];
    return (frame) => {
      const value = test(frame);
      if (value === true) return then(frame);
      if (value === false) return otherwise(frame);
      throw noSuchOverload();
    };
  }

  #index(node: Call, nested: boolean): Step {
    const [operandNode, indexNode] = node.arguments as [Expression, Expression];
    const operand = this.#operand(operandNode, nested);
    const index = this.plan(indexNode, isAttribute(indexNode));
    if (node.function === operators.optionalIndex) {
      return (frame) => {
        const value = operand(frame);
        const key = index(frame);
        frame.charge(1);
        return indexOptional(value, key);
      };
    }
    return (frame) => {
      const value = operand(frame);
      const key = index(frame);
      frame.charge(1);
      if (value instanceof Optional) return indexOptional(value, key);
      return indexInto(value, key);
    };
  }

  #equality([left, right]: readonly [Expression, Expression], wanted: boolean): Step {
    const [a, b] = [this.plan(left), this.plan(right)];
    return keeping((frame) => {
      const [x, y] = [a(frame), b(frame)];
      frame.charge(comparison(x, y));
      return equals(x, y) === wanted;
    });
  }

  #ordering(
    [left, right]: readonly [Expression, Expression],
    holds: (order: number) => boolean,
  ): Step {
    const [a, b] = [this.plan(left), this.plan(right)];
    return (frame) => {
      const x = a(frame);
      const y = b(frame);
      if (typeof x === 'number' && typeof y === 'number') {
        frame.charge(1);
        return holds(x - y);
      }
      frame.charge(typeof x === 'string' || x instanceof Uint8Array ? comparison(x, y) : 1);
      const order = compare(x, y);
      return order !== undefined && holds(order);
    };
  }

  /**
   * Plans or and orValue: the second operand is evaluated only if the first has no value. A value
   * that is not an optional counts as present.
   */
  #alternative(node: Call): Step | undefined {
    const [alternative] = node.arguments;
    const isAlternative = node.function === 'or' || node.function === 'orValue';
    if (
      !isAlternative ||
      node.target === undefined ||
      alternative === undefined ||
      node.arguments.length > 1
    )
      return undefined;
    const reference = this.#reference(node);
    if (reference?.kind !== 'function' || reference.qualified) return undefined;
    const [first, second] = [this.plan(node.target), this.plan(alternative)];
    const unwraps = node.function === 'orValue';
    return (frame) => {
      const value = first(frame);
      if (!(value instanceof Optional)) return value;
      if (!value.hasValue) return second(frame);
      return unwraps ? value.value() : value;
    };
  }

  #function(node: Call): Step {
    const alternative = this.#alternative(node);
    if (alternative !== undefined) return alternative;
    const reference = this.#reference(node);
    const resolved = reference?.kind === 'function' ? reference : undefined;
    const member = node.target !== undefined && resolved?.qualified !== true;
    const argumentNodes = member ? [node.target, ...node.arguments] : node.arguments;
    const overloads = (resolved?.overloads ?? this.#context.overloadsOf(node.function)).filter(
      (overload) =>
        overload.member === member && overload.parameters.length === argumentNodes.length,
    );
    const steps = argumentNodes.map((argument) => this.plan(argument));
    const call = keeping(
      caller(
        overloads,
        steps,
        argumentNodes.map((argument) => this.#isSure(argument)),
      ),
    );
    if (isConstant(node)) return foldFree(call);
    return steps.length > 0 && argumentNodes.every(isConstant) ? foldCall(call) : call;
  }

  /**
   * Reports whether a value certainly has its static type: the expression creates it, and does not
   * read it from the activation.
   */
  #isSure(node: Expression): boolean {
    if (!this.#context.checked.types.has(node)) return false;
    if (node.kind === 'literal') return true;
    if (node.kind !== 'call' || isAttribute(node) || node.function === operators.conditional)
      return false;
    return isConcrete(this.#typeOf(node));
  }

  #list(node: Expression & { kind: 'list' }): Step {
    const items = node.elements.map((element, index) => ({
      step: this.plan(element),
      optional: node.optionalIndices.has(index),
    }));
    const make: Step = (frame) => {
      const values: Value[] = [];
      for (const { step, optional } of items) {
        const value = step(frame);
        if (!optional) values.push(value);
        else if (!(value instanceof Optional)) throw noSuchOverload();
        else if (value.hasValue) values.push(value.value());
      }
      return values;
    };
    if (isConstant(node)) return foldFree(make);
    return (frame) => {
      const value = make(frame);
      frame.charge(LIST_CREATE);
      return value;
    };
  }

  #map(node: Expression & { kind: 'map' }): Step {
    const entries = node.entries.map(({ key, value, optional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      optional,
    }));
    const make: Step = (frame) => {
      const map = new MapValue();
      for (const entry of entries) {
        const key = entry.key(frame);
        const value = entry.value(frame);
        if (!entry.optional) map.insert(key, value);
        else if (!(value instanceof Optional)) throw noSuchOverload();
        else if (value.hasValue) map.insert(key, value.value());
      }
      return map;
    };
    if (isConstant(node)) return foldFree(make);
    return (frame) => {
      const value = make(frame);
      frame.charge(MAP_CREATE);
      return value;
    };
  }

  #struct(node: StructLiteral): Step {
    const reference = this.#reference(node);
    const type = reference?.kind === 'struct' ? reference.type : undefined;
    const construct = type?.construct;
    if (construct === undefined) {
      const message = `unknown type: ${node.type}`;
      return () => {
        throw evaluationError(message);
      };
    }
    const fields = node.fields.map((entry) => ({ ...entry, step: this.plan(entry.value) }));
    return (frame) => {
      const values = new Map<string, Value>();
      for (const { field, step, optional } of fields) {
        const value = step(frame);
        if (!optional) values.set(field, value);
        else if (!(value instanceof Optional)) throw noSuchOverload();
        else if (value.hasValue) values.set(field, value.value());
      }
      frame.charge(STRUCT_CREATE);
      return construct(values);
    };
  }

  #comprehension(node: Comprehension): Step {
    const range = this.plan(node.range);
    // A loop that fills a map needs its own map, not the shared constant of an empty literal.
    const isEmptyMap = node.init.kind === 'map' && node.init.entries.length === 0;
    const init: Step = isEmptyMap ? () => new MapValue() : this.plan(node.init);
    const scope = this.#scope.length;
    const declare = (name: string): number => {
      const slot = this.slots++;
      this.#scope.push({ name, slot });
      return slot;
    };
    const accumulator = declare(node.accumulator);
    const first = declare(node.variable);
    const second = node.variable2 === undefined ? undefined : declare(node.variable2);
    const loop = { accumulator, first, second, range, init };
    try {
      const { shape } = node;
      if (shape?.kind === 'collect') {
        const predicate = shape.predicate === undefined ? undefined : this.plan(shape.predicate);
        // The list that upstream creates for each item is a constant if the item is.
        const cost = isConstant(shape.item) ? 2 : 2 + LIST_CREATE;
        return collect(loop, predicate, this.plan(shape.item), cost);
      }
      if (shape !== undefined) {
        const predicate = this.plan(shape.predicate);
        if (shape.kind === 'existsOne') return existsOne(loop, predicate);
        return quantify(loop, predicate, shape.kind === 'exists');
      }
      const condition = this.plan(node.condition);
      const step = this.plan(node.step, isAttribute(node.step));
      this.#scope.length = scope + 1;
      return general(loop, condition, step, this.plan(node.result));
    } finally {
      this.#scope.length = scope;
    }
  }
}

/**
 * Reports whether upstream evaluates the node as one attribute: names, selections and indices, and
 * a choice between such.
 */
function isAttribute(node: Expression): boolean {
  if (node.kind === 'identifier') return true;
  if (node.kind === 'select') return !node.testOnly;
  if (node.kind !== 'call' || node.target !== undefined) return false;
  return (
    node.function === operators.index ||
    node.function === operators.optionalIndex ||
    node.function === operators.optionalSelect ||
    node.function === operators.conditional
  );
}

function isConcrete(type: Type): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'any':
    case 'error':
    case 'parameter':
      return false;
    case 'list':
      return isConcrete(type.element);
    case 'map':
      return isConcrete(type.key) && isConcrete(type.value);
    default:
      return true;
  }
}
