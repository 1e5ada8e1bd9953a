// Parses a script into a tree, by the grammar of POSIX sh, without the exceptions in the README.

import type {
  AndOr,
  CaseCommand,
  Command,
  ForCommand,
  IfCommand,
  List,
  LoopCommand,
  Pipeline,
  Redirect,
  SimpleCommand,
  Word,
} from './ast.ts';
import { Lexer, ShellSyntaxError, type Token } from './lexer.ts';

/**
 * The maximum depth of nested commands; a deeper script is rejected before it can exhaust the
 * stack.
 */
const MAX_DEPTH = 100;
const MAX_SCRIPT_LENGTH = 256 * 1024;
const RESERVED = new Set([
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'do',
  'done',
  'case',
  'esac',
  'while',
  'until',
  'for',
  '{',
  '}',
  '!',
  'in',
]);
/** Reserved words that can begin a command. */
const OPENERS = new Set(['if', 'case', 'while', 'until', 'for', '{', '!']);
const UNSUPPORTED = new Set(['[[', 'select', 'function', 'coproc', 'time']);
const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)=/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Parses a script. Throws ShellSyntaxError. */
export function parse(script: string): List {
  if (script.length > MAX_SCRIPT_LENGTH)
    throw new ShellSyntaxError('the script is too long', 'unsupported');
  let depth = 0;
  const nested = (lexer: Lexer, end: string): List => {
    if (++depth > MAX_DEPTH)
      throw new ShellSyntaxError('substitutions are nested too deeply', 'unsupported');
    const list = parseList(lexer, end, depth);
    depth--;
    return list;
  };
  return parseList(new Lexer(script, nested), '', 0);
}

function parseList(lexer: Lexer, end: string, depth: number): List {
  const parser = new Parser(lexer, depth);
  const list = parser.list();
  parser.expectEnd(end);
  return list;
}

class Parser {
  readonly #lexer: Lexer;
  #token: Token;
  #depth: number;

  constructor(lexer: Lexer, depth: number) {
    this.#lexer = lexer;
    this.#depth = depth;
    this.#token = lexer.next();
  }

