// The combined declarations of several libraries. They are cached per set of libraries, since
// environments differ mostly in their variables.

import type { NamedValue } from './checker.ts';
import type { Library, Overload } from './declarations.ts';
import type { Macro } from './macros.ts';
import { standardLibrary } from './standard/index.ts';
import { typeOf, type ObjectType } from './types.ts';
import { TypeValue } from './values.ts';

export interface Tables {
  readonly functions: ReadonlyMap<string, readonly Overload[]>;
  readonly names: ReadonlyMap<string, NamedValue>;
  readonly macros: readonly Macro[];
  readonly resolvers: readonly ((name: string) => ObjectType | undefined)[];
  readonly optionalSyntax: boolean;
}

const tablesByOption = {
  true: new WeakMap<readonly Library[], Tables>(),
  false: new WeakMap<readonly Library[], Tables>(),
};

/** Returns the declarations of the standard library and the given ones. */
export function tablesOf(libraries: readonly Library[], crossTypeComparisons: boolean): Tables {
  const cache = tablesByOption[`${crossTypeComparisons}`];
  let tables = cache.get(libraries);
  if (tables === undefined) {
    tables = makeTables([standardLibrary(crossTypeComparisons), ...libraries]);
    cache.set(libraries, tables);
  }
  return tables;
}

function makeTables(libraries: readonly Library[]): Tables {
  const functions = new Map<string, readonly Overload[]>();
  const names = new Map<string, NamedValue>();
  for (const library of libraries) {
    for (const [name, overloads] of Object.entries(library.functions ?? {})) {
      functions.set(name, [...(functions.get(name) ?? []), ...overloads]);
    }
    for (const [name, { type, value }] of Object.entries(library.constants ?? {})) {
      names.set(name, { name, type, constant: { value } });
    }
    for (const type of library.types ?? []) {
      if (type.kind !== 'object' && type.kind !== 'opaque') continue;
      names.set(type.name, {
        name: type.name,
        type: typeOf(type),
        constant: { value: new TypeValue(type.name) },
      });
    }
  }
  return {
    functions,
    names,
    macros: libraries.flatMap(({ macros }) => macros ?? []),
    resolvers: libraries.flatMap(({ resolve }) => resolve ?? []),
    optionalSyntax: libraries.some(({ optionalSyntax }) => optionalSyntax === true),
  };
}
