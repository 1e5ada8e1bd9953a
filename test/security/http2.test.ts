// Abuse of HTTP/2: streams that are reset at once, frames that cost the server more than the
// client, headers without end. The server ends the connection or absorbs the flood; other clients
// are served meanwhile.

import { connect as tlsConnect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type SecuredCluster, startSecuredCluster } from './cluster.ts';

let cluster: SecuredCluster;
beforeAll(async () => {
  cluster = await startSecuredCluster();
});
afterAll(() => cluster.stop());

const until = (condition: () => boolean): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 10, timeoutMs: 30_000 }, () =>
    Promise.resolve(condition()),
  );

/** Returns a frame: length, type, flags, stream, payload (RFC 9113, 4.1). */
function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);
const [HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION] = [
  1, 2, 3, 4, 6, 8, 9,
] as const;
const [END_STREAM, END_HEADERS] = [0x1, 0x4] as const;
/** `GET https /`, all from the static table (RFC 7541, appendix A). */
const GET_ROOT = Buffer.from([0x82, 0x87, 0x84]);
/**
 * A literal header field without a name from the table: 'x' with a long value (RFC 7541, 6.2.2).
 */
const longHeader = Buffer.concat([
  Buffer.from([0x00, 0x01, 0x78, 0x7f, 0x81, 0x3f]),
  Buffer.alloc(8192 + 127 + 1, 0x61),
]);

async function open(): Promise<TLSSocket> {
  const socket = tlsConnect({
    host: cluster.url.hostname,
    port: Number(cluster.url.port),
    ca: cluster.caCertificate,
    ALPNProtocols: ['h2'],
    ...cluster.adminCredentials,
  });
  await new Promise<void>((resolve, reject) =>
    socket.once('secureConnect', resolve).once('error', reject),
  );
  // The server ends the connection, which may be an error here.
  socket.on('error', () => undefined);
  socket.write(PREFACE);
  return socket;
}

test('streams that are reset as soon as they are open end the connection', async () => {
  const socket = await open();
  socket.resume();
  const TOTAL = 20_000;
  let stream = 1;
  while (!socket.destroyed && stream < 2 * TOTAL) {
    const frames: Buffer[] = [];
    for (let count = 0; count < 100; count++, stream += 2) {
      frames.push(
        frame(HEADERS, END_STREAM | END_HEADERS, stream, GET_ROOT),
        frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8])),
      );
    }
    socket.write(Buffer.concat(frames));
    await new Promise(setImmediate);
  }
  // HTTP/2 in Node ends a connection after about a thousand resets.
  await until(() => socket.destroyed);
  expect((await cluster.request({ path: '/api/v1/namespaces/default' })).code).toBe(200);
});

describe.each<[string, { readonly reads: boolean; readonly ends: boolean }, () => Buffer]>([
  [
    'headers that never end',
    { reads: true, ends: true },
    () => frame(CONTINUATION, 0, 1, longHeader),
  ],
  ['empty CONTINUATION frames', { reads: true, ends: true }, () => frame(CONTINUATION, 0, 1)],
  [
    'PING frames whose answers are not read',
    { reads: false, ends: true },
    () => frame(PING, 0, 0, Buffer.alloc(8)),
  ],
  [
    'SETTINGS frames whose answers are not read',
    { reads: false, ends: true },
    () => frame(SETTINGS, 0, 0),
  ],
  [
    'PRIORITY frames',
    { reads: true, ends: false },
    () => frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 16])),
  ],
  [
    'window updates beyond the limit',
    { reads: true, ends: true },
    () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
  ],
  [
    'resets of streams that were never open',
    { reads: true, ends: true },
    () => frame(RST_STREAM, 0, 1, Buffer.alloc(4)),
  ],
])('a flood of %s', (name, { reads, ends }, make) => {
  test(
    ends ? 'ends the connection, and others are served' : 'is absorbed, and others are served',
    async () => {
      const socket = await open();
      if (reads) socket.resume();
      // HEADERS without END_HEADERS: only CONTINUATION may follow.
      if (name.includes('CONTINUATION') || name.startsWith('headers'))
        socket.write(frame(HEADERS, END_STREAM, 1));
      const one = make();
      const batch = Buffer.concat(
        Array.from({ length: Math.max(1, Math.floor(65_536 / one.length)) }, () => one),
      );
      let sent = 0;
      const LIMIT = 32 * 1024 * 1024;
      const before = process.memoryUsage().rss;
      while (!socket.destroyed && sent < LIMIT) {
        const drained = socket.write(batch);
        sent += batch.length;
        // Ends the flood when the server has stopped reading, or has ended the connection.
        if (!drained)
          await Promise.race([
            new Promise((resolve) => socket.once('drain', resolve)),
            until(() => socket.destroyed),
          ]).catch(() => undefined);
        else await new Promise(setImmediate);
        if (!drained && socket.writableLength > 0) break;
      }
      if (ends) await until(() => socket.destroyed);
      socket.destroy();
      expect((await cluster.request({ path: '/api/v1/namespaces/default' })).code).toBe(200);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    },
  );
});
