// The places at which a server can be ended on the way of a write to the disk: before, in the
// middle of and after every kind of operation that its commit path does on every one of its files,
// found by watching a server under load.

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
  /** Only a server that makes a new store comes by. */
  readonly ofNewStore: boolean;
  /**
   * How often a server came by, from its start on; without its start, if it also comes by later.
   */
  readonly times: number;
}

export function nameOfFailpoint({ kind, file, when }: Failpoint): string {
  return `${when} ${kind} ${file}`;
}

/**
 * What the file layer is to do: end the process there, when it comes by for the `nth` time (from
 * 1).
 */
export function endAt({ kind, file, when }: Failpoint, nth: number): string {
  return `point:${kind}:${when}:${nth}:${file}`;
}

/** What is done often is tried this often at most, counted from the start of a server. */
const MOST_TIMES = 300;

/**
 * `load` brings the server to do everything that it ever does to its files. What is done under load
 * comes first.
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

/** How often a server may come by before it ends there: not so often that it might not. */
export function someTime({ ofNewStore, times }: Failpoint, random: Random): number {
  return 1 + random.int(Math.min(ofNewStore ? times : Math.ceil(times / 2), MOST_TIMES));
}
