// The type checker: determines the type of each part of an expression, and the declaration of each
// name and call. Reports errors for parts that do not fit.

import {
  operators,
  qualifiedName,
  type Call,
  type Comprehension,
  type Expression,
  type Select,
  type StructLiteral,
} from './ast.ts';
import type { Overload } from './declarations.ts';
import type { Issue } from './errors.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  formatType,
  INT,
  list,
  map,
  NULL,
  optional,
  optionalOf,
  STRING,
  typeSize,
  UINT,
  type ObjectType,
  type Type,
} from './types.ts';
import { instantiate, isDynOrError, mostGeneral, Substitution } from './unify.ts';
import { Double, isInt, Uint, type Value } from './values.ts';

/** The declaration of a name. */
export interface NamedValue {
  readonly name: string;
  readonly type: Type;
  /** Present for a constant. */
  readonly constant?: { readonly value: Value };
}

/** The part of an environment that the checker uses. */
export interface Declarations {
  readonly container: string;
  /** Looks a name up in the container and its parents, the innermost first. */
  lookupName(name: string): NamedValue | undefined;
  lookupFunction(
    name: string,
  ): { readonly name: string; readonly overloads: readonly Overload[] } | undefined;
}

export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'constant'; readonly value: Value }
  | {
      readonly kind: 'function';
      readonly name: string;
      readonly overloads: readonly Overload[];
      /** The receiver is part of the function's name. */
      readonly qualified: boolean;
    }
  | { readonly kind: 'struct'; readonly type: ObjectType };

export interface Checked {
  readonly types: ReadonlyMap<Expression, Type>;
  readonly references: ReadonlyMap<Expression, Reference>;
  readonly issues: readonly Issue[];
}

export function check(expression: Expression, declarations: Declarations): Checked {
  const checker = new Checker(declarations);
  checker.check(expression);
  const types = new Map<Expression, Type>();
  for (const [node, type] of checker.types) types.set(node, checker.substitution.apply(type, true));
  return { types, references: checker.references, issues: checker.issues };
}

/** The largest size of a type. Useful expressions are far below it. */
const MAX_TYPE_SIZE = 2000;

/** The types of literals. */
const LITERALS: readonly [(value: Value) => boolean, Type][] = [
  [(value) => value === null, NULL],
  [(value) => typeof value === 'boolean', BOOL],
  [isInt, INT],
  [(value) => typeof value === 'string', STRING],
  [(value) => value instanceof Double, DOUBLE],
  [(value) => value instanceof Uint, UINT],
  [(value) => value instanceof Uint8Array, BYTES],
];

class Checker {
  readonly #declarations: Declarations;
  readonly substitution = new Substitution();
  readonly types = new Map<Expression, Type>();
  readonly references = new Map<Expression, Reference>();
  readonly issues: Issue[] = [];
  /** The variables of the enclosing loops, innermost last. */
  readonly #locals: { readonly name: string; readonly type: Type }[] = [];

  constructor(declarations: Declarations) {
    this.#declarations = declarations;
  }

