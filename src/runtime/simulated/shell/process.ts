// The environment of a simulated command.

import { FileError, resolvePath } from './file-system.ts';
import { type Input, type Output, writeText } from './io.ts';
import type { Kernel } from './kernel.ts';

export interface Process {
  readonly kernel: Kernel;
  /** The name by which the command was called. */
  readonly name: string;
  readonly args: readonly string[];
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly directory: string;
  /** Exported variables. */
  readonly env: ReadonlyMap<string, string>;
  /** Runs another command with the same streams: env, xargs, timeout. */
  readonly run: (command: readonly string[], changes?: RunChanges) => Promise<number>;
}

export interface RunChanges {
  readonly env?: ReadonlyMap<string, string>;
  readonly stdin?: Input;
}

/** Resolves with the exit code. */
export type CommandFunction = (process: Process) => Promise<number>;

/** An error of a command, with its message on stderr: `NAME: message`. */
export class CommandError extends Error {
  readonly code: number;

  constructor(message: string, code = 1) {
    super(message);
    this.code = code;
  }
}

export function print(process: Process, text: string): Promise<void> {
  return writeText(process.stdout, text);
}

/** Writes a message to stderr and returns the exit code 1. */
export async function complain(process: Process, message: string): Promise<number> {
  await writeText(process.stderr, `${process.name}: ${message}\n`);
  return 1;
}

export function pathOf(process: Process, path: string): string {
  return resolvePath(process.directory, path);
}

/** Runs `work` for each path; a file error is reported for its path and makes the exit code 1. */
export async function eachPath(
  process: Process,
  paths: readonly string[],
  describe: (path: string) => string,
  work: (path: string) => Promise<void> | void,
): Promise<number> {
  let code = 0;
  for (const path of paths) {
    await process.kernel.step();
    try {
      await work(path);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      code = await complain(process, `${describe(path)}: ${error.message}`);
    }
  }
  return code;
}

export interface Options {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/**
 * Parses options. `flags`: letters without a value; `values`: letters with one. Long options are in
 * either list as `--name`. Throws CommandError for any other option: none is ignored.
 */
export function parseOptions(
  args: readonly string[],
  flags: string,
  values = '',
  long: readonly string[] = [],
): Options {
  const given = new Set<string>();
  const valued = new Map<string, string>();
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest[0]!;
    if (!arg.startsWith('-') || arg === '-') break;
    rest.shift();
    if (arg === '--') break;
    if (arg.startsWith('--')) {
      const [name = '', value] = arg.split(/=(.*)/s);
      if (long.includes(`${name}=`)) valued.set(name, value ?? rest.shift() ?? '');
      else if (long.includes(name) && value === undefined) given.add(name);
      else throw new CommandError(`unrecognized option: ${name.slice(2)}`);
      continue;
    }
    for (let i = 1; i < arg.length; i++) {
      const letter = arg[i]!;
      if (flags.includes(letter)) given.add(letter);
      else if (values.includes(letter)) {
        const value = arg.slice(i + 1) || rest.shift();
        if (value === undefined) throw new CommandError(`option requires an argument: ${letter}`);
        valued.set(letter, value);
        break;
      } else throw new CommandError(`unrecognized option: ${letter}`);
    }
  }
  return { flags: given, values: valued, operands: rest };
}
