// The ways in which a script leaves what it runs, as errors that the shell catches.

import { ExpansionError } from './expand.ts';

/** The end of this shell: `exit`, `set -e`, a failed expansion. */
export class ShellExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** The end of a function, or of a script. */
export class ReturnSignal extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`return ${code}`);
    this.code = code;
  }
}

/** The end of a turn of loops, or of the loops themselves. */
export class LoopSignal extends Error {
  readonly kind: 'break' | 'continue';
  levels: number;

  constructor(kind: 'break' | 'continue', levels: number) {
    super(kind);
    this.kind = kind;
    this.levels = levels;
  }
}

/** Returns the exit code of `exit` or `return`. `status`: that of the last command. Throws ExpansionError. */
export function exitCode(text: string | undefined, status: number): number {
  if (text === undefined) return status;
  if (!/^-?\d+$/.test(text)) throw new ExpansionError(`exit: Illegal number: ${text}`);
  return Number(text) & 255;
}
