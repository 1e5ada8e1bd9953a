// Macros: calls that the parser replaces by their expansion. A macro gets its arguments as trees
// and returns a tree.

import {
  operators,
  type Call,
  type Comprehension,
  type ComprehensionShape,
  type Expression,
  type Identifier,
} from './ast.ts';

/** The variable for the result of a loop. It is not a valid identifier, so it cannot collide. */
const ACCUMULATOR = '@result';
/** The older name of that variable, which expressions may not use for their own variables. */
const OLD_ACCUMULATOR = '__result__';
const UNUSED = '#unused';

export interface MacroCall {
  /** The position of the macro's name, or of its opening bracket. */
  readonly offset: number;
  /** Absent for a macro that is called as a function. */
  readonly target?: Expression;
  readonly arguments: readonly Expression[];
}

/** The arguments of a macro are invalid. */
export class MacroError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export interface Macro {
  readonly name: string;
  readonly member: boolean;
  /** The number of arguments. Absent: any number. */
  readonly arity?: number;
  /** Returns the expansion; undefined if the call is not a macro call. Throws MacroError. */
  readonly expand: (call: MacroCall) => Expression | undefined;
}

/** Creates nodes at one position. */
class Maker {
  readonly offset: number;

  constructor(offset: number) {
    this.offset = offset;
  }

  literal(value: unknown): Expression {
    return { kind: 'literal', value, offset: this.offset };
  }

  name(name: string): Identifier {
    return { kind: 'identifier', name, offset: this.offset };
  }

  call(name: string, ...args: Expression[]): Call {
    return { kind: 'call', function: name, arguments: args, offset: this.offset };
  }

  list(...elements: Expression[]): Expression {
    return { kind: 'list', elements, optionalIndices: new Set(), offset: this.offset };
  }

  loop(loop: Omit<Comprehension, 'kind' | 'offset' | 'accumulator'>): Expression {
    return { kind: 'comprehension', offset: this.offset, accumulator: ACCUMULATOR, ...loop };
  }
}

/** Returns the variable that a macro's argument names. */
function variableOf(argument: Expression, message: string): string {
  if (argument.kind !== 'identifier' || argument.name.startsWith('.'))
    throw new MacroError(argument.offset, message);
  if (argument.name === ACCUMULATOR || argument.name === OLD_ACCUMULATOR) {
    throw new MacroError(argument.offset, 'iteration variable overwrites accumulator variable');
  }
  return argument.name;
}

interface Variables {
  readonly variable: string;
  readonly variable2?: string;
}

/** Returns one variable, or two: index and value of a list, key and value of a map. */
function variablesOf(call: MacroCall, count: number, message: string): Variables {
  const [first, second] = call.arguments as [Expression, Expression];
  if (count === 1) return { variable: variableOf(first, message) };
  const variables = {
    variable: variableOf(first, 'argument must be a simple name'),
    variable2: variableOf(second, 'argument must be a simple name'),
  };
  if (variables.variable === variables.variable2) {
    throw new MacroError(second.offset, `duplicate variable name: ${variables.variable}`);
  }
  return variables;
}

function quantifier(kind: 'all' | 'exists' | 'existsOne', name: string, variables: 1 | 2): Macro {
  return {
    name,
    member: true,
    arity: variables + 1,
    expand(call) {
      const make = new Maker(call.offset);
      const predicate = call.arguments[variables]!;
      const shape: ComprehensionShape = { kind, predicate };
      const range = call.target!;
      const accumulator = make.name(ACCUMULATOR);
      const loop = {
        ...variablesOf(call, variables, 'argument must be a simple name'),
        range,
        shape,
      };
      if (kind === 'all') {
        return make.loop({
          ...loop,
          init: make.literal(true),
          condition: make.call(operators.notStrictlyFalse, accumulator),
          step: make.call(operators.and, accumulator, predicate),
          result: accumulator,
        });
      }
      if (kind === 'exists') {
        return make.loop({
          ...loop,
          init: make.literal(false),
          condition: make.call(operators.notStrictlyFalse, make.call(operators.not, accumulator)),
          step: make.call(operators.or, accumulator, predicate),
          result: accumulator,
        });
      }
      return make.loop({
        ...loop,
        init: make.literal(0),
        condition: make.literal(true),
        step: make.call(
          operators.conditional,
          predicate,
          make.call(operators.add, accumulator, make.literal(1)),
          accumulator,
        ),
        result: make.call(operators.equals, accumulator, make.literal(1)),
      });
    },
  };
}

/**
 * Returns the macro map, filter or transformList: a list of the results for each element,
 * optionally only for those that fulfil a condition.
 */
function collector(name: string, variables: 1 | 2, filtered: boolean, mapped: boolean): Macro {
  return {
    name,
    member: true,
    arity: variables + (filtered ? 1 : 0) + (mapped ? 1 : 0),
    expand(call) {
      const make = new Maker(call.offset);
      const names = variablesOf(call, variables, 'argument is not an identifier');
      const predicate = filtered ? call.arguments[variables]! : undefined;
      const item = mapped ? call.arguments.at(-1)! : call.arguments[0]!;
      const accumulator = make.name(ACCUMULATOR);
      const append = make.call(operators.add, accumulator, make.list(item));
      return make.loop({
        ...names,
        range: call.target!,
        init: make.list(),
        condition: make.literal(true),
        step:
          predicate === undefined
            ? append
            : make.call(operators.conditional, predicate, append, accumulator),
        result: accumulator,
        shape: { kind: 'collect', item, ...(predicate !== undefined && { predicate }) },
      });
    },
  };
}

