// The parser: tokens to a tree, by recursive descent over cel-spec's grammar, within limits.
// Messages are cel-go's. It stops after the first syntax error, because guesses about the rest are
// not useful.

import { operators, type Expression, type FieldEntry, type MapEntry } from './ast.ts';
import type { Issue } from './errors.ts';
import {
  END,
  ESCAPED_IDENTIFIER,
  IDENTIFIER,
  lex,
  LiteralError,
  unquote,
  type Token,
  type TokenKind,
} from './lexer.ts';
import { MacroError, type Macro } from './macros.ts';
import { Double, normalizeInt, Uint } from './values.ts';

export interface ParserLimits {
  /** The length of the source in code points. */
  readonly maxLength: number;
  /** The depth of nesting. */
  readonly maxDepth: number;
  /** The number of nodes after macro expansion. */
  readonly maxNodes: number;
}

/** cel-go's defaults. It has no limit of nodes. */
export const PARSER_LIMITS: ParserLimits = { maxLength: 100_000, maxDepth: 250, maxNodes: 100_000 };

export interface ParserConfig extends ParserLimits {
  readonly macros: readonly Macro[];
  /** Accept `?.`, `[?` and `{?…}`. */
  readonly optionalSyntax: boolean;
  /** Accept names in backticks, which may contain dots and dashes. */
  readonly quotedNames: boolean;
}

export type Parsed =
  | { readonly expression: Expression; readonly issues?: undefined }
  | { readonly expression?: undefined; readonly issues: readonly Issue[] };

const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const EXPRESSION_STARTS: readonly TokenKind[] = [
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  IDENTIFIER,
];

const RELATIONS: Readonly<Record<TokenKind, string>> = {
  "'<'": operators.less,
  "'<='": operators.lessEquals,
  "'>'": operators.greater,
  "'>='": operators.greaterEquals,
  "'=='": operators.equals,
  "'!='": operators.notEquals,
  "'in'": operators.in,
};
const SUMS: Readonly<Record<TokenKind, string>> = {
  "'+'": operators.add,
  "'-'": operators.subtract,
};
const PRODUCTS: Readonly<Record<TokenKind, string>> = {
  "'*'": operators.multiply,
  "'/'": operators.divide,
  "'%'": operators.modulo,
};

const CHAIN_TOO_DEEP = 'max recursion depth exceeded';

/** A syntax error: parsing ends. */
class SyntaxProblem extends Error {}

class Parser {
  readonly #config: ParserConfig;
  readonly #macros: ReadonlyMap<string, readonly Macro[]>;
  readonly #tokens: readonly Token[];
  readonly issues: Issue[];
  #at = 0;
  #depth = 0;
  #nodes = 0;

  constructor(source: string, config: ParserConfig) {
    this.#config = config;
    const macros = new Map<string, Macro[]>();
    for (const macro of config.macros)
      macros.set(macro.name, [...(macros.get(macro.name) ?? []), macro]);
    this.#macros = macros;
    const { tokens, issues } = lex(source);
    this.#tokens = tokens;
    this.issues = [...issues];
  }

  parse(): Expression | undefined {
    try {
      const expression = this.#expression();
      this.#expect(END);
      return expression;
    } catch (error) {
      if (!(error instanceof SyntaxProblem)) throw error;
      return undefined;
    }
  }

