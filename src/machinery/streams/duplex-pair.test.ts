import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';

import { duplexPair } from './duplex-pair.ts';

let a: Duplex;
let b: Duplex;
beforeEach(() => {
  [a, b] = duplexPair();
});

/** Reports whether the promise has settled, after all due callbacks have run. */
async function happened(promise: Promise<unknown>): Promise<boolean> {
  let yes = false;
  void promise.then(
    () => (yes = true),
    () => (yes = true),
  );
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return yes;
}

/** Reads all data until the end. Unlike an iterator it does not destroy the stream. */
async function read(end: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  end.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(end, 'end');
  return Buffer.concat(chunks);
}

const text = async (end: Duplex): Promise<string> => (await read(end)).toString('utf8');

const written = (end: Duplex, chunk: Buffer | string): Promise<void> =>
  new Promise((resolve, reject) => {
    end.write(chunk, (error) =>
      error === null || error === undefined ? resolve() : reject(error),
    );
  });

describe('duplexPair', () => {
  test('carries bytes both ways, in order', async () => {
    for (let index = 0; index < 100; index++) a.write(`${index},`);
    b.end('answer');
    a.end();
    expect(await text(b)).toBe(Array.from({ length: 100 }, (_, index) => `${index},`).join(''));
    expect(await text(a)).toBe('answer');
  });

  test('carries more data than its buffers hold', async () => {
    const sent = Buffer.alloc(3_000_000, 'coxswain');
    a.end(sent);
    expect((await read(b)).equals(sent)).toBe(true);
  });

  test('makes the writer wait for the reader', async () => {
    const first = written(a, Buffer.alloc(200_000));
    expect(await happened(first)).toBe(false);
    expect(a.write('more')).toBe(false);
    const drained = once(a, 'drain');
    b.resume();
    await first;
    await drained;
  });

  test('keeps the other direction open when half closed', async () => {
    a.end('question');
    expect(await text(b)).toBe('question');
    expect(a.writable).toBe(false);
    b.end('answer');
    expect(await text(a)).toBe('answer');
  });

  test('is closed at both ends once both have ended', async () => {
    a.resume().end();
    b.resume().end();
    await Promise.all([once(a, 'close'), once(b, 'close')]);
  });

  test('signals the destruction of the other side by an end', async () => {
    a.write('last words');
    a.destroy();
    expect(await text(b)).toBe('last words');
    b.on('error', () => undefined);
    await expect(written(b, 'hello?')).rejects.toMatchObject({ code: 'EPIPE' });
  });

  test('fails writes to a destroyed end', async () => {
    const waiting = written(a, Buffer.alloc(200_000));
    expect(await happened(waiting)).toBe(false);
    b.destroy();
    expect(await happened(waiting)).toBe(true);
  });

  test('may be destroyed at both ends, in any order, more than once', async () => {
    a.destroy();
    b.destroy();
    a.destroy();
    expect([a.destroyed, b.destroyed]).toEqual([true, true]);
    await Promise.all([happened(once(a, 'close')), happened(once(b, 'close'))]);
  });
});
