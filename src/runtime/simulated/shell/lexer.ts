// Splits a script into tokens. Words are parsed completely, since only the quoting determines the
// end of a word; the parser parses the lists in `$(…)` through a callback.

import type { List, Word, WordPart } from './ast.ts';

/** An invalid script, or one outside of the supported subset. */
export class ShellSyntaxError extends Error {
  /** More input could complete the script: an interactive shell continues reading. */
  readonly incomplete: boolean;
  /** Whether the script is valid in other shells. */
  readonly unsupported: boolean;

  constructor(message: string, kind: 'invalid' | 'incomplete' | 'unsupported' = 'invalid') {
    super(message);
    this.incomplete = kind === 'incomplete';
    this.unsupported = kind === 'unsupported';
  }
}

export type Token =
  | { readonly kind: 'word'; readonly word: Word; readonly bare: string | undefined }
  | { readonly kind: 'operator'; readonly text: string }
  | { readonly kind: 'redirect'; readonly fd: number | undefined; readonly text: string }
  | { readonly kind: 'newline' }
  | { readonly kind: 'end' };

const OPERATORS: readonly string[] = ['&&', '||', ';;', ';', '&', '|', '(', ')'];
const REDIRECTS: readonly string[] = [
  '<<<',
  '<<-',
  '<<',
  '>>',
  '>&',
  '<&',
  '&>',
  '>|',
  '<>',
  '<',
  '>',
];
/** The characters that end an unquoted word. */
const WORD_END = new Set([' ', '\t', '\r', '\n', ';', '&', '|', '<', '>', '(', ')']);
const NAME = /[A-Za-z_][A-Za-z0-9_]*|[0-9]|[?$#@*!-]/y;

const MAX_NESTING = 100;

interface HereDocument {
  readonly delimiter: string;
  readonly literal: boolean;
  readonly stripTabs: boolean;
  readonly fill: (word: Word) => void;
}

export class Lexer {
  readonly #text: string;
  readonly #parseList: (lexer: Lexer, end: string) => List;
  #position = 0;
  #pending: HereDocument[] = [];
  /** The number of open `${` and `$((`. */
  #nesting = 0;

  /** Creates a lexer. `parseList`: parses commands up to the operator `end`, which it consumes. */
  constructor(text: string, parseList: (lexer: Lexer, end: string) => List) {
    this.#text = text;
    this.#parseList = parseList;
  }

  next(): Token {
    this.#skipBlanks();
    const text = this.#text;
    const char = text[this.#position];
    if (char === undefined) {
      if (this.#pending.length > 0)
        throw new ShellSyntaxError('here-document without end', 'incomplete');
      return { kind: 'end' };
    }
    if (char === '\n') {
      this.#position++;
      this.#readHereDocuments();
      return { kind: 'newline' };
    }
    const numbered = /(\d+)(?=[<>])/y;
    numbered.lastIndex = this.#position;
    const number = numbered.exec(text)?.[1];
    const at = this.#position + (number?.length ?? 0);
    const redirect = REDIRECTS.find((each) => text.startsWith(each, at));
    if (redirect !== undefined && !(redirect === '&>' && number !== undefined)) {
      this.#position = at + redirect.length;
      return {
        kind: 'redirect',
        fd: number === undefined ? undefined : Number(number),
        text: redirect,
      };
    }
    const operator = OPERATORS.find((each) => text.startsWith(each, this.#position));
    if (operator !== undefined) {
      this.#position += operator.length;
      return { kind: 'operator', text: operator };
    }
    const start = this.#position;
    const word = this.#readWord((each) => WORD_END.has(each));
    const plain = word.every((part) => part.kind === 'text' && !part.quoted);
    return {
      kind: 'word',
      word,
      bare: plain ? text.slice(start, this.#position).replaceAll('\\\n', '') : undefined,
    };
  }

  /** Reads the text of a here-document after the current line. */
  hereDocument(delimiter: Word, stripTabs: boolean, fill: (word: Word) => void): void {
    let text = '';
    let literal = false;
    for (const part of delimiter) {
      if (part.kind !== 'text')
        throw new ShellSyntaxError('here-document delimiter is not a plain word', 'unsupported');
      text += part.text;
      literal ||= part.quoted;
    }
    this.#pending.push({ delimiter: text, literal, stripTabs, fill });
  }

  #readHereDocuments(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { delimiter, literal, stripTabs, fill } of pending) {
      let body = '';
      for (;;) {
        if (this.#position >= this.#text.length)
          throw new ShellSyntaxError('here-document without end', 'incomplete');
        const end = this.#text.indexOf('\n', this.#position);
        const raw = this.#text.slice(this.#position, end === -1 ? undefined : end);
        this.#position = end === -1 ? this.#text.length : end + 1;
        const line = stripTabs ? raw.replace(/^\t+/, '') : raw;
        if (line === delimiter) break;
        body += `${line}\n`;
      }
      fill(
        literal
          ? [{ kind: 'text', text: body, quoted: true }]
          : parseQuotedText(body, this.#parseList),
      );
    }
  }

  #skipBlanks(): void {
    const blanks = /(?:[ \t\r]|\\\n)*(?:#[^\n]*)?/y;
    blanks.lastIndex = this.#position;
    this.#position += blanks.exec(this.#text)?.[0].length ?? 0;
  }

  /** Reads a word. `ends`: reports whether an unquoted character ends the word. */
  #readWord(ends: (char: string) => boolean): Word {
    const parts: WordPart[] = [];
    const add = (text: string, quoted: boolean): void => {
      const last = parts.at(-1);
      if (last?.kind === 'text' && last.quoted === quoted)
        parts[parts.length - 1] = { ...last, text: last.text + text };
      else parts.push({ kind: 'text', text, quoted });
    };
    for (;;) {
      const char = this.#text[this.#position];
      if (char === undefined || ends(char)) return parts;
      if (char === "'") {
        const end = this.#text.indexOf("'", this.#position + 1);
        if (end === -1) throw new ShellSyntaxError('unterminated quoted string', 'incomplete');
        add(this.#text.slice(this.#position + 1, end), true);
        this.#position = end + 1;
      } else if (char === '"') {
        this.#position++;
        add('', true);
        this.#readQuoted('"', parts, add);
      } else if (char === '\\') {
        const escaped = this.#text[this.#position + 1];
        if (escaped === undefined) throw new ShellSyntaxError('backslash at the end', 'incomplete');
        if (escaped !== '\n') add(escaped, true);
        this.#position += 2;
      } else if (char === '$' || char === '`') {
        this.#readExpansion(false, parts, add);
      } else {
        let end = this.#position + 1;
        for (; end < this.#text.length; end++) {
          const each = this.#text[end]!;
          if (
            ends(each) ||
            each === "'" ||
            each === '"' ||
            each === '\\' ||
            each === '$' ||
            each === '`'
          )
            break;
        }
        add(this.#text.slice(this.#position, end), false);
        this.#position = end;
      }
    }
  }

  /** Reads the content of double quotes up to `end`; '' is the end of the text. */
  #readQuoted(end: string, parts: WordPart[], add: (text: string, quoted: boolean) => void): void {
    for (;;) {
      const char = this.#text[this.#position];
      if (char === undefined) {
        if (end === '') return;
        throw new ShellSyntaxError('unterminated quoted string', 'incomplete');
      }
      if (char === end) {
        this.#position++;
        return;
      }
      if (char === '\\') {
        const escaped = this.#text[this.#position + 1] ?? '';
        if (escaped === '\n') add('', true);
        else if ('$`"\\'.includes(escaped) && escaped !== '' && (escaped !== '"' || end === '"'))
          add(escaped, true);
        else add(char + escaped, true);
        this.#position += 2;
      } else if (char === '$' || char === '`') {
        this.#readExpansion(true, parts, add);
      } else {
        let stop = this.#position + 1;
        while (stop < this.#text.length && !`\\$\`${end}`.includes(this.#text[stop]!)) stop++;
        add(this.#text.slice(this.#position, stop), true);
        this.#position = stop;
      }
    }
  }

  #readExpansion(
    quoted: boolean,
    parts: WordPart[],
    add: (text: string, quoted: boolean) => void,
  ): void {
    if (++this.#nesting > MAX_NESTING)
      throw new ShellSyntaxError('expansions are nested too deeply', 'unsupported');
    this.#readExpansionOnce(quoted, parts, add);
    this.#nesting--;
  }

  #readExpansionOnce(
    quoted: boolean,
    parts: WordPart[],
    add: (text: string, quoted: boolean) => void,
  ): void {
    const text = this.#text;
    if (text[this.#position] === '`') {
      const end = /(?:[^`\\]|\\[\s\S])*`/y;
      end.lastIndex = this.#position + 1;
      const match = end.exec(text);
      if (match === null) throw new ShellSyntaxError('unterminated backquote', 'incomplete');
      const inner = match[0].slice(0, -1).replace(/\\([$`\\])/g, '$1');
      this.#position = end.lastIndex;
      parts.push({
        kind: 'command',
        list: this.#parseList(new Lexer(inner, this.#parseList), ''),
        quoted,
      });
      return;
    }
    if (text.startsWith('$((', this.#position)) {
      this.#position += 3;
      parts.push({ kind: 'arithmetic', expression: this.#readArithmetic(), quoted });
      return;
    }
    if (text.startsWith('$(', this.#position)) {
      this.#position += 2;
      parts.push({ kind: 'command', list: this.#parseList(this, ')'), quoted });
      return;
    }
    if (text.startsWith('${', this.#position)) {
      this.#position += 2;
      parts.push(this.#readParameter(quoted));
      return;
    }
    NAME.lastIndex = this.#position + 1;
    const name = NAME.exec(text)?.[0];
    if (name === undefined) {
      if (text[this.#position + 1] === "'" && !quoted)
        throw new ShellSyntaxError("$'…' is not supported", 'unsupported');
      add('$', quoted);
      this.#position++;
      return;
    }
    this.#position += 1 + name.length;
    parts.push({ kind: 'parameter', name, operator: '', word: [], quoted });
  }

  #readParameter(quoted: boolean): WordPart {
    const text = this.#text;
    const head = /(#?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?$#@*!-])/y;
    head.lastIndex = this.#position;
    const match = head.exec(text) ?? /^(#?)(#)/.exec(text.slice(this.#position));
    if (match === null) throw new ShellSyntaxError('bad substitution', 'unsupported');
    this.#position += match[0].length;
    const name = match[2]!;
    if (match[1] === '#') {
      if (text[this.#position] !== '}') throw new ShellSyntaxError('bad substitution');
      this.#position++;
      return { kind: 'parameter', name, operator: 'length', word: [], quoted };
    }
    if (text[this.#position] === '}') {
      this.#position++;
      return { kind: 'parameter', name, operator: '', word: [], quoted };
    }
    const operator = /:?[-=+?]|##?|%%?/y;
    operator.lastIndex = this.#position;
    const op = operator.exec(text)?.[0];
    if (op === undefined) {
      if (this.#position >= text.length)
        throw new ShellSyntaxError('unterminated ${', 'incomplete');
      throw new ShellSyntaxError(
        `bad substitution near ${JSON.stringify(text.slice(this.#position, this.#position + 10))}`,
        'unsupported',
      );
    }
    this.#position += op.length;
    const word = this.#readWord((char) => char === '}');
    if (text[this.#position] !== '}') throw new ShellSyntaxError('unterminated ${', 'incomplete');
    this.#position++;
    return { kind: 'parameter', name, operator: op, word, quoted };
  }

  /** Reads up to the matching `))`. */
  #readArithmetic(): Word {
    const parts: WordPart[] = [];
    const add = (text: string): void => void parts.push({ kind: 'text', text, quoted: true });
    let depth = 0;
    for (;;) {
      const char = this.#text[this.#position];
      if (char === undefined) throw new ShellSyntaxError('unterminated $((', 'incomplete');
      if (char === '$' || char === '`') {
        this.#readExpansion(true, parts, add);
        continue;
      }
      if (char === '(') depth++;
      if (char === ')') {
        if (depth === 0) {
          if (this.#text[this.#position + 1] !== ')') throw new ShellSyntaxError('missing ))');
          this.#position += 2;
          return parts;
        }
        depth--;
      }
      add(char);
      this.#position++;
    }
  }

  /** Parses the whole text like the content of double quotes. */
  quotedText(): Word {
    const parts: WordPart[] = [];
    const add = (text: string, quoted: boolean): void =>
      void parts.push({ kind: 'text', text, quoted });
    this.#readQuoted('', parts, add);
    return parts;
  }
}

function parseQuotedText(text: string, parseList: (lexer: Lexer, end: string) => List): Word {
  return new Lexer(text, parseList).quotedText();
}
