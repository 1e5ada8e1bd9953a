// One watch of the store on etcd: a stream of its own. When it breaks, it is opened again on
// another member, from the last revision that was received completely. Fragments of a response are
// joined first, since a revision is published as a whole.

import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { WatchQueue } from '#machinery/watch.ts';
import { type Revision, StorageError, type StorageEvent } from '../interface.ts';
import { closedError, type EtcdConnection } from './connection.ts';
import { detailsOf } from './errors.ts';
import type { KeySpace } from './keys.ts';
import type { WatchResponse } from './schema.ts';

export interface WatcherConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keys: KeySpace;
  readonly prefix: string;
  readonly afterRevision: Revision;
  readonly progressIntervalMs: number | undefined;
  /** The number of events that may wait for the consumer, beyond past events. */
  readonly bufferEvents: number;
  /**
   * Whether members respond to progress requests in the order of events. If not, the watch calls
   * `touch`, which writes a key of the engine's own that the watch sees.
   */
  readonly progressRequests: boolean;
  readonly touch: () => Promise<void>;
  readonly onEnd: (watcher: Watcher) => void;
}

type EtcdEvent = WatchResponse['events'][number];

const RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 2000;
/**
 * Members drop a progress request while they send past events, so it is repeated after this time.
 */
const ASK_AGAIN_MS = 100;

export class Watcher {
  readonly queue: WatchQueue<StorageEvent>;
  readonly #config: WatcherConfig;
  readonly #prefixBytes: Uint8Array;
  #call: ClientDuplexStream<object, WatchResponse> | undefined;
  /** The revision up to which all events were delivered. */
  #seen: Revision;
  /**
   * The current revision when the watch began; events up to it are past events. Undefined: the
   * watch has not begun.
   */
  #begun: Revision | undefined;
  #pastEvents = 0;
  #parts: EtcdEvent[] = [];
  #pauseMs = RECONNECT_MS;
  #progressReceived = false;
  /** Progress was requested, and has not been delivered yet. */
  #progressRequested = false;
  readonly #timers = new Set<Timer>();

