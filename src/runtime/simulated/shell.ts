// A very small shell: just enough of sh to know how the commands that people put into test pods would end, without
// running anything. parse() reads a script into a tree; what it does not know it refuses (NotUnderstood).

export class NotUnderstood extends Error {}

export interface SimpleCommand {
  readonly kind: 'simple';
  /** Each word is a list of pieces, to be joined after variables were filled in. */
  readonly words: readonly Word[];
  /** Where standard output goes. */
  readonly stdout: 'stdout' | 'stderr' | 'discard';
}

export type Piece = { readonly text: string } | { readonly variable: string };
export type Word = readonly Piece[];

export interface Loop {
  readonly kind: 'loop';
  /** `while` goes on as long as the condition succeeds, `until` as long as it fails. */
  readonly until: boolean;
  readonly condition: List;
  readonly body: List;
}

export interface ForLoop {
  readonly kind: 'for';
  readonly variable: string;
  readonly items: readonly Word[];
  readonly body: List;
}

export interface Conditional {
  readonly kind: 'if';
  readonly branches: readonly { readonly condition: List; readonly body: List }[];
  readonly otherwise: List;
}

export type Command = SimpleCommand | Loop | ForLoop | Conditional;
/** Commands in order; `when` says after which outcome of the one before it is run. */
export type List = readonly { readonly when: 'always' | 'success' | 'failure'; readonly command: Command }[];

type Token =
  | { kind: 'word'; word: Word; bare: string | undefined }
  | { kind: 'operator'; text: string }
  | { kind: 'redirect'; from: 1 | 2; to: string };

