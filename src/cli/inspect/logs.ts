// `cox logs [COMPONENT]`: the log of a cluster in the background.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { dataDirLayout, readClaim } from '#cluster/data-dir/data-dir.ts';
import { UserError } from '#cluster/user-error.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { printableJson, printableLines } from '#machinery/text/printable.ts';
import { shortest, stopSignal } from '../terminal.ts';
import { componentNamed, COMPONENTS, LogFilter, LogLines } from './log-lines.ts';
import type { OutputFlags } from './output.ts';

export interface LogsFlags extends OutputFlags {
  readonly dataDir: string;
  readonly follow?: boolean;
  /** Milliseconds. */
  readonly since?: number;
  readonly tail?: number;
}

const CHUNK = 64 * 1024;
const POLL_MS = 200;
/** A longer line is cut. */
const MAX_LINE = 256 * 1024;
/** Without a number, all lines. With one, no more are kept in memory. */
const MAX_TAIL = 1_000_000;

export async function logs(typed: string | undefined, flags: LogsFlags): Promise<void> {
  const layout = dataDirLayout(flags.dataDir);
  const component = typed === undefined ? undefined : componentNamed(typed);
  if (typed !== undefined && component === undefined)
    throw new UserError(
      `there is no component ${JSON.stringify(typed)}: there are ${COMPONENTS.join(', ')}`,
    );
  // The private containerd has a log of its own.
  const file =
    component === 'containerd' ? join(layout.containerd, 'containerd.log') : layout.logFile;
  const handle = await openLog(file, component);
  const stop = flags.follow === true ? stopSignal().signal : undefined;
  try {
    const lines = new LogLines();
    const shown = (line: string): string =>
      flags.output === 'json' ? printableJson(lines.describe(line)) : printableLines(line);
    const since = flags.since === undefined ? {} : { since: systemClock.now() - flags.since };
    await copyLog({
      handle,
      filter: new LogFilter({ ...(component !== undefined && { component }), ...since }),
      write: (line) => void process.stdout.write(`${shown(line)}\n`),
      clock: systemClock,
      ...(flags.tail !== undefined && { tail: Math.min(flags.tail, MAX_TAIL) }),
      ...(stop !== undefined && {
        follow: { signal: stop, running: () => readClaim(layout).state === 'running' },
      }),
    });
  } finally {
    await handle.close();
  }
}

async function openLog(file: string, component: string | undefined): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const why =
      component === 'containerd'
        ? 'the cluster has run no containerd of its own'
        : "only 'cox up --detach' writes one; without it the log goes to the terminal";
    throw new UserError(`there is no log ${shortest(file)}: ${why}`, { cause: error });
  }
}

export interface CopyLogConfig {
  readonly handle: Pick<FileHandle, 'read' | 'stat'>;
  readonly filter: LogFilter;
  readonly write: (line: string) => void;
  readonly clock: Clock;
  /** Only the last lines that pass, of those that are there already. */
  readonly tail?: number;
  /** Goes on until the signal aborts, or until the cluster has ended and all is written. */
  readonly follow?: { readonly signal: AbortSignal; readonly running: () => boolean };
}

/** Writes the lines that pass the filter. */
export async function copyLog(config: CopyLogConfig): Promise<void> {
  const { handle, filter, clock, tail, follow } = config;
  const kept: string[] = [];
  let live = tail === undefined;
  const take = (line: string): void => {
    if (!filter.accepts(line)) return;
    if (live) return config.write(line);
    kept.push(line);
    // Not one by one: that would move the array each time.
    if (kept.length > 2 * (tail ?? 0) + 1000) kept.splice(0, kept.length - (tail ?? 0));
  };
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(CHUNK);
  let rest = '';
  let position = 0;
  for (;;) {
    // Asked before reading: what the cluster wrote before its end is read then.
    const running = follow?.running() ?? false;
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, position);
    position += bytesRead;
    if (bytesRead > 0) {
      const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
      rest = (lines.pop() ?? '').slice(0, MAX_LINE);
      for (const line of lines) take(line);
      continue;
    }
    if (!live) {
      for (const line of kept.slice(tail === 0 ? kept.length : -(tail ?? 0))) config.write(line);
      live = true;
    }
    // A rotated log begins anew.
    if (follow !== undefined && (await handle.stat()).size < position) {
      position = 0;
      continue;
    }
    if (follow === undefined || !running) break;
    try {
      await clock.sleep(POLL_MS, follow.signal);
    } catch (error) {
      if (follow.signal.aborted) return;
      throw error;
    }
  }
  if (rest !== '') take(rest);
}
