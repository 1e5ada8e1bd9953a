import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { StorageError } from '../interface.ts';
import type { CommitSink, PendingWrite } from '../mvcc/commit-log.ts';
import type { Request, Response } from './protocol.ts';
import { readWrites } from './record.ts';
import type { WorkerPort } from './worker-log.ts';
import { WorkerLog } from './worker-log.ts';

/** A worker that answers when the test says so. */
class FakeWorker extends EventEmitter implements WorkerPort {
  readonly requests: Request[] = [];

  postMessage(request: Request): void {
    this.requests.push(request);
  }

  answer(response: Response = { type: 'done' }): void {
    this.emit('message', response);
  }

  fail(reason: 'NoSpace' | 'Unavailable'): void {
    this.answer({ type: 'failed', reason, message: 'it went wrong' });
  }

  /** What the requests so far ask for, in short form. */
  get asked(): string[] {
    return this.requests.map((request) => {
      switch (request.type) {
        case 'commit':
          return `commit ${[...readWrites(request.records)].map((write) => write.revision).join(' ')}`;
        case 'compact':
          return `compact to ${request.compactedRevision}: ${request.obsolete.length} rows from ${request.obsolete[0]}`;
        default:
          return request.type;
      }
    });
  }
}

class RecordingSink implements CommitSink {
  readonly told: string[] = [];

  committed(writes: readonly PendingWrite[]): void {
    this.#tell('committed', writes);
  }

  rolledBack(writes: readonly PendingWrite[], error: StorageError): void {
    this.#tell(`rolled back (${error.reason})`, writes);
  }

  failed(writes: readonly PendingWrite[], error: StorageError): void {
    this.#tell(`failed (${error.reason})`, writes);
  }

  #tell(what: string, writes: readonly PendingWrite[]): void {
    this.told.push([what, ...writes.map((write) => write.revision)].join(' '));
  }
}

function setup() {
  const worker = new FakeWorker();
  const sink = new RecordingSink();
  const log = new WorkerLog(worker, sink);
  let revision = 1;
  const append = (count = 1, bytes = 10): void => {
    for (let i = 0; i < count; i++) {
      revision++;
      const key = `/a/${revision}`;
      const kv = { key, value: new Uint8Array(bytes), createRevision: revision, modRevision: revision };
      log.append({ key, revision, kv, expiresAt: undefined });
    }
  };
  return { worker, sink, log, append };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function reason(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => 'done',
    (error: StorageError) => error.reason,
  );
}

