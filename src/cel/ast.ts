// The tree that the parser produces. It is equal to cel-go's with expanded macros, so that
// upstream's rules about trees apply.

interface Place {
  /**
   * The position for messages, in UTF-16 units: the operator, the dot, the opening bracket, or the
   * start of a name or literal.
   */
  readonly offset: number;
}

export interface Literal extends Place {
  readonly kind: 'literal';
  /** A literal value: null, boolean, int, Uint, Double, string, Uint8Array (see values.ts). */
  readonly value: unknown;
}

export interface Identifier extends Place {
  readonly kind: 'identifier';
  /** A leading dot means that the name is resolved from the root, not from the container. */
  readonly name: string;
}

export interface Select extends Place {
  readonly kind: 'select';
  readonly operand: Expression;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly testOnly: boolean;
}

export interface Call extends Place {
  readonly kind: 'call';
  /** Operators are functions, too: '_+_', '!_', '_?_:_', '_[_]', '@in'. */
  readonly function: string;
  readonly target?: Expression;
  readonly arguments: readonly Expression[];
}

export interface ListLiteral extends Place {
  readonly kind: 'list';
  readonly elements: readonly Expression[];
  /** The indexes of optional elements, which have a '?' before them. */
  readonly optionalIndices: ReadonlySet<number>;
}

export interface MapEntry extends Place {
  readonly key: Expression;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface MapLiteral extends Place {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface FieldEntry extends Place {
  readonly field: string;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface StructLiteral extends Place {
  readonly kind: 'struct';
  readonly type: string;
  readonly fields: readonly FieldEntry[];
}

/** A loop: `accumulator = init; for (variable of range) { if (!condition) break; accumulator = step } result`. */
export interface Comprehension extends Place {
  readonly kind: 'comprehension';
  readonly range: Expression;
  readonly variable: string;
  /** The second variable of a loop over index and value, or key and value. */
  readonly variable2?: string;
  readonly accumulator: string;
  readonly init: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
  /** The macro that the loop comes from, so that it can be evaluated directly. */
  readonly shape?: ComprehensionShape;
}

export type ComprehensionShape =
  | { readonly kind: 'all' | 'exists' | 'existsOne'; readonly predicate: Expression }
  | { readonly kind: 'collect'; readonly predicate?: Expression; readonly item: Expression };

export type Expression =
  | Literal
  | Identifier
  | Select
  | Call
  | ListLiteral
  | MapLiteral
  | StructLiteral
  | Comprehension;

/** Returns `a.b.c` as one name; undefined if the expression contains anything but names. */
export function qualifiedName(expression: Expression): string | undefined {
  if (expression.kind === 'identifier') return expression.name;
  if (expression.kind !== 'select' || expression.testOnly) return undefined;
  const operand = qualifiedName(expression.operand);
  return operand === undefined ? undefined : `${operand}.${expression.field}`;
}

/** The names of operators in messages and declarations. */
export const operators = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  negate: '-_',
  in: '@in',
  equals: '_==_',
  notEquals: '_!=_',
  less: '_<_',
  lessEquals: '_<=_',
  greater: '_>_',
  greaterEquals: '_>=_',
  add: '_+_',
  subtract: '_-_',
  multiply: '_*_',
  divide: '_/_',
  modulo: '_%_',
  index: '_[_]',
  optionalIndex: '_[?_]',
  optionalSelect: '_?._',
  notStrictlyFalse: '@not_strictly_false',
} as const;