  /**
   * Consumes the end. Nothing is read after it, since the text around `$(…)` belongs to another
   * parser.
   */
  expectEnd(end: string): void {
    if (end === '' ? this.#token.kind === 'end' : this.#isOperator(end)) return;
    throw this.#unexpected();
  }

  /** Parses commands up to a token that cannot begin one. */
  list(): List {
    const list: AndOr[] = [];
    for (;;) {
      this.#skipNewlines();
      if (!this.#beginsCommand()) return list;
      const first = this.#pipeline();
      const rest: { operator: '&&' | '||'; pipeline: Pipeline }[] = [];
      while (this.#isOperator('&&') || this.#isOperator('||')) {
        const operator = (this.#token as { text: '&&' | '||' }).text;
        this.#advance();
        this.#skipNewlines();
        rest.push({ operator, pipeline: this.#pipeline() });
      }
      const background = this.#isOperator('&');
      list.push({ first, rest, background });
      if (!background && !this.#isOperator(';') && this.#token.kind !== 'newline') return list;
      this.#advance();
    }
  }

  #pipeline(): Pipeline {
    let negated = false;
    while (this.#keyword() === '!') {
      negated = !negated;
      this.#advance();
    }
    const commands = [this.#command()];
    while (this.#isOperator('|')) {
      this.#advance();
      this.#skipNewlines();
      commands.push(this.#command());
    }
    return { negated, commands };
  }

  #command(): Command {
    if (++this.#depth > MAX_DEPTH)
      throw new ShellSyntaxError('commands are nested too deeply', 'unsupported');
    try {
      return this.#compound() ?? this.#simple();
    } finally {
      this.#depth--;
    }
  }

  #compound(): Command | undefined {
    const keyword = this.#keyword();
    if (keyword !== undefined && UNSUPPORTED.has(keyword)) {
      throw new ShellSyntaxError(`${keyword} is not supported`, 'unsupported');
    }
    switch (keyword) {
      case 'if':
        return this.#withRedirects(this.#if());
      case 'while':
      case 'until':
        return this.#withRedirects(this.#loop(keyword === 'until'));
      case 'for':
        return this.#withRedirects(this.#for());
      case 'case':
        return this.#withRedirects(this.#case());
      case '{':
        this.#advance();
        return this.#withRedirects({
          kind: 'group',
          subshell: false,
          body: this.#body('}'),
          redirects: [],
        });
      default:
    }
    if (!this.#isOperator('(')) return undefined;
    this.#advance();
    const body = this.list();
    if (!this.#isOperator(')')) throw this.#unexpected();
    this.#advance();
    return this.#withRedirects({ kind: 'group', subshell: true, body, redirects: [] });
  }

  #if(): IfCommand {
    const branches: { condition: List; body: List }[] = [];
    let otherwise: List = [];
    this.#advance();
    for (;;) {
      const condition = this.#body('then');
      const body = this.list();
      branches.push({ condition, body });
      const keyword = this.#keyword();
      this.#advance();
      if (keyword === 'fi') break;
      if (keyword === 'else') {
        otherwise = this.#body('fi');
        break;
      }
      if (keyword !== 'elif') throw this.#unexpected();
    }
    return { kind: 'if', branches, otherwise, redirects: [] };
  }

  #loop(until: boolean): LoopCommand {
    this.#advance();
    const condition = this.#body('do');
    return { kind: 'loop', until, condition, body: this.#body('done'), redirects: [] };
  }

  #for(): ForCommand {
    this.#advance();
    const variable = this.#keyword();
    if (variable === undefined || !NAME.test(variable)) throw this.#unexpected();
    this.#advance();
    this.#skipNewlines();
    let items: Word[] | undefined;
    if (this.#keyword() === 'in') {
      this.#advance();
      items = [];
      while (this.#token.kind === 'word') {
        items.push(this.#token.word);
        this.#advance();
      }
    }
    if (this.#isOperator(';')) this.#advance();
    this.#skipNewlines();
    this.#expect('do');
    return { kind: 'for', variable, items, body: this.#body('done'), redirects: [] };
  }

  #case(): CaseCommand {
    this.#advance();
    if (this.#token.kind !== 'word') throw this.#unexpected();
    const subject = this.#token.word;
    this.#advance();
    this.#skipNewlines();
    this.#expect('in');
    const branches: { patterns: Word[]; body: List }[] = [];
    for (;;) {
      this.#skipNewlines();
      if (this.#keyword() === 'esac') break;
      if (this.#isOperator('(')) this.#advance();
      const patterns: Word[] = [];
      do {
        if (patterns.length > 0) this.#advance();
        if (this.#token.kind !== 'word') throw this.#unexpected();
        patterns.push(this.#token.word);
        this.#advance();
      } while (this.#isOperator('|'));
      if (!this.#isOperator(')')) throw this.#unexpected();
      this.#advance();
      branches.push({ patterns, body: this.list() });
      if (!this.#isOperator(';;')) break;
      this.#advance();
    }
    this.#skipNewlines();
    this.#expect('esac');
    return { kind: 'case', subject, branches, redirects: [] };
  }

  #simple(): Command {
    const assignments: { name: string; value: Word }[] = [];
    const words: Word[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      const token = this.#token;
      if (token.kind === 'redirect') {
        redirects.push(this.#redirect());
        continue;
      }
      if (token.kind !== 'word') break;
      const assignment = words.length === 0 ? assignmentOf(token.word) : undefined;
      if (assignment !== undefined) assignments.push(assignment);
      else words.push(token.word);
      this.#advance();
      if (words.length === 1 && assignments.length === 0 && this.#isOperator('('))
        return this.#function(token.bare);
      if (this.#isOperator('(') && assignment !== undefined)
        throw new ShellSyntaxError('arrays are not supported', 'unsupported');
    }
    if (assignments.length + words.length + redirects.length === 0) throw this.#unexpected();
    return { kind: 'simple', assignments, words, redirects } satisfies SimpleCommand;
  }

  #function(name: string | undefined): Command {
    this.#advance();
    if (name === undefined || !this.#isOperator(')')) throw this.#unexpected();
    this.#advance();
    this.#skipNewlines();
    return { kind: 'function', name, body: this.#command(), redirects: [] };
  }

  #withRedirects<T extends Command>(command: T): T {
    const redirects: Redirect[] = [];
    while (this.#token.kind === 'redirect') redirects.push(this.#redirect());
    return redirects.length === 0 ? command : { ...command, redirects };
  }

  #redirect(): Redirect {
    const { fd, text } = this.#token as Extract<Token, { kind: 'redirect' }>;
    if (text === '<>') throw new ShellSyntaxError('<> is not supported', 'unsupported');
    this.#advance();
    if (this.#token.kind !== 'word') {
      if (this.#isOperator('('))
        throw new ShellSyntaxError('process substitution is not supported', 'unsupported');
      throw this.#unexpected();
    }
    const { word } = this.#token;
    const redirect = {
      fd: fd ?? (text.startsWith('<') ? 0 : 1),
      operator: normalized(text),
      target: word,
    };
    if (redirect.operator === '<<') {
      this.#lexer.hereDocument(word, text === '<<-', (body) => (redirect.target = body));
    }
    this.#advance();
    return redirect;
  }

  /** Parses a list up to the reserved word, which is consumed. */
  #body(end: string): List {
    const list = this.list();
    this.#expect(end);
    return list;
  }

  #beginsCommand(): boolean {
    if (this.#token.kind === 'redirect' || this.#isOperator('(')) return true;
    if (this.#token.kind !== 'word') return false;
    const keyword = this.#keyword();
    return keyword === undefined || !RESERVED.has(keyword) || OPENERS.has(keyword);
  }

  #keyword(): string | undefined {
    return this.#token.kind === 'word' ? this.#token.bare : undefined;
  }

  #isOperator(text: string): boolean {
    return this.#token.kind === 'operator' && this.#token.text === text;
  }

  #expect(keyword: string): void {
    if (this.#keyword() !== keyword) throw this.#unexpected();
    this.#advance();
  }

  #advance(): void {
    this.#token = this.#lexer.next();
  }

  #skipNewlines(): void {
    while (this.#token.kind === 'newline') this.#advance();
  }

  #unexpected(): ShellSyntaxError {
    const token = this.#token;
    if (token.kind === 'end')
      return new ShellSyntaxError('syntax error: unexpected end of file', 'incomplete');
    const text =
      token.kind === 'newline'
        ? 'newline'
        : token.kind === 'word'
          ? (token.bare ?? 'word')
          : token.text;
    return new ShellSyntaxError(`syntax error: unexpected "${text}"`);
  }
}

function normalized(text: string): Redirect['operator'] {
  if (text === '<<-') return '<<';
  return text === '>|' ? '>' : (text as Redirect['operator']);
}

function assignmentOf(word: Word): { name: string; value: Word } | undefined {
  const [first, ...rest] = word;
  if (first?.kind !== 'text' || first.quoted) return undefined;
  const match = ASSIGNMENT.exec(first.text);
  if (match === null) return undefined;
  const value = first.text.slice(match[0].length);
  return {
    name: match[1]!,
    value: value === '' ? rest : [{ ...first, text: value }, ...rest],
  };
}
