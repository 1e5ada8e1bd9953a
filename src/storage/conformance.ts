// The suite that every storage engine must pass. An engine's test calls storageConformance with a
// function that creates the engine.

import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import type { WatchStream } from '#machinery/watch.ts';
import {
  type IndexListOptions,
  type KeyValue,
  type ListOptions,
  type Revision,
  type Storage,
  StorageError,
  type StorageErrorReason,
  type StorageEvent,
  type UpdateDecision,
  type ValuePatch,
} from './interface.ts';
import { listByScan } from './list-by-scan.ts';

export interface HarnessOptions {
  /** How many events may wait for a watcher before it is cut off. Absent: the engine's default. */
  readonly watchBufferEvents?: number;
}

/** An engine with an empty store, and what a test needs around it. */
export interface StorageHarness {
  readonly storage: Storage;
  /** Advances the engine's time by this many milliseconds, divided by `timeScale`. */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * The factor by which the suite divides its durations (time to live, progress intervals). Set for
   * an engine that runs in real time. Default: 1.
   */
  readonly timeScale?: number;
  /** The engine has no indexes; an index list reads every key. */
  readonly scans?: boolean;
  /**
   * Closes the engine and opens it again with the data that it kept. Absent: the engine keeps
   * nothing.
   */
  readonly reopen?: () => Promise<Storage>;
  /** Closes the engine and removes everything. */
  readonly dispose: () => Promise<void>;
}

export type HarnessFactory = (options: HarnessOptions) => Promise<StorageHarness>;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** In real time, a key has expired before the test could look at it. */
class TooLate extends Error {}

const ATTEMPTS = 5;

/** Returns an event as text, without its revision: keys of an attempt before may expire, too. */
const withoutRevision = (event: string): string => event.slice(event.indexOf(' ') + 1);

/** Runs the test, and again on another store if it is too late: other programs use the machine, too. */
async function inTime(attempt: () => Promise<void>): Promise<void> {
  for (let left = ATTEMPTS - 1; ; left--) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!(error instanceof TooLate) || left === 0) throw error;
    }
  }
}

/**
 * Returns a function that throws TooLate if keys which are written from now on, with this time to
 * live, may have expired. With a virtual clock (`timeScale` 1) it never does.
 */
function deadline(ttlMs: number, timeScale: number): () => void {
  const due = systemClock.monotonic() + ttlMs;
  return () => {
    if (timeScale !== 1 && systemClock.monotonic() >= due) throw new TooLate('a key has expired');
  };
}

/**
 * Returns the StorageError that the operation fails with. Fails the test if the operation succeeds
 * or throws another error.
 */
async function failure(operation: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await operation.then(
    () => new Error('the operation succeeded'),
    (error_: unknown) => error_,
  );
  if (!(error instanceof StorageError)) throw error;
  return error;
}

async function reasonOf(operation: Promise<unknown>): Promise<StorageErrorReason> {
  return (await failure(operation)).reason;
}

/** Returns the next `count` events in short form, then stops the watch. */
async function take(stream: WatchStream<StorageEvent>, count: number): Promise<string[]> {
  const events: string[] = [];
  if (count > 0) {
    for await (const event of stream) {
      events.push(show(event));
      if (events.length === count) break;
    }
  }
  stream.stop();
  return events;
}

function show(event: StorageEvent): string {
  if (event.type === 'progress') return `progress ${event.revision}`;
  const before = text(event.previous?.value) ?? 'none';
  if (event.type === 'delete') return `${event.revision} ${event.key}: ${before} -> gone`;
  return `${event.revision} ${event.kv.key}: ${before} -> ${text(event.kv.value)}`;
}

async function put(
  storage: Storage,
  key: string,
  value: string,
  ttlMs?: number,
): Promise<Revision> {
  return (
    await storage.guaranteedUpdate(key, () => ({ action: 'put', value: bytes(value), ttlMs }))
  ).revision;
}

function increment(current: KeyValue | undefined): UpdateDecision {
  return { action: 'put', value: bytes(String(Number(text(current?.value) ?? '0') + 1)) };
}

