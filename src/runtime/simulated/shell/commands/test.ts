// The commands `test` and `[`.

import { CommandError, type CommandFunction, pathOf, type Process } from '../process.ts';

const USAGE_ERROR = 2;

export const test: CommandFunction = (process) => {
  const args = [...process.args];
  if (process.name === '[' && args.pop() !== ']') throw new CommandError('missing ]', USAGE_ERROR);
  const evaluator = new Evaluator(process, args);
  return Promise.resolve(evaluator.all() ? 0 : 1);
};

type Binary = (a: string, b: string) => boolean;

const BINARY: Readonly<Record<string, Binary>> = {
  '=': (a, b) => a === b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '-eq': (a, b) => number(a) === number(b),
  '-ne': (a, b) => number(a) !== number(b),
  '-lt': (a, b) => number(a) < number(b),
  '-le': (a, b) => number(a) <= number(b),
  '-gt': (a, b) => number(a) > number(b),
  '-ge': (a, b) => number(a) >= number(b),
};

function number(text: string): number {
  if (!/^\s*[-+]?\d+\s*$/.test(text)) throw new CommandError(`${text}: bad number`, USAGE_ERROR);
  return Number(text);
}

class Evaluator {
  readonly #process: Process;
  readonly #args: readonly string[];
  #position = 0;

  constructor(process: Process, args: readonly string[]) {
    this.#process = process;
    this.#args = args;
  }

  all(): boolean {
    if (this.#args.length === 0) return false;
    const value = this.#or();
    if (this.#position < this.#args.length)
      throw new CommandError(`${this.#args[this.#position]}: unknown operand`, USAGE_ERROR);
    return value;
  }

  #or(): boolean {
    let value = this.#and();
    while (this.#accept('-o')) value = this.#and() || value;
    return value;
  }

  #and(): boolean {
    let value = this.#not();
    while (this.#accept('-a')) value = this.#not() && value;
    return value;
  }

  #not(): boolean {
    // A single `!` is an ordinary text.
    if (this.#args.length - this.#position > 1 && this.#accept('!')) return !this.#not();
    return this.#primary();
  }

  #primary(): boolean {
    const first = this.#take();
    const operator = this.#args[this.#position] ?? '';
    if (Object.hasOwn(BINARY, operator) && this.#position + 1 < this.#args.length) {
      this.#position++;
      return BINARY[operator]!(first, this.#take());
    }
    if (first === '(') {
      const value = this.#or();
      if (!this.#accept(')')) throw new CommandError('closing paren expected', USAGE_ERROR);
      return value;
    }
    if (/^-[a-zA-Z]$/.test(first) && this.#position < this.#args.length)
      return this.#unary(first, this.#take());
    return first !== '';
  }

  #unary(operator: string, value: string): boolean {
    if (operator === '-n') return value !== '';
    if (operator === '-z') return value === '';
    if (operator === '-t') return false;
    const node = this.#process.kernel.config.files.find(
      pathOf(this.#process, value),
      operator !== '-L' && operator !== '-h',
    );
    switch (operator) {
      case '-e':
      case '-r':
      case '-w':
        return node !== undefined;
      case '-f':
        return node?.kind === 'file';
      case '-d':
        return node?.kind === 'directory';
      case '-L':
      case '-h':
        return node?.kind === 'link';
      case '-c':
        return node?.kind === 'device';
      case '-s':
        return node?.kind === 'file' ? node.content.length > 0 : node !== undefined;
      case '-x':
        return node !== undefined && 'mode' in node && (node.mode & 0o111) !== 0;
      case '-p':
      case '-S':
      case '-b':
        return false;
      default:
        throw new CommandError(`${operator}: unknown operand`, USAGE_ERROR);
    }
  }

  #take(): string {
    const arg = this.#args[this.#position++];
    if (arg === undefined) throw new CommandError('argument expected', USAGE_ERROR);
    return arg;
  }

  #accept(text: string): boolean {
    if (this.#args[this.#position] !== text) return false;
    this.#position++;
    return true;
  }
}
