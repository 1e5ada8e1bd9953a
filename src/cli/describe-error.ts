// Describes an error that ends the command. The text never contains a line of the program: in the
// built one they are of 100 KB.

import { CommanderError } from 'commander';
import { UserError } from '#cluster/user-error.ts';
import { typed } from './own-command.ts';

const MAX_MESSAGE = 1000;
const MAX_FRAMES = 12;
const MAX_FRAME = 160;

/**
 * Returns what to write to stderr, and the exit status:
 *
 * - errors that a user can mend: the message, which says how, as one line;
 * - errors of the command line: one line;
 * - everything else is a bug: a message and the frames of the stack, shortened.
 */
export function describeError(err: unknown): { readonly text: string; readonly status: number } {
  if (err instanceof UserError)
    return {
      text: `cox: ${typed(cut(oneLine(err.message), 4 * MAX_MESSAGE))}\n`,
      status: err.exitCode,
    };
  if (err instanceof CommanderError) return describeUsage(err);
  // The reader of the output has ended, as `head` does.
  if ((err as NodeJS.ErrnoException | null)?.code === 'EPIPE') return { text: '', status: 1 };
  const { name = 'Error', message = String(err), stack = '' } = err instanceof Error ? err : {};
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const shown = frames.slice(0, MAX_FRAMES).map((frame) => `${cut(frame, MAX_FRAME)}\n`);
  return {
    text: `cox: internal error: ${name}: ${cut(oneLine(message), MAX_MESSAGE)}\n${shown.join('')}`,
    status: 1,
  };
}

function describeUsage({ message, exitCode, code }: CommanderError): {
  readonly text: string;
  readonly status: number;
} {
  // Help and versions have been printed by then.
  if (exitCode === 0 || code === 'commander.help') return { text: '', status: exitCode };
  return {
    text: `cox: ${cut(oneLine(message.replace(/^error: /, '')), MAX_MESSAGE)}\n`,
    status: exitCode,
  };
}

const oneLine = (text: string): string => text.trim().replace(/\s*\n\s*/g, ' ');

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length)}…`;
