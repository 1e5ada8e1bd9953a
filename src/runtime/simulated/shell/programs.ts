// Programs in the files of a container: those that are simulated, and scripts.

import { COMMANDS } from './commands/index.ts';
import type { ExpansionContext } from './expand.ts';
import { FileError, resolvePath } from './file-system.ts';
import { BrokenPipe, writeText } from './io.ts';
import { CommandError, type CommandFunction, type Process } from './process.ts';

/** The exit code of a program whose output nothing reads any more. */
export const EXIT_SIGPIPE = 141;
/** A failed program is expensive: other programs run before the next one. */
const FAILURE_COST = 200;
const DIRECTORIES: readonly string[] = ['/bin', '/usr/bin', '/usr/local/bin', '/sbin', '/usr/sbin'];

/**
 * Returns the simulated program of a name, or of a path in the directories of programs; undefined if
 * there is none. `directory`: the working directory.
 */
export function programAt(path: string, directory: string): CommandFunction | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (!Object.hasOwn(COMMANDS, name)) return undefined;
  const isInstalled =
    !path.includes('/') ||
    DIRECTORIES.includes(resolvePath(directory, path).replace(/\/[^/]*$/, ''));
  return isInstalled ? COMMANDS[name] : undefined;
}

/** Returns the text of an executable file that was written; undefined if the path names none. */
export function scriptAt(
  path: string,
  directory: string,
  files: ExpansionContext['files'],
): string | undefined {
  if (!path.includes('/')) return undefined;
  const node = files.find(resolvePath(directory, path));
  return node?.kind === 'file' && (node.mode & 0o111) !== 0 ? node.content.toString() : undefined;
}

/** Runs a program. Resolves with its exit code; the message of a failure is in its stderr. */
export async function runProgram(program: CommandFunction, process: Process): Promise<number> {
  try {
    return await program(process);
  } catch (error) {
    if (error instanceof BrokenPipe) return EXIT_SIGPIPE;
    if (!(error instanceof CommandError || error instanceof FileError)) throw error;
    await process.kernel.step(FAILURE_COST);
    await writeText(process.stderr, `${process.name}: ${error.message}\n`);
    return error instanceof CommandError ? error.code : 1;
  }
}
