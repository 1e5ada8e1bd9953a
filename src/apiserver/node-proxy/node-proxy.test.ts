import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import type { NodeTarget } from '../node-connector.ts';
import { makeTestAuthority } from '../testing/certificates.ts';
import { handle, send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** A kubelet that serves HTTP on any connection. */
let kubelet: Server;
/** The kubelet's response to an upgrade for a command named 'refused'. */
let refusal: string;
let kubeletRequests: string[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let targets: NodeTarget[];
let t: TestServer;

const nodeConnector = {
  connect: (node: NodeTarget): Promise<Duplex> => {
    targets.push(node);
    if (node.name === 'down') return Promise.reject(new Error('connect ECONNREFUSED'));
    const [near, far] = duplexPair();
    kubelet.emit('connection', far);
    return Promise.resolve(near);
  },
};

beforeEach(async () => {
  refusal = 'no such container';
  kubeletRequests = [];
  targets = [];
  answer = (_request, response) => response.end('said');
  kubelet = createServer((request, response) => {
    kubeletRequests.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  kubelet.on('upgrade', (request, socket, head) => {
    kubeletRequests.push(`${request.method} ${request.url} upgrade ${request.headers.upgrade}`);
    if (request.url?.includes('refused') === true) {
      socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${refusal.length}\r\n\r\n${refusal}`);
      return;
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ` +
        `${request.headers.upgrade}\r\nX-Stream: v4\r\nSet-Cookie: a=1\r\n\r\nhello `,
    );
    socket.write(head);
    socket.on('data', (chunk: Buffer) => socket.write(chunk.toString().toUpperCase()));
    socket.on('end', () => socket.end());
    socket.on('error', () => undefined);
  });
  t = await startTestServer({
    clock: systemClock,
    nodeConnector,
    tls: await (await authority).server(),
  });
  for (const name of ['n1', 'down']) {
    const status = {
      addresses: [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address: '10.0.0.1' },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 12345 } },
    };
    await send(t.server, {
      method: 'POST',
      path: '/api/v1/nodes',
      body: { metadata: { name }, status },
    });
  }
  const pod = (name: string, containers: string[], nodeName?: string) => ({
    metadata: { name },
    spec: {
      nodeName,
      initContainers: [{ name: 'init', image: 'i' }],
      containers: containers.map((each) => ({ name: each, image: 'i' })),
    },
  });
  for (const body of [
    pod('one', ['main'], 'n1'),
    pod('two', ['a', 'b'], 'n1'),
    pod('lost', ['main'], 'down'),
    pod('new', ['main']),
  ]) {
    expect((await send(t.server, { method: 'POST', path: PODS, body })).code).toBe(201);
  }
});
afterEach(async () => {
  await t.stop();
  kubelet.closeAllConnections();
  expect(t.logger.errors).toEqual([]);
});

const authority = makeTestAuthority();

describe('logs', () => {
  test('are the kubelet’s response', async () => {
    const { code, text, headers } = await send(t.server, {
      path: `${PODS}/one/log?follow=true&tailLines=5&previous=false&timestamps=1`,
    });
    expect(code).toBe(200);
    expect(text).toBe('said');
    expect(headers['content-type']).toBe('text/plain');
    expect(kubeletRequests).toEqual([
      'GET /containerLogs/default/one/main?follow=true&timestamps=true&tailLines=5',
    ]);
    expect(targets).toEqual([{ name: 'n1', host: '10.0.0.1', port: 12345 }]);
  });

  test('may be read from a kubelet that is not verified', async () => {
    await send(t.server, { path: `${PODS}/one/log?insecureSkipTLSVerifyBackend=true` });
    expect(targets).toMatchObject([{ name: 'n1', insecureSkipTlsVerify: true }]);
    expect(kubeletRequests).toEqual(['GET /containerLogs/default/one/main']);
  });

  test('are streamed while they are written', async () => {
    let more: (() => void) | undefined;
    answer = (_request, response) => {
      response.write('first');
      more = () => response.end('second');
    };
    const { body } = await handle(t.server, { path: `${PODS}/one/log?follow=true` });
    if (body.kind !== 'stream') throw new Error(body.kind);
    const chunks: string[] = [];
    for await (const chunk of body.stream) {
      chunks.push(Buffer.from(chunk).toString());
      more?.();
      more = undefined;
    }
    expect(chunks).toEqual(['first', 'second']);
  });

  test.each([
    ['two', '', 400, 'a container name must be specified for pod two, choose one of: [init a b]'],
    ['two', '?container=c', 400, 'container c is not valid for pod two'],
    ['none', '', 404, 'pods "none" not found'],
    [
      'one',
      '?tailLines=-1',
      422,
      'tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['one', '?limitBytes=0', 422, 'limitBytes: Invalid value: 0: must be greater than 0'],
    ['one', '?sinceSeconds=x', 400, 'invalid syntax'],
    ['lost', '', 500, 'error dialing backend: connect ECONNREFUSED'],
  ])('of %s%s: %i', async (name, query, expected, message) => {
    const { code, json } = await send(t.server, { path: `${PODS}/${name}/log${query}` });
    expect(code).toBe(expected);
    expect(json.message).toContain(message);
  });

  test('of a named container or an init container', async () => {
    await send(t.server, { path: `${PODS}/two/log?container=b` });
    await send(t.server, { path: `${PODS}/two/log?container=init` });
    expect(kubeletRequests).toEqual([
      'GET /containerLogs/default/two/b',
      'GET /containerLogs/default/two/init',
    ]);
  });

  test('of a pod without a node are empty', async () => {
    const { code, text } = await send(t.server, { path: `${PODS}/new/log` });
    expect([code, text]).toEqual([204, '']);
  });

  test.each([
    [
      400,
      'container "main" in pod "one" is waiting to start',
      'BadRequest',
      'container "main" in pod "one" is waiting to start',
    ],
    [500, 'it broke', 'InternalError', 'Internal error occurred: it broke'],
    [404, 'gone', 'NotFound', 'the server could not find the requested resource'],
  ])('with status %i of the kubelet are errors', async (status, text, reason, message) => {
    answer = (_request, response) => {
      response.writeHead(status);
      response.end(text);
    };
    const { code, json } = await send(t.server, { path: `${PODS}/one/log` });
    expect(code).toBe(status);
    expect(json.reason).toBe(reason);
    expect(json.message).toContain(message);
  });
});

describe('exec, attach and port-forward', () => {
  let port: number;
  beforeEach(async () => {
    ({ port } = await t.server.listen());
  });

  /** Sends the text after the response's headers have arrived, and returns the response. */
  async function converse(path: string, text: string): Promise<string> {
    const { cert } = await authority;
    const admin = await (await authority).client('admin', ['system:masters']);
    return new Promise((resolve, reject) => {
      const socket = tlsConnect(
        { host: '127.0.0.1', port, ca: cert, ...admin, ALPNProtocols: ['http/1.1'] },
        () => {
          socket.write(
            `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n`,
          );
        },
      );
      let got = '';
      let isSent = false;
      socket.on('data', (chunk: Buffer) => {
        got += chunk.toString();
        if (!isSent && got.includes('hello ')) {
          isSent = true;
          socket.end(text);
        }
      });
      socket.on('close', () => resolve(got));
      socket.on('error', reject);
    });
  }

  test('join the two connections', async () => {
    const got = await converse(
      `${PODS}/one/exec?command=ls&command=-l%20x&stdin=True&stdout=true&stderr=False&tty=False`,
      'abc',
    );
    expect(got).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(got).toContain('Upgrade: SPDY/3.1\r\n');
    expect(got).toContain('X-Stream: v4\r\n');
    expect(got).not.toContain('Set-Cookie');
    expect(got.endsWith('\r\n\r\nhello ABC')).toBe(true);
    expect(kubeletRequests).toEqual([
      'POST /exec/default/one/main?input=1&output=1&command=ls&command=-l+x upgrade SPDY/3.1',
    ]);
  });

  test('attach and portforward have paths of their own', async () => {
    await converse(`${PODS}/two/attach?container=b&stdout=true&stderr=true&tty=true`, 'x');
    await converse(`${PODS}/two/portforward?ports=80,81`, 'x');
    expect(kubeletRequests).toEqual([
      'POST /attach/default/two/b?output=1&error=1&tty=1 upgrade SPDY/3.1',
      'POST /portForward/default/two?port=80&port=81 upgrade SPDY/3.1',
    ]);
  });

  test('an error of the kubelet is a Status', async () => {
    const got = await converse(`${PODS}/one/exec?command=refused`, '');
    expect(got).toMatch(/^HTTP\/1\.1 404 /);
    expect(got).toContain('"kind":"Status"');
  });

  test.each([
    { code: 99_999 },
    { code: 101 },
    { code: 204 },
    { code: -1 },
    { code: 'x' },
    { code: {} },
    { code: 404, message: {}, reason: [], details: 'x' },
    { code: 404, details: { retryAfterSeconds: 'x\r\nA: b', causes: 1 } },
    { code: 404, metadata: 1, status: [] },
  ])('the malformed Status %j of a kubelet is an error', async (status) => {
    refusal = JSON.stringify({ kind: 'Status', ...status });
    const got = await converse(`${PODS}/one/exec?command=refused`, '');
    expect(got).toMatch(/^HTTP\/1\.1 (404|500) /);
    expect(got).toContain('"kind":"Status"');
    expect(got).not.toContain('\r\nA: b');
    expect((await send(t.server, { path: `${PODS}/one` })).code).toBe(200);
  });

  test('a pod without a node, a wrong container and an unreachable node are errors', async () => {
    expect(await converse(`${PODS}/new/exec?command=ls`, '')).toContain(
      'pod new does not have a host assigned',
    );
    expect(await converse(`${PODS}/one/exec?container=x`, '')).toContain(
      'container x is not valid for pod one',
    );
    expect(await converse(`${PODS}/lost/exec`, '')).toContain('error dialing backend');
  });

  test('a request without an upgrade is rejected', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: `${PODS}/one/exec?command=ls`,
    });
    expect(code).toBe(400);
    expect(json.message).toBe('Upgrade request required');
  });
});

