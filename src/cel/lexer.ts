// The lexer: text to tokens. Invalid text is reported as an issue and skipped, so that all issues
// are reported together.

import { MAX_ISSUES, type Issue } from './errors.ts';

/**
 * Token kinds as in messages: punctuation and keywords in quotes, classes of tokens in capitals.
 */
export type TokenKind = string;

export interface Token {
  /** "'+'", "'true'", 'IDENTIFIER', 'NUM_INT', '<EOF>' … */
  readonly kind: TokenKind;
  /** The original text. */
  readonly text: string;
  readonly offset: number;
}

export const IDENTIFIER = 'IDENTIFIER';
export const ESCAPED_IDENTIFIER = 'ESC_IDENTIFIER';
export const END = '<EOF>';

const KEYWORDS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'in']);

const SPACE = /(?:[\t\n\f\r ]+|\/\/[^\n]*)+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const ESCAPED_NAME = /`[A-Za-z0-9_.\-/ ]+`/y;
const FLOAT =
  /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
const INTEGER = /(?:0x[0-9a-fA-F]+|[0-9]+)([uU]?)/y;
const PUNCTUATION = /==|!=|<=|>=|&&|\|\||[<>[\](){}.,\-!?:+*/%]/y;

const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})`;
const escaped = (quote: string): string => {
  const one = String.raw`${quote}(?:[^${quote}\\\n\r]|${ESCAPE})*${quote}`;
  const three = String.raw`${quote.repeat(3)}(?:[^\\]|${ESCAPE})*?${quote.repeat(3)}`;
  return `${three}|${one}`;
};
const raw = (quote: string): string =>
  `[rR]${quote.repeat(3)}[^]*?${quote.repeat(3)}|[rR]${quote}[^${quote}\\n\\r]*${quote}`;
const TEXT = new RegExp(`([bB]?)(?:${escaped('"')}|${escaped("'")}|${raw('"')}|${raw("'")})`, 'y');

export interface Lexed {
  /** The tokens. The last one is the end. */
  readonly tokens: readonly Token[];
  readonly issues: readonly Issue[];
}

/**
 * Splits the source into tokens. Stops after `maxTokens`, which exceeds the parser's limits, and at
 * the maximum number of issues.
 */
export function lex(source: string, maxTokens = 200_000): Lexed {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  const push = (kind: TokenKind, text: string): void => {
    tokens.push({ kind, text, offset: at });
    at += text.length;
  };
  while (at < source.length && tokens.length < maxTokens && issues.length <= MAX_ISSUES) {
    const space = match(SPACE);
    if (space !== null) {
      at += space[0].length;
      continue;
    }
    const text = match(TEXT);
    if (text !== null) {
      push(text[1] === '' ? 'STRING' : 'BYTES', text[0]);
      continue;
    }
    const name = match(NAME)?.[0];
    if (name !== undefined) {
      push(KEYWORDS.has(name) ? `'${name}'` : IDENTIFIER, name);
      continue;
    }
    const float = match(FLOAT);
    if (float !== null) {
      push('NUM_FLOAT', float[0]);
      continue;
    }
    const integer = match(INTEGER);
    if (integer !== null) {
      push(integer[1] === '' ? 'NUM_INT' : 'NUM_UINT', integer[0]);
      continue;
    }
    const punctuation = match(PUNCTUATION);
    if (punctuation !== null) {
      push(`'${punctuation[0]}'`, punctuation[0]);
      continue;
    }
    const escapedName = match(ESCAPED_NAME);
    if (escapedName !== null) {
      push(ESCAPED_IDENTIFIER, escapedName[0]);
      continue;
    }
    const invalidText = unrecognized(source, at);
    issues.push({
      offset: at,
      message: `Syntax error: token recognition error at: '${printable(invalidText)}'`,
    });
    at += invalidText.length;
  }
  tokens.push({ kind: END, text: END, offset: source.length });
  return { tokens, issues };
}

/**
 * Returns the invalid text at a position: the characters that could have become a token, and the
 * one that ended it.
 */
function unrecognized(source: string, at: number): string {
  const first = String.fromCodePoint(source.codePointAt(at)!);
  if (first === '|' || first === '&' || first === '=') return source.slice(at, at + 2);
  if (first === '"' || first === "'") {
    const rest = source.slice(at);
    const pattern = new RegExp(String.raw`^${first}(?:[^${first}\\\n\r]|${ESCAPE})*(?:\\[^]|[^])?`);
    return pattern.exec(rest)?.[0] ?? first;
  }
  if (first === '`') return /^`[A-Za-z0-9_.\-/ ]*[^]?/.exec(source.slice(at))?.[0] ?? first;
  return first;
}

const printable = (text: string): string =>
  text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

/** A text literal cannot be decoded. */
export class LiteralError extends Error {}

/** Returns the value of a STRING or BYTES token. Throws LiteralError. */
export function unquote(token: string): string | Uint8Array {
  let text = token;
  const isBytes = /^[bB]/.test(text);
  if (isBytes) text = text.slice(1);
  const isRaw = /^[rR]/.test(text);
  if (isRaw) text = text.slice(1);
  const quotes = text.startsWith('"""') || text.startsWith("'''") ? 3 : 1;
  const body = text
    .slice(quotes, text.length - quotes)
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n');
  if (isRaw || !body.includes('\\')) return isBytes ? new TextEncoder().encode(body) : body;
  const parts = body.split(/(\\(?:[xX].{2}|u.{4}|U.{8}|[0-3]..|[^]))/);
  if (!isBytes)
    return parts.map((part) => (part.startsWith('\\') ? unescape(part) : part)).join('');
  const bytes: number[] = [];
  for (const part of parts) {
    if (/^\\[uU]/.test(part)) throw new LiteralError('unable to unescape string');
    if (/^\\[xX0-3]/.test(part)) bytes.push(codeOf(part));
    else bytes.push(...new TextEncoder().encode(part.startsWith('\\') ? unescape(part) : part));
  }
  return Uint8Array.from(bytes);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

const codeOf = (escape: string): number =>
  /^\\[0-3]/.test(escape) ? parseInt(escape.slice(1), 8) : parseInt(escape.slice(2), 16);

function unescape(escape: string): string {
  const letter = escape[1]!;
  if (!/[xXuU0-3]/.test(letter)) return SHORT_ESCAPES[letter] ?? letter;
  const code = codeOf(escape);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new LiteralError('invalid unicode code point');
  return String.fromCodePoint(code);
}