  constructor(config: WatcherConfig) {
    this.#config = config;
    this.#prefixBytes = config.keys.rangeOf(config.prefix).from;
    this.#seen = config.afterRevision;
    this.queue = new WatchQueue<StorageEvent>({ onStop: () => this.#end() });
    this.#open();
    const { progressIntervalMs, clock } = config;
    if (progressIntervalMs !== undefined) {
      // A consumer with unread events is not idle, and does not need progress.
      this.#timers.add(
        clock.setInterval(
          progressIntervalMs,
          () => this.queue.length === 0 && this.#askForProgress(),
        ),
      );
    }
  }

  fail(error: StorageError): void {
    this.queue.fail(error);
    this.#end();
  }

  #open(): void {
    const { connection, keys, prefix, progressIntervalMs, progressRequests } = this.#config;
    if (this.queue.ended) return;
    let opened: ReturnType<EtcdConnection['watch']>;
    try {
      opened = connection.watch();
    } catch (error) {
      this.fail(error instanceof StorageError ? error : closedError());
      return;
    }
    const { call, failed } = opened;
    this.#call = call;
    this.#parts = [];
    const range =
      progressIntervalMs === undefined || progressRequests ? keys.rangeOf(prefix) : keys.everything;
    call.on('data', (response: WatchResponse) => {
      if (this.#call === call) this.#receive(response);
    });
    const broken = (error: unknown): void => {
      if (this.#call !== call) return;
      this.#call = undefined;
      call.cancel();
      failed(error);
      this.#config.logger.debug('etcd: watch failed, reopening', {
        prefix,
        cause: detailsOf(error),
      });
      this.#later(this.#pauseMs, () => this.#open());
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_RECONNECT_MS);
    };
    call.on('error', broken);
    call.on('end', () => broken(new Error('the member ended the stream')));
    call.write({
      create: {
        key: range.from,
        rangeEnd: range.to,
        startRevision: this.#seen + 1,
        prevKv: true,
        fragment: true,
        // etcd also sends progress from time to time, which keeps the resume revision recent.
        progressNotify: true,
      },
    });
  }

  #receive(response: WatchResponse): void {
    const revision = response.header?.revision ?? 0;
    if (response.canceled) {
      this.#canceled(response);
      return;
    }
    if (response.created) {
      this.#pauseMs = RECONNECT_MS;
      this.#begun ??= revision;
      if (this.#config.progressIntervalMs === undefined) return;
      // Nothing was written since the last event, so none can be missing.
      if (this.#seen >= revision) this.#progress(revision);
      else this.#askForProgress();
      return;
    }
    if (response.events.length === 0 && !response.fragment && this.#parts.length === 0) {
      if (this.#config.progressRequests) this.#progress(revision);
      return;
    }
    this.#parts.push(...response.events);
    if (response.fragment) return;
    const events = this.#parts;
    this.#parts = [];
    for (const [index, event] of events.entries()) {
      if (this.queue.ended) return;
      const next = events[index + 1];
      this.#publish(
        event,
        next !== undefined && next.kv.modRevision === event.kv.modRevision && this.#concerns(next),
      );
    }
    const last = events.at(-1);
    if (last === undefined) return;
    const seenBefore = this.#seen;
    this.#seen = Math.max(seenBefore, last.kv.modRevision);
    // The last event is outside the prefix or the engine's own key, so all earlier events have been
    // delivered.
    if (last.kv.modRevision > seenBefore && !this.#concerns(last))
      this.#progress(last.kv.modRevision);
  }

  #concerns(event: EtcdEvent): boolean {
    return startsWith(event.kv.key, this.#prefixBytes);
  }

  #publish(event: EtcdEvent, more: boolean): void {
    const { keys, prefix } = this.#config;
    const revision = event.kv.modRevision;
    if (revision <= this.#seen) return;
    if (!this.#concerns(event)) return;
    const created = event.type === 0 && event.kv.createRevision === revision;
    const previous = event.prevKv === null ? undefined : keys.keyValue(event.prevKv);
    if (!created && previous === undefined) {
      this.fail(
        new StorageError('Expired', `the value before revision ${revision} has been compacted`, {
          revision,
        }),
      );
      return;
    }
    const past = revision <= (this.#begun ?? 0);
    if (past) this.#pastEvents++;
    else if (this.queue.length >= this.#config.bufferEvents + this.#pastEvents) {
      const waiting = `${this.queue.length} events were waiting for it`;
      this.fail(
        new StorageError('SlowWatcher', `the watch of ${prefix} did not keep up: ${waiting}`),
      );
      return;
    }
    if (event.type === 0) {
      const kv = keys.keyValue(event.kv);
      this.queue.push(
        previous === undefined
          ? { type: 'put', revision, kv }
          : { type: 'put', revision, kv, previous },
      );
    } else if (previous !== undefined) {
      const key = keys.decode(event.kv.key);
      this.queue.push({ type: 'delete', revision, key, previous, ...(more && { more }) });
    }
  }

  #progress(revision: Revision): void {
    if (revision < this.#config.afterRevision) return;
    this.#seen = Math.max(this.#seen, revision);
    if (this.#config.progressIntervalMs === undefined) return;
    this.#progressReceived = true;
    this.#progressRequested = false;
    this.queue.push({ type: 'progress', revision });
  }

  /**
   * Requests progress if the watch has a progress interval. Callers share one request until
   * progress is delivered.
   */
  requestProgress(): void {
    if (this.#config.progressIntervalMs === undefined || this.#progressRequested) return;
    this.#progressRequested = true;
    this.#askForProgress();
    this.#later(ASK_AGAIN_MS, () => {
      this.#progressRequested = false;
    });
  }

  #askForProgress(): void {
    const call = this.#call;
    if (call === undefined || this.queue.ended) return;
    if (!this.#config.progressRequests) {
      this.#config.touch().catch((error: unknown) => {
        this.#config.logger.debug('etcd: progress request failed', { cause: detailsOf(error) });
        if (!this.#progressReceived) this.#later(MAX_RECONNECT_MS, () => this.#askForProgress());
      });
      return;
    }
    call.write({ progress: {} });
    if (!this.#progressReceived)
      this.#later(ASK_AGAIN_MS, () => !this.#progressReceived && this.#askForProgress());
  }

  #canceled(response: WatchResponse): void {
    const { compactRevision, cancelReason } = response;
    if (compactRevision > 0) {
      const message = `revision ${this.#seen} has been compacted: the oldest that can be read is ${compactRevision}`;
      this.fail(new StorageError('Expired', message, { revision: compactRevision }));
      return;
    }
    // For example, a member without a leader. Permanent errors (permission denied) end the watch.
    if (/permission|invalid|token/i.test(cancelReason))
      this.fail(new StorageError('Unavailable', `etcd: ${cancelReason}`));
    else
      this.#call?.emit(
        'error',
        new Error(cancelReason === '' ? 'the member canceled the watch' : cancelReason),
      );
  }

  #later(delayMs: number, action: () => void): void {
    if (this.queue.ended) return;
    const timer = this.#config.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      action();
    });
    this.#timers.add(timer);
  }

  #end(): void {
    const call = this.#call;
    this.#call = undefined;
    // Later errors of the stream are ignored, but need a listener.
    call?.on('error', () => undefined);
    call?.cancel();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#config.onEnd(this);
  }
}

function startsWith(key: Uint8Array, prefix: Uint8Array): boolean {
  if (key.length < prefix.length) return false;
  // Compares from the end, where keys of one store differ.
  for (let i = prefix.length - 1; i >= 0; i--) if (key[i] !== prefix[i]) return false;
  return true;
}
