// The IDs of which pods get ranges: those that the machine reserves for its user `kubelet`.

import { execute } from '#machinery/execute.ts';
import type { IdRange } from './id-ranges.ts';

/** The name of the user, which no process needs to have. */
const USER = 'kubelet';

export class SubordinateIdsError extends Error {}

/** Resolves with the output of a program; undefined if it is not installed. */
export type RunProgram = (
  program: string,
  args: readonly string[],
) => Promise<{ readonly status: number; readonly output: string } | undefined>;

/**
 * Returns the subordinate IDs of the user. Returns undefined if there is no such user, or no program
 * `getsubids`. Rejects with SubordinateIdsError if the user exists and its IDs cannot be read: the
 * program may have asked another machine.
 */
export async function readSubordinateIds(
  run: RunProgram = runProgram,
): Promise<IdRange | undefined> {
  const user = await run('id', ['-u', USER]);
  if (user === undefined || user.status !== 0) return undefined;
  const uids = await run('getsubids', [USER]);
  if (uids === undefined) return undefined;
  if (uids.status !== 0) {
    throw new SubordinateIdsError(
      `error retrieving additional uids for user "${USER}": exit status ${uids.status}`,
    );
  }
  const gids = await run('getsubids', ['-g', USER]);
  if (gids?.status !== 0)
    throw new SubordinateIdsError(`error retrieving additional gids for user "${USER}"`);
  if (uids.output !== gids.output)
    throw new SubordinateIdsError(`mismatched subuids and subgids for user "${USER}"`);
  return parseSubordinateIds(uids.output);
}

/** Parses '0: kubelet 65536 2147483648'. */
export function parseSubordinateIds(output: string): IdRange {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  const [line = ''] = lines;
  if (lines.length !== 1) {
    throw new SubordinateIdsError(
      `error parsing line ${JSON.stringify(output)}: it must contain only one line`,
    );
  }
  const match = /^\s*\S+\s+\S+\s+(\d{1,10})\s+(\d{1,10})\s*$/.exec(line);
  const first = Number(match?.[1]);
  const length = Number(match?.[2]);
  if (match === null || first >= 2 ** 32 || length >= 2 ** 32)
    throw new SubordinateIdsError(`invalid line ${JSON.stringify(output)}`);
  return { first, length };
}

const runProgram: RunProgram = async (program, args) => {
  try {
    const { code, stdout } = await execute([program, ...args], '');
    return { status: code, output: stdout };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
