import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pki } from '#cluster/credentials/pki.ts';
import { systemClock } from '#machinery/clock.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import { execOverSpdy, execOverWebSocket } from '#machinery/streams/remotecommand/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { TlsListeners } from './listeners.ts';
import { startHarness, type Harness } from '../testing/harness.ts';
import type { ServerUser } from './access.ts';

const API_SERVER: ServerUser = { name: 'system:apiserver', groups: ['system:masters'] };

let harness: Harness;
let logs: string;
let pki: Pki;
beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), 'kubelet-server-'));
  pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const serving = await pki.sign({
    commonName: 'system:node:node-1',
    organizations: ['system:nodes'],
    usage: 'server',
    hosts: ['127.0.0.1'],
  });
  harness = await startHarness({
    podLogsDir: logs,
    random: new SeededRandom('server'),
    server: {
      port: 0,
      listeners: new TlsListeners({
        host: '127.0.0.1',
        tls: { ...serving, clientCA: pki.caCertificate },
        logger: silentLogger,
      }),
    },
  });
  await harness.createPod('talker', {
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        command: ['sh', '-c', 'echo one; echo two; echo three; sleep infinity'],
      },
      { name: 'waiting', image: 'busybox:1.36', command: ['sh', '-c', 'exit 1'] },
    ],
  });
  await harness.waitForPod(
    'talker',
    (pod) => (pod.status.containerStatuses?.[1]?.restartCount ?? 0) >= 1,
  );
});
afterAll(async () => {
  await harness.stop();
  await rm(logs, { recursive: true, force: true });
});

interface Answer {
  readonly code: number;
  readonly body: string;
}

function finish(
  make: (done: (answer: Answer) => void) => {
    end(): void;
    on(event: 'error', listener: (err: Error) => void): unknown;
  },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = make(resolve);
    request.on('error', reject);
    request.end();
  });
}

/** Returns connection options for a user that the process has authenticated. */
function connectionOf(user: ServerUser): Pick<RequestOptions, 'agent' | 'createConnection'> {
  return {
    // With any agent, including false, the agent would connect itself.
    agent: undefined,
    createConnection: () => {
      const [near, far] = duplexPair();
      harness.kubelet.handleConnection(far, user);
      return near;
    },
  };
}

function get(path: string, user: ServerUser = API_SERVER, method = 'GET'): Promise<Answer> {
  return finish((done) =>
    httpRequest({ host: 'kubelet', path, method, ...connectionOf(user) }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => done({ code: response.statusCode ?? 0, body }));
    }),
  );
}

