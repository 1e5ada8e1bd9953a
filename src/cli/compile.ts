// `cox compile`: starts a cluster for a moment, so that Node compiles what a start needs, and keeps what was compiled.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UserError } from '#cluster/user-error.ts';
import { warmUp } from '#cluster/launch/warm-up.ts';
import type { Build } from './build.ts';
import { type OutputFlags, writeJson } from './inspect/output.ts';

/** `build`: undefined where the program runs from its sources. */
export async function compile(build: Build | undefined, flags: OutputFlags): Promise<void> {
  if (build === undefined)
    throw new UserError('only the built program can be compiled ahead of time: npm run build');
  const withoutFlags = process.execArgv.length === 0 ? undefined : compileWithoutFlags(flags);
  await warmUp();
  try {
    const compiled = build.keepCompiled();
    if (flags.output === 'json') writeJson({ compiled });
    else process.stdout.write(`compiled: ${compiled}\n`);
  } catch (error) {
    throw new UserError(`cannot keep what was compiled: ${(error as Error).message}`, {
      cause: error,
    });
  }
  // Handles of libraries that keep a process alive must not keep this one.
  process.exit((await withoutFlags) ?? 0);
}

/** Compiles for programs that import the package, with their flags. Returns the exit status. */
async function compileWithoutFlags({ output }: OutputFlags): Promise<number> {
  const child = spawn(process.execPath, process.argv.slice(1, 3), {
    // JSON is one value.
    stdio: ['inherit', output === 'json' ? 'ignore' : 'inherit', 'inherit'],
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  return status ?? 1;
}
