import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../clock.ts';
import { portDuplex } from './port-duplex.ts';
import * as wait from '../wait.ts';

function pair() {
  const { port1, port2 } = new MessageChannel();
  return [portDuplex(port1), portDuplex(port2)] as const;
}

/** Reads to the end. The other half stays open. */
async function read(end: Duplex): Promise<string> {
  let all = '';
  end.on('data', (chunk: Buffer) => (all += chunk.toString()));
  await once(end, 'end');
  return all;
}

describe('a connection between threads', () => {
  test('carries bytes both ways, and each end closes its own', async () => {
    const [a, b] = pair();
    a.write('hello ');
    a.end('there');
    expect(await read(b)).toBe('hello there');
    b.end('bye');
    expect(await read(a)).toBe('bye');
  });

  test('makes a writer wait whose peer does not read', async () => {
    const [a, b] = pair();
    const chunk = Buffer.alloc(1024, 1);
    let written = 0;
    for (let i = 0; i < 1000; i++) a.write(chunk, () => written++);
    a.end();
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 1, timeoutMs: 60_000 },
      () => written > 0,
    );
    expect(written).toBeLessThan(200);
    let bytes = 0;
    for await (const part of b) bytes += (part as Buffer).length;
    expect(bytes).toBe(1000 * chunk.length);
    expect(written).toBe(1000);
    b.destroy();
  });

  test('carries a part of a shared buffer, not all of it', async () => {
    const [a, b] = pair();
    const shared = Buffer.from('0123456789');
    a.end(shared.subarray(3, 6));
    shared.fill('x');
    expect(await text(b)).toBe('345');
    b.destroy();
  });

  test('fails a write and ends reading when the peer is destroyed', async () => {
    const [a, b] = pair();
    b.destroy();
    a.resume();
    await once(a, 'end');
    const failed = once(a, 'error') as Promise<[NodeJS.ErrnoException]>;
    a.write('x');
    expect((await failed)[0].code).toBe('EPIPE');
  });
});