export function storageConformance(name: string, factory: HarnessFactory): void {
  describe(`storage conformance: ${name}`, () => {
    const harnesses: StorageHarness[] = [];
    const make = async (options: HarnessOptions = {}): Promise<StorageHarness> => {
      const harness = await factory(options);
      harnesses.push(harness);
      return harness;
    };
    const open = async (): Promise<Storage> => (await make()).storage;
    afterEach(async () => {
      for (const harness of harnesses.splice(0)) await harness.dispose();
    });

    describe('create and get', () => {
      test('returns the created value, and reads it back', async () => {
        const storage = await open();
        const before = await storage.currentRevision();
        const created = await storage.create('/a/x', bytes('one'));
        expect(created).toMatchObject({
          key: '/a/x',
          createRevision: before + 1,
          modRevision: before + 1,
        });
        const read = await storage.get('/a/x');
        expect(read).toMatchObject({
          key: '/a/x',
          createRevision: before + 1,
          modRevision: before + 1,
        });
        expect(text(read?.value)).toBe('one');
        expect(await storage.get('/a/y')).toBeUndefined();
        expect(await storage.get('/a/')).toBeUndefined();
      });

      test('keeps any bytes, and none', async () => {
        const storage = await open();
        const all = Uint8Array.from({ length: 1024 }, (_, index) => index % 256);
        await storage.create('/a/all', all.subarray(3));
        await storage.create('/a/none', new Uint8Array());
        expect(
          Buffer.compare((await storage.get('/a/all'))?.value ?? new Uint8Array(), all.subarray(3)),
        ).toBe(0);
        expect((await storage.get('/a/none'))?.value.length).toBe(0);
      });

      test('rejects a key that exists, and writes nothing', async () => {
        const storage = await open();
        const created = await storage.create('/a/x', bytes('one'));
        const error = await failure(storage.create('/a/x', bytes('two')));
        expect(error).toMatchObject({ reason: 'KeyExists', key: '/a/x' });
        expect(text((await storage.get('/a/x'))?.value)).toBe('one');
        expect(await storage.currentRevision()).toBe(created.modRevision);
      });

      test('lets exactly one of many creators of a key win', async () => {
        const storage = await open();
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, i) => storage.create('/a/x', bytes(String(i)))),
        );
        const losers = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason as StorageError] : [],
        );
        expect(losers.map((error) => error.reason)).toEqual(
          Array.from({ length: 19 }, () => 'KeyExists'),
        );
      });

      test('reads the past', async () => {
        const storage = await open();
        const empty = await storage.currentRevision();
        const one = await put(storage, '/a/x', 'one');
        const two = await put(storage, '/a/x', 'two');
        const { revision: gone } = await storage.delete('/a/x');
        const three = await put(storage, '/a/x', 'three');
        const states = await Promise.all(
          [empty, one, two, gone, three, 0].map((revision) => storage.get('/a/x', { revision })),
        );
        expect(states.map((kv) => text(kv?.value))).toEqual([
          undefined,
          'one',
          'two',
          undefined,
          'three',
          'three',
        ]);
        expect(states[2]).toMatchObject({ createRevision: one, modRevision: two });
        expect(states[4]).toMatchObject({ createRevision: three, modRevision: three });
      });

      test('rejects reads of a future revision', async () => {
        const storage = await open();
        const revision = await put(storage, '/a/x', 'one');
        const error = await failure(storage.get('/a/x', { revision: revision + 1 }));
        expect(error).toMatchObject({ reason: 'FutureRevision', revision });
        expect(await reasonOf(storage.list('/a/', { revision: revision + 1 }))).toBe(
          'FutureRevision',
        );
      });
    });

    describe('patchTogether', () => {
      const patch = (...texts: readonly string[]): ValuePatch => ({
        places: texts.map((_text, i) => 2 * i),
        texts: texts.map(bytes),
      });

      test('leaves what updates in the same order leave', async ({ skip }) => {
        const { storage, reopen } = await make();
        if (storage.patchTogether === undefined) return skip('this engine has single updates only');
        for (const key of ['/p/a', '/p/b', '/p/c', '/q/d']) await put(storage, key, 'one two');
        const start = await storage.currentRevision();
        const stream = storage.watch('/p/', { afterRevision: start });
        const seen: unknown[] = [];
        const { states, done } = storage.patchTogether(
          ['/p/c', '/p/none', '/q/d', '/p/a', '/p/b', '/p/a'],
          (current, index) => {
            seen.push([index, current.key, text(current.value)]);
            return current.key === '/p/b' ? undefined : patch('O', '', String(index));
          },
        );
        expect(seen).toEqual([
          [0, '/p/c', 'one two'],
          [2, '/q/d', 'one two'],
          [3, '/p/a', 'one two'],
          [4, '/p/b', 'one two'],
          [5, '/p/a', 'One 3wo'],
        ]);
        const revisions = states.map((state) => state && state.modRevision - start);
        expect(revisions).toEqual([1, undefined, 2, 3, undefined, 4]);
        await done;
        const values = async (options?: ListOptions): Promise<readonly unknown[]> =>
          (await storage.list('/p/', options)).items.map((kv) => text(kv.value));
        expect(await values()).toEqual(['One 5wo', 'one two', 'One 0wo']);
        expect(await values({ revision: start + 3 })).toEqual(['One 3wo', 'one two', 'One 0wo']);
        expect(await values({ revision: start })).toEqual(['one two', 'one two', 'one two']);
        expect(await take(stream, 3)).toEqual([
          `${start + 1} /p/c: one two -> One 0wo`,
          `${start + 3} /p/a: one two -> One 3wo`,
          `${start + 4} /p/a: One 3wo -> One 5wo`,
        ]);
        const read = await storage.get('/p/a');
        expect(read).toMatchObject({ modRevision: start + 4, createRevision: start - 3 });
        expect(read?.value).toEqual(states[5]!.value);
        if (reopen === undefined) return;
        const again = await reopen();
        expect((await again.list('/p/')).items.map((kv) => text(kv.value))).toEqual([
          'One 5wo',
          'one two',
          'One 0wo',
        ]);
      });

      test('builds on writes under way, and other writes on its own', async ({ skip }) => {
        const storage = await open();
        if (storage.patchTogether === undefined) return skip('this engine has single updates only');
        await put(storage, '/p/a', '10000');
        const increments = Array.from({ length: 20 }, () => {
          const one = storage.guaranteedUpdate('/p/a', increment);
          const { done } = storage.patchTogether!(['/p/a'], ({ value }) =>
            patch('', '', String(Number(text(value)!.slice(4)) + 1)),
          );
          return Promise.all([one, done]);
        });
        await Promise.all(increments);
        const { kv } = await storage.guaranteedUpdate('/p/a', increment);
        expect(text(kv?.value)).toBe(text((await storage.get('/p/a'))?.value));
        expect(kv?.modRevision).toBe(kv!.createRevision + 41);
      });

      test('ends a time to live, and rejects after the end', async ({ skip }) => {
        const { storage, advance } = await make();
        if (storage.patchTogether === undefined) return skip('this engine has single updates only');
        await put(storage, '/p/a', 'one', 10_000);
        await storage.patchTogether(['/p/a'], () => patch('O')).done;
        await advance(20_000);
        expect(text((await storage.get('/p/a'))?.value)).toBe('One');
        await storage.close();
        expect(() => storage.patchTogether!(['/p/a'], () => patch('o'))).toThrow(StorageError);
      });
    });

    describe('guaranteedUpdate', () => {
      test('creates, changes and deletes', async () => {
        const storage = await open();
        const created = await storage.guaranteedUpdate('/a/x', (current) => {
          expect(current).toBeUndefined();
          return { action: 'put', value: bytes('one') };
        });
        expect(created.previous).toBeUndefined();
        expect(created.kv).toMatchObject({
          createRevision: created.revision,
          modRevision: created.revision,
        });
        const updated = await storage.guaranteedUpdate('/a/x', async (current) => ({
          action: 'put',
          value: bytes(`${text(current?.value)} two`),
        }));
        expect(text(updated.kv?.value)).toBe('one two');
        expect(text(updated.previous?.value)).toBe('one');
        expect(updated.kv).toMatchObject({
          createRevision: created.revision,
          modRevision: created.revision + 1,
        });
        const deleted = await storage.guaranteedUpdate('/a/x', () => ({ action: 'delete' }));
        expect(deleted.kv).toBeUndefined();
        expect(text(deleted.previous?.value)).toBe('one two');
        expect(deleted.revision).toBe(created.revision + 2);
        expect(await storage.get('/a/x')).toBeUndefined();
      });

      test('writes nothing for "keep", or if there is nothing to delete', async () => {
        const storage = await open();
        const revision = await put(storage, '/a/x', 'one');
        const kept = await storage.guaranteedUpdate('/a/x', () => ({ action: 'keep' }));
        expect(text(kept.kv?.value)).toBe('one');
        expect(kept.revision).toBe(revision);
        const absent = await storage.guaranteedUpdate('/a/y', () => ({ action: 'keep' }));
        expect(absent).toMatchObject({ revision });
        expect(absent.kv).toBeUndefined();
        expect(
          (await storage.guaranteedUpdate('/a/y', () => ({ action: 'delete' }))).kv,
        ).toBeUndefined();
        expect(await storage.currentRevision()).toBe(revision);
      });

      test('rethrows an error of the update function, and writes nothing', async () => {
        const storage = await open();
        const revision = await put(storage, '/a/x', 'one');
        const refuse = (): never => {
          throw new RangeError('not this one');
        };
        await expect(storage.guaranteedUpdate('/a/x', refuse)).rejects.toThrow('not this one');
        await expect(
          storage.guaranteedUpdate('/a/x', () => Promise.reject(new RangeError('nor this'))),
        ).rejects.toThrow('nor this');
        expect(await storage.currentRevision()).toBe(revision);
      });

      test('begins with the guess, and does without a read while it is right', async () => {
        const storage = await open();
        const guess = await storage.create('/a/x', bytes('1'));
        const seen: (string | undefined)[] = [];
        const result = await storage.guaranteedUpdate(
          '/a/x',
          (current) => {
            seen.push(text(current?.value));
            return increment(current);
          },
          { guess },
        );
        expect(seen).toEqual(['1']);
        expect(text(result.kv?.value)).toBe('2');
        await expect(
          storage.guaranteedUpdate('/a/x', () => Promise.reject(new Error('no')), {
            guess: result.kv,
          }),
        ).rejects.toThrow('no');
      });

      test('reads again when the guess is stale: for a write, for keep, and when the update throws', async () => {
        const storage = await open();
        const stale = await storage.create('/a/x', bytes('1'));
        await put(storage, '/a/x', '5');
        const kept = await storage.guaranteedUpdate('/a/x', () => ({ action: 'keep' }), {
          guess: stale,
        });
        expect(text(kept.kv?.value)).toBe('5');
        const written = await storage.guaranteedUpdate('/a/x', increment, { guess: stale });
        expect(text(written.kv?.value)).toBe('6');
        expect(text(written.previous?.value)).toBe('5');
        const seen: (string | undefined)[] = [];
        const late = await storage.guaranteedUpdate(
          '/a/x',
          (current) => {
            seen.push(text(current?.value));
            if (text(current?.value) === '1') throw new Error('too small');
            return { action: 'delete' };
          },
          { guess: stale },
        );
        expect(seen).toEqual(['1', '6']);
        expect(text(late.previous?.value)).toBe('6');
        const created = await storage.guaranteedUpdate('/a/x', increment, { guess: stale });
        expect(text(created.kv?.value)).toBe('1');
        expect(created.previous).toBeUndefined();
      });

      test.each([
        ['that decide at once', increment],
        [
          'that take their time',
          async (current: KeyValue | undefined) => await Promise.resolve(increment(current)),
        ],
      ])('loses no update of many writers %s', async (_, update) => {
        const storage = await open();
        const before = await storage.currentRevision();
        const writer = async (): Promise<string[]> => {
          const written: string[] = [];
          for (let i = 0; i < 10; i++)
            written.push(
              text((await storage.guaranteedUpdate('/a/counter', update)).kv?.value) ?? '',
            );
          return written;
        };
        const written = (await Promise.all(Array.from({ length: 32 }, writer))).flat();
        expect(text((await storage.get('/a/counter'))?.value)).toBe('320');
        expect(new Set(written).size).toBe(320);
        expect(await storage.currentRevision()).toBe(before + 320);
      });
    });

    describe('delete', () => {
      test('answers the value deleted and the revision of the deletion', async () => {
        const storage = await open();
        const revision = await put(storage, '/a/x', 'one');
        const deleted = await storage.delete('/a/x');
        expect(text(deleted.previous.value)).toBe('one');
        expect(deleted.previous.modRevision).toBe(revision);
        expect(deleted.revision).toBe(revision + 1);
        expect(await storage.get('/a/x')).toBeUndefined();
        expect(await reasonOf(storage.delete('/a/x'))).toBe('KeyNotFound');
        expect(await storage.currentRevision()).toBe(revision + 1);
      });

      test('heeds the revision expected', async () => {
        const storage = await open();
        const first = await put(storage, '/a/x', 'one');
        const second = await put(storage, '/a/x', 'two');
        const error = await failure(storage.delete('/a/x', { expectedRevision: first }));
        expect(error).toMatchObject({ reason: 'Conflict', key: '/a/x' });
        expect(error.current).toMatchObject({ modRevision: second });
        expect(await reasonOf(storage.delete('/a/y', { expectedRevision: first }))).toBe(
          'KeyNotFound',
        );
        expect((await storage.delete('/a/x', { expectedRevision: second })).revision).toBe(
          second + 1,
        );
      });

      test('lets exactly one of many deleters win', async () => {
        const storage = await open();
        await put(storage, '/a/x', 'one');
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, () => storage.delete('/a/x')),
        );
        expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('list and count', () => {
      test('orders keys by their UTF-8 bytes, and knows where a prefix ends', async () => {
        const storage = await open();
        const names = ['a', 'a-b', 'a.b', 'aa', 'b', 'Z', 'é', '\uff5e', '\u{1f600}', 'a/b', 'a0'];
        for (const each of names) await put(storage, `/p/${each}`, each);
        for (const outside of ['/p', '/o/z', '/p0', '/pp/a', '/q/a'])
          await put(storage, outside, 'x');
        const sorted = names
          .map((each) => `/p/${each}`)
          .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const { items, remaining, revision } = await storage.list('/p/');
        expect(items.map((kv) => kv.key)).toEqual(sorted);
        expect(remaining).toBe(0);
        expect(revision).toBe(await storage.currentRevision());
        expect(await storage.count('/p/')).toBe(names.length);
        expect((await storage.list('/p/a/')).items.map((kv) => kv.key)).toEqual(['/p/a/b']);
        expect(await storage.list('/nothing/')).toEqual({ items: [], remaining: 0, revision });
        expect(await storage.count('/nothing/')).toBe(0);
        const paged: string[] = [];
        let startAfter: string | undefined;
        do {
          const page = await storage.list('/p/', { limit: 2, startAfter });
          paged.push(...page.items.map((kv) => kv.key));
          expect(page.remaining).toBe(names.length - paged.length);
          startAfter = page.remaining > 0 ? paged.at(-1) : undefined;
        } while (startAfter !== undefined);
        expect(paged).toEqual(sorted);
      });

      test('begins after a key, whether it exists or not, or is outside the prefix', async () => {
        const storage = await open();
        for (const each of ['b', 'd', 'f']) await put(storage, `/p/${each}`, each);
        await put(storage, '/q/a', 'x');
        const after = async (startAfter: string): Promise<string> =>
          (await storage.list('/p/', { startAfter })).items.map((kv) => kv.key.slice(3)).join('');
        expect(await after('/p/b')).toBe('df');
        expect(await after('/p/c')).toBe('df');
        expect(await after('/p/f')).toBe('');
        expect(await after('/a')).toBe('bdf');
        expect(await after('/q/a')).toBe('');
        expect(await storage.list('/p/', { startAfter: '/p/b', limit: 1 })).toMatchObject({
          remaining: 1,
        });
      });

      test('pages through one revision while writers run', async () => {
        const storage = await open();
        const keyOf = (index: number): string => `/p/${String(index).padStart(4, '0')}`;
        for (let i = 0; i < 200; i += 2) await put(storage, keyOf(i), 'old');
        const stop = new AbortController();
        const writer = async (offset: number): Promise<void> => {
          for (let i = offset; !stop.signal.aborted; i += 7) {
            const key = keyOf(i % 200);
            await storage.guaranteedUpdate(key, (current) =>
              current === undefined || i % 3 > 0
                ? { action: 'put', value: bytes('new') }
                : { action: 'delete' },
            );
          }
        };
        const writers = [writer(1), writer(2), writer(3)];
        const first = await storage.list('/p/', { limit: 1 });
        await put(storage, '/p/zzz', 'later');
        const { revision } = first;
        const everything = await storage.list('/p/', { revision });
        const paged = [...first.items];
        while (paged.length < everything.items.length) {
          await put(storage, '/q/tick', 'x');
          const page = await storage.list('/p/', {
            revision,
            limit: 9,
            startAfter: paged.at(-1)?.key,
          });
          expect(page.revision).toBe(revision);
          paged.push(...page.items);
          expect(page.remaining).toBe(everything.items.length - paged.length);
        }
        stop.abort();
        await Promise.all(writers);
        expect(paged).toEqual(everything.items);
        expect(paged.every((kv) => kv.modRevision <= revision)).toBe(true);
        expect(paged.length).toBeGreaterThan(0);
      });
    });

    describe('indexes', () => {
      const prefix = '/registry/indexed/';
      /** Returns the text before the first colon. Throws for values without one. */
      const valueOf = ({ value }: KeyValue): string => {
        const [before, after] = (text(value) ?? '').split(':');
        if (after === undefined) throw new Error('unreadable');
        return before!;
      };

      test('lists what a full scan lists, at every revision, page by page, during writes', async () => {
        const storage = await open();
        const definition = { prefix, valueOf };
        const scan = (value: string, options?: IndexListOptions) =>
          listByScan((within, page) => storage.list(within, page), definition, value, options);
        const name = fc.constantFrom(
          'a',
          'b',
          'c/d',
          'c/e',
          'c\u{10ffff}',
          'd',
          '\ufffd',
          '\u{1f600}',
        );
        const value = fc.constantFrom('x', 'y', '');
        const step = fc.oneof(
          {
            weight: 6,
            arbitrary: fc.record({
              op: fc.constant('put'),
              name,
              value: fc.oneof({ weight: 9, arbitrary: value }, fc.constant('?')),
            }),
          },
          { weight: 2, arbitrary: fc.record({ op: fc.constant('delete'), name }) },
          { weight: 1, arbitrary: fc.record({ op: fc.constant('compact'), back: fc.nat(3) }) },
          {
            weight: 4,
            arbitrary: fc.record({
              op: fc.constant('list'),
              value,
              back: fc.nat(6),
              limit: fc.nat(3),
              within: fc.constantFrom(undefined, `${prefix}c/`),
              startAfter: fc.option(name, { nil: undefined }),
            }),
          },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
            const index = storage.addIndex(definition);
            let oldest = await storage.currentRevision();
            for (const each of steps) {
              const now = await storage.currentRevision();
              if ('limit' in each) {
                const revision = each.back === 0 ? 0 : Math.max(now - each.back, oldest);
                const options = {
                  revision,
                  limit: each.limit,
                  within: each.within,
                  ...(each.startAfter !== undefined && { startAfter: prefix + each.startAfter }),
                };
                const [listed, expected] = [
                  await index.list(each.value, options),
                  await scan(each.value, options),
                ];
                expect(listed.items).toEqual(expected.items);
                expect(listed.more).toBe(expected.more);
                expect(listed.revision).toBe(revision || now);
              } else if ('value' in each) {
                const stored = each.value === '?' ? 'unreadable' : `${each.value}:${now}`;
                await storage.guaranteedUpdate(prefix + each.name, () => ({
                  action: 'put',
                  value: bytes(stored),
                }));
              } else if ('back' in each) {
                oldest = Math.max(oldest, now - each.back);
                await storage.compact(oldest);
              } else
                await storage.guaranteedUpdate(prefix + each.name, () => ({ action: 'delete' }));
            }
            index.close();
          }),
          { numRuns: 30 },
        );
      });

      test('are built while writers run, and show each write that was acknowledged', async () => {
        const storage = await open();
        const keys = Array.from(
          { length: 400 },
          (_, i) => `${prefix}${String(i).padStart(4, '0')}`,
        );
        await Promise.all(keys.map((key, i) => storage.create(key, bytes(`${i % 3}:`))));
        const index = storage.addIndex({ prefix, valueOf });
        const before = index.list('1');
        for (const [i, key] of keys.entries()) {
          if (i % 50 === 0)
            await storage.guaranteedUpdate(key, () => ({ action: 'put', value: bytes('moved:') }));
          if (i % 50 === 25) await storage.delete(key);
          if (i % 100 === 0) expect((await index.list('moved')).items).toHaveLength(i / 50 + 1);
        }
        expect((await before).items.length).toBeGreaterThan(100);
        const { items } = await index.list('1');
        const expected = keys.filter((_, i) => i % 3 === 1 && i % 50 !== 0 && i % 50 !== 25);
        expect(items.map(({ key }) => key)).toEqual(expected);
      });

      test('do not read the values of keys that they do not list', async ({ skip }) => {
        const { storage, scans } = await make();
        if (scans === true) return skip('this engine has no indexes');
        let looked = 0;
        const index = storage.addIndex({
          prefix,
          valueOf: (kv) => {
            looked++;
            return valueOf(kv);
          },
        });
        for (let i = 0; i < 200; i++)
          await storage.create(`${prefix}${i}`, bytes(i % 20 === 0 ? 'few:' : 'many:'));
        const page = await index.list('few', { limit: 5 });
        looked = 0;
        expect((await index.list('few')).items).toHaveLength(10);
        expect((await index.list('none')).items).toHaveLength(0);
        expect(
          (await index.list('few', { revision: page.revision, startAfter: page.items.at(-1)?.key }))
            .items,
        ).toHaveLength(5);
        expect(looked).toBe(0);
        await storage.create(`${prefix}few-more`, bytes('few:'));
        await storage.delete(`${prefix}0`);
        const rest = await index.list('few', {
          revision: page.revision,
          startAfter: page.items.at(-1)?.key,
        });
        expect(rest.items).toHaveLength(5);
        // The index reads the one changed key at most.
        expect(looked).toBeLessThanOrEqual(1);
      });

      test('end with the store', async () => {
        const storage = await open();
        const index = storage.addIndex({ prefix, valueOf });
        await storage.close();
        expect(await reasonOf(index.list('x'))).toBe('Closed');
      });
    });

    describe('watch', () => {
      test('delivers every change under the prefix, once, in order, with the value before', async () => {
        const storage = await open();
        const revision = await put(storage, '/p/old', '0');
        const stream = storage.watch('/p/', { afterRevision: revision });
        await put(storage, '/p/a', '1');
        await put(storage, '/q/a', 'x');
        await put(storage, '/p/a', '2');
        await put(storage, '/pp/a', 'x');
        await storage.delete('/p/a');
        await put(storage, '/p/n/b', '3');
        await put(storage, '/p/a', '4');
        expect(await take(stream, 5)).toEqual([
          `${revision + 1} /p/a: none -> 1`,
          `${revision + 3} /p/a: 1 -> 2`,
          `${revision + 5} /p/a: 2 -> gone`,
          `${revision + 6} /p/n/b: none -> 3`,
          `${revision + 7} /p/a: none -> 4`,
        ]);
      });

      test('begins now when no revision is given', async () => {
        const storage = await open();
        await put(storage, '/p/a', '1');
        const stream = storage.watch('/p/', { progressIntervalMs: 60_000 });
        const begun = stream[Symbol.asyncIterator]();
        const first = await begun.next();
        expect(first.value).toEqual({ type: 'progress', revision: expect.any(Number) });
        const revision = await put(storage, '/p/a', '2');
        expect(show((await begun.next()).value as StorageEvent)).toBe(`${revision} /p/a: 1 -> 2`);
        stream.stop();
      });

      test('resumes from every revision without a gap, and gives all watchers the same', async () => {
        const storage = await open();
        const begin = await storage.currentRevision();
        const live = storage.watch('/p/', { afterRevision: begin });
        const writers = Array.from({ length: 4 }, async (_, writer) => {
          for (let i = 0; i < 15; i++) {
            await put(storage, `/p/${writer}/${i % 4}`, String(i));
            if (i % 4 === 3) await storage.delete(`/p/${writer}/${i % 3}`);
          }
        });
        await Promise.all(writers);
        const total = (await storage.currentRevision()) - begin;
        const all = await take(live, total);
        expect(all.map((event) => Number(event.split(' ')[0]))).toEqual(
          Array.from({ length: total }, (_, i) => begin + 1 + i),
        );
        const resumed = Array.from({ length: total + 1 }, (_, seen) =>
          take(storage.watch('/p/', { afterRevision: begin + seen }), total - seen),
        );
        for (const [seen, events] of (await Promise.all(resumed)).entries())
          expect(events).toEqual(all.slice(seen));
      });

      test('joins past and present without a gap while writers run', async () => {
        const storage = await open();
        const begin = await storage.currentRevision();
        const stop = new AbortController();
        const writer = (async () => {
          for (let i = 0; !stop.signal.aborted; i++) await put(storage, `/p/${i % 10}`, String(i));
        })();
        for (let round = 0; round < 20; round++) {
          const from = Math.max(begin, (await storage.currentRevision()) - 5);
          const events = await take(storage.watch('/p/', { afterRevision: from }), 20);
          expect(events.map((event) => Number(event.split(' ')[0]))).toEqual(
            Array.from({ length: 20 }, (_, i) => from + 1 + i),
          );
        }
        stop.abort();
        await writer;
      });

      test('begins up to 100 revisions in the past or future, also during writes and after compaction', async () => {
        const storage = await open();
        for (let i = 0; i < 60; i++) await put(storage, `/p/${i % 7}`, String(i));
        const compacted = await storage.currentRevision();
        await storage.compact(compacted);
        for (let i = 0; i < 100; i++) await put(storage, `/p/${i % 7}`, String(i));
        const now = await storage.currentRevision();
        const total = 120;
        const offsets = [-130, -102, -100, -99, -50, -7, -1, 0, 1, 2, 50, 99, 100];
        const watches = offsets.map((offset) => ({
          offset,
          stream: storage.watch('/p/', { afterRevision: now + offset }),
        }));
        const writers = Array.from({ length: 4 }, async (_, writer) => {
          for (let i = 0; i < total / 4; i++)
            await put(storage, `/p/${(writer + i) % 7}`, `${writer}/${i}`);
        });
        await Promise.all(writers);
        expect(await storage.currentRevision()).toBe(now + total);
        for (const { offset, stream } of watches) {
          if (now + offset < compacted - 1) {
            expect(await reasonOf(take(stream, 1))).toBe('Expired');
            continue;
          }
          if (now + offset < compacted) {
            stream.stop();
            continue;
          }
          const received = (await take(stream, total - offset)).map((event) =>
            Number(event.split(' ')[0]),
          );
          expect(received).toEqual(
            Array.from({ length: total - offset }, (_, i) => now + offset + 1 + i),
          );
        }
      });

      test('waits for a future revision', async () => {
        const storage = await open();
        const revision = await put(storage, '/p/a', '1');
        const stream = storage.watch('/p/', { afterRevision: revision + 2 });
        await put(storage, '/p/a', '2');
        await put(storage, '/p/a', '3');
        await put(storage, '/p/a', '4');
        expect(await take(stream, 1)).toEqual([`${revision + 3} /p/a: 3 -> 4`]);
      });

      test('sends progress at once and while idle, never before the events that it covers', async () => {
        const { storage, advance, timeScale = 1 } = await make();
        const revision = await put(storage, '/p/a', '1');
        const progressIntervalMs = Math.max(50, 5000 / timeScale);
        const stream = storage.watch('/p/', { afterRevision: revision - 1, progressIntervalMs });
        const iterator = stream[Symbol.asyncIterator]();
        const next = async (): Promise<StorageEvent> =>
          (await iterator.next()).value as StorageEvent;
        expect(show(await next())).toBe(`${revision} /p/a: none -> 1`);
        const first = await next();
        expect(first.type).toBe('progress');
        expect(first.revision).toBeGreaterThanOrEqual(revision);
        expect(first.revision).toBeLessThanOrEqual(await storage.currentRevision());
        const other = await put(storage, '/q/a', 'x');
        const progress = async (): Promise<Revision> => {
          for (;;) {
            const event = await next();
            expect(event.type).toBe('progress');
            if (event.revision >= other) return event.revision;
          }
        };
        const [received] = await Promise.all([progress(), advance(5000)]);
        expect(received).toBeLessThanOrEqual(await storage.currentRevision());
        stream.stop();
        expect(await iterator.next()).toMatchObject({ done: true });
      });

      test('cuts off only the slow watcher, after its unread events', async () => {
        const { storage } = await make({ watchBufferEvents: 10 });
        const begin = await storage.currentRevision();
        const slow = storage.watch('/p/', { afterRevision: begin });
        const other = storage.watch('/q/', { afterRevision: begin });
        const fast = storage.watch('/p/', { afterRevision: begin })[Symbol.asyncIterator]();
        for (let i = 0; i < 50; i++) {
          await put(storage, '/p/a', String(i));
          expect((await fast.next()).value).toMatchObject({ revision: begin + 1 + i });
        }
        await fast.return?.();
        const seen: StorageEvent[] = [];
        const reason = await reasonOf(
          (async () => {
            for await (const event of slow) seen.push(event);
          })(),
        );
        expect(reason).toBe('SlowWatcher');
        const revisions = seen.map((event) => event.revision);
        expect(revisions).toEqual(revisions.map((_, i) => begin + 1 + i));
        expect(revisions.length).toBeLessThan(50);
        // The watch resumes from the last revision that it delivered.
        const resumed = await take(
          storage.watch('/p/', { afterRevision: revisions.at(-1) ?? begin }),
          50 - revisions.length,
        );
        expect(resumed).toHaveLength(50 - revisions.length);
        await put(storage, '/q/a', 'still there');
        expect(await take(other, 1)).toHaveLength(1);
      });

      test('does not mind how many events from the past are asked for', async () => {
        const { storage } = await make({ watchBufferEvents: 10 });
        const begin = await storage.currentRevision();
        for (let i = 0; i < 50; i++) await put(storage, '/p/a', String(i));
        expect(await take(storage.watch('/p/', { afterRevision: begin }), 50)).toHaveLength(50);
      });
    });

    describe('compact', () => {
      test('forgets only what is older than the revision', async () => {
        const storage = await open();
        const begin = await storage.currentRevision();
        const revisions: Revision[] = [];
        for (let i = 0; i < 10; i++) revisions.push(await put(storage, `/p/${i % 3}`, String(i)));
        revisions.push((await storage.delete('/p/1')).revision);
        for (let i = 10; i < 20; i++) revisions.push(await put(storage, `/p/${i % 3}`, String(i)));
        const states = await Promise.all(
          revisions.map((revision) => storage.list('/p/', { revision })),
        );
        const events = await take(storage.watch('/p/', { afterRevision: begin }), revisions.length);
        for (const at of [3, 10, 11, 20]) {
          const compacted = revisions[at]!;
          await storage.compact(compacted);
          await storage.compact(compacted);
          const check = async (index: number, revision: Revision): Promise<void> => {
            if (index < at) {
              const error = await failure(storage.list('/p/', { revision }));
              expect(error).toMatchObject({ reason: 'Expired', revision: compacted });
              expect(await reasonOf(storage.get('/p/0', { revision }))).toBe('Expired');
              // An engine may still have the event at the revision before the compaction revision.
              if (index < at - 1)
                expect(
                  await reasonOf(take(storage.watch('/p/', { afterRevision: revision }), 1)),
                ).toBe('Expired');
            } else {
              expect(await storage.list('/p/', { revision })).toEqual(states[index]);
              const rest = events.slice(index + 1);
              expect(
                await take(storage.watch('/p/', { afterRevision: revision }), rest.length),
              ).toEqual(rest);
            }
          };
          await Promise.all(revisions.map((revision, index) => check(index, revision)));
          expect(await storage.list('/p/')).toEqual(states.at(-1));
        }
      });

      test('does not disturb watches that are under way', async () => {
        const storage = await open();
        const begin = await storage.currentRevision();
        const events = storage.watch('/p/', { afterRevision: begin })[Symbol.asyncIterator]();
        await put(storage, '/p/a', 'first');
        expect((await events.next()).value).toMatchObject({ revision: begin + 1 });
        for (let i = 0; i < 5; i++) await put(storage, '/p/a', String(i));
        await storage.compact(await storage.currentRevision());
        await put(storage, '/p/a', 'last');
        for (let i = 0; i < 6; i++)
          expect((await events.next()).value).toMatchObject({ revision: begin + 2 + i });
        await events.return?.();
      });

      test('rejects a future revision', async () => {
        const storage = await open();
        expect(await reasonOf(storage.compact((await storage.currentRevision()) + 1))).toBe(
          'FutureRevision',
        );
      });

      test('keeps a key that was created again after a deletion', async () => {
        const storage = await open();
        await put(storage, '/p/a', '1');
        await storage.delete('/p/a');
        const created = await put(storage, '/p/a', '2');
        await storage.delete('/p/b').catch(() => undefined);
        const last = await put(storage, '/p/b', '3');
        await storage.compact(last);
        expect(await storage.get('/p/a', { revision: last })).toMatchObject({
          createRevision: created,
        });
        expect(await storage.count('/p/')).toBe(2);
      });
    });

    describe('time to live', () => {
      test('deletes the key when its time is over, and notifies watchers', () =>
        inTime(async () => {
          const { storage, advance, timeScale = 1 } = await make();
          const ttlMs = 60_000 / timeScale;
          const mustBeEarly = deadline(ttlMs, timeScale);
          const { modRevision } = await storage.create('/p/a', bytes('1'), { ttlMs });
          await put(storage, '/p/b', 'stays');
          const expired = take(storage.watch('/p/', { afterRevision: modRevision + 1 }), 1);
          await advance(30_000);
          const kept = text((await storage.get('/p/a'))?.value);
          mustBeEarly();
          expect(kept).toBe('1');
          await advance(31_000);
          expect((await expired).map(withoutRevision)).toEqual(['/p/a: 1 -> gone']);
          expect(await storage.get('/p/a')).toBeUndefined();
          expect(await storage.count('/p/')).toBe(1);
        }));

      test('belongs to the value: the next one has its own, or none', () =>
        inTime(async () => {
          const { storage, advance, timeScale = 1 } = await make();
          const ttlMs = 60_000 / timeScale;
          const mustBeEarly = deadline(ttlMs, timeScale);
          await storage.create('/p/renewed', bytes('1'), { ttlMs });
          await storage.create('/p/freed', bytes('1'), { ttlMs });
          await storage.create('/p/again', bytes('1'), { ttlMs });
          await advance(40_000);
          const mustStillBeEarly = deadline(ttlMs, timeScale);
          let last: KeyValue;
          try {
            await put(storage, '/p/renewed', '2', ttlMs);
            await put(storage, '/p/freed', '2');
            await storage.delete('/p/again');
            last = await storage.create('/p/again', bytes('2'));
          } finally {
            mustBeEarly();
          }
          await advance(40_000);
          const count = await storage.count('/p/');
          mustStillBeEarly();
          expect(count).toBe(3);
          const expired = take(storage.watch('/p/', { afterRevision: last.modRevision }), 1);
          await advance(40_000);
          expect((await expired).map(withoutRevision)).toEqual(['/p/renewed: 2 -> gone']);
        }));
    });

    describe('a watch that cannot begin', () => {
      const streamOf = (storage: Storage, afterRevision?: Revision): WatchStream<StorageEvent> => {
        try {
          return storage.watch('/p/', { afterRevision });
        } catch (error) {
          throw new Error(`watch must not throw: ${String(error)}`, { cause: error });
        }
      };

      test('is a stream that fails: Expired', async () => {
        const storage = await open();
        const begin = await put(storage, '/p/a', '0');
        for (let i = 1; i <= 4; i++) await put(storage, '/p/a', String(i));
        await storage.compact(await storage.currentRevision());
        expect(await reasonOf(take(streamOf(storage, begin), 1))).toBe('Expired');
      });

      test('is a stream that fails: Closed', async () => {
        const { storage } = await make();
        await put(storage, '/p/a', '1');
        await storage.close();
        const stream = streamOf(storage);
        expect(await reasonOf(take(stream, 1))).toBe('Closed');
        expect(await take(stream, 0)).toEqual([]);
      });

      test('throws for a prefix that is none', async () => {
        const storage = await open();
        expect(() => storage.watch('/p')).toThrow(Error);
      });
    });

    describe('close', () => {
      test('ends watches and rejects operations with Closed, and is idempotent', async () => {
        const { storage } = await make();
        await put(storage, '/p/a', '1');
        const stream = storage.watch('/p/');
        const ended = reasonOf(take(stream, 1));
        let release: () => void = () => undefined;
        const gate = new Promise<void>((resolve) => (release = resolve));
        const inFlight = reasonOf(
          storage.guaranteedUpdate('/p/a', async (current) => {
            await gate;
            return increment(current);
          }),
        );
        await storage.health();
        await storage.close();
        release();
        await storage.close();
        expect(await ended).toBe('Closed');
        expect(await inFlight).toBe('Closed');
        const operations = [
          storage.get('/p/a'),
          storage.list('/p/'),
          storage.count('/p/'),
          storage.create('/p/b', bytes('1')),
          storage.guaranteedUpdate('/p/a', increment),
          storage.delete('/p/a'),
          storage.compact(1),
          storage.currentRevision(),
          storage.health(),
          take(storage.watch('/p/'), 1),
        ];
        for (const operation of operations) expect(await reasonOf(operation)).toBe('Closed');
      });
    });

    test('behaves like a simple model', async () => {
      const harness = await make();
      // Opening a durable engine is slow, so it gets fewer runs.
      const numRuns = harness.reopen === undefined ? 60 : 10;
      const key = fc.constantFrom('/p/a', '/p/b', '/p/c/d', '/p/c/e', '/q/a');
      const value = fc.nat({ max: 99 }).map(String);
      const step = fc.oneof(
        fc.record({ kind: fc.constant('create' as const), key, value }),
        fc.record({ kind: fc.constant('put' as const), key, value }),
        fc.record({ kind: fc.constant('delete' as const), key }),
        fc.record({ kind: fc.constant('compact' as const), back: fc.nat({ max: 10 }) }),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 60 }),
          fc.boolean(),
          async (steps, reopens) => {
            const harness = await make();
            let storage = harness.storage;
            const begin = await storage.currentRevision();
            /** The state after each write, beginning with the empty one. */
            const states: Map<string, string>[] = [new Map()];
            let compacted = begin;
            const write = (change: (state: Map<string, string>) => void): void => {
              const state = new Map(states.at(-1));
              change(state);
              states.push(state);
            };
            for (const each of steps) {
              const exists = 'key' in each && states.at(-1)?.has(each.key) === true;
              switch (each.kind) {
                case 'create': {
                  const outcome = await storage
                    .create(each.key, bytes(each.value))
                    .catch((error: StorageError) => error.reason);
                  if (exists) expect(outcome).toBe('KeyExists');
                  else write((state) => state.set(each.key, each.value));
                  break;
                }
                case 'put':
                  await put(storage, each.key, each.value);
                  write((state) => state.set(each.key, each.value));
                  break;
                case 'delete': {
                  const outcome = await storage
                    .delete(each.key)
                    .catch((error: StorageError) => error.reason);
                  if (exists) write((state) => state.delete(each.key));
                  else expect(outcome).toBe('KeyNotFound');
                  break;
                }
                case 'compact': {
                  compacted = Math.max(compacted, begin + states.length - 1 - each.back);
                  await storage.compact(compacted);
                  break;
                }
              }
            }
            if (reopens && harness.reopen !== undefined) storage = await harness.reopen();
            expect(await storage.currentRevision()).toBe(begin + states.length - 1);
            for (const [index, state] of states.entries()) {
              const revision = begin + index;
              for (const prefix of ['/p/', '/p/c/', '/q/']) {
                if (revision < compacted) {
                  expect(await reasonOf(storage.list(prefix, { revision }))).toBe('Expired');
                  continue;
                }
                const expected = [...state]
                  .filter(([each]) => each.startsWith(prefix))
                  .sort(([a], [b]) => (a < b ? -1 : 1));
                const { items } = await storage.list(prefix, { revision });
                expect(items.map((kv) => [kv.key, text(kv.value)])).toEqual(expected);
                const page = await storage.list(prefix, { revision, limit: 1 });
                expect(page.remaining).toBe(Math.max(0, expected.length - 1));
              }
            }
            await harness.dispose();
          },
        ),
        { numRuns },
      );
    });

    describe('restart', () => {
      /**
       * Creates an engine that can be reopened; skips the test, with the reason, if the engine
       * keeps nothing.
       */
      const durable = async (
        skip: (note?: string) => never,
      ): Promise<StorageHarness & { reopen: () => Promise<Storage> }> => {
        const harness = await make();
        const { reopen } = harness;
        if (reopen === undefined) return skip('this engine keeps nothing');
        return { ...harness, reopen };
      };

      test('keeps state, revisions and history', async ({ skip }) => {
        const { storage, reopen } = await durable(skip);
        const begin = await storage.currentRevision();
        await put(storage, '/p/a', '1');
        await put(storage, '/p/a', '2');
        await put(storage, '/p/\u{1f600}', 'smile');
        await storage.delete('/p/a');
        await put(storage, '/p/a', '3');
        const revision = await put(storage, '/p/b', '4');
        const events = await take(storage.watch('/p/', { afterRevision: begin }), revision - begin);
        const states = await Promise.all(
          events.map((_, index) => storage.list('/p/', { revision: begin + index })),
        );
        const list = await storage.list('/p/');

        const again = await reopen();
        expect(await again.currentRevision()).toBe(revision);
        expect(comparable((await again.list('/p/')).items)).toEqual(comparable(list.items));
        for (const [index, state] of states.entries()) {
          const back = await again.list('/p/', { revision: begin + index });
          expect(comparable(back.items)).toEqual(comparable(state.items));
        }
        for (let seen = 0; seen < events.length; seen++) {
          const rest = events.slice(seen);
          expect(
            await take(again.watch('/p/', { afterRevision: begin + seen }), rest.length),
          ).toEqual(rest);
        }
        expect(await reasonOf(again.create('/p/b', bytes('5')))).toBe('KeyExists');
        expect(await put(again, '/p/b', '5')).toBe(revision + 1);
      });

      test('the revision never decreases, even if the last write was a compacted deletion', async ({
        skip,
      }) => {
        const { storage, reopen } = await durable(skip);
        await put(storage, '/p/a', '1');
        await put(storage, '/p/b', '1');
        const { revision } = await storage.delete('/p/a');
        await storage.compact(revision);
        const again = await reopen();
        expect(await again.currentRevision()).toBe(revision);
        expect(await reasonOf(again.list('/p/', { revision: revision - 1 }))).toBe('Expired');
        expect((await again.list('/p/', { revision })).items.map((kv) => kv.key)).toEqual(['/p/b']);
        expect(await put(again, '/p/a', '2')).toBe(revision + 1);
      });

      test('remembers when keys expire', ({ skip }) =>
        inTime(async () => {
          const { storage, advance, reopen, timeScale = 1 } = await durable(skip);
          const ttlMs = 60_000 / timeScale;
          const mustBeEarly = deadline(ttlMs, timeScale);
          await storage.create('/p/a', bytes('1'), { ttlMs });
          await storage.create('/p/b', bytes('1'), { ttlMs });
          const revision = await put(storage, '/p/b', '2');
          mustBeEarly();
          await advance(40_000);
          const again = await reopen();
          const count = await again.count('/p/');
          mustBeEarly();
          expect(count).toBe(2);
          const expired = take(again.watch('/p/', { afterRevision: revision }), 1);
          await advance(40_000);
          expect(await expired).toEqual([`${revision + 1} /p/a: 1 -> gone`]);
        }));
    });
  });
}

function comparable(items: readonly KeyValue[]): unknown[] {
  return items.map((kv) => ({ ...kv, value: text(kv.value) }));
}
