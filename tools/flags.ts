// Reads the flags of a script of this repository. `--help` and flags that cannot be read end the
// process with a text for the user, not with a stack.

import { parseArgs } from 'node:util';

interface Flag {
  readonly type: 'string' | 'boolean';
  readonly default?: string | boolean;
}

type Flags = Readonly<Record<string, Flag>>;
type ValueOf<F extends Flag> = F['type'] extends 'boolean' ? boolean : string;

/** The values by flag. A flag without a default may be undefined. */
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends { readonly default: string | boolean }
    ? ValueOf<F[K]>
    : ValueOf<F[K]> | undefined;
};

export type ReadFlags<F extends Flags> =
  | { readonly values: FlagValues<F> }
  /** The text to print instead of running, and the exit status. */
  | { readonly text: string; readonly status: 0 | 2 };

/** Returns the values of the flags, or what to print if they ask for help or cannot be read. */
export function readFlags<const F extends Flags>(
  command: string,
  usage: string,
  flags: F,
  args: readonly string[],
): ReadFlags<F> {
  try {
    const options = { ...flags, help: { type: 'boolean' as const, default: false } };
    const { values }: { readonly values: object } = parseArgs({ args: [...args], options });
    return 'help' in values && values.help === true
      ? { text: usage, status: 0 }
      : { values: values as FlagValues<F> };
  } catch (error) {
    const isUsersError =
      error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
    if (!isUsersError) throw error;
    return { text: `${command}: ${error.message}\n${usage}`, status: 2 };
  }
}

/** Returns the values of this process's flags. Does not return if there is a text to print. */
export function parseFlags<const F extends Flags>(
  command: string,
  usage: string,
  flags: F,
): FlagValues<F> {
  const read = readFlags(command, usage, flags, process.argv.slice(2));
  if ('values' in read) return read.values;
  (read.status === 0 ? process.stdout : process.stderr).write(read.text);
  process.exit(read.status);
}
