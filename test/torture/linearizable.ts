// Runs concurrent clients on a store, and checks their answers: every key is linearizable; every
// watch is complete, ordered and unique; every list is the state of its revision; every
// acknowledged write is among the events.
//
//
//
// Some operations reach the store late, and their client stops waiting: they may be done at any
// later time, or never.

import { type Random, SeededRandom } from '#machinery/random.ts';
import {
  type ListResult,
  type Storage,
  StorageError,
  type StorageEvent,
} from '#storage/interface.ts';
import { isLinearizable, type KeyInput, type KeyOperation, type KeyOutput } from './checker.ts';

const CLIENTS = 8;
const KEYS = 10;
const WATCHERS = 3;
/**
 * The limit of turns of the event loop before an operation reaches the store, and before its answer
 * is back.
 */
const DELAY_TURNS = 4;
/** Additional turns of a slow operation. */
const SLOW_TURNS = 40;
const SLOW_RATE = 40;
/** After this many turns without an event, no more events are expected. */
const QUIET_TURNS = 400;

export interface LinearizableOptions {
  readonly operations: number;
  readonly seed: string;
  /** The store, empty at first. The caller closes it. */
  readonly storage: Storage;
}

export interface LinearizableResult {
  readonly operations: number;
  readonly unknown: number;
  readonly problems: readonly string[];
}

interface Written {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

class Refusal extends Error {}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (value: Uint8Array | undefined): string =>
  value === undefined ? '' : new TextDecoder().decode(value);

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

export async function exercise(options: LinearizableOptions): Promise<LinearizableResult> {
  const random = new SeededRandom(options.seed);
  const { storage } = options;
  const run = new Run(storage, random);
  const watches = Array.from({ length: WATCHERS }, () =>
    storage.watch('/t/', { afterRevision: 1 }),
  );
  const received: StorageEvent[][] = watches.map(() => []);
  const reading = watches.map(async (stream, i) => {
    for await (const event of stream) received[i]?.push(event);
  });
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, client) =>
      run.client(client, Math.ceil(options.operations / CLIENTS)),
    ),
  );
  await Promise.all(run.late);
  const last = await storage.currentRevision();
  for (
    let quiet = 0, before = -1;
    quiet < QUIET_TURNS && received.some((events) => (events.at(-1)?.revision ?? 1) < last);
    quiet++
  ) {
    const now = received.reduce((sum, events) => sum + events.length, 0);
    if (now !== before) quiet = 0;
    before = now;
    await turns(1);
  }
  const final = await storage.list('/t/', { revision: last });
  for (const stream of watches) stream.stop();
  await Promise.all(reading);
  const problems = [
    ...run.judgeKeys(),
    ...received.flatMap((events, i) =>
      judgeEvents(events, last).map((problem) => `watcher ${i}: ${problem}`),
    ),
    ...judgeLog(received[0] ?? [], run.written, [...run.lists, final]),
  ];
  const unknown = run.history.filter(({ operation }) => operation.output.type === 'unknown').length;
  return { operations: run.history.length, unknown, problems: problems.slice(0, 10) };
}

class Run {
  readonly history: { readonly key: string; readonly operation: KeyOperation }[] = [];
  readonly written: Written[] = [];
  readonly lists: ListResult[] = [];
  /** Operations whose clients have stopped waiting. */
  readonly late: Promise<unknown>[] = [];
  readonly #storage: Storage;
  readonly #random: Random;
  #moment = 0;
  #serial = 0;

  constructor(storage: Storage, random: Random) {
    this.#storage = storage;
    this.#random = random;
  }

