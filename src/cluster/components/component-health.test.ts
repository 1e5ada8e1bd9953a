import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { bounded, healthz } from './component-health.ts';
import { Pki } from '../credentials/pki.ts';

const pki = await Pki.open({ clock: systemClock, random: systemRandom });
const tls = await pki.sign({ commonName: 'x', usage: 'server', hosts: ['127.0.0.1'] });
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> {
  const server = createServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test.each<[what: string, answer: (response: ServerResponse) => void, problem?: RegExp]>([
  ['ok', (response) => response.end('ok')],
  [
    'an error',
    (response) => response.writeHead(500).end('no leader'),
    /HTTP status 500: no leader$/,
  ],
  ['an endless body', (response) => response.end('x'.repeat(100_000)), /the answer is too long$/],
  ['a connection that is closed', (response) => response.destroy(), /socket hang up|ECONNRESET/],
])('%s', async (_, answer, problem) => {
  const port = await serve((_request, response) => answer(response));
  const checked = healthz(systemClock, port)();
  if (problem === undefined) await checked;
  else await expect(checked).rejects.toThrow(problem);
});

test('a port where nothing listens', async () => {
  const port = await serve(() => undefined);
  closing.pop()?.();
  await expect(healthz(systemClock, port)()).rejects.toThrow(
    `Get "https://127.0.0.1:${port}/healthz": connect ECONNREFUSED`,
  );
});

test('a check that does not settle fails after five seconds, and its signal aborts', async () => {
  const clock = new VirtualClock();
  let given: AbortSignal | undefined;
  const checked = bounded(clock, 'the scheduler', (signal) => {
    given = signal;
    return new Promise(() => undefined);
  });
  const failure = expect(checked).rejects.toThrow('the scheduler: no answer within 5 s');
  await clock.advance('5s');
  await failure;
  expect(given?.aborted).toBe(true);
});
