// The main thread's side of the worker: sends batches of writes, one at a time, and reports their
// outcome to the engine.
//
// Group commit: all writes that are appended while a batch is being committed form the next batch.
// The more writers there are, the more writes share one sync of the disk. No write is sent twice: a
// failed batch is handed back to the engine.

import { type Revision, StorageError } from '../interface.ts';
import type { CommitLog, CommitSink, PendingWrite } from '../mvcc/commit-log.ts';
import { sizeOf } from '../value.ts';
import { ObsoleteRows } from './obsolete-rows.ts';
import type { Request, Response } from './protocol.ts';
import { RecordWriter } from './record.ts';
import { Fifo } from '#machinery/collections/fifo.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/**
 * The maximum size of a batch in bytes (one larger value is a batch of its own), so that no single
 * commit takes long.
 */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/**
 * Rows that one transaction of a compaction deletes when there are few writes. No write waits for
 * more deletions.
 */
const COMPACT_ROWS = 256;
/**
 * Rows that are deleted for each write of the batch before, when there are many writes, so that
 * deletions keep up.
 */
const COMPACT_ROWS_PER_WRITE = 2;

/**
 * Writes that are published in one turn of the event loop. Each waiting writer often starts its
 * next work at once, and the work of 64 writers in one turn would delay everything else. While the
 * remaining writes wait, the disk already has the next batch.
 */
const PUBLISHED_PER_TURN = 24;
/**
 * A long backlog, such as the renewals of thousands of Leases, is published in about this number of
 * turns: a turn of a busy server takes milliseconds, and every later write waits for all of them.
 */
const BACKLOG_TURNS = 8;
const MAX_PUBLISHED_PER_TURN = 128;
/**
 * Bytes of values that are published in one turn, unless it is one write. The next work of a writer
 * of a large value makes large buffers, and while V8 collects because of buffers (one more 64 MiB of
 * them), each new one costs up to 10 ms.
 */
const MAX_PUBLISHED_BYTES = 256 * 1024;

/** The part of a worker thread that the log uses. */
export interface WorkerPort {
  postMessage(request: Request, transfer: readonly ArrayBuffer[]): void;
  on(event: 'message', listener: (response: Response) => void): unknown;
  on(event: 'error' | 'messageerror', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

interface Probe {
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

/** The request that the worker is processing. */
type InFlight<W> =
  | { readonly type: 'commit'; readonly writes: readonly W[] }
  | { readonly type: 'compact' }
  | { readonly type: 'probe'; readonly probe: Probe }
  | { readonly type: 'close' };

export class WorkerLog<W extends PendingWrite> implements CommitLog<W> {
  readonly #worker: WorkerPort;
  readonly #sink: CommitSink<W>;
  /** Writes that are not sent yet, in order of revision. */
  #queue: W[] = [];
  #inFlight: InFlight<W> | undefined;
  /**
   * Writes that are committed and not published yet, in order of revision. The next turns publish
   * them.
   */
  readonly #unpublished = new Fifo<W>();
  readonly #obsolete = new ObsoleteRows();
  #probes: Probe[] = [];
  #sendScheduled = false;
  /** Rows were deleted since the last commit, so writes go next. */
  #compactedLast = false;
  /** The number of writes in the last batch. */
  #lastBatch = 0;
  #failure: StorageError | undefined;
  #closing: Promise<void> | undefined;
  readonly #exited: Promise<void>;

  /** Takes over the worker, which has loaded; nothing else may use it from now on. */
  constructor(worker: WorkerPort, sink: CommitSink<W>) {
    this.#worker = worker;
    this.#sink = sink;
    worker.on('message', (response: Response) => this.#onResponse(response));
    worker.on('messageerror', (error) =>
      this.#fail('a response of the storage thread could not be read', error),
    );
    worker.on('error', (error) => this.#fail('the storage thread failed', error));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        if (this.#inFlight?.type !== 'close') this.#fail('the storage thread ended', undefined);
        resolve();
      });
    });
  }

  append(write: W): void {
    if (this.#failure !== undefined)
      throw new Error('worker log: a write was appended after the failure was reported');
    this.#queue.push(write);
    this.#schedule();
  }

  compact(
    compactedRevision: Revision,
    obsolete: readonly Revision[],
    bytes: number,
  ): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const deleted = this.#obsolete.add(compactedRevision, obsolete, bytes);
    this.#schedule();
    return deleted;
  }

  probe(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#probes.push({ resolve, reject });
      this.#schedule();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#exited.then(() => this.#publishAll());
    this.#schedule();
    return this.#closing;
  }

  /**
   * Schedules sending for the end of this turn of the event loop, so that all writes of the turn
   * share a commit.
   */
  #schedule(): void {
    if (this.#sendScheduled || this.#inFlight !== undefined) return;
    this.#sendScheduled = true;
    inNextTurn(() => {
      this.#sendScheduled = false;
      this.#sendNext();
    });
  }

  #sendNext(): void {
    if (this.#inFlight !== undefined) return;
    const deletes = !this.#obsolete.isEmpty;
    const deletesFirst = this.#obsolete.isDue && !this.#compactedLast;
    const probe = this.#probes.shift();
    if (probe !== undefined) this.#send({ type: 'probe', probe }, { type: 'probe' });
    else if (this.#queue.length > 0 && !deletesFirst) this.#sendBatch();
    // Rows that are left when the store is closed are found again when it is opened.
    else if (deletes && this.#closing === undefined) this.#sendCompaction();
    else if (this.#queue.length > 0) this.#sendBatch();
    else if (this.#closing !== undefined) {
      this.#obsolete.failAll(new StorageError('Closed', 'the store is closed'));
      this.#send({ type: 'close' }, { type: 'close' });
    }
  }

  #sendBatch(): void {
    let bytes = 0;
    let count = 0;
    for (const write of this.#queue) {
      bytes += RecordWriter.sizeOf(write);
      if (count > 0 && bytes > MAX_BATCH_BYTES) break;
      count++;
    }
    const writes = count === this.#queue.length ? this.#queue : this.#queue.slice(0, count);
    this.#queue = count === this.#queue.length ? [] : this.#queue.slice(count);
    const writer = new RecordWriter(bytes);
    for (const write of writes) writer.add(write);
    const records = writer.finish();
    this.#compactedLast = false;
    this.#lastBatch = writes.length;
    this.#send({ type: 'commit', writes }, { type: 'commit', records }, [records.buffer]);
  }

  #sendCompaction(): void {
    const most = Math.max(COMPACT_ROWS, COMPACT_ROWS_PER_WRITE * this.#lastBatch);
    const slice = this.#obsolete.take(most);
    this.#compactedLast = true;
    this.#send({ type: 'compact' }, { type: 'compact', ...slice }, [slice.obsolete.buffer]);
  }

  #send(inFlight: InFlight<W>, request: Request, transfer: ArrayBuffer[] = []): void {
    this.#inFlight = inFlight;
    this.#worker.postMessage(request, transfer);
  }

  #onResponse(response: Response): void {
    const done = this.#inFlight;
    if (done === undefined) throw new Error('the storage thread responded without a request');
    if (response.type === 'failed' && response.reason !== 'NoSpace') {
      this.#fail(`the store could not be written: ${response.message}`, undefined);
      return;
    }
    // 'close' stays in flight: the thread ends, and nothing more is sent.
    if (done.type === 'close') return;
    this.#inFlight = undefined;
    const full =
      response.type === 'failed'
        ? new StorageError('NoSpace', `no space for the store: ${response.message}`)
        : undefined;
    switch (done.type) {
      case 'commit':
        if (full !== undefined) {
          this.#publishAll();
          // Writes that were checked against the failed batch fail with it.
          this.#sink.rolledBack([...done.writes, ...this.#queue.splice(0)], full);
          break;
        }
        // The next batch is sent first, so that the disk works while this one is published.
        this.#sendNext();
        this.#committed(done.writes);
        break;
      case 'compact':
        if (full !== undefined) this.#obsolete.postpone(full);
        else this.#obsolete.deleted();
        break;
      case 'probe':
        if (full !== undefined) done.probe.reject(full);
        else done.probe.resolve();
        break;
    }
    this.#sendNext();
  }

  #committed(writes: readonly W[]): void {
    const begun = this.#unpublished.length > 0;
    for (const write of writes) this.#unpublished.push(write);
    if (!begun) this.#publishSome();
  }

