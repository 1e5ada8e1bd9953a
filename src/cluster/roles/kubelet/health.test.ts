import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { type Logger, silentLogger } from '#machinery/log.ts';
import { serveKubeletHealth } from './health.ts';

const stop: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of stop.splice(0).reverse()) await step();
});

/** Takes a port of this machine. */
async function takenPort(): Promise<{ readonly port: number; free(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { port, free: () => new Promise((resolve) => server.close(() => resolve())) };
}

function serve(port: number, clock: VirtualClock, logger: Logger = silentLogger): void {
  const abort = new AbortController();
  const serving = serveKubeletHealth({ address: '127.0.0.1', port, clock, logger }, abort.signal);
  stop.push(async () => {
    abort.abort();
    await serving;
  });
}

/** Resolves when the address responds. */
async function answered(url: string, init?: RequestInit): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (!String((error as Error).cause).includes('ECONNREFUSED')) throw error;
    }
  }
}

test('/healthz and its only check respond without TLS, also to HEAD; nothing else does', async () => {
  const { port, free } = await takenPort();
  await free();
  serve(port, new VirtualClock());
  const at = `http://127.0.0.1:${port}`;
  expect(await (await answered(`${at}/healthz`)).text()).toBe('ok');
  expect(await (await fetch(`${at}/healthz/ping`)).text()).toBe('ok');
  expect((await fetch(`${at}/healthz`, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${at}/healthz/other`)).status).toBe(404);
  expect((await fetch(`${at}/pods`)).status).toBe(404);
});

test('a port that is taken is tried again after five seconds', async () => {
  const { port, free } = await takenPort();
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const warned = new Promise<void>((resolve) => {
    const logger: Logger = {
      ...silentLogger,
      warn: (message) => {
        warnings.push(message);
        resolve();
      },
    };
    serve(port, clock, logger);
  });
  await warned;
  await free();
  while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance('5s');
  expect((await answered(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  expect(warnings).toEqual(['kubelet: /healthz is not served']);
});
