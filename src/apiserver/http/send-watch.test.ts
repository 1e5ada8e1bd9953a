// Both forms of sending a watch: with readers, and by iteration, which is the oracle.

import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { nextTurn } from '#machinery/turn.ts';
import { mapWatch, WatchQueue, type WatchStream } from '#machinery/watch.ts';
import { FreshObject, SharedWatchEvent } from '../registry/encoded-object.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { sendIterated } from './iterated-watch.ts';
import type { ResponseSink } from './response-sink.ts';
import { sendWatch } from './send-watch.ts';

const JSON_FORMAT = { mediaType: 'application/json' } as const;

/** A connection that takes writes when it is not paused. */
class TestConnection implements ResponseSink {
  readonly writes: string[] = [];
  readonly writable: Writable;
  #paused: (() => void) | undefined;
  isPaused = false;

  constructor() {
    this.writable = new Writable({
      highWaterMark: 1024,
      write: (chunk: Buffer, _encoding, done) => {
        this.writes.push(chunk.toString());
        if (this.isPaused) this.#paused = done;
        else done();
      },
    });
    this.writable.on('error', () => undefined);
  }

  get open(): boolean {
    return !this.writable.destroyed;
  }

  get text(): string {
    return this.writes.join('');
  }

  resume(): void {
    this.isPaused = false;
    this.#paused?.();
  }

  begin(): void {}
  whole(): void {}
}

const event = (name: string): EncodedWatchEvent =>
  new SharedWatchEvent('ADDED', new FreshObject({ name }));
const lineOf = (name: string): string => `{"type":"ADDED","object":{"name":"${name}"}}\n`;
const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, i) => lineOf(`n${i}`)).join('');

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

describe.each([
  ['read', sendWatch],
  ['iterated', sendIterated],
])('%s', (_, send) => {
  test('sends events before and after the start, then ends the response', async () => {
    const connection = new TestConnection();
    const queue = new WatchQueue<EncodedWatchEvent>();
    queue.push(event('n0'));
    const sent = send(connection, queue, JSON_FORMAT);
    await until(() => connection.text === linesOf(1));
    queue.push(event('n1'));
    queue.push(event('n2'));
    queue.close();
    await sent;
    expect(connection.text).toBe(linesOf(3));
    expect(connection.writable.writableEnded).toBe(true);
  });

  test('a long backlog arrives completely and in order', async () => {
    const connection = new TestConnection();
    const queue = new WatchQueue<EncodedWatchEvent>();
    for (let i = 0; i < 500; i++) queue.push(event(`n${i}`));
    queue.close();
    await send(connection, queue, JSON_FORMAT);
    expect(connection.text).toBe(linesOf(500));
  });

  test('the events of a client that does not read wait in the stream', async () => {
    const connection = new TestConnection();
    connection.isPaused = true;
    const queue = new WatchQueue<EncodedWatchEvent>({ limit: 50, onOverflow: (q) => q.close() });
    const sent = send(connection, queue, JSON_FORMAT);
    let pushed = 0;
    for (; !queue.ended; pushed++) {
      queue.push(event(`n${pushed}`));
      await nextTurn();
      if (pushed > 1000) throw new Error('nothing limits the events');
    }
    connection.resume();
    await sent;
    // The event beyond the limit ended the stream.
    expect(connection.text).toBe(linesOf(pushed - 1));
  });

  test('a client that disconnects stops the stream', async () => {
    const connection = new TestConnection();
    let stopped = false;
    const queue = new WatchQueue<EncodedWatchEvent>({ onStop: () => void (stopped = true) });
    const sent = send(connection, queue, JSON_FORMAT);
    queue.push(event('n0'));
    await until(() => connection.writes.length > 0);
    connection.writable.destroy();
    queue.push(event('n1'));
    await sent;
    expect(stopped).toBe(true);
    expect(connection.text).toBe(linesOf(1));
  });

  test('the error of the stream comes after its events', async () => {
    const connection = new TestConnection();
    const queue = new WatchQueue<EncodedWatchEvent>();
    queue.push(event('n0'));
    queue.fail(new Error('gone'));
    await expect(send(connection, queue, JSON_FORMAT)).rejects.toThrow('gone');
    await until(() => connection.text === linesOf(1));
  });

  test('an event that cannot be encoded ends the watch with its error', async () => {
    const connection = new TestConnection();
    let stopped = false;
    const queue = new WatchQueue<EncodedWatchEvent>({ onStop: () => void (stopped = true) });
    const sent = send(connection, queue, { mediaType: 'application/vnd.kubernetes.protobuf' });
    queue.push(event('n0'));
    await expect(sent).rejects.toThrow('has no form in protobuf');
    expect(stopped).toBe(true);
  });

  test('an error of a mapped stream ends the watch', async () => {
    const connection = new TestConnection();
    const queue = new WatchQueue<EncodedWatchEvent>();
    const bad = event('bad');
    const mapped: WatchStream<EncodedWatchEvent> = mapWatch(queue, (each) => {
      if (each === bad) throw new Error('not this one');
      return each;
    });
    queue.push(event('n0'));
    queue.push(bad);
    await expect(send(connection, mapped, JSON_FORMAT)).rejects.toThrow('not this one');
    expect(queue.ended).toBe(true);
  });
});

test('what arrives while the connection is busy is one write, whose bytes watchers share', async () => {
  const connections = [new TestConnection(), new TestConnection()];
  const queues = connections.map((connection) => {
    connection.isPaused = true;
    const queue = new WatchQueue<EncodedWatchEvent>();
    void sendWatch(connection, queue, JSON_FORMAT);
    return queue;
  });
  for (let i = 0; i < 4; i++) {
    const shared = event(`n${i}`);
    for (const queue of queues) queue.push(shared);
    await until(() => connections.every(({ writes }) => writes.length > 0));
  }
  for (const connection of connections) connection.resume();
  await until(() => connections.every(({ text }) => text === linesOf(4)));
  for (const { writes } of connections) expect(writes).toHaveLength(2);
  for (const queue of queues) queue.close();
});
