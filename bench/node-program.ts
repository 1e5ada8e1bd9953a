// The versions of Node that run the built program.

import { spawnSync } from 'node:child_process';
import { UserError } from '#cluster/user-error.ts';

/** The path of the Node that runs it: COX_NODE, or that of this process. */
export const NODE_PROGRAM = process.env.COX_NODE ?? process.execPath;

export interface NodeProgram {
  readonly path: string;
  /** Without the patch: `20.20`. */
  readonly version: string;
}

/** Returns the program with its version. Throws a UserError if it does not run. */
export function nodeAt(path: string): NodeProgram {
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const version = /^v(\d+\.\d+)\./.exec(stdout ?? '')?.[1];
  if (version === undefined)
    throw new UserError(`${path} does not print a version of Node`, { cause: error });
  return { path, version };
}