  #publishSome(): void {
    const share = Math.ceil(this.#unpublished.length / BACKLOG_TURNS);
    const limit = Math.min(MAX_PUBLISHED_PER_TURN, Math.max(PUBLISHED_PER_TURN, share));
    this.#publish(limit, MAX_PUBLISHED_BYTES);
  }

  #publishAll(): void {
    this.#publish(this.#unpublished.length, Number.POSITIVE_INFINITY);
  }

  /**
   * Publishes the oldest writes within these limits, at least one, and schedules the next turn for the
   * rest.
   */
  #publish(limit: number, maxBytes: number): void {
    const writes: W[] = [];
    let bytes = 0;
    while (writes.length < limit && bytes < maxBytes) {
      const write = this.#unpublished.shift();
      if (write === undefined) break;
      writes.push(write);
      if (write.kv !== undefined) bytes += sizeOf(write.kv);
    }
    if (this.#unpublished.length > 0) inNextTurn(() => this.#publishSome());
    if (writes.length > 0) this.#sink.committed(writes);
  }

  /**
   * Fails everything: no more writes are possible, and the outcome of those in flight is unknown.
   */
  #fail(problem: string, cause: unknown): void {
    if (this.#failure !== undefined) return;
    const detail = cause instanceof Error ? `${problem}: ${cause.message}` : problem;
    this.#failure = new StorageError('Unavailable', `${detail}; restart the server`, { cause });
    const inFlight = this.#inFlight;
    this.#inFlight = undefined;
    const writes = this.#queue.splice(0);
    this.#publishAll();
    this.#sink.failed(
      inFlight?.type === 'commit' ? [...inFlight.writes, ...writes] : writes,
      this.#failure,
    );
    if (inFlight?.type === 'probe') inFlight.probe.reject(this.#failure);
    for (const probe of this.#probes.splice(0)) probe.reject(this.#failure);
    this.#obsolete.failAll(this.#failure);
    // A thread that has ended ignores this; a live thread releases the lock.
    this.#send({ type: 'close' }, { type: 'close' });
  }
}