  async client(client: number, count: number): Promise<void> {
    /** The value of each key that this client saw last. */
    const seen = new Map<string, string>();
    for (let i = 0; i < count; i++) {
      if (this.#random.int(12) === 0) {
        await this.#list(client);
        continue;
      }
      const key = `/t/${this.#random.int(KEYS)}`;
      const input = this.#choose(seen.get(key) ?? '');
      const called = this.#moment++;
      const slow = input.type !== 'get' && this.#random.int(SLOW_RATE) === 0;
      const answer = this.#perform(key, input, slow ? SLOW_TURNS : 0);
      let output: KeyOutput;
      if (slow) {
        this.late.push(answer);
        await turns(this.#random.int(SLOW_TURNS));
        output = { type: 'unknown' };
      } else output = await answer;
      this.history.push({
        key,
        operation: { client, input, output, called, returned: this.#moment++ },
      });
      if (input.type === 'get' && output.type === 'done') seen.set(key, output.read ?? '');
      if (
        (input.type === 'put' || input.type === 'create' || input.type === 'swap') &&
        output.type === 'done'
      )
        seen.set(key, input.value);
    }
  }

  judgeKeys(): string[] {
    const problems: string[] = [];
    for (let i = 0; i < KEYS; i++) {
      const operations = this.history
        .filter(({ key }) => key === `/t/${i}`)
        .map(({ operation }) => operation);
      if (!isLinearizable(operations))
        problems.push(`/t/${i}: ${operations.length} operations that no order explains`);
    }
    return problems;
  }

  #choose(seen: string): KeyInput {
    const value = `v${this.#serial++}`;
    const die = this.#random.int(20);
    if (die < 6) return { type: 'get' };
    if (die < 10) return { type: 'put', value };
    if (die < 15 && seen !== '') return { type: 'swap', expected: seen, value };
    if (die < 18) return { type: 'create', value };
    return { type: 'delete' };
  }

  async #perform(key: string, input: KeyInput, more: number): Promise<KeyOutput> {
    await turns(this.#random.int(DELAY_TURNS) + more);
    const output = await this.#ask(key, input);
    await turns(this.#random.int(DELAY_TURNS));
    return output;
  }

  async #ask(key: string, input: KeyInput): Promise<KeyOutput> {
    const storage = this.#storage;
    try {
      switch (input.type) {
        case 'get':
          return { type: 'done', read: decode((await storage.get(key))?.value) };
        case 'put': {
          const { previous, revision } = await storage.guaranteedUpdate(key, () => ({
            action: 'put',
            value: encode(input.value),
          }));
          this.written.push({ key, value: input.value, revision });
          return { type: 'done', read: decode(previous?.value) };
        }
        case 'create': {
          const kv = await storage.create(key, encode(input.value));
          this.written.push({ key, value: input.value, revision: kv.modRevision });
          return { type: 'done', read: '' };
        }
        case 'swap': {
          const { previous, revision } = await storage.guaranteedUpdate(key, (current) => {
            if (decode(current?.value) !== input.expected) throw new Refusal();
            return { action: 'put', value: encode(input.value) };
          });
          this.written.push({ key, value: input.value, revision });
          return { type: 'done', read: decode(previous?.value) };
        }
        case 'delete': {
          const { previous, revision } = await storage.delete(key);
          this.written.push({ key, value: '', revision });
          return { type: 'done', read: decode(previous.value) };
        }
      }
    } catch (error) {
      const reason = error instanceof StorageError ? error.reason : undefined;
      if (error instanceof Refusal || reason === 'KeyExists' || reason === 'KeyNotFound')
        return { type: 'refused' };
      throw error;
    }
  }

  /** A list is a read of every key at one moment; it is checked key by key. */
  async #list(client: number): Promise<void> {
    const called = this.#moment++;
    await turns(this.#random.int(DELAY_TURNS));
    const result = await this.#storage.list('/t/');
    await turns(this.#random.int(DELAY_TURNS));
    const returned = this.#moment++;
    this.lists.push(result);
    const values = new Map(result.items.map((kv) => [kv.key, decode(kv.value)]));
    for (let i = 0; i < KEYS; i++) {
      const key = `/t/${i}`;
      const output = { type: 'done', read: values.get(key) ?? '' } as const;
      this.history.push({
        key,
        operation: { client, input: { type: 'get' }, output, called, returned },
      });
    }
  }
}

function judgeEvents(events: readonly StorageEvent[], last: number): string[] {
  const wrong = events.findIndex((event, i) => event.revision !== i + 2);
  if (wrong >= 0) return [`revision ${events[wrong]?.revision} where ${wrong + 2} was next`];
  return events.length === last - 1 ? [] : [`${events.length} events up to revision ${last}`];
}

/**
 * Checks acknowledged writes and lists against the events, which give the one order of all writes.
 */
function judgeLog(
  events: readonly StorageEvent[],
  written: readonly Written[],
  lists: readonly ListResult[],
): string[] {
  const problems: string[] = [];
  const valueAt = new Map(
    events.map((event) => [
      event.revision,
      event.type === 'put' ? [event.kv.key, decode(event.kv.value)] : [],
    ]),
  );
  for (const { key, value, revision } of written) {
    if (value === '') continue;
    const [loggedKey, logged] = valueAt.get(revision) ?? [];
    if (loggedKey !== key || logged !== value)
      problems.push(`${value}, acknowledged at revision ${revision}, is not among the events`);
  }
  const ordered = [...lists].sort((a, b) => a.revision - b.revision);
  const state = new Map<string, string>();
  let next = 0;
  for (const list of ordered) {
    for (; next < events.length && (events[next]?.revision ?? 0) <= list.revision; next++) {
      const event = events[next]!;
      const before = event.type === 'progress' ? undefined : decode(event.previous?.value);
      if (event.type === 'put') {
        if ((state.get(event.kv.key) ?? '') !== before)
          problems.push(`the event of revision ${event.revision} has another previous value`);
        state.set(event.kv.key, decode(event.kv.value));
      } else if (event.type === 'delete') {
        if ((state.get(event.key) ?? '') !== before)
          problems.push(`the event of revision ${event.revision} has another previous value`);
        state.delete(event.key);
      }
    }
    const expected = [...state].sort(([a], [b]) => (a < b ? -1 : 1));
    const listed = list.items.map((kv) => [kv.key, decode(kv.value)]);
    if (JSON.stringify(listed) !== JSON.stringify(expected))
      problems.push(`the list of revision ${list.revision} is not what the events add up to`);
  }
  return problems;
}
