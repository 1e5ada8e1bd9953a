// Finds the points at which a server can be ended while it writes to the disk: before, in the
// middle of, and after every kind of operation of its commit path on each of its files. A server
// under load is watched to find them.

import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Random } from '#machinery/random.ts';
import { type FileLayer, readTrace } from './file-layer.ts';
import { Server } from './server.ts';

export interface Failpoint {
  readonly kind: 'write' | 'truncate' | 'sync' | 'unlink';
  /** The end of the file's path. `/acks` stands for the moment between a commit and its answer. */
  readonly file: string;
  readonly when: 'before' | 'half' | 'after';
  /** Only a server that creates a new store reaches the point. */
  readonly ofNewStore: boolean;
  /**
   * How often a server reached the point, counted from its start; without the start, if it also
   * reaches the point later.
   */
  readonly times: number;
}

export function nameOfFailpoint({ kind, file, when }: Failpoint): string {
  return `${when} ${kind} ${file}`;
}

/**
 * Returns the order for the file layer: end the process at this point, when it is reached for the
 * `nth` time (from 1).
 */
export function endAt({ kind, file, when }: Failpoint, nth: number): string {
  return `point:${kind}:${when}:${nth}:${file}`;
}

/** The limit of attempts for frequent points, counted from the start of a server. */
const MOST_TIMES = 300;

/**
 * Returns the points, with those under load first. `load` makes the server do every kind of
 * operation that it ever does on its files.
 */
export async function findFailpoints(options: {
  readonly program: string;
  readonly layer: FileLayer;
  readonly load: (server: Server) => Promise<void>;
}): Promise<Failpoint[]> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-points-')));
  const trace = `${dir}.trace`;
  const count = (bytes: Buffer): Map<string, number> => {
    const times = new Map<string, number>();
    for (const { kind, path } of readTrace(bytes)) {
      if (kind === 'create') continue;
      const name = `${kind} /${basename(path)}`;
      times.set(name, (times.get(name) ?? 0) + 1);
    }
    return times;
  };
  try {
    const server = Server.start(options.program, dir, options.layer.env({ dir, trace }));
    if ((await server.ready) === undefined)
      throw new Error(`the server does not start: ${server.errors}`);
    const atStart = count(readFileSync(trace));
    await options.load(server);
    await server.kill();
    const failpoints = [...count(readFileSync(trace))].flatMap(([name, total]): Failpoint[] => {
      const [kind, file] = name.split(' ') as [Failpoint['kind'], string];
      const later = total - (atStart.get(name) ?? 0);
      const place = { kind, file, ofNewStore: later === 0, times: later || total };
      const moments =
        kind === 'write' ? (['before', 'half', 'after'] as const) : (['before', 'after'] as const);
      return moments.map((when) => ({ ...place, when }));
    });
    return failpoints.sort((a, b) => Number(a.ofNewStore) - Number(b.ofNewStore));
  } finally {
    rmSync(dir, { recursive: true, force: true });
    rmSync(trace, { force: true });
  }
}

/**
 * Returns after how many times at the point the server ends: few enough that the server surely
 * reaches the point so often.
 */
export function someTime({ ofNewStore, times }: Failpoint, random: Random): number {
  return 1 + random.int(Math.min(ofNewStore ? times : Math.ceil(times / 2), MOST_TIMES));
}
