// Tests that the conformance suite cannot do: pending writes, failed commits, automatic compaction.

import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import {
  type KeyValue,
  type Revision,
  StorageError,
  type StorageErrorReason,
} from '../interface.ts';
import type { CommitLog, CommitSink } from './commit-log.ts';
import { type EngineOptions, MvccEngine } from './engine.ts';
import type { EngineWrite } from './engine-write.ts';
import { MvccStore } from './store.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (kv: KeyValue | undefined): string | undefined =>
  kv === undefined ? undefined : new TextDecoder().decode(kv.value);

/** A log that commits when the test calls it. */
class ManualLog implements CommitLog<EngineWrite> {
  readonly sink: CommitSink<EngineWrite>;
  waiting: EngineWrite[] = [];
  compacted: { readonly revision: Revision; readonly obsolete: readonly Revision[] }[] = [];
  full: StorageError | undefined;

  constructor(sink: CommitSink<EngineWrite>) {
    this.sink = sink;
  }

  append(write: EngineWrite): void {
    this.waiting.push(write);
  }

  async compact(revision: Revision, obsolete: readonly Revision[]): Promise<void> {
    this.compacted.push({ revision, obsolete });
  }

  async probe(): Promise<void> {
    if (this.full !== undefined) throw this.full;
  }

  async close(): Promise<void> {
    this.commit();
  }

  commit(count = this.waiting.length): void {
    this.sink.committed(this.waiting.splice(0, count));
  }
}

function setup(options: Partial<EngineOptions> = {}) {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  let log: ManualLog | undefined;
  const engine = new MvccEngine({
    clock,
    logger,
    ...options,
    store: new MvccStore(),
    openLog: (sink) => (log = new ManualLog(sink)),
  });
  if (log === undefined) throw new Error('the engine opened no log');
  return { engine, log, clock, logger };
}

