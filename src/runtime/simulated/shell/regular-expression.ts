// Regular expressions of grep and sed, translated to JavaScript's. These can take exponential time;
// a match that takes too long is aborted, so that no script blocks the process.

import { createContext, Script } from 'node:vm';
import { CommandError } from './process.ts';

export type Dialect = 'basic' | 'extended' | 'fixed';

const MAX_PATTERN = 1000;
/** The maximum length of a line that is matched. */
const MAX_LINE = 64 * 1024;
/** The limit of a match, in ms. */
const TIMEOUT_MS = 20;
/** A match that other programs have kept from the processor is tried again, at most so often. */
const ATTEMPTS = 10;
const CLASSES: readonly (readonly [name: string, characters: string])[] = [
  ['[:space:]', '\\s'],
  ['[:blank:]', ' \\t'],
  ['[:digit:]', '0-9'],
  ['[:alpha:]', 'a-zA-Z'],
  ['[:alnum:]', 'a-zA-Z0-9'],
  ['[:upper:]', 'A-Z'],
  ['[:lower:]', 'a-z'],
];

export class RegularExpression {
  readonly #expression: RegExp;
  readonly #all: RegExp;
  /**
   * The expression has at most one repetition: the time is at most quadratic in the length of the
   * line, which is limited.
   */
  readonly #simple: boolean;

  /** Translates an expression. Throws CommandError. */
  constructor(
    pattern: string,
    dialect: Dialect,
    flags = '',
    wrap: (source: string) => string = (source) => source,
  ) {
    if (pattern.length > MAX_PATTERN) throw new CommandError('the pattern is too long', 2);
    const source = wrap(translate(pattern, dialect));
    try {
      this.#expression = new RegExp(source, flags);
      this.#all = new RegExp(source, `${flags}g`);
    } catch {
      throw new CommandError(`bad regex '${pattern}'`, 2);
    }
    this.#simple = (source.match(/[*+?{]/g) ?? []).length === 0;
  }

  test(line: string): boolean {
    return this.#bounded(() => this.#expression.test(line.slice(0, MAX_LINE)));
  }

  /** Returns all matches that are not empty. */
  matches(line: string): readonly string[] {
    return this.#bounded(() => line.slice(0, MAX_LINE).match(this.#all) ?? []).filter(
      (each) => each !== '',
    );
  }

  /** Replaces matches. `replacement`: called with the match and its groups. */
  replace(line: string, replacement: (match: readonly unknown[]) => string, all: boolean): string {
    const expression = all ? this.#all : this.#expression;
    const replaced = this.#bounded(() =>
      line.slice(0, MAX_LINE).replace(expression, (...match: unknown[]) => replacement(match)),
    );
    return replaced + line.slice(MAX_LINE);
  }

  #bounded<T>(work: () => T): T {
    if (this.#simple) return work();
    const context = createContext({ work });
    for (let attempt = 1; ; attempt++) {
      const before = process.cpuUsage();
      try {
        return script.runInContext(context, { timeout: TIMEOUT_MS }) as T;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        const { user, system } = process.cpuUsage(before);
        if (user + system >= (TIMEOUT_MS / 2) * 1000 || attempt === ATTEMPTS)
          throw new CommandError('the pattern takes too long', 2);
      }
    }
  }
}

const script = new Script('work()');

function translate(pattern: string, dialect: Dialect): string {
  if (dialect === 'fixed') return pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  let source = pattern;
  // In basic expressions, operators are escaped.
  if (dialect === 'basic') {
    source = pattern.replace(
      /\\([(){}|+?])|([(){}|+?])/g,
      (_, escaped?: string, plain?: string) => escaped ?? `\\${plain}`,
    );
  }
  for (const [name, characters] of CLASSES) source = source.replaceAll(name, characters);
  return source;
}
