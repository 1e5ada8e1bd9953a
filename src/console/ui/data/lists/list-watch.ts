// Follows a collection: lists it in pages, then watches it from the list's resource version. Ends
// of the watch are normal; an expired version leads to a new list; errors back off.

import { type Clock, sleep } from '../../browser/clock.ts';
import type { Api } from '../server/api.ts';
import {
  ApiError,
  isAbort,
  isExpired,
  isForbidden,
  isNotFound,
  messageOf,
  type StatusBody,
  UnreachableError,
} from '../server/api-error.ts';
import { linesOf } from '../text/lines.ts';

export interface ListDocument {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

export type ListWatchState =
  | { readonly kind: 'loading'; readonly remaining?: number }
  | { readonly kind: 'live' }
  /** The last data stays valid; a retry follows. */
  | { readonly kind: 'retrying'; readonly message: string }
  /** Nothing follows: the user may not list, or the kind is not served. */
  | { readonly kind: 'failed'; readonly reason: 'forbidden' | 'gone'; readonly message: string };

/** Receives the collection. All calls come in order. */
export interface ListWatchSink<D extends ListDocument> {
  /** A list begins. Objects that it does not contain are gone when `listed` is called. */
  begin(): void;
  page(document: D): void;
  listed(): void;
  /** Events that arrived together; no BOOKMARK, no ERROR. */
  events(events: readonly WatchEvent[]): void;
  state(state: ListWatchState): void;
}

export interface ListWatchConfig<D extends ListDocument> {
  readonly api: Api;
  readonly clock: Clock;
  /** Resolves when the server answers and the session is valid. */
  readonly whenOnline: (signal: AbortSignal) => Promise<void>;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** The kinds' own subset; false follows no changes (kinds without watch). */
  readonly watch?: boolean;
  /** Returns the time after which a watch is asked to end, in seconds. Default: nine minutes. */
  readonly watchSeconds?: () => Promise<number>;
  readonly sink: ListWatchSink<D>;
}

/** The first page is small, so that the first rows are shown soon. */
const FIRST_PAGE = 250;
const NEXT_PAGE = 2000;
const MIN_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 15_000;
/** Kinds without watch are listed again after this time. */
const RELIST_MS = 15_000;
/** A watch is asked to end after this time, so that connections do not grow old. */
export const WATCH_SECONDS = 540;
/**
 * On a virtual clock a node's heartbeats are computed when the clock stops, unless a watch wants
 * each of them: a day would take minutes. Other servers ignore it.
 */
const LATEST_HEARTBEATS = { 'Coxswain-Heartbeats': 'latest' };

/** Follows the collection until the signal aborts, or it turns out that nothing can follow. */
export async function listWatch<D extends ListDocument>(
  config: ListWatchConfig<D>,
  signal: AbortSignal,
): Promise<void> {
  let backoffMs = MIN_BACKOFF_MS;
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        version = await listPages(config, signal);
        backoffMs = MIN_BACKOFF_MS;
      }
      if (config.watch === false) {
        await sleep(config.clock, RELIST_MS, signal);
        version = undefined;
        continue;
      }
      const started = config.clock.now();
      version = await watchFrom(config, version, signal);
      // A watch that ends at once, again and again, must not turn into a busy loop.
      if (config.clock.now() - started < MIN_BACKOFF_MS)
        await sleep(config.clock, MIN_BACKOFF_MS, signal);
      else backoffMs = MIN_BACKOFF_MS;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (error instanceof WatchBroken) version = error.version;
      const cause = error instanceof WatchBroken ? error.cause : error;
      if (isForbidden(cause) || isNotFound(cause)) {
        const reason = isForbidden(cause) ? 'forbidden' : 'gone';
        config.sink.state({ kind: 'failed', reason, message: messageOf(cause) });
        return;
      }
      if (isExpired(cause)) version = undefined;
      try {
        await waitToRetry(config, cause, backoffMs, signal);
      } catch (error_) {
        if (signal.aborted) return;
        throw error_;
      }
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  }
}

