// Regular expressions of grep and sed, on those of JavaScript. A pattern can take exponential time
// there; a match that takes long is given up, so that no script holds up the process.

import { createContext, Script } from 'node:vm';
import { CommandError } from './process.ts';

export type Dialect = 'basic' | 'extended' | 'fixed';

const MAX_PATTERN = 1000;
/** The part of a line that is matched, at most. */
const MAX_LINE = 64 * 1024;
const TIMEOUT_MS = 20;
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
   * At most one repetition: the time grows with the square of the line at most, and lines are short
   * then.
   */
  readonly #simple: boolean;

  /** Throws CommandError. */
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

  /** All matches that are not empty. */
  matches(line: string): readonly string[] {
    return this.#bounded(() => line.slice(0, MAX_LINE).match(this.#all) ?? []).filter(
      (each) => each !== '',
    );
  }

  /** `replacement` gets the match and its groups. */
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
    try {
      return script.runInContext(context, { timeout: TIMEOUT_MS }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      throw new CommandError('the pattern takes too long', 2);
    }
  }
}

const script = new Script('work()');

function translate(pattern: string, dialect: Dialect): string {
  if (dialect === 'fixed') return pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  let source = pattern;
  // In basic expressions the operators are the escaped ones.
  if (dialect === 'basic') {
    source = pattern.replace(
      /\\([(){}|+?])|([(){}|+?])/g,
      (_, escaped?: string, plain?: string) => escaped ?? `\\${plain}`,
    );
  }
  for (const [name, characters] of CLASSES) source = source.replaceAll(name, characters);
  return source;
}
