// Reports when the whole machine ran out of memory, and the kernel killed a process for it. A
// container that exceeds its own limit is not such a case: its status says OOMKilled.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

export interface OomKill {
  readonly process: string;
  readonly pid: number;
  /** The cgroup whose limit was exceeded; '/' for the machine. */
  readonly cgroup: string;
}

const FIRST_LINE = /invoked oom-killer:/;
/** Since Linux 5.0. A shortage of the whole machine has no oom_memcg. */
const SUMMARY = /oom-kill:constraint=.*,oom_memcg=(.*),task_memcg=.*,task=(.*),pid=(\d+),uid=\d+/;
const LEGACY_CGROUP = /Task in .* killed as a result of limit of (.*)/;
const LAST_LINE = /Killed process (\d+) \((.+)\)/;
/** A report has fewer lines than this, even with a list of all processes. */
const MAX_LINES = 10_000;

/** Finds reports of kills in the messages of the kernel, which are several lines each. */
export class OomParser {
  /** The lines since the first one of a report; undefined outside of a report. */
  #lines: number | undefined;
  #cgroup = '/';

  /** Takes the next message. Returns the kill if its report is complete. */
  next(message: string): OomKill | undefined {
    if (FIRST_LINE.test(message)) {
      this.#lines = 0;
      this.#cgroup = '/';
      return undefined;
    }
    if (this.#lines === undefined) return undefined;
    if (++this.#lines > MAX_LINES) return this.#end(undefined);
    const summary = SUMMARY.exec(message);
    if (summary !== null)
      return this.#end({
        cgroup: summary[1] ?? '',
        process: summary[2] ?? '',
        pid: Number(summary[3]),
      });
    this.#cgroup = LEGACY_CGROUP.exec(message)?.[1] ?? this.#cgroup;
    const last = LAST_LINE.exec(message);
    if (last === null) return undefined;
    return this.#end({ cgroup: this.#cgroup, process: last[2] ?? '', pid: Number(last[1]) });
  }

  #end(kill: OomKill | undefined): OomKill | undefined {
    this.#lines = undefined;
    return kill;
  }
}

export interface OomWatcherConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Opens the messages of the kernel; rejects if they cannot be read. */
  readonly open: () => Promise<{
    read(): Promise<readonly string[]>;
    close(): Promise<void>;
  }>;
  readonly onSystemOom: (message: string) => void;
}

const PERIOD_MS = 5000;
/** The log of the kernel is read to its end at the start, unless it grows all the time. */
const MAX_OLD_READS = 100;

/** Reports kills until the signal aborts. Returns at once if the messages cannot be read. */
export async function watchSystemOoms(
  { clock, logger, open, onSystemOom }: OomWatcherConfig,
  signal: AbortSignal,
): Promise<void> {
  let log;
  try {
    log = await open();
  } catch (error) {
    logger.info('OOM watcher: kernel messages not readable, system OOMs are not reported', {
      err: error,
    });
    return;
  }
  try {
    // Older messages were reported by an earlier kubelet, or happened without any.
    for (let reads = 0; reads < MAX_OLD_READS; reads++) if ((await log.read()).length === 0) break;
    const parser = new OomParser();
    while (!signal.aborted) {
      await clock.sleep(PERIOD_MS, signal);
      for (const message of await log.read()) {
        const kill = parser.next(message);
        if (kill?.cgroup !== '/') continue;
        const victim = `victim process: ${kill.process}, pid: ${kill.pid}`;
        onSystemOom(`System OOM encountered, ${victim}`);
      }
    }
  } catch (error) {
    if (!signal.aborted) logger.warn('OOM watcher: stopped', { err: error });
  } finally {
    await log.close();
  }
}
