// Parses JSONPath expressions. It accepts the same texts as upstream's parser, including oddities:
// spaces, '@' and '$' are skipped, `['a.b']` is the same as `.a.b`, and a backslash escapes the
// next character.

import { JsonPathError, type PathNode, type SliceEnd } from './nodes.ts';

/** The maximum depth of nested expressions, which filters and unions contain. */
const MAX_DEPTH = 16;

/**
 * Parses an expression such as `.spec.replicas` or `.status.conditions[?(@.type=="Ready")].status`.
 * Throws JsonPathError.
 */
export function parseJsonPath(text: string): readonly PathNode[] {
  return new Parser(text, 0).parse();
}

class Parser {
  readonly #text: string;
  readonly #depth: number;
  #at = 0;
  readonly #nodes: PathNode[] = [];

  constructor(text: string, depth: number) {
    if (depth > MAX_DEPTH) throw new JsonPathError('expressions nest too deeply');
    this.#text = text;
    this.#depth = depth;
  }

  parse(): readonly PathNode[] {
    // A closing brace ends the action, and printer columns use only the first action.
    while (this.#at < this.#text.length && this.#text[this.#at] !== '}') this.#parseNode();
    return this.#nodes;
  }

  #parseNode(): void {
    if (this.#text.startsWith('[?(', this.#at)) return this.#parseFilter();
    if (this.#text.startsWith('..', this.#at)) return this.#parseRecursive();
    const character = this.#text[this.#at]!;
    if (character === '\n' || character === '\r') throw new JsonPathError('unclosed action');
    if (character === ' ' || character === '@' || character === '$') {
      this.#at++;
    } else if (character === '[') {
      this.#parseArray();
    } else if (character === '"' || character === "'") {
      this.#parseQuote(character);
    } else if (character === '.') {
      this.#at++;
      this.#parseField();
    } else if (/[+\-\p{Nd}]/u.test(character)) {
      this.#parseNumber();
    } else if (/[_\p{L}]/u.test(character)) {
      this.#parseWord();
    } else {
      throw new JsonPathError(`unrecognized character in action: ${character}`);
    }
  }

  #parseField(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !isTerminator(this.#text[this.#at]!)) {
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    }
    const name = this.#text.slice(start, this.#at);
    this.#nodes.push(
      name === '*' ? { type: 'wildcard' } : { type: 'field', name: name.replaceAll('\\', '') },
    );
  }

  #parseRecursive(): void {
    if (this.#nodes.at(-1)?.type === 'recursive')
      throw new JsonPathError('invalid multiple recursive descent');
    this.#at += 2;
    this.#nodes.push({ type: 'recursive' });
    const next = this.#text[this.#at];
    if (next !== undefined && /[_\p{L}\p{Nd}]/u.test(next)) this.#parseField();
  }

  #parseWord(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !isTerminator(this.#text[this.#at]!)) this.#at++;
    const word = this.#text.slice(start, this.#at);
    if (word !== 'true' && word !== 'false')
      throw new JsonPathError(`unrecognized identifier ${word}`);
    this.#nodes.push({ type: 'literal', value: word === 'true' });
  }

  #parseNumber(): void {
    const [text] = /^[+-]?[.\p{Nd}]*/u.exec(this.#text.slice(this.#at))!;
    this.#at += text.length;
    const isInteger = /^[+-]?\d+$/.test(text);
    if (!isInteger && !/^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(text))
      throw new JsonPathError(`cannot parse number ${text}`);
    this.#nodes.push({
      type: 'literal',
      value: Number(text),
      ...(!isInteger && { isFloat: true }),
    });
  }

  #parseQuote(quote: string): void {
    const start = this.#at++;
    for (; ; this.#at++) {
      const character = this.#text[this.#at];
      if (character === undefined || character === '\n')
        throw new JsonPathError('unterminated quoted string');
      if (character === quote && this.#text[this.#at - 1] !== '\\') break;
    }
    const inside = this.#text.slice(start + 1, this.#at++);
    this.#nodes.push({
      type: 'literal',
      value: inside.replace(/\\(.)/gs, (_, escaped: string) => ESCAPES[escaped] ?? escaped),
    });
  }

  #parseArray(): void {
    const end = this.#text.indexOf(']', this.#at);
    const line = this.#text.indexOf('\n', this.#at);
    if (end < 0 || (line >= 0 && line < end)) throw new JsonPathError('unterminated array');
    const inside = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    if (inside.includes(',')) {
      const paths = inside
        .split(',')
        .map((part) => this.#inner(`[${part.replace(/^ +|(?<! ) +$/g, '')}]`));
      this.#nodes.push({ type: 'union', paths });
      return;
    }
    const key = /^'([^']*)'$/.exec(inside)?.[1];
    if (key !== undefined) this.#nodes.push(...this.#inner(`.${key}`));
    else this.#nodes.push(sliceOf(inside === '*' ? ':' : inside));
  }

  #parseFilter(): void {
    this.#at += '[?('.length;
    const start = this.#at;
    let quote = '';
    let isClosed = false;
    for (; ; this.#at++) {
      const character = this.#text[this.#at];
      if (character === undefined || character === '\n')
        throw new JsonPathError('unterminated filter');
      if (character === '"' || character === "'") {
        if (quote === '') quote = character;
        else if (character === quote && this.#text[this.#at - 1] !== '\\') isClosed = true;
      }
      if (character === ')' && (quote !== '') === isClosed) break;
    }
    const inside = this.#text.slice(start, this.#at++);
    if (this.#text[this.#at++] !== ']') throw new JsonPathError('unclosed array expect ]');
    const [, left, operator, right] = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(inside) ?? [];
    if (left === undefined || operator === undefined || right === undefined) {
      this.#nodes.push({
        type: 'filter',
        left: this.#inner(inside),
        operator: 'exists',
        right: [],
      });
    } else {
      this.#nodes.push({
        type: 'filter',
        left: this.#inner(left),
        operator,
        right: this.#inner(right),
      });
    }
  }

  #inner(text: string): readonly PathNode[] {
    return new Parser(text, this.#depth + 1).parse();
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function isTerminator(character: string): boolean {
  return ' \t\r\n.,[]$@{}'.includes(character);
}

function sliceOf(text: string): PathNode {
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text);
  if (match === null) throw new JsonPathError(`invalid array index ${text}`);
  const [, first = '', second, third] = match;
  const start = numberOf(first);
  const end: SliceEnd = second === undefined ? 'next' : numberOf(second.slice(1));
  return {
    type: 'slice',
    start,
    end,
    step: third === undefined ? undefined : numberOf(third.slice(1)),
  };
}

function numberOf(text: string): number | undefined {
  if (text === '') return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new JsonPathError(`array index ${text} is not a number`);
  return value;
}
