import { get } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RuntimeService } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { StreamingServer } from './streaming-server.ts';

const clock = new VirtualClock();
let server: StreamingServer;
beforeEach(() => {
  server = new StreamingServer({
    runtime: { exec: () => Promise.resolve({ exitCode: 0 }) } as unknown as RuntimeService,
    clock,
    random: new SeededRandom('streams'),
    logger: silentLogger,
  });
});
afterEach(() => server.close());

/** Returns the status of an upgrade request. */
function upgrade(url: string): Promise<number> {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Protocol': 'v5.channel.k8s.io',
  };
  return new Promise((resolve, reject) => {
    const request = get(url, { headers });
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode ?? 0);
    });
    request.on('response', (response) => resolve(response.statusCode ?? 0));
    request.on('error', reject);
  });
}

const command = ['true'];

test('a URL works once, within a minute, and cannot be guessed', async () => {
  const url = await server.exec('c', { command, stdout: true });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/exec\/[0-9a-f]{32}$/);
  expect(await upgrade(`${url.slice(0, -1)}x`)).toBe(404);
  expect(await upgrade(url)).toBe(101);
  expect(await upgrade(url)).toBe(404);
  const late = await server.attach('c', { stdout: true });
  await clock.advance('61s');
  expect(await upgrade(late)).toBe(404);
});

test('impossible streams are refused at once', async () => {
  expect(() => server.attach('c', {})).toThrow('one of stdin, stdout, or stderr must be set');
  expect(() => server.exec('c', { command, tty: true, stdout: true, stderr: true })).toThrow(
    'tty and stderr cannot both be true',
  );
  await expect(server.exec('c', { command: [], stdout: true })).rejects.toThrow('cmd is required');
});

test('clients that reset their connections do not end the process', async () => {
  const url = new URL(await server.exec('c', { command, stdout: true }));
  const headers = 'Connection: Upgrade\r\nUpgrade: websocket\r\nHost: localhost';
  for (let i = 0; i < 20; i++) {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname, () =>
        socket.write(`GET /exec/none HTTP/1.1\r\n${headers}\r\n\r\n`, () => {
          socket.resetAndDestroy();
          resolve();
        }),
      );
      socket.on('error', reject);
    });
  }
  // The test runner reports errors that nothing handles.
  expect(await upgrade(`${url.href.slice(0, -1)}x`)).toBe(404);
});
