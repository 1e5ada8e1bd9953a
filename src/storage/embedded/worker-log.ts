// The main thread's end of the worker: sends batches of writes, one at a time, and tells the engine what became of them.
//
// Group commit: whatever is appended while a batch is being committed goes together into the next one, so the more writers
// there are, the more writes share one sync of the disk. Nothing is ever sent a second time: a failed batch is the engine's.

import type { Revision } from '../interface.ts';
import { StorageError } from '../interface.ts';
import type { CommitLog, CommitSink, PendingWrite } from '../mvcc/commit-log.ts';
import type { Request, Response } from './protocol.ts';
import { RecordWriter } from './record.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/** No batch takes more than this many bytes (but for one large value), so that no single commit takes long. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** Rows deleted in one transaction when history is compacted, if writes are few: no write waits for more than these. */
const COMPACT_ROWS = 256;
/** If writes are many, so many rows are deleted for each one that was committed before, so that the deletions keep up. */
const COMPACT_ROWS_PER_WRITE = 2;

/**
 * Writes that are told in one turn of the event loop: whoever waited for one often begins another piece of work at once, and what
 * 64 writers begin together keeps everybody else waiting. While the others wait for their turn, the disk has the next batch.
 */
const TOLD_PER_TURN = 24;

/** Rows that are to be deleted for a call of compact(). */
interface Compaction {
  readonly compactedRevision: Revision;
  readonly obsolete: readonly Revision[];
  /** How many of them are deleted. */
  deleted: number;
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

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
  /** As many rows of each, in their order. */
  | {
      readonly type: 'compact';
      readonly parts: readonly { readonly compaction: Compaction; readonly rows: number }[];
    }
  | { readonly type: 'probe'; readonly probe: Probe }
  | { readonly type: 'close' };

export class WorkerLog<W extends PendingWrite> implements CommitLog<W> {
  readonly #worker: WorkerPort;
  readonly #sink: CommitSink<W>;
  /** Writes that are not sent yet, in order of revision. */
  #queue: W[] = [];
  #inFlight: InFlight<W> | undefined;
  /** Writes that are committed and not yet published, in order of revision. They are published in the next turns. */
  #untold: W[] = [];
  /** In the order of the calls: older rows have to go first, so that a crash in between never leaves a value that was replaced. */
  #compactions: Compaction[] = [];
  /** Rows of a compaction that found no space; they go before those of the next one. */
  #leftOver: readonly Revision[] = [];
  #probes: Probe[] = [];
  #sendScheduled = false;
  /** A deletion of rows has had its turn since the last commit: then it is the writes' turn. */
  #compactedLast = false;
  /** Writes of the last batch. */
  #lastBatch = 0;
  #failure: StorageError | undefined;
  #closing: Promise<void> | undefined;
  readonly #exited: Promise<void>;

  /** The worker has loaded; from now on it is this log's own. */
  constructor(worker: WorkerPort, sink: CommitSink<W>) {
    this.#worker = worker;
    this.#sink = sink;
    worker.on('message', (response: Response) => this.#answered(response));
    worker.on('messageerror', (error) =>
      this.#fail('an answer of the storage thread could not be read', error),
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
      throw new Error('worker log: a write was appended after the failure was told');
    this.#queue.push(write);
    this.#schedule();
  }

  compact(compactedRevision: Revision, obsolete: readonly Revision[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#compactions.push({
        compactedRevision,
        obsolete: [...this.#leftOver, ...obsolete],
        deleted: 0,
        resolve,
        reject,
      });
      this.#leftOver = [];
      this.#schedule();
    });
  }

  probe(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#probes.push({ resolve, reject });
      this.#schedule();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#exited.then(() => this.#tellAll());
    this.#schedule();
    return this.#closing;
  }

