// Assignability of types and the resulting bindings of type variables: unification as in cel-go.

import { DYN, list, map, parameter, sameType, wrapper, type Type } from './types.ts';

/** The bindings of type variables. `assignable` changes them only if it succeeds. */
export class Substitution {
  readonly #bindings = new Map<string, Type>();
  /**
   * The bindings that an attempt has replaced, so that a failed attempt is undone without a copy of
   * all bindings.
   */
  readonly #trail: (readonly [name: string, before: Type | undefined])[] = [];
  #fresh = 0;

  /** Returns an unused variable. */
  freshVariable(): Type {
    return parameter(`_var${this.#fresh++}`);
  }

  /** Replaces variables by their bindings; with `toDyn`, unbound variables by dyn. */
  apply(type: Type, toDyn = false): Type {
    switch (type.kind) {
      case 'parameter': {
        const bound = this.#bindings.get(type.name);
        if (bound !== undefined) return this.apply(bound, toDyn);
        return toDyn ? DYN : type;
      }
      case 'list': {
        const element = this.apply(type.element, toDyn);
        return element === type.element ? type : { ...type, element };
      }
      case 'map': {
        const [key, value] = [this.apply(type.key, toDyn), this.apply(type.value, toDyn)];
        return key === type.key && value === type.value ? type : { ...type, key, value };
      }
      case 'opaque': {
        if (type.parameters.length === 0) return type;
        return {
          ...type,
          parameters: type.parameters.map((parameter) => this.apply(parameter, toDyn)),
        };
      }
      case 'type':
        return type.of === undefined ? type : { kind: 'type', of: this.apply(type.of, toDyn) };
      default:
        return type;
    }
  }

  /**
   * Reports whether values of type `from` may be used for type `to`. If so, binds the variables in
   * both.
   */
  assignable(from: Type, to: Type): boolean {
    return this.allAssignable([from], [to]);
  }

  allAssignable(from: readonly Type[], to: readonly Type[]): boolean {
    this.#trail.length = 0;
    if (this.#all(from, to)) return true;
    for (const [name, before] of this.#trail.reverse()) {
      if (before === undefined) this.#bindings.delete(name);
      else this.#bindings.set(name, before);
    }
    return false;
  }

  #set(name: string, type: Type): void {
    this.#trail.push([name, this.#bindings.get(name)]);
    this.#bindings.set(name, type);
  }

  #all(from: readonly Type[], to: readonly Type[]): boolean {
    return from.length === to.length && from.every((type, index) => this.#unify(type, to[index]!));
  }

  #unify(from: Type, to: Type): boolean {
    if (to.kind === 'parameter') {
      const { valid, bound } = this.#bind(from, to);
      if (valid) return true;
      if (bound) return false;
    }
    if (from.kind === 'parameter') return this.#bind(to, from).valid;
    if (isDynOrError(from) || isDynOrError(to)) return true;
    if (from.kind === 'null') return isNullable(to);
    if (to.kind === 'null') return isNullable(from);
    if (from.kind === 'wrapper') return this.#unify(from.of, to);
    if (to.kind === 'wrapper') return sameType(from, to.of);
    switch (from.kind) {
      case 'list':
        return to.kind === 'list' && this.#unify(from.element, to.element);
      case 'map':
        return to.kind === 'map' && this.#all([from.key, from.value], [to.key, to.value]);
      case 'opaque':
        return (
          to.kind === 'opaque' && from.name === to.name && this.#all(from.parameters, to.parameters)
        );
      case 'object':
        return to.kind === 'object' && from.name === to.name;
      default:
        return from.kind === to.kind;
    }
  }

  /**
   * Binds a variable to a type. Returns whether that is possible, and whether the variable was
   * bound before.
   */
  #bind(type: Type, variable: Type & { kind: 'parameter' }): { valid: boolean; bound: boolean } {
    if (type.kind === 'parameter' && type.name === variable.name)
      return { valid: true, bound: false };
    const binding = this.#bindings.get(variable.name);
    if (binding !== undefined) {
      if (sameType(type, binding)) return { valid: true, bound: true };
      if (!this.#unify(type, binding)) return { valid: false, bound: true };
      this.#set(variable.name, mostGeneral(type, binding));
      return { valid: true, bound: true };
    }
    if (this.#occurs(variable, type)) return { valid: false, bound: false };
    this.#set(variable.name, type);
    return { valid: true, bound: false };
  }

  #occurs(variable: Type & { kind: 'parameter' }, within: Type): boolean {
    switch (within.kind) {
      case 'parameter': {
        if (within.name === variable.name) return true;
        const bound = this.#bindings.get(within.name);
        return bound !== undefined && this.#occurs(variable, bound);
      }
      case 'list':
        return this.#occurs(variable, within.element);
      case 'map':
        return this.#occurs(variable, within.key) || this.#occurs(variable, within.value);
      case 'opaque':
        return within.parameters.some((parameter) => this.#occurs(variable, parameter));
      default:
        return false;
    }
  }
}

export const isDyn = (type: Type): boolean => type.kind === 'dyn' || type.kind === 'any';
export const isDynOrError = (type: Type): boolean => isDyn(type) || type.kind === 'error';

const isNullable = (type: Type): boolean =>
  ['opaque', 'object', 'null', 'timestamp', 'duration', 'any', 'wrapper'].includes(type.kind);

/** Returns the less specific of two types that unify. */
export const mostGeneral = (a: Type, b: Type): Type => (isEqualOrLessSpecific(a, b) ? a : b);

function isEqualOrLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === 'parameter') return true;
  if (isDyn(b) || b.kind === 'parameter') return false;
  if (b.kind === 'null' && isNullable(a)) return true;
  switch (a.kind) {
    case 'list':
      return b.kind === 'list' && isEqualOrLessSpecific(a.element, b.element);
    case 'map':
      return (
        b.kind === 'map' &&
        isEqualOrLessSpecific(a.key, b.key) &&
        isEqualOrLessSpecific(a.value, b.value)
      );
    case 'opaque':
      return (
        b.kind === 'opaque' &&
        a.name === b.name &&
        a.parameters.every((parameter, index) =>
          isEqualOrLessSpecific(parameter, b.parameters[index]!),
        )
      );
    case 'type':
      return b.kind === 'type';
    // A wrapper also accepts null: it is the more general type.
    case 'wrapper':
      return sameType(a, b) || sameType(a.of, b);
    default:
      return sameType(a, b);
  }
}

/** Returns the types of a declaration with fresh variables for its parameters. */
export function instantiate(types: readonly Type[], substitution: Substitution): Type[] {
  const variables = new Map<string, Type>();
  const replace = (type: Type): Type => {
    switch (type.kind) {
      case 'parameter': {
        const variable = variables.get(type.name) ?? substitution.freshVariable();
        variables.set(type.name, variable);
        return variable;
      }
      case 'list':
        return list(replace(type.element));
      case 'map':
        return map(replace(type.key), replace(type.value));
      case 'opaque':
        return type.parameters.length === 0
          ? type
          : { ...type, parameters: type.parameters.map(replace) };
      case 'type':
        return type.of === undefined ? type : { kind: 'type', of: replace(type.of) };
      case 'wrapper':
        return wrapper(replace(type.of));
      default:
        return type;
    }
  };
  return types.map(replace);
}