/** An operator, a redirection, the start of a word, or blanks and comments. */
const operators = /^(?:&&|\|\||[;\n])/;
const redirect = /^(?:([12])?>>?\s*(&[12]|[^\s;&|<>()"'$`]+)|&>\s*([^\s;&|<>()"'$`]+))/;

function tokenize(script: string): Token[] {
  const tokens: Token[] = [];
  let rest = script.replaceAll('\\\n', '');
  for (;;) {
    rest = rest.replace(/^(?:[ \t\r]+|#[^\n]*)+/, '');
    if (rest === '') return tokens;
    const operator = operators.exec(rest);
    const redirection = redirect.exec(rest);
    if (operator) {
      tokens.push({ kind: 'operator', text: operator[0] === '\n' ? ';' : operator[0] });
      rest = rest.slice(operator[0].length);
    } else if (redirection) {
      tokens.push({ kind: 'redirect', from: redirection[1] === '2' ? 2 : 1, to: redirection[2] ?? redirection[3]! });
      rest = rest.slice(redirection[0].length);
    } else {
      const { word, bare, length } = readWord(rest);
      tokens.push({ kind: 'word', word, bare });
      rest = rest.slice(length);
    }
  }
}

/** One word with its quotes taken off. `bare` is its text if nothing in it was quoted or a variable (a keyword must be bare). */
function readWord(text: string): { word: Word; bare: string | undefined; length: number } {
  const pieces: Piece[] = [];
  let position = 0;
  let bare: string | undefined = '';
  const add = (piece: Piece, asBare?: string): void => {
    pieces.push(piece);
    bare = bare === undefined || asBare === undefined ? undefined : bare + asBare;
  };
  while (position < text.length) {
    const rest = text.slice(position);
    const plain = /^[^\s;&|<>()"'$`\\#*?]+|^#/.exec(rest);
    const single = /^'([^']*)'/.exec(rest);
    const double = /^"((?:[^"\\`]|\\.)*)"/s.exec(rest);
    const variable = /^\$(?:(\w+)|\{(\w+)\}|([?$#@*]))/.exec(rest);
    const escaped = /^\\(.)/s.exec(rest);
    if (plain) {
      add({ text: plain[0] }, plain[0]);
      position += plain[0].length;
    } else if (single) {
      add({ text: single[1]! });
      position += single[0].length;
    } else if (double) {
      for (const piece of doubleQuoted(double[1]!)) add(piece);
      position += double[0].length;
    } else if (variable) {
      add({ variable: (variable[1] ?? variable[2] ?? variable[3])! });
      position += variable[0].length;
    } else if (escaped) {
      add({ text: escaped[1]! });
      position += escaped[0].length;
    } else {
      break;
    }
  }
  if (position === 0) throw new NotUnderstood(`near ${JSON.stringify(text.slice(0, 20))}`);
  return { word: pieces, bare, length: position };
}

function doubleQuoted(text: string): Piece[] {
  const pieces: Piece[] = [{ text: '' }];
  for (const match of text.matchAll(/\\([$`"\\])|\$(?:(\w+)|\{(\w+)\}|([?$#@*]))|(\$\(|\$\{)|([^\\$]+|[\\$])/gs)) {
    const variable = match[2] ?? match[3] ?? match[4];
    if (match[5] !== undefined) throw new NotUnderstood(`near ${match[5]}`);
    pieces.push(variable === undefined ? { text: match[1] ?? match[6]! } : { variable });
  }
  return pieces;
}

const keywords = new Set([
  'while',
  'until',
  'for',
  'do',
  'done',
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'case',
  'esac',
  '{',
  '}',
  '!',
]);

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** Commands up to one of the keywords in `ends` (not consumed), or to the end if there are none. */
  list(...ends: string[]): List {
    const list: { when: 'always' | 'success' | 'failure'; command: Command }[] = [];
    let when: 'always' | 'success' | 'failure' = 'always';
    for (;;) {
      if (when === 'always') this.#separators();
      if (this.#position === this.#tokens.length || ends.includes(this.#keyword() ?? '')) {
        if (ends.length > 0 && this.#position === this.#tokens.length) throw new NotUnderstood('unexpected end');
        if (when !== 'always') throw new NotUnderstood('unexpected end');
        return list;
      }
      list.push({ when, command: this.#command() });
      if (this.#operator('&&')) when = 'success';
      else if (this.#operator('||')) when = 'failure';
      else when = 'always';
    }
  }

  #command(): Command {
    const keyword = this.#keyword();
    if (keyword === 'while' || keyword === 'until') {
      this.#position++;
      const condition = this.list('do');
      return { kind: 'loop', until: keyword === 'until', condition, body: this.#block('do', 'done') };
    }
    if (keyword === 'for') return this.#for();
    if (keyword === 'if') return this.#if();
    return this.#simple();
  }

  #for(): ForLoop {
    this.#expect('for');
    const variable = this.#word();
    this.#expect('in');
    const items: Word[] = [];
    while (this.#tokens[this.#position]?.kind === 'word') items.push(this.#word().word);
    this.#separators();
    if (variable.bare === undefined) throw new NotUnderstood('for');
    return { kind: 'for', variable: variable.bare, items, body: this.#block('do', 'done') };
  }

  #if(): Conditional {
    this.#expect('if');
    const branches: { condition: List; body: List }[] = [];
    for (;;) {
      const condition = this.list('then');
      this.#expect('then');
      branches.push({ condition, body: this.list('elif', 'else', 'fi') });
      if (this.#keyword() !== 'elif') break;
      this.#position++;
    }
    const otherwise = this.#keyword() === 'else' ? (this.#position++, this.list('fi')) : [];
    this.#expect('fi');
    return { kind: 'if', branches, otherwise };
  }

  #simple(): SimpleCommand {
    const words: Word[] = [];
    let stdout: SimpleCommand['stdout'] = 'stdout';
    for (let token = this.#tokens[this.#position]; token && token.kind !== 'operator'; token = this.#tokens[this.#position]) {
      this.#position++;
      if (token.kind === 'word') {
        if (words.length === 0 && token.bare !== undefined && keywords.has(token.bare)) throw new NotUnderstood(token.bare);
        words.push(token.word);
      } else if (token.from === 1) {
        stdout = token.to === '&2' || token.to === '/dev/stderr' ? 'stderr' : token.to === '/dev/stdout' ? 'stdout' : 'discard';
      }
    }
    if (words.length === 0) throw new NotUnderstood('a command was expected');
    return { kind: 'simple', words, stdout };
  }

  #block(begin: string, end: string): List {
    this.#expect(begin);
    const body = this.list(end);
    this.#expect(end);
    return body;
  }

  #keyword(): string | undefined {
    const token = this.#tokens[this.#position];
    return token?.kind === 'word' ? token.bare : undefined;
  }

  #word(): { word: Word; bare: string | undefined } {
    const token = this.#tokens[this.#position++];
    if (token?.kind !== 'word') throw new NotUnderstood('a word was expected');
    return token;
  }

  #expect(keyword: string): void {
    if (this.#keyword() !== keyword) throw new NotUnderstood(`${keyword} was expected`);
    this.#position++;
  }

  #separators(): void {
    while (this.#operator(';')) continue;
  }

  #operator(text: string): boolean {
    const token = this.#tokens[this.#position];
    if (token?.kind !== 'operator' || token.text !== text) return false;
    this.#position++;
    return true;
  }
}

/** Reads a script. Throws NotUnderstood on anything outside the little that is known (pipes, `$(…)`, `&`, subshells, …). */
export function parse(script: string): List {
  return new Parser(tokenize(script)).list();
}
