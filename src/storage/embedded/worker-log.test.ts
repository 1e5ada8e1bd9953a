import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { StorageError } from '../interface.ts';
import type { CommitSink, PendingWrite } from '../mvcc/commit-log.ts';
import type { Request, Response } from './protocol.ts';
import { readWrites } from './record.ts';
import { WorkerLog, type WorkerPort } from './worker-log.ts';

/** A worker that responds when the test calls `answer`. */
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

  /** The requests so far, in short form. */
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
  readonly received: string[] = [];

  committed(writes: readonly PendingWrite[]): void {
    this.#record('committed', writes);
  }

  rolledBack(writes: readonly PendingWrite[], error: StorageError): void {
    this.#record(`rolled back (${error.reason})`, writes);
  }

  failed(writes: readonly PendingWrite[], error: StorageError): void {
    this.#record(`failed (${error.reason})`, writes);
  }

  #record(what: string, writes: readonly PendingWrite[]): void {
    this.received.push([what, ...writes.map((write) => write.revision)].join(' '));
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
      const kv = {
        key,
        value: new Uint8Array(bytes),
        createRevision: revision,
        modRevision: revision,
      };
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
  test('commits concurrent writes together, one batch at a time', async () => {
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
    expect(sink.received).toEqual([]);
    worker.answer();
    // The next batch is sent at once.
    expect(worker.asked.slice(1)).toEqual(['commit 5 6 7']);
    expect(sink.received).toEqual(['committed 2 3 4']);
    worker.answer();
    await turn();
    expect(sink.received).toEqual(['committed 2 3 4', 'committed 5 6 7']);
    expect(worker.asked).toHaveLength(2);
  });

  test('publishes a large batch over several turns, in order, while the disk writes the next one', async () => {
    const { worker, sink, log, append } = setup();
    append(70);
    await turn();
    append(3);
    worker.answer();
    expect(worker.asked.slice(1)).toEqual(['commit 72 73 74']);
    worker.answer();
    const counts = (): number[] => sink.received.map((received) => received.split(' ').length - 1);
    expect(counts()).toEqual([24]);
    append();
    await turn();
    expect(counts()).toEqual([24, 24]);
    await turn();
    await turn();
    expect(counts()).toEqual([24, 24, 24, 1]);
    const revisions = sink.received.flatMap((received) => received.split(' ').slice(1).map(Number));
    expect(revisions).toEqual(Array.from({ length: 73 }, (_, i) => i + 2));
    // The log then works as before.
    worker.answer();
    expect(sink.received.at(-1)).toBe('committed 75');
    const closed = log.close();
    worker.emit('exit', 0);
    await closed;
  });

  test('publishes few large values in a turn', async () => {
    const { worker, sink, append } = setup();
    append(5, 100 * 1024);
    append(2, 1024 * 1024);
    append(1);
    await turn();
    worker.answer();
    const last = (): string => sink.received.at(-1) ?? '';
    expect(sink.received).toEqual(['committed 2 3 4']);
    while (!last().endsWith(' 9')) await turn();
    expect(sink.received.slice(1)).toEqual(['committed 5 6 7', 'committed 8', 'committed 9']);
  });

  test('publishes a long backlog in larger parts, at most 128 writes in a turn', async () => {
    const { worker, sink, append } = setup();
    append(8000);
    await turn();
    worker.answer();
    const counts = sink.received.map((received) => received.split(' ').length - 1);
    expect(counts).toEqual([128]);
    while (sink.received.join(' ').match(/\d+/g)!.length < 8000) {
      await turn();
    }
    const sizes = sink.received.map((received) => received.split(' ').length - 1);
    expect(Math.max(...sizes)).toBe(128);
    expect(sizes.at(-1)).toBeLessThanOrEqual(24);
    expect(sizes.length).toBeLessThan(100);
    const revisions = sink.received.flatMap((received) => received.split(' ').slice(1).map(Number));
    expect(revisions).toEqual(Array.from({ length: 8000 }, (_, i) => i + 2));
  });

  test.each([
    ['finds no space', (worker: FakeWorker) => worker.fail('NoSpace'), 'rolled back (NoSpace) 72'],
    ['fails', (worker: FakeWorker) => worker.fail('Unavailable'), 'failed (Unavailable) 72'],
  ])(
    'publishes a committed batch before it reports that the next batch %s',
    async (_, fail, last) => {
      const { worker, sink, append } = setup();
      append(70);
      await turn();
      append();
      worker.answer();
      fail(worker);
      expect(sink.received.map((received) => received.split(' ').length)).toEqual([
        25,
        47,
        last.split(' ').length,
      ]);
      expect(sink.received.at(-1)).toBe(last);
      await turn();
      expect(sink.received).toHaveLength(3);
    },
  );

  test('bounds a batch, but accepts a single large value', async () => {
    const { worker, append } = setup();
    append(3, 3 * 1024 * 1024);
    append(1, 20 * 1024 * 1024);
    append(1);
    await turn();
    for (let i = 0; i < 3; i++) worker.answer();
    expect(worker.asked).toEqual(['commit 2 3', 'commit 4', 'commit 5', 'commit 6']);
  });

  test('rolls back everything pending when a batch finds no space, and continues', async () => {
    const { worker, sink, append } = setup();
    append(2);
    await turn();
    append(2);
    worker.fail('NoSpace');
    expect(sink.received).toEqual(['rolled back (NoSpace) 2 3 4 5']);
    append();
    await turn();
    worker.answer();
    expect(worker.asked).toEqual(['commit 2 3', 'commit 6']);
    expect(sink.received.slice(1)).toEqual(['committed 6']);
  });

  test.each([
    ['a batch fails otherwise', (worker: FakeWorker) => worker.fail('Unavailable')],
    ['the thread fails', (worker: FakeWorker) => worker.emit('error', new Error('out of memory'))],
    ['the thread ends', (worker: FakeWorker) => worker.emit('exit', 1)],
  ])('never commits again, and never sends a batch again, when %s', async (_, fail) => {
    const { worker, sink, log, append } = setup();
    append(2);
    await turn();
    append();
    const waiting = [log.probe(), log.compact(2, [1], 0)].map(reason);
    fail(worker);
    expect(sink.received).toEqual(['failed (Unavailable) 2 3 4']);
    expect(await Promise.all(waiting)).toEqual(['Unavailable', 'Unavailable']);
    expect(await Promise.all([log.probe(), log.compact(2, [1], 0)].map(reason))).toEqual([
      'Unavailable',
      'Unavailable',
    ]);
    expect(() => append()).toThrow('after the failure');
    await turn();
    expect(worker.asked).toEqual(['commit 2 3', 'close']);
    worker.emit('exit', 0);
    await log.close();
    expect(sink.received).toHaveLength(1);
  });

  test('commits appended writes before it closes', async () => {
    const { worker, sink, log, append } = setup();
    append();
    await turn();
    append();
    const compaction = reason(log.compact(2, [1], 0));
    const closed = log.close();
    worker.answer();
    worker.answer();
    expect(worker.asked).toEqual(['commit 2', 'commit 3', 'close']);
    worker.answer();
    expect(await Promise.race([closed, turn().then(() => 'open')])).toBe('open');
    worker.emit('exit', 0);
    await closed;
    expect(await compaction).toBe('Closed');
    expect(sink.received).toEqual(['committed 2', 'committed 3']);
  });

  test('deletes rows in small pieces, alternating with writes, in order of revision', async () => {
    const { worker, log, append } = setup();
    const rows = Array.from({ length: 600 }, (_, i) => i + 1000);
    const first = reason(log.compact(700, rows.toReversed(), 0));
    const second = reason(log.compact(800, [5, 6], 0));
    for (let i = 0; i < 6; i++) {
      append();
      await turn();
      worker.answer();
    }
    worker.answer();
    expect(worker.asked).toEqual([
      'commit 2',
      'compact to 800: 256 rows from 5',
      'commit 3',
      'compact to 800: 256 rows from 1254',
      'commit 4 5',
      'compact to 800: 90 rows from 1510',
      'commit 6 7',
    ]);
    expect(await Promise.all([first, second])).toEqual(['done', 'done']);
  });

  test('deletes more rows when there are more writes, so that it keeps up with them', async () => {
    const { worker, log, append } = setup();
    append(400);
    await turn();
    const compactions = [700, 800, 900].map((revision, i) =>
      reason(
        log.compact(
          revision,
          Array.from({ length: 500 }, (_, j) => 1000 * (i + 1) + j),
          0,
        ),
      ),
    );
    for (let i = 0; i < 3; i++) worker.answer();
    const compacting = (): string[] => worker.asked.filter((text) => text.startsWith('compact'));
    expect(compacting()).toEqual([
      'compact to 900: 800 rows from 1000',
      'compact to 900: 700 rows from 2300',
    ]);
    expect(await Promise.all(compactions)).toEqual(['done', 'done', 'done']);
  });

  test('rows wait for others while there are writes', async () => {
    const { worker, log, append } = setup();
    const answerAll = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        append();
        await turn();
        worker.answer();
      }
    };
    append();
    await turn();
    const compactions = [log.compact(9000, [1], 0)].map(reason);
    await answerAll();
    const compacting = (): string[] => worker.asked.filter((text) => text.startsWith('compact'));
    // The first one does not wait: how long ago the last one was is unknown.
    expect(compacting()).toEqual(['compact to 9000: 1 rows from 1']);
    compactions.push(
      reason(log.compact(9100, [20, 10], 0)),
      reason(log.compact(9200, [7], 16 * 1024 * 1024 - 1)),
    );
    await answerAll();
    expect(compacting()).toHaveLength(1);
    compactions.push(reason(log.compact(9300, [], 1)));
    await answerAll();
    expect(compacting().slice(1)).toEqual(['compact to 9300: 3 rows from 7']);
    compactions.push(reason(log.compact(9300 + 8192, [30], 0)));
    await answerAll();
    expect(compacting().slice(2)).toEqual(['compact to 17492: 1 rows from 30']);
    expect(await Promise.all(compactions)).toEqual(['done', 'done', 'done', 'done', 'done']);
  });

  test('keeps the rows of a compaction without space for the next one', async () => {
    const { worker, log } = setup();
    const rows = Array.from({ length: 300 }, (_, i) => i + 1000);
    const outcomes = [log.compact(700, rows, 0), log.compact(800, [5, 6], 0)].map(reason);
    await turn();
    worker.answer();
    worker.fail('NoSpace');
    expect(await Promise.all(outcomes)).toEqual(['NoSpace', 'NoSpace']);
    const later = reason(log.compact(900, [7], 0));
    await turn();
    worker.answer();
    expect(await later).toBe('done');
    expect(worker.asked).toEqual([
      'compact to 800: 256 rows from 5',
      'compact to 800: 46 rows from 1254',
      'compact to 900: 47 rows from 7',
    ]);
  });

  test('reports the outcome of a probe', async () => {
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
