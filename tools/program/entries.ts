// dist/entries.js: the entries of the package share one program. Otherwise an error of one would be
// no instance of the class of another.

import { loadProgram } from './load.ts';
import type { Entries, Program } from './program.ts';

let program: Program | undefined;

/** Returns the module of an entry. dist/<name>.js exports what it has. */
export function entry<Name extends keyof Entries>(name: Name): ReturnType<Entries[Name]> {
  program ??= loadProgram().program;
  return program.entries[name]() as ReturnType<Entries[Name]>;
}
