// The state of a shell: variables, functions, options, parameters and jobs. A subshell gets a copy.

import type { Random } from '#machinery/random.ts';
import type { Command } from './ast.ts';
import { ExpansionError } from './expand.ts';
import { MAX_TEXT } from './kernel.ts';

export interface Variable {
  value: string;
  exported: boolean;
  readOnly: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Reports whether the text is a valid name of a variable. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

export class ShellState {
  readonly #random: Random;
  variables = new Map<string, Variable>();
  functions = new Map<string, Command>();
  /** Options by their letters, and `pipefail`. */
  options = new Set<string>();
  /** Exit codes of background commands. A copy has none. */
  readonly jobs: Promise<number>[] = [];
  positional: readonly string[] = [];
  /** $0. */
  name = 'sh';
  directory: string;
  /** $?. */
  status = 0;

  constructor(random: Random, directory: string) {
    this.#random = random;
    this.directory = directory;
  }

  copy(): ShellState {
    const copy = new ShellState(this.#random, this.directory);
    copy.variables = new Map(
      [...this.variables].map(([name, variable]) => [name, { ...variable }]),
    );
    copy.functions = new Map(this.functions);
    copy.options = new Set(this.options);
    copy.positional = this.positional;
    copy.name = this.name;
    copy.status = this.status;
    return copy;
  }

  /** Returns the value of a variable or of a special parameter such as `?`. */
  get(name: string): string | undefined {
    switch (name) {
      case '?':
        return String(this.status);
      case '#':
        return String(this.positional.length);
      case '$':
        return '1';
      case '!':
        return this.jobs.length === 0 ? '' : String(this.jobs.length + 1);
      case '-':
        return [...this.options].join('');
      case '0':
        return this.name;
      case '@':
      case '*':
        return this.positional.join(' ');
      case 'RANDOM':
        return String(Math.floor(this.#random.float() * 32_768));
      default:
        return /^\d+$/.test(name)
          ? this.positional[Number(name) - 1]
          : this.variables.get(name)?.value;
    }
  }

  /**
   * Sets a variable. Throws ExpansionError if the name is invalid, or the variable is read-only.
   */
  set(name: string, value: string): void {
    if (!NAME.test(name)) throw new ExpansionError(`${name}: bad variable name`);
    if (value.length > MAX_TEXT) throw new ExpansionError('out of memory');
    const present = this.variables.get(name);
    if (present?.readOnly === true) throw new ExpansionError(`${name}: is read only`);
    if (present === undefined)
      this.variables.set(name, { value, exported: this.options.has('a'), readOnly: false });
    else present.value = value;
  }

  /** Sets or clears the options of one word: `-eu`, `+e`. */
  setOptions(text: string): void {
    for (const letter of text.slice(1)) {
      if (text.startsWith('-')) this.options.add(letter);
      else this.options.delete(letter);
    }
  }

  /** Sets or clears the option of a long name: `-o errexit`. */
  setLong(name: string, on: boolean): void {
    const letters: Readonly<Record<string, string>> = {
      errexit: 'e',
      nounset: 'u',
      xtrace: 'x',
      noglob: 'f',
      pipefail: 'pipefail',
      allexport: 'a',
    };
    const letter = Object.hasOwn(letters, name) ? letters[name] : undefined;
    if (letter === undefined) throw new ExpansionError(`set: illegal option -o ${name}`);
    if (on) this.options.add(letter);
    else this.options.delete(letter);
  }
}
