// The logs of several containers as one list of lines in the order of their times. Each container is
// followed by a request of its own; one that breaks continues from its last line.

import { type Clock, sleep, type Timer } from '../../browser/clock.ts';
import type { Api } from '../server/api.ts';
import { ApiError, isAbort, messageOf, UnreachableError } from '../server/api-error.ts';
import { linesOf } from '../text/lines.ts';
import { Store } from '../server/store.ts';

export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface LogLine {
  /** Grows with each line: the key of the line. */
  readonly id: number;
  readonly source: LogSource;
  /** RFC 3339 with nanoseconds, as the node wrote it. */
  readonly time: string;
  readonly text: string;
}

export interface LogOptions {
  readonly tailLines: number;
  readonly previous: boolean;
  readonly follow: boolean;
}

export interface LogSnapshot {
  readonly lines: readonly LogLine[];
  /** Lines that were dropped at the beginning, as there were too many. */
  readonly dropped: number;
  /** Why a container has no log, by pod/container. */
  readonly problems: ReadonlyMap<string, string>;
}

export interface LogConfig {
  readonly api: Api;
  readonly clock: Clock;
  readonly whenOnline: (signal: AbortSignal) => Promise<void>;
  readonly options: LogOptions;
}

/** More lines are dropped at the beginning. */
const MAX_LINES = 50_000;
const PUBLISH_MS = 100;
const RETRY_MS = 2000;
const MAX_RETRY_MS = 15_000;
const MAX_LINE_LENGTH = 1024 * 1024;

export const sourceKey = ({ pod, container }: LogSource): string => `${pod}/${container}`;

export class LogStream {
  readonly snapshot = new Store<LogSnapshot>({ lines: [], dropped: 0, problems: new Map() });
  readonly #config: LogConfig;
  readonly #abort = new AbortController();
  readonly #followed = new Map<string, AbortController>();
  readonly #problems = new Map<string, string>();
  #lines: LogLine[] = [];
  #pending: LogLine[] = [];
  #dropped = 0;
  #nextId = 0;
  #publishing: Timer | undefined;

  constructor(config: LogConfig) {
    this.#config = config;
  }

  close(): void {
    this.#abort.abort();
    for (const each of this.#followed.values()) each.abort();
    this.#publishing?.cancel();
  }

  /** Follows these containers and no others. Lines of others stay. */
  setSources(sources: readonly LogSource[]): void {
    const wanted = new Map(sources.map((source) => [sourceKey(source), source]));
    for (const [key, abort] of this.#followed) {
      if (wanted.has(key)) continue;
      abort.abort();
      this.#followed.delete(key);
      this.#problems.delete(key);
    }
    for (const [key, source] of wanted) {
      if (this.#followed.has(key)) continue;
      const abort = new AbortController();
      this.#followed.set(key, abort);
      void this.#follow(source, abort.signal);
    }
  }

  clear(): void {
    this.#lines = [];
    this.#pending = [];
    this.#dropped = 0;
    this.#publish();
  }

  async #follow(source: LogSource, signal: AbortSignal): Promise<void> {
    const { options, clock, whenOnline } = this.#config;
    let since = '';
    let retryMs = RETRY_MS;
    while (!signal.aborted) {
      try {
        const before = since;
        since = await this.#read(source, since, signal, () => this.#setProblem(source, undefined));
        if (since !== before) retryMs = RETRY_MS;
        if (!options.follow || options.previous) return;
      } catch (error) {
        if (signal.aborted || isAbort(error)) return;
        this.#setProblem(source, messageOf(error));
        // The container is not there yet, or the pod is gone: it is asked again, and less often.
        if (error instanceof ApiError && (error.code === 403 || error.code === 404)) return;
        if (error instanceof UnreachableError) await whenOnline(signal).catch(() => undefined);
        if (!options.follow) return;
      }
      await sleep(clock, retryMs, signal).catch(() => undefined);
      retryMs = Math.min(retryMs * 1.5, MAX_RETRY_MS);
    }
  }

  /** Reads until the log ends, and returns the time of its last line. */
  async #read(
    source: LogSource,
    since: string,
    signal: AbortSignal,
    onOpen: () => void,
  ): Promise<string> {
    const { api, options } = this.#config;
    const query = new URLSearchParams({ container: source.container, timestamps: 'true' });
    if (options.follow && !options.previous) query.set('follow', 'true');
    if (options.previous) query.set('previous', 'true');
    if (since === '') query.set('tailLines', String(options.tailLines));
    // The parameter has seconds: lines of the same second are recognized by their times.
    else query.set('sinceTime', `${since.slice(0, 19)}Z`);
    const path =
      `/api/v1/namespaces/${encodeURIComponent(source.namespace)}` +
      `/pods/${encodeURIComponent(source.pod)}/log?${query}`;
    const response = await api.request(path, { accept: '*/*', signal });
    onOpen();
    if (response.body === null) return since;
    let last = since;
    for await (const texts of linesOf(response.body, MAX_LINE_LENGTH)) {
      for (const text of texts) {
        const space = text.indexOf(' ');
        const time = space === -1 ? '' : text.slice(0, space);
        if (since !== '' && time <= since) continue;
        if (time > last) last = time;
        this.#pending.push({ id: this.#nextId++, source, time, text: text.slice(space + 1) });
      }
      this.#publishSoon();
    }
    return last;
  }

  #setProblem(source: LogSource, problem: string | undefined): void {
    const key = sourceKey(source);
    if (problem === undefined) this.#problems.delete(key);
    else if (this.#followed.has(key)) this.#problems.set(key, problem);
    this.#publishSoon();
  }

  #publishSoon(): void {
    this.#publishing ??= this.#config.clock.setTimer(PUBLISH_MS, () => this.#publish());
  }

  #publish(): void {
    this.#publishing?.cancel();
    this.#publishing = undefined;
    this.#lines = mergeLines(this.#lines, this.#pending);
    this.#pending = [];
    const excess = this.#lines.length - MAX_LINES;
    if (excess > 0) {
      this.#lines = this.#lines.slice(excess);
      this.#dropped += excess;
    }
    this.snapshot.set({
      lines: this.#lines,
      dropped: this.#dropped,
      problems: new Map(this.#problems),
    });
  }
}

/** Returns the lines in the order of their times; lines of the same time in the order of arrival. */
export function mergeLines(lines: readonly LogLine[], added: readonly LogLine[]): LogLine[] {
  const sorted = added.toSorted(byTime);
  const first = sorted[0];
  const last = lines.at(-1);
  if (first === undefined) return [...lines];
  if (last === undefined || byTime(last, first) <= 0) return [...lines, ...sorted];
  // New lines are nearly always the last ones: only the part that overlaps is sorted again.
  let start = lines.length;
  while (start > 0 && byTime(lines[start - 1]!, first) > 0) start--;
  return [...lines.slice(0, start), ...[...lines.slice(start), ...sorted].sort(byTime)];
}

const byTime = (a: LogLine, b: LogLine): number =>
  a.time < b.time ? -1 : a.time > b.time ? 1 : a.id - b.id;