  /** Sends when everything that this turn of the event loop brings has been appended, so that it shares a commit. */
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
    const compactions = this.#compactions.length > 0;
    const probe = this.#probes.shift();
    if (probe !== undefined) this.#send({ type: 'probe', probe }, { type: 'probe' });
    else if (this.#queue.length > 0 && (!compactions || this.#compactedLast)) this.#sendBatch();
    // Rows that are not deleted when the store is closed are found again when it is opened.
    else if (compactions && this.#closing === undefined) this.#sendCompaction();
    else if (this.#queue.length > 0) this.#sendBatch();
    else if (this.#closing !== undefined) {
      for (const waiting of this.#compactions.splice(0))
        waiting.reject(new StorageError('Closed', 'the store is closed'));
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

  /** The rows of several compactions go together, as of the last one. */
  #sendCompaction(): void {
    const most = Math.max(COMPACT_ROWS, COMPACT_ROWS_PER_WRITE * this.#lastBatch);
    const rows: Revision[] = [];
    const parts: { readonly compaction: Compaction; readonly rows: number }[] = [];
    let compactedRevision = 0;
    for (const compaction of this.#compactions) {
      if (rows.length === most) break;
      const part = compaction.obsolete.slice(
        compaction.deleted,
        compaction.deleted + most - rows.length,
      );
      rows.push(...part);
      parts.push({ compaction, rows: part.length });
      compactedRevision = Math.max(compactedRevision, compaction.compactedRevision);
    }
    const obsolete = Float64Array.from(rows);
    this.#compactedLast = true;
    this.#send({ type: 'compact', parts }, { type: 'compact', compactedRevision, obsolete }, [
      obsolete.buffer,
    ]);
  }

  #send(inFlight: InFlight<W>, request: Request, transfer: ArrayBuffer[] = []): void {
    this.#inFlight = inFlight;
    this.#worker.postMessage(request, transfer);
  }

  #answered(response: Response): void {
    const done = this.#inFlight;
    if (done === undefined) throw new Error('the storage thread answered without being asked');
    if (response.type === 'failed' && response.reason !== 'NoSpace') {
      this.#fail(`the store could not be written: ${response.message}`, undefined);
      return;
    }
    // 'close' stays in flight: the thread ends, and nothing is sent any more.
    if (done.type === 'close') return;
    this.#inFlight = undefined;
    const full =
      response.type === 'failed'
        ? new StorageError('NoSpace', `no space for the store: ${response.message}`)
        : undefined;
    switch (done.type) {
      case 'commit':
        if (full !== undefined) {
          this.#tellAll();
          // Writes that were checked against the failed batch fail with it.
          this.#sink.rolledBack([...done.writes, ...this.#queue.splice(0)], full);
          break;
        }
        // The next batch goes first, so that the disk works while this one is published.
        this.#sendNext();
        this.#committed(done.writes);
        break;
      case 'compact':
        this.#compacted(done, full);
        break;
      case 'probe':
        if (full !== undefined) done.probe.reject(full);
        else done.probe.resolve();
        break;
    }
    this.#sendNext();
  }

  #committed(writes: readonly W[]): void {
    const begun = this.#untold.length > 0;
    this.#untold = begun ? this.#untold.concat(writes) : [...writes];
    if (!begun) this.#tellSome();
  }

  #tellSome(): void {
    const writes = this.#untold.slice(0, TOLD_PER_TURN);
    this.#untold = this.#untold.slice(TOLD_PER_TURN);
    if (this.#untold.length > 0) inNextTurn(() => this.#tellSome());
    if (writes.length > 0) this.#sink.committed(writes);
  }

  #tellAll(): void {
    const writes = this.#untold.splice(0);
    if (writes.length > 0) this.#sink.committed(writes);
  }

  #compacted(
    { parts }: Extract<InFlight<W>, { readonly type: 'compact' }>,
    full: StorageError | undefined,
  ): void {
    if (full !== undefined) {
      for (const waiting of this.#compactions.splice(0)) {
        this.#leftOver = [...this.#leftOver, ...waiting.obsolete.slice(waiting.deleted)];
        waiting.reject(full);
      }
      return;
    }
    for (const { compaction, rows } of parts) {
      compaction.deleted += rows;
      if (compaction.deleted < compaction.obsolete.length) return;
      this.#compactions.shift();
      compaction.resolve();
    }
  }

  /** Nothing can be written any more; the outcome of what is in flight is unknown. */
  #fail(problem: string, cause: unknown): void {
    if (this.#failure !== undefined) return;
    const detail = cause instanceof Error ? `${problem}: ${cause.message}` : problem;
    this.#failure = new StorageError('Unavailable', `${detail}; restart to go on`, { cause });
    const inFlight = this.#inFlight;
    this.#inFlight = undefined;
    const writes = this.#queue.splice(0);
    this.#tellAll();
    this.#sink.failed(
      inFlight?.type === 'commit' ? [...inFlight.writes, ...writes] : writes,
      this.#failure,
    );
    if (inFlight?.type === 'probe') inFlight.probe.reject(this.#failure);
    for (const probe of this.#probes.splice(0)) probe.reject(this.#failure);
    for (const compaction of this.#compactions.splice(0)) compaction.reject(this.#failure);
    // A thread that ended does not mind; one that lives releases the lock.
    this.#send({ type: 'close' }, { type: 'close' });
  }
}