/** Returns the state of a promise after all tasks that can run have run. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  const settled = promise.then(
    () => 'done',
    (error: unknown) => (error instanceof StorageError ? error.reason : error),
  );
  return await Promise.race([
    settled,
    new Promise((resolve) => setImmediate(() => resolve('waiting'))),
  ]);
}

describe('pending writes', () => {
  test('are invisible until they are committed, and visible to all readers then', async () => {
    const { engine, log } = setup();
    const stream = engine.watch('/p/');
    const created = engine.create('/p/a', bytes('1'));
    expect(await outcome(created)).toBe('waiting');
    expect(await engine.get('/p/a')).toBeUndefined();
    expect(await engine.count('/p/')).toBe(0);
    expect(await engine.currentRevision()).toBe(1);
    expect(engine.now.get('/p/a')).toBeUndefined();
    expect(engine.now.list('/p/')).toEqual([]);
    log.commit();
    expect(engine.now.get('/p/a')).toMatchObject({ modRevision: 2 });
    expect(engine.now.list('/p/').map(text)).toEqual(['1']);
    expect(await created).toMatchObject({ modRevision: 2 });
    expect(text(await engine.get('/p/a'))).toBe('1');
    for await (const event of stream) {
      expect(event).toMatchObject({ type: 'put', revision: 2 });
      break;
    }
  });

  test('can be followed by writes of the same key, without waiting', async () => {
    const { engine, log } = setup();
    const append = (what: string) =>
      engine.guaranteedUpdate('/p/a', (current) => ({
        action: 'put',
        value: bytes(`${text(current) ?? ''}${what}`),
      }));
    const writes = ['a', 'b', 'c'].map(append);
    expect(await outcome(Promise.all(writes))).toBe('waiting');
    expect(log.waiting.map((write) => [write.revision, text(write.kv)])).toEqual([
      [2, 'a'],
      [3, 'ab'],
      [4, 'abc'],
    ]);
    log.commit(1);
    expect(await outcome(writes[0] as Promise<unknown>)).toBe('done');
    expect(await outcome(writes[1] as Promise<unknown>)).toBe('waiting');
    expect(text(await engine.get('/p/a'))).toBe('a');
    log.commit();
    expect(text((await writes[2])?.previous)).toBe('ab');
  });

  test('delay every result that depends on them', async () => {
    const { engine, log } = setup();
    const created = engine.create('/p/a', bytes('1'));
    const again = engine.create('/p/a', bytes('2'));
    const conflict = engine.delete('/p/a', { expectedRevision: 99 });
    const kept = engine.guaranteedUpdate('/p/a', () => ({ action: 'keep' }));
    const refused = engine.guaranteedUpdate('/p/a', (current) => {
      throw new Error(`refused ${text(current)}`);
    });
    for (const each of [created, again, conflict, kept, refused])
      expect(await outcome(each)).toBe('waiting');
    log.commit();
    expect(await outcome(created)).toBe('done');
    expect(await outcome(again)).toBe('KeyExists');
    expect(await outcome(conflict)).toBe('Conflict');
    expect(text((await kept).kv)).toBe('1');
    await expect(refused).rejects.toThrow('refused 1');

    const deleted = engine.delete('/p/a');
    const missing = engine.delete('/p/a');
    expect(await outcome(missing)).toBe('waiting');
    log.commit();
    expect(await outcome(deleted)).toBe('done');
    expect(await outcome(missing)).toBe('KeyNotFound');
  });
});

describe('a commit without space', () => {
  test('rolls pending writes back, and evaluates the waiting operations again', async () => {
    const { engine, log } = setup();
    const first = engine.create('/p/kept', bytes('1'));
    log.commit();
    await first;
    const created = engine.create('/p/a', bytes('1'));
    const updated = engine.guaranteedUpdate('/p/kept', () => ({
      action: 'put',
      value: bytes('2'),
    }));
    const again = engine.create('/p/a', bytes('2'));
    const missing = engine.delete('/p/a', { expectedRevision: 99 });
    const kept = engine.guaranteedUpdate('/p/kept', () => ({ action: 'keep' }));
    for (const each of [created, updated, again, missing, kept])
      expect(await outcome(each)).toBe('waiting');
    const full = new StorageError('NoSpace', 'no space');
    log.full = full;
    log.sink.rolledBack(log.waiting.splice(0), full);
    expect(await outcome(created)).toBe('NoSpace');
    expect(await outcome(updated)).toBe('NoSpace');
    expect(text((await kept).kv)).toBe('1');
    // The second creator found no key, and creates it. So the deleter waits for that write.
    expect(await outcome(again)).toBe('waiting');
    expect(await outcome(missing)).not.toBe('done');
    expect(await engine.currentRevision()).toBe(2);
    expect(await outcome(engine.health())).toBe('NoSpace');
    log.full = undefined;
    expect(await outcome(engine.health())).toBe('done');
    log.commit();
    expect((await again).modRevision).toBe(3);
    expect(text(await engine.get('/p/a'))).toBe('2');
    expect(text(await engine.get('/p/kept'))).toBe('1');
  });

  test('takes back keys that were patched together', async () => {
    const { engine, log } = setup();
    for (const key of ['/p/a', '/p/b']) void engine.create(key, bytes('1'));
    log.commit();
    const patch = { places: [0], texts: [bytes('2')] };
    const { states, done } = engine.patchTogether(['/p/a', '/p/b'], () => patch);
    const kept = engine.guaranteedUpdate('/p/a', () => ({ action: 'keep' }));
    expect(states.map((kv) => text(kv))).toEqual(['2', '2']);
    expect(text(await engine.get('/p/a'))).toBe('1');
    log.commit(1);
    expect(await outcome(done)).toBe('waiting');
    log.sink.rolledBack(log.waiting.splice(0), new StorageError('NoSpace', 'no space'));
    expect(await outcome(done)).toBe('NoSpace');
    expect(text((await kept).kv)).toBe('2');
    expect((await engine.list('/p/')).items.map(text)).toEqual(['2', '1']);
    const again = engine.patchTogether(['/p/a', '/p/b'], () => patch);
    expect(again.states.map((kv) => kv?.modRevision)).toEqual([5, 6]);
    log.commit();
    expect(await outcome(again.done)).toBe('done');
    expect(await outcome(engine.patchTogether(['/p/c'], () => patch).done)).toBe('done');
  });

  test('does not keep expired keys forever', async () => {
    const { engine, log, clock } = setup();
    const created = engine.create('/p/a', bytes('1'), { ttlMs: 1000 });
    log.commit();
    await created;
    await clock.advance(1000);
    expect(log.waiting).toHaveLength(1);
    log.sink.rolledBack(log.waiting.splice(0), new StorageError('NoSpace', 'no space'));
    await clock.advance(4000);
    expect(log.waiting).toHaveLength(0);
    await clock.advance(2000);
    log.commit();
    expect(await engine.get('/p/a')).toBeUndefined();
  });
});

describe('a failed commit', () => {
  test('ends all writes, and no reads', async () => {
    const received: string[] = [];
    const { engine, log, logger } = setup({ onFailure: (error) => received.push(error.message) });
    const first = engine.create('/p/a', bytes('1'));
    log.commit();
    await first;
    const updated = engine.guaranteedUpdate('/p/a', () => ({ action: 'put', value: bytes('2') }));
    const conflict = engine.delete('/p/a', { expectedRevision: 2 });
    expect(await outcome(updated)).toBe('waiting');
    log.sink.failed(log.waiting.splice(0), new StorageError('Unavailable', 'the disk is gone'));
    expect(received).toEqual(['the disk is gone']);
    const reasons: unknown[] = [];
    for (const each of [
      updated,
      conflict,
      engine.create('/p/b', bytes('1')),
      engine.delete('/p/a'),
      engine.guaranteedUpdate('/p/a', () => ({ action: 'keep' })),
      engine.compact(1),
      engine.health(),
    ]) {
      reasons.push(await outcome(each));
    }
    expect(reasons).toEqual(Array.from({ length: 7 }, (): StorageErrorReason => 'Unavailable'));
    expect(log.waiting).toHaveLength(0);
    expect(text(await engine.get('/p/a'))).toBe('1');
    expect((await engine.list('/p/')).items).toHaveLength(1);
    expect(logger.records.filter((record) => record.level === 'error')).toHaveLength(1);
    await engine.close();
  });
});

describe('health', () => {
  test('is bad while the disk does not respond', async () => {
    const { engine, log, clock } = setup();
    const created = engine.create('/p/a', bytes('1'));
    await clock.advance('5s');
    await engine.health();
    await clock.advance('6s');
    expect(await outcome(engine.health())).toBe('Unavailable');
    log.commit();
    await created;
    await engine.health();
  });
});

describe('history', () => {
  test('is kept for its time, then forgotten, on disk as well', async () => {
    const { engine, log, clock } = setup();
    const write = async (): Promise<Revision> => {
      const written = engine.guaranteedUpdate('/p/a', () => ({ action: 'put', value: bytes('x') }));
      await new Promise((resolve) => setImmediate(resolve));
      log.commit();
      return (await written).revision;
    };
    const first = await write();
    await clock.advance('3m');
    const second = await write();
    await clock.advance('2m');
    expect(await engine.get('/p/a', { revision: first })).toMatchObject({ modRevision: first });
    await clock.advance('2m');
    expect(await outcome(engine.get('/p/a', { revision: first - 1 }))).toBe('Expired');
    expect(await outcome(engine.get('/p/a', { revision: second }))).toBe('done');
    await clock.advance('4m');
    expect(await outcome(engine.get('/p/a', { revision: first }))).toBe('Expired');
    expect(await engine.get('/p/a', { revision: second })).toMatchObject({ modRevision: second });
    expect(log.compacted.flatMap((each) => each.obsolete)).toEqual([first]);
    // No history is left to forget, and no timer runs.
    await clock.advance('5m');
    expect(clock.pendingTimers).toBe(0);
    await write();
    expect(clock.pendingTimers).toBe(1);
    await engine.close();
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([
    ['revisions', { maxHistoryRevisions: 100 }, 100],
    ['bytes', { maxHistoryBytes: 1000 }, 100],
  ])('is bounded by %s, however young', async (_, limits, kept) => {
    const engine = new MvccEngine({
      clock: new VirtualClock(),
      logger: recordingLogger(),
      ...limits,
      store: new MvccStore(),
    });
    for (let i = 0; i < 1000; i++)
      await engine.guaranteedUpdate('/p/a', () => ({ action: 'put', value: bytes('0123456789') }));
    const revision = await engine.currentRevision();
    expect(await engine.get('/p/a', { revision: revision - kept })).toBeDefined();
    expect(await outcome(engine.get('/p/a', { revision: revision - 2 * kept }))).toBe('Expired');
    await engine.close();
  });
});

describe('watchers', () => {
  test('do not slow down writes outside their prefix, and leave nothing behind', async () => {
    const clock = new VirtualClock();
    const engine = new MvccEngine({
      clock,
      logger: recordingLogger(),
      store: new MvccStore(),
      watchBufferEvents: 1,
    });
    const others = Array.from({ length: 100 }, (_, i) =>
      engine.watch(`/other/${i}/`, { progressIntervalMs: 60_000 }),
    );
    for (let i = 0; i < 10; i++) await engine.create(`/p/${i}`, bytes('1'));
    // No other watcher was cut off, since none got any event.
    for (const stream of others) {
      const iterator = stream[Symbol.asyncIterator]();
      expect((await iterator.next()).value).toEqual({ type: 'progress', revision: 1 });
      stream.stop();
      expect((await iterator.next()).done).toBe(true);
    }
    await clock.advance('11m');
    expect(clock.pendingTimers).toBe(0);
    await engine.close();
  });
});