/**
 * The functions with which transformMap and transformMapEntry extend their result. No expression
 * can contain these names.
 */
export const MAP_INSERT = 'cel.@mapInsert';

function mapTransformer(name: string, filtered: boolean, entries: boolean): Macro {
  return {
    name,
    member: true,
    arity: filtered ? 4 : 3,
    expand(call) {
      const make = new Maker(call.offset);
      const names = variablesOf(call, 2, 'argument must be a simple name');
      const predicate = filtered ? call.arguments[2]! : undefined;
      const item = call.arguments.at(-1)!;
      const accumulator = make.name(ACCUMULATOR);
      const insert = entries
        ? make.call(MAP_INSERT, accumulator, item)
        : make.call(MAP_INSERT, accumulator, make.name(names.variable), item);
      return make.loop({
        ...names,
        range: call.target!,
        init: { kind: 'map', entries: [], offset: call.offset },
        condition: make.literal(true),
        step:
          predicate === undefined
            ? insert
            : make.call(operators.conditional, predicate, insert, accumulator),
        result: accumulator,
      });
    },
  };
}

const has: Macro = {
  name: 'has',
  member: false,
  arity: 1,
  expand(call) {
    const argument = call.arguments[0]!;
    if (argument.kind === 'select' && !argument.testOnly)
      return { ...argument, testOnly: true, offset: call.offset };
    throw new MacroError(argument.offset, 'invalid argument to has() macro');
  },
};

export const standardMacros: readonly Macro[] = [
  has,
  quantifier('all', 'all', 1),
  quantifier('exists', 'exists', 1),
  quantifier('existsOne', 'exists_one', 1),
  quantifier('existsOne', 'existsOne', 1),
  collector('map', 1, false, true),
  collector('map', 1, true, true),
  collector('filter', 1, true, false),
];

export const twoVariableMacros: readonly Macro[] = [
  quantifier('all', 'all', 2),
  quantifier('exists', 'exists', 2),
  quantifier('existsOne', 'exists_one', 2),
  quantifier('existsOne', 'existsOne', 2),
  collector('transformList', 2, false, true),
  collector('transformList', 2, true, true),
  mapTransformer('transformMap', false, false),
  mapTransformer('transformMap', true, false),
  mapTransformer('transformMapEntry', false, true),
  mapTransformer('transformMapEntry', true, true),
];

/**
 * Returns an expression with a variable for one value: a loop over an empty list, whose accumulator
 * is the variable.
 */
function bind(offset: number, variable: string, value: Expression, result: Expression): Expression {
  const make = new Maker(offset);
  return {
    kind: 'comprehension',
    offset,
    range: make.list(),
    variable: UNUSED,
    accumulator: variable,
    init: value,
    condition: make.literal(false),
    step: make.name(variable),
    result,
  };
}

const isName = (expression: Expression | undefined, name: string): boolean =>
  expression !== undefined && expression.kind === 'identifier' && expression.name === name;

export const bindMacros: readonly Macro[] = [
  {
    name: 'bind',
    member: true,
    arity: 3,
    expand(call) {
      if (!isName(call.target, 'cel')) return undefined;
      const [variable, value, result] = call.arguments as [Expression, Expression, Expression];
      if (variable.kind !== 'identifier')
        throw new MacroError(
          variable.offset,
          'cel.bind() variable names must be simple identifiers',
        );
      return bind(call.offset, variable.name, value, result);
    },
  },
];

/**
 * optMap and optFlatMap: `target.hasValue() ? … target.value() as variable … : optional.none()`.
 */
function optionalMapper(name: string, flat: boolean): Macro {
  return {
    name,
    member: true,
    arity: 2,
    expand(call) {
      const make = new Maker(call.offset);
      const [variable, item] = call.arguments as [Expression, Expression];
      const target = call.target!;
      if (variable.kind !== 'identifier') {
        throw new MacroError(
          variable.offset,
          `${name}() variable name must be a simple identifier`,
        );
      }
      const method = (name: string): Expression => ({
        kind: 'call',
        function: name,
        target,
        arguments: [],
        offset: call.offset,
      });
      const mapped = bind(call.offset, variable.name, method('value'), item);
      return make.call(
        operators.conditional,
        method('hasValue'),
        flat ? mapped : make.call('optional.of', mapped),
        make.call('optional.none'),
      );
    },
  };
}

export const optionalMacros: readonly Macro[] = [
  optionalMapper('optMap', false),
  optionalMapper('optFlatMap', true),
];

/**
 * The function that sorts a list by keys, and the name of the list for it. No expression can
 * contain these names.
 */
export const SORT_BY_KEYS = '@sortByAssociatedKeys';
const SORTED_INPUT = '@__sortBy_input__';

export const sortMacros: readonly Macro[] = [
  {
    name: 'sortBy',
    member: true,
    arity: 2,
    expand(call) {
      const make = new Maker(call.offset);
      const target = call.target!;
      if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct') {
        const allowed = 'a list, identifier, comprehension, call or select expression';
        throw new MacroError(target.offset, `sortBy can only be applied to ${allowed}`);
      }
      const input = make.name(SORTED_INPUT);
      const keys = collector('map', 1, false, true).expand({
        ...call,
        target: input,
      })!;
      const sorted: Expression = {
        kind: 'call',
        function: SORT_BY_KEYS,
        target: make.name(SORTED_INPUT),
        arguments: [keys],
        offset: call.offset,
      };
      return bind(call.offset, SORTED_INPUT, target, sorted);
    },
  },
];