  #report(offset: number, message: string): void {
    this.issues.push({ offset, message });
  }

  /** Nodes that a macro uses twice are checked once: both uses are in the same scope. */
  check(node: Expression): Type {
    const checked = this.types.get(node);
    if (checked !== undefined) return checked;
    let type = this.#typeOf(node);
    // A deeply nested map of itself has a type that is small in memory and endless to traverse.
    if (typeSize(type) > MAX_TYPE_SIZE) {
      this.#report(node.offset, 'type of the expression is too complex');
      type = ERROR;
    }
    this.types.set(node, type);
    return type;
  }

  #typeOf(node: Expression): Type {
    switch (node.kind) {
      case 'literal':
        return (LITERALS.find(([is]) => is(node.value)) as [unknown, Type])[1];
      case 'identifier':
        return this.#resolve(node, node.name) ?? this.#undeclared(node.offset, node.name);
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list': {
        let element: Type | undefined;
        node.elements.forEach((item, index) => {
          const type = this.check(item);
          element = this.#join(
            element,
            node.optionalIndices.has(index) ? this.#unwrap(item, type) : type,
          );
        });
        return list(element ?? this.substitution.freshVariable());
      }
      case 'map': {
        let key: Type | undefined;
        let value: Type | undefined;
        for (const entry of node.entries) {
          key = this.#join(key, this.check(entry.key));
          const type = this.check(entry.value);
          value = this.#join(value, entry.optional ? this.#unwrap(entry.value, type) : type);
        }
        return map(
          key ?? this.substitution.freshVariable(),
          value ?? this.substitution.freshVariable(),
        );
      }
      case 'struct':
        return this.#struct(node);
      case 'comprehension':
        return this.#comprehension(node);
    }
  }

  #undeclared(offset: number, name: string): Type {
    this.#report(
      offset,
      `undeclared reference to '${name}' (in container '${this.#declarations.container}')`,
    );
    return ERROR;
  }

  /** Returns the type of a name; undefined if it is not declared. */
  #resolve(node: Expression, name: string): Type | undefined {
    for (let index = this.#locals.length - 1; index >= 0; index--) {
      const local = this.#locals[index] as { name: string; type: Type };
      if (local.name !== name) continue;
      this.references.set(node, { kind: 'variable', name });
      return local.type;
    }
    const declaration = this.#declarations.lookupName(name);
    if (declaration === undefined) return undefined;
    this.references.set(
      node,
      declaration.constant === undefined
        ? { kind: 'variable', name: declaration.name }
        : { kind: 'constant', value: declaration.constant.value },
    );
    return declaration.type;
  }

  #select(node: Select): Type {
    const qualified = qualifiedName(node);
    // A local variable hides qualified names that begin with it.
    if (qualified !== undefined && !this.#isLocal(qualified.split('.')[0]!)) {
      const type = this.#resolve(node, qualified);
      if (type !== undefined) return type;
    }
    const operand = this.check(node.operand);
    const type = this.#field(node.offset, operand, node.field, false);
    return node.testOnly ? BOOL : this.substitution.apply(type);
  }

  #isLocal(name: string): boolean {
    return this.#locals.some((local) => local.name === name);
  }

  #field(offset: number, operand: Type, field: string, makeOptional: boolean): Type {
    const actual = this.substitution.apply(operand);
    const inner = optionalOf(actual);
    const target = inner === undefined ? actual : this.substitution.apply(inner);
    let type: Type = DYN;
    if (target.kind === 'map') {
      type = target.value;
    } else if (target.kind === 'object') {
      const fieldType = target.field(field);
      if (fieldType === undefined) this.#report(offset, `undefined field '${field}'`);
      type = fieldType?.type ?? ERROR;
    } else if (target.kind === 'parameter') {
      this.substitution.assignable(DYN, target);
    } else if (!isDynOrError(target)) {
      this.#report(offset, `type '${formatType(target)}' does not support field selection`);
    }
    return inner === undefined && !makeOptional ? type : optional(type);
  }

  #call(node: Call): Type {
    if (node.function === operators.optionalSelect) return this.#optionalSelect(node);
    const argumentTypes = node.arguments.map((argument) => this.check(argument));
    if (node.target === undefined) {
      const declared = this.#declarations.lookupFunction(node.function);
      if (declared === undefined) return this.#undeclared(node.offset, node.function);
      return this.#overload(node, declared, argumentTypes, false, true);
    }
    const qualifier = qualifiedName(node.target);
    if (qualifier !== undefined && !this.#isLocal(qualifier.split('.')[0]!)) {
      const declared = this.#declarations.lookupFunction(`${qualifier}.${node.function}`);
      if (declared !== undefined) return this.#overload(node, declared, argumentTypes, false, true);
    }
    const receiver = this.check(node.target);
    const declared = this.#declarations.lookupFunction(node.function);
    if (declared === undefined) return this.#undeclared(node.offset, node.function);
    return this.#overload(node, declared, [receiver, ...argumentTypes], true, false);
  }

  #overload(
    node: Call,
    { name, overloads }: { readonly name: string; readonly overloads: readonly Overload[] },
    argumentTypes: readonly Type[],
    member: boolean,
    qualified: boolean,
  ): Type {
    if (node.function === operators.and || node.function === operators.or)
      return this.#logical(node, name, overloads, argumentTypes);
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const overload of overloads) {
      if (overload.member !== member || overload.parameters.length !== argumentTypes.length)
        continue;
      const [returned, ...parameters] = instantiate(
        [overload.result, ...overload.parameters],
        this.substitution,
      ) as [Type, ...Type[]];
      if (!this.substitution.allAssignable(argumentTypes, parameters)) continue;
      fitting.push(overload);
      const type = this.substitution.apply(returned);
      if (result === undefined) result = type;
      else if (!isDynOrError(result) && formatType(result) !== formatType(type)) result = DYN;
    }
    if (result === undefined) {
      const types = argumentTypes.map((type) => formatType(this.substitution.apply(type, true)));
      const applied = member
        ? `${types[0]!}.(${types.slice(1).join(', ')})`
        : `(${types.join(', ')})`;
      this.#report(node.offset, `found no matching overload for '${name}' applied to '${applied}'`);
      return ERROR;
    }
    this.references.set(node, { kind: 'function', name, overloads: fitting, qualified });
    return result;
  }

  /** Checks && and ||. Each operand that is not a boolean is reported separately. */
  #logical(
    node: Call,
    name: string,
    overloads: readonly Overload[],
    operandTypes: readonly Type[],
  ): Type {
    let result = BOOL;
    operandTypes.forEach((type, index) => {
      if (this.substitution.assignable(type, BOOL)) return;
      const { offset } = node.arguments[index]!;
      this.#report(
        offset,
        `expected type 'bool' but found '${formatType(this.substitution.apply(type))}'`,
      );
      result = ERROR;
    });
    this.references.set(node, { kind: 'function', name, overloads, qualified: true });
    return result;
  }

  #optionalSelect(node: Call): Type {
    const [operand, field] = node.arguments as [Expression, Expression];
    const type = this.#field(
      node.offset,
      this.check(operand),
      (field as { value: string }).value,
      true,
    );
    this.check(field);
    return this.substitution.apply(type);
  }

  /** Returns the common type of two items of a literal. */
  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    if (this.substitution.assignable(previous, current)) return mostGeneral(previous, current);
    return DYN;
  }

  /** Returns the type inside the optional, for an item with a '?'. */
  #unwrap(item: Expression, type: Type): Type {
    const actual = this.substitution.apply(type);
    const inner = optionalOf(actual);
    if (inner !== undefined) return inner;
    if (!isDynOrError(actual)) {
      this.#report(
        item.offset,
        `expected type '${formatType(optional(actual))}' but found '${formatType(actual)}'`,
      );
    }
    return actual;
  }

  #struct(node: StructLiteral): Type {
    const declaration = this.#declarations.lookupName(node.type);
    let type: Type = ERROR;
    if (declaration === undefined) {
      this.#undeclared(node.offset, node.type);
    } else if (declaration.type.kind !== 'type') {
      this.#report(node.offset, `'${formatType(declaration.type)}' is not a type`);
    } else if (declaration.type.of?.kind !== 'object') {
      this.#report(node.offset, `'${declaration.name}' is not a message type`);
    } else {
      type = declaration.type.of;
      this.references.set(node, { kind: 'struct', type: declaration.type.of });
    }
    for (const entry of node.fields) {
      let value = this.check(entry.value);
      if (entry.optional) value = this.#unwrap(entry.value, value);
      if (type.kind !== 'object') continue;
      const field = type.field(entry.field)?.type;
      if (field === undefined) {
        this.#report(entry.offset, `undefined field '${entry.field}'`);
      } else if (!this.substitution.assignable(field, value)) {
        const [expected, actual] = [formatType(field), formatType(this.substitution.apply(value))];
        this.#report(
          entry.offset,
          `expected type of field '${entry.field}' is '${expected}' but provided type is '${actual}'`,
        );
      }
    }
    return type;
  }

  #comprehension(node: Comprehension): Type {
    const range = this.substitution.apply(this.check(node.range));
    const accumulator = this.check(node.init);
    let first: Type = DYN;
    let second: Type = DYN;
    if (range.kind === 'list') {
      [first, second] = node.variable2 === undefined ? [range.element, DYN] : [INT, range.element];
    } else if (range.kind === 'map') {
      [first, second] = [range.key, range.value];
    } else if (range.kind === 'parameter') {
      this.substitution.assignable(DYN, range);
    } else if (!isDynOrError(range)) {
      this.#report(
        node.range.offset,
        `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      );
      first = ERROR;
      second = ERROR;
    }
    const scope = this.#locals.length;
    this.#locals.push(
      { name: node.accumulator, type: accumulator },
      { name: node.variable, type: first },
    );
    if (node.variable2 !== undefined) this.#locals.push({ name: node.variable2, type: second });
    this.#assert(node.condition, this.check(node.condition), BOOL);
    this.#assert(node.step, this.check(node.step), accumulator);
    this.#locals.length = scope + 1;
    const result = this.check(node.result);
    this.#locals.length = scope;
    return this.substitution.apply(result);
  }

  #assert(node: Expression, actual: Type, expected: Type): void {
    if (this.substitution.assignable(expected, actual)) return;
    const [wanted, got] = [
      formatType(this.substitution.apply(expected)),
      formatType(this.substitution.apply(actual)),
    ];
    this.#report(node.offset, `expected type '${wanted}' but found '${got}'`);
  }
}
