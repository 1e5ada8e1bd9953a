// Reads the text form of a label selector: 'a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3'.

import {
  BINARY_OPERATORS,
  invalidLabelKey,
  newRequirement,
  type Operator,
  type Requirement,
} from './label-requirement.ts';
import type { FieldPath } from '../validation/field.ts';

/** The text is not a label selector. The message is upstream's. */
export class SelectorParseError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'SelectorParseError';
  }
}

type Kind =
  | 'error'
  | 'end'
  | 'identifier'
  | ')'
  | ','
  | '!'
  | '=='
  | '='
  | '>'
  | 'in'
  | '<'
  | '!='
  | 'notin'
  | '(';

interface Token {
  readonly kind: Kind;
  readonly text: string;
}

const SYMBOLS: ReadonlyMap<string, Kind> = new Map<string, Kind>(
  [')', ',', '!', '==', '=', '>', '<', '!=', '('].map((symbol) => [symbol, symbol as Kind]),
);

const OPERATOR_OF: ReadonlyMap<Kind, Operator> = new Map<Kind, Operator>([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '=='],
  ['!=', '!='],
  ['>', 'gt'],
  ['<', 'lt'],
]);

/**
 * Returns the requirements in the order of the text. `at`: the path for field errors. Throws
 * SelectorParseError.
 */
export function parseRequirements(text: string, at?: FieldPath): Requirement[] {
  return new Parser(tokenize(text), at).parse();
}

const SYMBOLS_AT = /[=!(),><]{1,2}/y;
const WORD_AT = /[^=!(),>< \t\r\n\0]+/y;

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  for (;;) {
    while (/[ \t\r\n]/.test(text[position] ?? '')) position++;
    // As in upstream, the text ends at a NUL.
    if (position >= text.length || text[position] === '\0') break;
    // The expression matches at most two characters: otherwise a text of symbols would be read
    // again for each of them.
    SYMBOLS_AT.lastIndex = position;
    const symbols = SYMBOLS_AT.exec(text)?.[0];
    const token = symbols === undefined ? word(text, position) : symbol(symbols);
    tokens.push(token.token);
    position += token.length;
  }
  tokens.push({ kind: 'end', text: '' });
  return tokens;
}

interface Scanned {
  readonly token: Token;
  readonly length: number;
}

function word(selector: string, position: number): Scanned {
  WORD_AT.lastIndex = position;
  const text = WORD_AT.exec(selector)?.[0] ?? '';
  return {
    token: { kind: text === 'in' || text === 'notin' ? text : 'identifier', text },
    length: text.length,
  };
}

/**
 * Returns the longest symbol at the beginning. Every symbol of two characters begins with one of
 * one character.
 */
function symbol(symbols: string): Scanned {
  const two = symbols.slice(0, 2);
  const text = two.length === 2 && SYMBOLS.has(two) ? two : symbols[0]!;
  return { token: { kind: SYMBOLS.get(text) ?? 'error', text }, length: text.length };
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #at: FieldPath | undefined;
  #position = 0;

  constructor(tokens: readonly Token[], at: FieldPath | undefined) {
    this.#tokens = tokens;
    this.#at = at;
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    for (;;) {
      const first = this.#peek();
      if (first.kind === 'end') return requirements;
      if (first.kind !== 'identifier' && first.kind !== '!') {
        throw new SelectorParseError(
          `found '${first.text}', expected: !, identifier, or 'end of string'`,
        );
      }
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.kind === 'end') return requirements;
      if (next.kind !== ',') {
        throw new SelectorParseError(`found '${next.text}', expected: ',' or 'end of string'`);
      }
      const after = this.#peek();
      if (after.kind !== 'identifier' && after.kind !== '!') {
        throw new SelectorParseError(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): Requirement {
    try {
      const negated = this.#peek().kind === '!';
      if (negated) this.#take();
      const key = this.#key();
      const after = this.#peek().kind;
      if (negated) return newRequirement(key, '!', [], this.#at);
      if (after === 'end' || after === ',') return newRequirement(key, 'exists', [], this.#at);
      const operator = this.#operator();
      const values =
        operator === 'in' || operator === 'notin' ? this.#values() : this.#exactValue();
      return newRequirement(key, operator, [...new Set(values)].sort(), this.#at);
    } catch (error) {
      throw new SelectorParseError(`unable to parse requirement: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #key(): string {
    const { kind, text } = this.#take();
    if (kind !== 'identifier')
      throw new SelectorParseError(`found '${text}', expected: identifier`);
    const problem = invalidLabelKey(text, this.#at);
    if (problem !== undefined) throw new SelectorParseError(problem.message);
    return text;
  }

  #operator(): Operator {
    const token = this.#tokens[this.#position++]!;
    const operator = OPERATOR_OF.get(token.kind);
    if (operator === undefined) {
      throw new SelectorParseError(
        `found '${token.text}', expected: ${BINARY_OPERATORS.join(', ')}`,
      );
    }
    return operator;
  }

  /** Parses '(x,y)', where a value may be empty: '()', '(,x)'. */
  #values(): string[] {
    const open = this.#take();
    if (open.kind !== '(') throw new SelectorParseError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind !== 'identifier' && first.kind !== ',' && first.kind !== ')') {
      throw new SelectorParseError(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      if (token.kind === 'identifier') {
        values.push(token.text);
        const next = this.#peek();
        if (next.kind !== ',' && next.kind !== ')') {
          throw new SelectorParseError(`found '${next.text}', expected: ',' or ')'`);
        }
        if (this.#take().kind === ')') return values;
        // After a comma, a missing value is an empty one.
        const after = this.#peek().kind;
        if (after === ')' || after === ',') values.push('');
      } else if (token.kind === ',') {
        if (values.length === 0) values.push('');
        const after = this.#peek().kind;
        if (after === ')' || after === ',') values.push('');
      } else if (token.kind === ')') {
        return values.length === 0 ? [''] : values;
      } else {
        throw new SelectorParseError(`found '${token.text}', expected: ',', or identifier`);
      }
    }
  }

  #exactValue(): string[] {
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return [''];
    this.#take();
    if (next.kind !== 'identifier')
      throw new SelectorParseError(`found '${next.text}', expected: identifier`);
    return [next.text];
  }

  /**
   * Returns the current token. 'in' and 'notin' are ordinary words here; #operator treats them as
   * operators.
   */
  #peek(): Token {
    const token = this.#tokens[Math.min(this.#position, this.#tokens.length - 1)]!;
    return token.kind === 'in' || token.kind === 'notin'
      ? { kind: 'identifier', text: token.text }
      : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }
}