  get #token(): Token {
    return this.#tokens[this.#at]!;
  }

  #is(kind: TokenKind): boolean {
    return this.#token.kind === kind;
  }

  #take(): Token {
    const token = this.#token;
    if (token.kind !== END) this.#at++;
    return token;
  }

  #accept(kind: TokenKind): Token | undefined {
    return this.#is(kind) ? this.#take() : undefined;
  }

  #report(offset: number, message: string): void {
    this.issues.push({ offset, message });
  }

  /** Takes a token of the kind. Reports missing or unexpected tokens. */
  #expect(...kinds: TokenKind[]): Token {
    if (kinds.includes(this.#token.kind)) return this.#take();
    const { text, offset } = this.#token;
    const next = this.#tokens[this.#at + 1]?.kind;
    const expected = kinds.length === 1 ? kinds[0]! : `{${kinds.join(', ')}}`;
    if (next !== undefined && kinds.includes(next)) {
      this.#report(offset, `Syntax error: extraneous input '${text}' expecting ${expected}`);
    } else if (this.#is(END) && kinds.length === 1 && /^'[)\]}]'$/.test(kinds[0]!)) {
      this.#report(offset, `Syntax error: missing ${expected} at '${text}'`);
    } else {
      this.#report(offset, `Syntax error: mismatched input '${text}' expecting ${expected}`);
    }
    throw new SyntaxProblem();
  }

  #node<T extends Expression>(node: T): T {
    if (++this.#nodes > this.#config.maxNodes) {
      this.#report(node.offset, `expression has more than ${this.#config.maxNodes} nodes`);
      throw new SyntaxProblem();
    }
    return node;
  }

  #call(offset: number, name: string, ...args: Expression[]): Expression {
    return this.#node({ kind: 'call', function: name, arguments: args, offset });
  }

  /** Enters one level of nesting. The caller leaves it. */
  #descend(tooDeep: string): void {
    if (++this.#depth <= this.#config.maxDepth) return;
    this.#report(-1, tooDeep);
    throw new SyntaxProblem();
  }

  #expression(): Expression {
    this.#descend(`expression recursion limit exceeded: ${this.#config.maxDepth}`);
    const choice = this.#choice();
    this.#depth--;
    return choice;
  }

  #choice(): Expression {
    const condition = this.#disjunction();
    const question = this.#accept("'?'");
    if (question === undefined) return condition;
    const yes = this.#disjunction();
    this.#expect("':'");
    return this.#call(question.offset, operators.conditional, condition, yes, this.#expression());
  }

  #disjunction(): Expression {
    return this.#logical(operators.or, "'||'", () =>
      this.#logical(operators.and, "'&&'", () => this.#relation()),
    );
  }

  /** Parses terms between || or && into a balanced tree: a long chain must not nest deeply. */
  #logical(name: string, operator: TokenKind, parse: () => Expression): Expression {
    const first = parse();
    if (!this.#is(operator)) return first;
    const terms = [first];
    const places: number[] = [];
    for (let token = this.#accept(operator); token !== undefined; token = this.#accept(operator)) {
      places.push(token.offset);
      terms.push(parse());
    }
    const balanced = (low: number, high: number): Expression => {
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle]! : balanced(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : balanced(middle + 1, high);
      return this.#call(places[middle]!, name, left, right);
    };
    return balanced(0, places.length - 1);
  }

  #binary(table: Readonly<Record<TokenKind, string>>, parse: () => Expression): Expression {
    let left = parse();
    // Each operator of a chain nests those before it.
    const depth = this.#depth;
    for (let name = table[this.#token.kind]; name !== undefined; name = table[this.#token.kind]) {
      const { offset } = this.#take();
      this.#descend(CHAIN_TOO_DEEP);
      left = this.#call(offset, name, left, parse());
    }
    this.#depth = depth;
    return left;
  }

  #relation(): Expression {
    return this.#binary(RELATIONS, () =>
      this.#binary(SUMS, () => this.#binary(PRODUCTS, () => this.#unary())),
    );
  }

  #unary(): Expression {
    const { kind, offset } = this.#token;
    if (kind !== "'!'" && kind !== "'-'") return this.#member();
    // A single minus before a number belongs to the number.
    if (kind === "'-'" && this.#isNumber(this.#at + 1)) return this.#member();
    let count = 0;
    for (; this.#is(kind); count++) {
      if (kind === "'-'") this.#expectOperand();
      this.#take();
    }
    if (this.#is("'-'")) this.#expectOperand();
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return this.#call(offset, kind === "'!'" ? operators.not : operators.negate, operand);
  }

  #isNumber(at: number): boolean {
    const kind = this.#tokens[at]?.kind;
    return kind === 'NUM_INT' || kind === 'NUM_FLOAT';
  }

  /**
   * Checks the operand of a minus: a minus negates an operand or a minus. After `!` it can only
   * belong to a number.
   */
  #expectOperand(): void {
    const next = this.#tokens[this.#at + 1]!;
    const afterNot = this.#tokens[this.#at - 1]?.kind === "'!'";
    if (
      afterNot
        ? this.#isNumber(this.#at + 1)
        : next.kind !== "'!'" && EXPRESSION_STARTS.includes(next.kind)
    )
      return;
    const text = next.kind === END ? '-' : `-${next.text}`;
    this.#report(next.offset, `Syntax error: no viable alternative at input '${text}'`);
    throw new SyntaxProblem();
  }

  #member(): Expression {
    let operand = this.#primary();
    const depth = this.#depth;
    for (;;) {
      const token = this.#token;
      if (token.kind === "'.'") {
        operand = this.#selection(operand);
      } else if (token.kind === "'['") {
        operand = this.#index(operand);
      } else {
        this.#depth = depth;
        return operand;
      }
      this.#descend(CHAIN_TOO_DEEP);
    }
  }

  #selection(operand: Expression): Expression {
    const dot = this.#take();
    const optional = this.#accept("'?'");
    if (optional !== undefined && !this.#config.optionalSyntax)
      this.#report(dot.offset, "unsupported syntax '.?'");
    const name = this.#expect(IDENTIFIER, ESCAPED_IDENTIFIER);
    const field = this.#nameOf(name);
    if (optional !== undefined) {
      const literal = this.#node({ kind: 'literal', value: field, offset: name.offset });
      return this.#call(dot.offset, operators.optionalSelect, operand, literal);
    }
    if (this.#is("'('") && name.kind === IDENTIFIER) {
      const open = this.#take();
      const args = this.#arguments();
      return this.#callOrMacro(field, operand, args, open.offset);
    }
    return this.#node({ kind: 'select', operand, field, testOnly: false, offset: dot.offset });
  }

  #nameOf(token: Token): string {
    if (token.kind !== ESCAPED_IDENTIFIER) return token.text;
    if (!this.#config.quotedNames) this.#report(token.offset, "unsupported syntax: '`'");
    return token.text.slice(1, -1);
  }

  #index(operand: Expression): Expression {
    const open = this.#take();
    const optional = this.#accept("'?'");
    if (optional !== undefined && !this.#config.optionalSyntax)
      this.#report(open.offset, "unsupported syntax '[?'");
    const index = this.#expression();
    this.#expect("']'");
    return this.#call(
      open.offset,
      optional === undefined ? operators.index : operators.optionalIndex,
      operand,
      index,
    );
  }

  #arguments(): Expression[] {
    const args: Expression[] = [];
    if (this.#accept("')'") !== undefined) return args;
    do args.push(this.#expression());
    while (this.#accept("','") !== undefined);
    this.#expect("')'");
    return args;
  }

  #callOrMacro(
    name: string,
    target: Expression | undefined,
    args: readonly Expression[],
    offset: number,
  ): Expression {
    const member = target !== undefined;
    for (const macro of this.#macros.get(name) ?? []) {
      if (macro.member !== member || (macro.arity !== undefined && macro.arity !== args.length))
        continue;
      try {
        const expanded = macro.expand({ offset, arguments: args, ...(member && { target }) });
        // A macro adds only a few nodes to its arguments.
        if (expanded !== undefined) return this.#node(expanded);
      } catch (error) {
        if (!(error instanceof MacroError)) throw error;
        this.#report(error.offset, error.message);
        return this.#node({ kind: 'literal', value: null, offset });
      }
    }
    return this.#node({
      kind: 'call',
      function: name,
      arguments: args,
      offset,
      ...(member && { target }),
    });
  }

  #primary(): Expression {
    const token = this.#token;
    switch (token.kind) {
      case "'('": {
        this.#take();
        const inner = this.#expression();
        this.#expect("')'");
        return inner;
      }
      case "'['":
        return this.#list();
      case "'{'":
        return this.#map();
      case "'.'":
      case IDENTIFIER:
        return this.#name();
      case "'true'":
      case "'false'":
        this.#take();
        return this.#node({ kind: 'literal', value: token.text === 'true', offset: token.offset });
      case "'null'":
        this.#take();
        return this.#node({ kind: 'literal', value: null, offset: token.offset });
      case 'STRING':
      case 'BYTES':
      case 'NUM_INT':
      case 'NUM_UINT':
      case 'NUM_FLOAT':
      case "'-'":
        return this.#literal();
      default:
        this.#expect(...EXPRESSION_STARTS);
        throw new SyntaxProblem();
    }
  }

  #literal(): Expression {
    const { offset } = this.#token;
    const sign = this.#accept("'-'") === undefined ? '' : '-';
    const token = this.#take();
    const literal = (value: unknown): Expression => this.#node({ kind: 'literal', value, offset });
    switch (token.kind) {
      case 'NUM_INT': {
        const value = sign === '' ? BigInt(token.text) : -BigInt(token.text);
        if (BigInt.asIntN(64, value) !== value) this.#report(offset, 'invalid int literal');
        return literal(normalizeInt(BigInt.asIntN(64, value)));
      }
      case 'NUM_UINT': {
        const value = BigInt(token.text.slice(0, -1));
        if (BigInt.asUintN(64, value) !== value) this.#report(offset, 'invalid uint literal');
        return literal(new Uint(BigInt.asUintN(64, value)));
      }
      case 'NUM_FLOAT': {
        const value = Number(sign + token.text);
        if (!Number.isFinite(value)) this.#report(offset, 'invalid double literal');
        return literal(new Double(value));
      }
      default:
        try {
          return literal(unquote(token.text));
        } catch (error) {
          if (!(error instanceof LiteralError)) throw error;
          this.#report(offset, error.message);
          return literal('');
        }
    }
  }

  /** Parses a name, a call of a function, or a struct: `.a`, `a(…)`, `a.b.c{…}`. */
  #name(): Expression {
    const start = this.#token.offset;
    const dot = this.#accept("'.'") === undefined ? '' : '.';
    const token = this.#expect(IDENTIFIER);
    const type = this.#structName(token);
    if (type !== undefined) return this.#struct(dot + type);
    if (RESERVED.has(token.text)) this.#report(token.offset, `reserved identifier: ${token.text}`);
    const name = dot + token.text;
    const open = this.#accept("'('");
    if (open === undefined) return this.#node({ kind: 'identifier', name, offset: start });
    return this.#callOrMacro(name, undefined, this.#arguments(), open.offset);
  }

  /** Takes `.b.c` if a `{` follows, and returns the whole name; otherwise returns undefined. */
  #structName(first: Token): string | undefined {
    let at = this.#at;
    let name = first.text;
    while (this.#tokens[at]?.kind === "'.'" && this.#tokens[at + 1]?.kind === IDENTIFIER) {
      name += `.${this.#tokens[at + 1]!.text}`;
      at += 2;
    }
    if (this.#tokens[at]?.kind !== "'{'") return undefined;
    this.#at = at;
    return name;
  }

  #struct(type: string): Expression {
    const open = this.#expect("'{'");
    const fields: FieldEntry[] = [];
    while (!this.#is("'}'")) {
      const optional = this.#accept("'?'");
      if (optional !== undefined && !this.#config.optionalSyntax)
        this.#report(optional.offset, "unsupported syntax '?'");
      const kinds = optional === undefined ? ["'}'", "','", "'?'"] : [];
      const name =
        fields.length === 0 || optional !== undefined
          ? this.#expectName(kinds)
          : this.#expect(IDENTIFIER, ESCAPED_IDENTIFIER);
      const colon = this.#expect("':'");
      fields.push({
        field: this.#nameOf(name),
        value: this.#expression(),
        optional: optional !== undefined,
        offset: colon.offset,
      });
      if (this.#accept("','") === undefined) break;
    }
    if (fields.length === 0) this.#accept("','");
    this.#expect("'}'");
    return this.#node({ kind: 'struct', type, fields, offset: open.offset });
  }

  #expectName(others: readonly TokenKind[]): Token {
    if (this.#is(IDENTIFIER) || this.#is(ESCAPED_IDENTIFIER)) return this.#take();
    return this.#expect(...others, IDENTIFIER, ESCAPED_IDENTIFIER);
  }

  #list(): Expression {
    const { offset } = this.#take();
    const elements: Expression[] = [];
    const optionalIndices = new Set<number>();
    while (!this.#is("']'") && !(elements.length === 0 && this.#is("','"))) {
      const optional = this.#accept("'?'");
      if (optional !== undefined) {
        if (!this.#config.optionalSyntax) this.#report(optional.offset, "unsupported syntax '?'");
        optionalIndices.add(elements.length);
      }
      elements.push(this.#expression());
      if (this.#accept("','") === undefined) break;
    }
    if (elements.length === 0) this.#accept("','");
    this.#expect("']'");
    return this.#node({ kind: 'list', elements, optionalIndices, offset });
  }

  #map(): Expression {
    const { offset } = this.#take();
    const entries: MapEntry[] = [];
    if (this.#is(END))
      this.#expect(
        "'['",
        "'{'",
        "'}'",
        "'('",
        "'.'",
        "','",
        "'-'",
        "'!'",
        "'?'",
        ...EXPRESSION_STARTS.slice(6),
      );
    while (!this.#is("'}'") && !(entries.length === 0 && this.#is("','"))) {
      const optional = this.#accept("'?'");
      if (optional !== undefined && !this.#config.optionalSyntax)
        this.#report(optional.offset, "unsupported syntax '?'");
      const key = this.#expression();
      const colon = this.#expect("':'");
      entries.push({
        key,
        value: this.#expression(),
        optional: optional !== undefined,
        offset: colon.offset,
      });
      if (this.#accept("','") === undefined) break;
    }
    if (entries.length === 0) this.#accept("','");
    this.#expect("'}'");
    return this.#node({ kind: 'map', entries, offset });
  }
}

export function parse(source: string, config: ParserConfig): Parsed {
  const length = source.length > config.maxLength ? countCodePoints(source) : 0;
  if (length > config.maxLength) {
    const message = `expression code point size exceeds limit: size: ${length}, limit ${config.maxLength}`;
    return { issues: [{ offset: 0, message }] };
  }
  const parser = new Parser(source, config);
  const expression = parser.parse();
  if (expression !== undefined && parser.issues.length === 0) return { expression };
  return { issues: parser.issues };
}

function countCodePoints(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++)
    if (isLowSurrogate(text.charCodeAt(i)) && isHighSurrogate(text.charCodeAt(i - 1))) count--;
  return count;
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;
