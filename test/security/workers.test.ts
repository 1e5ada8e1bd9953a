// Hostile input at a worker of the API server: it answers as the main process does, and goes on
// serving. All connections of this test go to the worker.

import { readFileSync } from 'node:fs';
import { validateHeaderValue } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { connect as connectHttp2, constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RawRequest } from '#apiserver/testing/requests.ts';
import { onlyWorkersAccept } from '#cluster/api-workers/testing/only-workers.ts';
import { Cluster } from '#cluster/composition/cluster.ts';
import { ADMIN_USER } from '#cluster/credentials/admin-user.ts';
import { Pki } from '#cluster/credentials/pki.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import * as wait from '#machinery/wait.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { cases, MAX_BODY } from './hostile-requests.ts';

// A worker loads the whole program first, which takes long while other programs use the machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const clock = systemClock;
const random = systemRandom;
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
const RESETS = 20_000;

let pki: Pki;
let cluster: Cluster;
let worker: number;
let credentials: { readonly cert: string; readonly key: string };

beforeAll(async () => {
  pki = await Pki.open({ clock, random });
  cluster = await Cluster.make({
    clock,
    random,
    logger: silentLogger,
    storage: createMemoryStorage({ clock, logger: silentLogger }),
    pki,
    listen: { bindAddress: '127.0.0.1', port: 0 },
    nodes: [],
    podCidrs: ['10.244.0.0/16'],
    serviceCidr: '10.96.0.0/16',
    apiWorkers: { min: 1, max: 1, logging: { level: 'error' } },
  });
  await cluster.begin();
  credentials = await pki.certificate('admin', {
    commonName: ADMIN_USER.name,
    organizations: ADMIN_USER.groups,
    usage: 'client',
  });
  await until(async () =>
    (await cluster.client.transport.text({ method: 'GET', path: '/metrics' })).includes(
      '\ncoxswain_api_server_workers 1\n',
    ),
  );
  onlyWorkersAccept(Number(new URL(cluster.url!).port));
  worker = workerPid()!;
});

afterAll(async () => {
  agent.destroy();
  await cluster.stop();
});

const until = (condition: () => boolean | Promise<boolean>): Promise<void> =>
  wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: 120_000 }, condition);

function workerPid(): number | undefined {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ');
  return children
    .filter((pid) => pid !== '')
    .map(Number)
    .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('api-worker'));
}

interface Answer {
  readonly code: number;
  readonly text: string;
}

/** Sends a request with the administrator's certificate, or without credentials. */
function send({ method, path, headers, body }: RawRequest, isAnonymous = false): Promise<Answer> {
  const { hostname, port } = new URL(cluster.url!);
  const bytes =
    typeof body === 'object' && !(body instanceof Uint8Array) ? JSON.stringify(body) : body;
  const secrets = isAnonymous ? { agent: false as const } : { ...credentials, agent };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { hostname, port, method, path, ca: pki.caCertificate, headers: { ...headers }, ...secrets },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    // The server may close the connection before it has read all of a request that is too large.
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve({ code: 431, text: '' });
      else reject(error);
    });
    request.end(bytes);
  });
}

/** The worker is the same process, and serves. */
async function stillServes(): Promise<void> {
  expect(await send({ method: 'GET', path: '/readyz' })).toEqual({ code: 200, text: 'ok' });
  expect(workerPid()).toBe(worker);
}

test('all connections go to the worker', async () => {
  const { text } = await send({ method: 'GET', path: '/metrics' });
  expect(text).toContain('apiserver_request_total');
  expect(text).not.toContain('coxswain_api_server_workers');
});

/** A client can send these; what they cost is measured in event-loop.test.ts. */
const sendable = cases.filter(({ request }) =>
  Object.entries(request().headers ?? {}).every(isSendable),
);
/** In `npm test` every fourth one, at night all. */
const tried = sendable.filter((_, index) => index % partOrWhole(4, 1) === 0);

function isSendable([name, value]: readonly [string, string]): boolean {
  try {
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

describe('the most expensive requests', () => {
  test.each(tried)('$name', async ({ request, before }) => {
    for (const earlier of before ?? []) await send(earlier());
    const { code, text } = await send(request());
    expect(code, text.slice(0, 500)).toBeLessThan(500);
    await stillServes();
  });
});

test('a body that is too long is 413, and a request without credentials 401', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const headers = { 'content-type': 'application/json' };
  const long = { method: 'POST', path, headers, body: 'x'.repeat(MAX_BODY + 1) };
  expect((await send(long)).code).toBe(413);
  expect((await send({ method: 'GET', path }, true)).code).toBe(401);
  await stillServes();
});

test('a flood of streams that are reset ends the connection', async () => {
  const session = connectHttp2(cluster.url!, { ca: pki.caCertificate, ...credentials });
  session.on('error', () => undefined);
  let sent = 0;
  while (!session.destroyed && !session.closed && sent < RESETS) {
    for (let i = 0; i < 100 && !session.destroyed && !session.closed; i++, sent++) {
      const stream = session.request({ ':path': '/api/v1/namespaces' });
      stream.on('error', () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await new Promise(setImmediate);
  }
  await until(() => session.destroyed || session.closed);
  session.destroy();
  await stillServes();
});