test.each(['exec', 'attach', 'portforward'])(
  'GET of %s, as of WebSockets, needs the permission to create it',
  async (subresource) => {
    const user = { name: 'reader', groups: ['system:authenticated'] };
    const grant = async (...verbs: string[]): Promise<void> => {
      const name = verbs.join('-');
      const rules = [{ apiGroups: [''], resources: [`pods/${subresource}`], verbs }];
      await t.client.resource(clusterRoles).create({ metadata: { name }, rules });
      await t.client.resource(clusterRoleBindings).create({
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user.name }],
      });
    };
    const ask = async (): Promise<string> => {
      const path = `${PODS}/one/${subresource}?command=ls&stdout=true`;
      const { code, json } = await send(t.server, { path, user });
      return `${code} ${json.message}`;
    };
    const poll = { timeout: 60_000 };
    await grant('get');
    await expect.poll(ask, poll).toBe('403 pods "one" is forbidden: ');
    await grant('create');
    await expect.poll(ask, poll).toBe('400 Upgrade request required');
    expect(kubeletRequests).toEqual([]);
  },
);

describe('nodes/proxy', () => {
  test('passes requests and responses on unchanged', async () => {
    answer = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        response.writeHead(418, { 'content-type': 'text/x', 'x-said': 'yes' });
        response.end(`${body} ${request.headers.authorization ?? 'anonymous'}`);
      });
    };
    const { code, text, headers } = await send(t.server, {
      method: 'PUT',
      path: '/api/v1/nodes/n1/proxy/some/path?x=1&y=2',
      headers: { authorization: 'Bearer secret' },
      body: 'payload',
    });
    expect(code).toBe(418);
    expect(text).toBe('payload anonymous');
    expect(headers).toMatchObject({ 'content-type': 'text/x', 'x-said': 'yes' });
    expect(kubeletRequests).toEqual(['PUT /some/path?x=1&y=2']);
  });

  test('does not pass on a token among the subprotocols of a WebSocket', async () => {
    answer = (request, response) => response.end(request.headers['sec-websocket-protocol']);
    const token = 'base64url.bearer.authorization.k8s.io.c2VrcmV0';
    const ask = async (protocols: string): Promise<string> =>
      (
        await send(t.server, {
          path: '/api/v1/nodes/n1/proxy/x',
          headers: { 'sec-websocket-protocol': protocols },
        })
      ).text;
    expect(await ask(`${token}, v5.channel.k8s.io`)).toBe('v5.channel.k8s.io');
    expect(await ask(token)).toBe('');
  });

  test('of a missing node is 404', async () => {
    expect((await send(t.server, { path: '/api/v1/nodes/none/proxy/' })).code).toBe(404);
  });
});

test('without a connector the kubelets cannot be reached', async () => {
  const other = await startTestServer({
    clock: systemClock,
    storage: t.storage,
    nodeConnector: undefined,
  });
  const { code, json } = await send(other.server, { path: `${PODS}/one/log` });
  expect(code).toBe(503);
  expect(json.reason).toBe('ServiceUnavailable');
  await other.server.stop();
});