async function waitToRetry<D extends ListDocument>(
  { sink, clock, whenOnline }: ListWatchConfig<D>,
  error: unknown,
  backoffMs: number,
  signal: AbortSignal,
): Promise<void> {
  // Expired versions are part of normal work: the next list follows at once.
  if (isExpired(error)) {
    await sleep(clock, 0, signal);
    return;
  }
  sink.state({ kind: 'retrying', message: messageOf(error) });
  if (error instanceof UnreachableError || (error instanceof ApiError && error.code === 401)) {
    await whenOnline(signal);
    return;
  }
  const after = error instanceof ApiError ? error.body.details?.retryAfterSeconds : undefined;
  await sleep(clock, Math.max(backoffMs, (after ?? 0) * 1000), signal);
}

/** Lists all pages and returns the resource version of the list. */
async function listPages<D extends ListDocument>(
  { api, path, query, accept, sink }: ListWatchConfig<D>,
  signal: AbortSignal,
): Promise<string> {
  sink.state({ kind: 'loading' });
  sink.begin();
  let version = '';
  let token = '';
  let limit = FIRST_PAGE;
  do {
    const search = new URLSearchParams({ ...query, limit: String(limit) });
    if (token !== '') search.set('continue', token);
    const document = await api.json<D>(`${path}?${search}`, { accept, signal });
    sink.page(document);
    version = document.metadata?.resourceVersion ?? '';
    token = document.metadata?.continue ?? '';
    limit = NEXT_PAGE;
    if (token !== '')
      sink.state({ kind: 'loading', remaining: document.metadata?.remainingItemCount });
  } while (token !== '');
  sink.listed();
  return version;
}

/** A watch failed after it had come to this version. */
class WatchBroken extends Error {
  readonly version: string;

  constructor(version: string, cause: unknown) {
    super(messageOf(cause), { cause });
    this.version = version;
  }
}

/** Watches until the server ends the watch, and returns the version that it has come to. */
async function watchFrom<D extends ListDocument>(
  { api, path, query, accept, sink, watchSeconds }: ListWatchConfig<D>,
  from: string,
  signal: AbortSignal,
): Promise<string> {
  const seconds = (await watchSeconds?.()) ?? WATCH_SECONDS;
  const search = new URLSearchParams({
    ...query,
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(seconds),
  });
  let version = from;
  const headers = LATEST_HEARTBEATS;
  const response = await api.request(`${path}?${search}`, { accept, headers, signal });
  sink.state({ kind: 'live' });
  if (response.body === null) return version;
  try {
    for await (const lines of linesOf(response.body)) {
      const changes: WatchEvent[] = [];
      for (const line of lines) {
        if (line === '') continue;
        const event = JSON.parse(line) as WatchEvent;
        if (event.type === 'ERROR') {
          if (changes.length > 0) sink.events(changes);
          const status = event.object as StatusBody;
          throw new ApiError(status.code ?? 500, status);
        }
        version = versionOf(event.object) ?? version;
        if (event.type !== 'BOOKMARK') changes.push(event);
      }
      if (changes.length > 0) sink.events(changes);
    }
  } catch (error) {
    if (signal.aborted || isAbort(error)) throw error;
    // The stream broke: nothing says yet whether the server is there, so the next request does.
    throw new WatchBroken(version, error);
  }
  return version;
}

/** Returns the version of an event's object: its own, or that of a Table's row. */
function versionOf(object: unknown): string | undefined {
  const { metadata, rows } = object as {
    metadata?: { resourceVersion?: string };
    rows?: readonly { object?: { metadata?: { resourceVersion?: string } } }[];
  };
  const own = metadata?.resourceVersion;
  if (own !== undefined && own !== '') return own;
  return rows?.at(-1)?.object?.metadata?.resourceVersion;
}
