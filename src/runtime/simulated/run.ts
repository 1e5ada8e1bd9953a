// Runs a simulated program: the first process of a container, or a command in it.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import { COMMANDS } from './shell/commands/index.ts';
import type { FileSystem } from './shell/file-system.ts';
import { BrokenPipe, type Streams } from './shell/io.ts';
import {
  Kernel,
  ProgramExit,
  type Replay,
  RunsForever,
  type UnknownPolicy,
} from './shell/kernel.ts';
import { Shell } from './shell/shell.ts';

/** An exit code, or that the process runs until it is stopped. */
export type Outcome = number | 'forever';

export interface ProgramContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  readonly uid: number;
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** Called when a program first needs files. */
  readonly files: () => FileSystem;
  readonly unknown: UnknownPolicy;
  /** Set for a program that was started in the past. */
  readonly replay?: Replay;
}

const SHELLS = new Set(['sh', 'bash', 'ash', 'dash', 'busybox']);

/**
 * Reports whether the program of a command line is simulated. If not, the first process of a
 * container is treated as a server.
 */
export function isSimulated(command: readonly string[]): boolean {
  const name = command[0]?.slice(command[0].lastIndexOf('/') + 1) ?? '';
  return SHELLS.has(name) || Object.hasOwn(COMMANDS, name);
}

/** Runs the program. Resolves with its outcome. Rejects with the signal's reason. */
export async function runProgram(
  command: readonly string[],
  context: ProgramContext,
  streams: Streams,
  signal: AbortSignal,
): Promise<Outcome> {
  const { clock, random, hostname, uid, unknown, replay } = context;
  const kernel = new Kernel({
    clock,
    random,
    hostname,
    uid,
    unknown,
    replay,
    signal,
    get files() {
      return context.files();
    },
  });
  const env = new Map(
    Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/root', ...context.env }),
  );
  const shell = new Shell({ kernel, env, directory: context.workingDir, ...streams });
  try {
    return await shell.command(command);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProgramExit) return error.code;
    if (error instanceof RunsForever) return 'forever';
    if (error instanceof BrokenPipe) return 141;
    throw error;
  }
}