describe('in-process', () => {
  test('serves authorized users, and no others', async () => {
    expect(await get('/healthz')).toEqual({ code: 200, body: 'ok' });
    const stranger = await get('/pods?x=1', { name: 'eve', groups: ['system:authenticated'] });
    expect(stranger).toEqual({
      code: 403,
      body: 'Forbidden (user=eve, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
    expect((await get('/nothing')).code).toBe(404);
  });

  test('removes directories of volumes, and nothing else', async () => {
    expect(await get('/localVolumes/pvc-1', API_SERVER, 'DELETE')).toEqual({
      code: 200,
      body: 'ok',
    });
    expect((await get('/localVolumes/pvc-1')).code).toBe(405);
  });

  test('lists the pods of the node', async () => {
    const { body } = await get('/pods');
    const list = JSON.parse(body) as {
      readonly kind: string;
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    expect(list.kind).toBe('PodList');
    expect(list.items.map((pod) => pod.metadata.name)).toEqual(['talker']);
  });

  test('returns a summary of the usage', async () => {
    const { body } = await get('/stats/summary');
    expect(JSON.parse(body)).toMatchObject({
      node: { nodeName: 'node-1' },
      pods: [{ podRef: { name: 'talker', namespace: 'default' } }],
    });
  });

  test('returns logs', async () => {
    expect(await get('/containerLogs/default/talker/main')).toEqual({
      code: 200,
      body: 'one\ntwo\nthree\n',
    });
    expect((await get('/containerLogs/default/talker/main?tailLines=1')).body).toBe('three\n');
    expect((await get('/containerLogs/default/talker/main?limitBytes=5')).body).toBe('one\nt');
    expect(
      (await get('/containerLogs/default/talker/main?tailLines=1&timestamps=true')).body,
    ).toMatch(/^2026-\S+Z three\n$/);
    expect((await get('/containerLogs/default/talker/waiting?previous=true')).code).toBe(200);
  });

  test('reports why there are no logs', async () => {
    expect(await get('/containerLogs/default/missing/main')).toEqual({
      code: 404,
      body: 'pod "missing" cannot be found\n',
    });
    expect(await get('/containerLogs/default/talker/nope')).toEqual({
      code: 400,
      body: 'container "nope" in pod "talker" is not available\n',
    });
    expect(await get('/containerLogs/default/talker/main?previous=true')).toEqual({
      code: 400,
      body: 'previous terminated container "main" in pod "talker" not found\n',
    });
  });

  test('follows logs until the client disconnects', async () => {
    const body = await new Promise<string>((resolve, reject) => {
      const request = httpRequest(
        {
          host: 'kubelet',
          path: '/containerLogs/default/talker/main?follow=true',
          ...connectionOf(API_SERVER),
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
            if (text.endsWith('three\n')) {
              request.destroy();
              resolve(text);
            }
          });
        },
      );
      request.on('error', reject);
      request.end();
    });
    expect(body).toBe('one\ntwo\nthree\n');
  });

  test('runs a command and returns its output', async () => {
    expect(await get('/run/default/talker/main?cmd=echo%20hello', API_SERVER, 'POST')).toEqual({
      code: 200,
      body: 'hello\n',
    });
    expect((await get('/run/default/talker/nope?cmd=echo', API_SERVER, 'POST')).code).toBe(404);
    expect((await get('/exec/default/talker/main?command=echo&output=1')).code).toBe(400);
  });

  test.each([
    ['SPDY', execOverSpdy],
    ['WebSocket', execOverWebSocket],
  ])('execs over %s', async (_name, exec) => {
    const stdout = new PassThrough();
    const output: Buffer[] = [];
    stdout.on('data', (chunk: Buffer) => output.push(chunk));
    const url =
      'http://kubelet/exec/default/talker/main?command=sh&command=-c&command=echo+hi%3B+exit+3&output=1&error=1';
    const outcome = exec(
      { url, connection: connectionOf(API_SERVER), clock: systemClock },
      { stdout, stderr: new PassThrough() },
    );
    expect(await outcome).toEqual({ exitCode: 3 });
    expect(Buffer.concat(output).toString()).toBe('hi\n');
  });

  test('a command may be long', async () => {
    const stdout = new PassThrough();
    const output: Buffer[] = [];
    stdout.on('data', (chunk: Buffer) => output.push(chunk));
    const text = 'a'.repeat(100_000);
    const outcome = await execOverWebSocket(
      {
        url: `http://kubelet/exec/default/talker/main?command=echo&command=${text}&output=1`,
        connection: connectionOf(API_SERVER),
        clock: systemClock,
      },
      { stdout },
    );
    expect(outcome).toEqual({ exitCode: 0 });
    expect(Buffer.concat(output).toString()).toBe(`${text}\n`);
  });

  test('an exec into a stopped container is rejected', async () => {
    const url = 'http://kubelet/exec/default/talker/nope?command=sh&output=1';
    const outcome = execOverWebSocket(
      { url, connection: connectionOf(API_SERVER), clock: systemClock },
      { stdout: new PassThrough() },
    );
    await expect(outcome).rejects.toThrow('container not found');
  });
});

describe('over TLS', () => {
  async function ask(
    client?: { readonly commonName: string; readonly organizations?: readonly string[] },
    authority = pki,
  ): Promise<Answer> {
    const pair = client === undefined ? {} : await authority.sign({ ...client, usage: 'client' });
    const options = {
      host: '127.0.0.1',
      port: harness.kubelet.port,
      path: '/healthz',
      ca: pki.caCertificate,
      agent: false as const,
      ...pair,
    };
    return await finish((done) =>
      httpsRequest(options, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => done({ code: response.statusCode ?? 0, body }));
      }),
    );
  }

  test('masters are allowed', async () => {
    expect(await ask({ commonName: 'root', organizations: ['system:masters'] })).toEqual({
      code: 200,
      body: 'ok',
    });
  });

  test('a client without a certificate of the cluster is unauthorized', async () => {
    expect((await ask()).code).toBe(401);
    const foreign = await Pki.open({ clock: systemClock, random: systemRandom });
    const masters = { commonName: 'root', organizations: ['system:masters'] };
    expect((await ask(masters, foreign)).code).toBe(401);
  });

  test('other users of the cluster are forbidden, whatever they are called', async () => {
    expect(
      (await ask({ commonName: 'system:node:node-2', organizations: ['system:nodes'] })).code,
    ).toBe(403);
    expect((await ask({ commonName: 'system:apiserver' })).code).toBe(403);
  });

  test('the certificate of the API server is allowed by a role', async () => {
    const apiServer = { commonName: 'kube-apiserver-kubelet-client' };
    expect(await ask(apiServer)).toEqual({ code: 200, body: 'ok' });
  });
});