describe('WorkerLog', () => {
  it('commits together what comes together, one batch at a time', async () => {
    const { worker, sink, append } = setup();
    append(2);
    append();
    expect(worker.asked).toEqual([]);
    await turn();
    expect(worker.asked).toEqual(['commit 2 3 4']);
    append();
    await turn();
    append(2);
    await turn();
    expect(worker.asked).toHaveLength(1);
    expect(sink.told).toEqual([]);
    worker.answer();
    // The next batch is on its way at once.
    expect(worker.asked.slice(1)).toEqual(['commit 5 6 7']);
    expect(sink.told).toEqual(['committed 2 3 4']);
    worker.answer();
    await turn();
    expect(sink.told).toEqual(['committed 2 3 4', 'committed 5 6 7']);
    expect(worker.asked).toHaveLength(2);
  });

  it('bounds a batch, but never a single value', async () => {
    const { worker, append } = setup();
    append(3, 3 * 1024 * 1024);
    append(1, 20 * 1024 * 1024);
    append(1);
    await turn();
    for (let i = 0; i < 3; i++) worker.answer();
    expect(worker.asked).toEqual(['commit 2 3', 'commit 4', 'commit 5', 'commit 6']);
  });

  it('gives back everything that is pending when a batch finds no space, and goes on', async () => {
    const { worker, sink, append } = setup();
    append(2);
    await turn();
    append(2);
    worker.fail('NoSpace');
    expect(sink.told).toEqual(['rolled back (NoSpace) 2 3 4 5']);
    append();
    await turn();
    worker.answer();
    expect(worker.asked).toEqual(['commit 2 3', 'commit 6']);
    expect(sink.told.slice(1)).toEqual(['committed 6']);
  });

  it.each([
    ['a batch fails otherwise', (worker: FakeWorker) => worker.fail('Unavailable')],
    ['the thread fails', (worker: FakeWorker) => worker.emit('error', new Error('out of memory'))],
    ['the thread ends', (worker: FakeWorker) => worker.emit('exit', 1)],
  ])('never commits again, and never sends a batch again, when %s', async (_, fail) => {
    const { worker, sink, log, append } = setup();
    append(2);
    await turn();
    append();
    const waiting = [log.probe(), log.compact(2, [1])].map(reason);
    fail(worker);
    expect(sink.told).toEqual(['failed (Unavailable) 2 3 4']);
    expect(await Promise.all(waiting)).toEqual(['Unavailable', 'Unavailable']);
    expect(await Promise.all([log.probe(), log.compact(2, [1])].map(reason))).toEqual(['Unavailable', 'Unavailable']);
    expect(() => append()).toThrow('after the failure');
    await turn();
    expect(worker.asked).toEqual(['commit 2 3', 'close']);
    worker.emit('exit', 0);
    await log.close();
    expect(sink.told).toHaveLength(1);
  });

  it('commits what was appended before it closes', async () => {
    const { worker, sink, log, append } = setup();
    append();
    await turn();
    append();
    const compaction = reason(log.compact(2, [1]));
    const closed = log.close();
    worker.answer();
    worker.answer();
    expect(worker.asked).toEqual(['commit 2', 'commit 3', 'close']);
    worker.answer();
    expect(await Promise.race([closed, turn().then(() => 'open')])).toBe('open');
    worker.emit('exit', 0);
    await closed;
    expect(await compaction).toBe('Closed');
    expect(sink.told).toEqual(['committed 2', 'committed 3']);
  });

  it('deletes rows a few at a time, in turn with writes', async () => {
    const { worker, log, append } = setup();
    const rows = Array.from({ length: 600 }, (_, i) => i + 1000);
    const first = reason(log.compact(700, rows));
    const second = reason(log.compact(800, [5, 6]));
    for (let i = 0; i < 6; i++) {
      append();
      await turn();
      worker.answer();
    }
    worker.answer();
    expect(worker.asked).toEqual([
      'compact to 700: 256 rows from 1000',
      'commit 2',
      'compact to 700: 256 rows from 1256',
      'commit 3 4',
      'compact to 700: 88 rows from 1512',
      'commit 5 6',
      'compact to 800: 2 rows from 5',
      'commit 7',
    ]);
    expect(await Promise.all([first, second])).toEqual(['done', 'done']);
  });

  it('keeps the rows of a compaction without space for the next one, in their order', async () => {
    const { worker, log } = setup();
    const rows = Array.from({ length: 300 }, (_, i) => i + 1000);
    const outcomes = [log.compact(700, rows), log.compact(800, [5, 6])].map(reason);
    await turn();
    worker.answer();
    worker.fail('NoSpace');
    expect(await Promise.all(outcomes)).toEqual(['NoSpace', 'NoSpace']);
    const later = reason(log.compact(900, [7]));
    await turn();
    worker.answer();
    expect(await later).toBe('done');
    expect(worker.asked.slice(2)).toEqual(['compact to 900: 47 rows from 1256']);
    const request = worker.requests[2];
    expect(request?.type === 'compact' && request.obsolete.slice(-3)).toEqual(Float64Array.of(5, 6, 7));
  });

  it('tells how a probe went', async () => {
    const { worker, log } = setup();
    const bad = reason(log.probe());
    await turn();
    worker.fail('NoSpace');
    expect(await bad).toBe('NoSpace');
    const good = reason(log.probe());
    await turn();
    worker.answer();
    expect(await good).toBe('done');
  });
});
