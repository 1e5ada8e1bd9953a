// Requests for another API server's group, over a real port to a fake aggregated server.

import { request as httpsRequest } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '../testing/certificates.ts';
import { send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { type ArrivedRequest, FakeServer } from './testing/fake-server.ts';
import { registerFake } from './testing/register.ts';

let authority: TestAuthority;
let admin: Credentials;
let t: TestServer;
let port: number;
let fake: FakeServer;

beforeAll(async () => {
  authority = await makeTestAuthority();
  admin = await authority.client('admin', ['system:masters', 'dev']);
  fake = new FakeServer({
    ...(await authority.server(['fake.default.svc'])),
    clientCa: authority.cert,
  });
  await fake.start();
  const frontProxy = await authority.client('front-proxy-client');
  t = await startTestServer({
    clock: systemClock,
    tls: await authority.server(),
    tokens: new Map([
      [
        'sekret',
        {
          name: 'jürgen',
          uid: 'u1',
          groups: ['system:masters', 'b, c'],
          extra: { 'example.com/k': ['v'] },
        },
      ],
    ]),
    shutdownTimeoutMs: 2000,
    aggregation: {
      proxyClientCertificate: () => frontProxy,
      dial: (_peer, tls, signal) =>
        dial({ host: '127.0.0.1', port: fake.port, clock: systemClock, signal, tls }),
    },
  });
  ({ port } = await t.server.listen());
  await registerFake(t.client, fake, { caBundle: Buffer.from(authority.cert).toString('base64') });
  await vi.waitFor(
    async () => {
      const { status } = await t.client.resource(apiServices).get('v1.fake.example.com');
      const passed = {
        type: 'Available',
        status: 'True',
        reason: 'Passed',
        message: 'all checks passed',
      };
      expect(status.conditions).toMatchObject([passed]);
    },
    { timeout: 60_000 },
  );
});
afterEach(() => {
  fake.arrived.length = 0;
  expect(t.logger.errors.splice(0)).toEqual([]);
});
afterAll(async () => {
  await t.stop();
  await fake.stop();
});

interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  readonly as?: Credentials | null;
}

function call(
  path: string,
  { method = 'GET', headers = {}, body, as }: Call = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const credentials = as === null ? {} : (as ?? admin);
    const options = {
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      path,
      method,
      headers,
      agent: false as const,
      ...credentials,
    };
    const request = httpsRequest(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.on('end', () =>
        resolve({ code: response.statusCode ?? 0, headers: response.headers, text }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

const ROOT = '/apis/fake.example.com/v1';
const echo = async (rest = '', options?: Call): Promise<ArrivedRequest> => {
  const { code, text } = await call(`${ROOT}/echo${rest}`, options);
  expect([code, text]).toMatchObject([200, expect.any(String)]);
  return JSON.parse(text) as ArrivedRequest;
};
const valuesOf = ({ headers }: ArrivedRequest, name: string): readonly string[] =>
  headers.filter(([each]) => each === name).map(([, value]) => value);

describe('a request', () => {
  test('arrives with its method, path, query and body', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' ? undefined : `{"of":"${method}"}`;
      const headers = { 'content-length': String(body?.length ?? 0) };
      const arrived = await echo('/x%20y?b=2&a=1%2F2', { method, body, headers });
      expect(arrived).toMatchObject({
        method,
        url: `${ROOT}/echo/x%20y?a=1%2F2&b=2`,
        body: body ?? '',
      });
    }
  });

  test('comes from the front proxy and names the user', async () => {
    const arrived = await echo('', { as: null, headers: { authorization: 'Bearer sekret' } });
    expect(arrived.peer).toBe('front-proxy-client');
    expect(
      valuesOf(arrived, 'x-remote-user').map((value) =>
        Buffer.from(value, 'latin1').toString('utf8'),
      ),
    ).toEqual(['jürgen']);
    expect(valuesOf(arrived, 'x-remote-uid')).toEqual(['u1']);
    expect(valuesOf(arrived, 'x-remote-group')).toEqual([
      'system:masters',
      'b, c',
      'system:authenticated',
    ]);
    expect(valuesOf(arrived, 'x-remote-extra-example.com%2fk')).toEqual(['v']);
  });

  test('has neither credentials nor identity headers of the client', async () => {
    const arrived = await echo('', {
      as: null,
      headers: {
        authorization: 'Bearer sekret',
        'x-remote-user': 'root',
        'x-remote-group': ['wheel'],
        'x-remote-uid': '0',
        'x-remote-extra-scopes': 'all',
        connection: 'close, x-secret',
        'x-secret': 'for the proxy alone',
        'proxy-authorization': 'Basic x',
        'sec-websocket-protocol':
          'base64url.bearer.authorization.k8s.io.c2Vrcmv0, v5.channel.k8s.io',
      },
    });
    const text = JSON.stringify(arrived.headers);
    expect(text).not.toMatch(/sekret|root|wheel|scopes|x-secret|proxy-authorization|base64url/);
    expect(valuesOf(arrived, 'sec-websocket-protocol')).toEqual(['v5.channel.k8s.io']);
  });

  test('of an impersonator arrives as the impersonated user', async () => {
    const arrived = await echo('', {
      headers: { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' },
    });
    expect(valuesOf(arrived, 'x-remote-user')).toEqual(['jane']);
    expect(arrived.headers.filter(([name]) => name.startsWith('impersonate-'))).toEqual([]);
  });

  test('is not forwarded without permission', async () => {
    const mallory = await authority.client('mallory');
    const refused = await call(`${ROOT}/echo`, { as: mallory });
    expect(refused.code).toBe(403);
    expect(fake.arrivedAt('echo')).toEqual([]);
  });

  test('with an encoded slash is not forwarded: it was authorized as another path', async () => {
    expect((await call(`${ROOT}/things/x%2Fstatus`)).code).toBe(404);
    expect(fake.arrivedAt('things')).toEqual([]);
  });
});

describe('a response', () => {
  test('keeps its code, headers and body', async () => {
    expect(await call(`${ROOT}/status?code=418`)).toMatchObject({ code: 418, text: '418' });
    const cors = await call(`${ROOT}/cors`);
    expect(cors.headers).toMatchObject({ 'x-own': 'kept', 'access-control-max-age': '5' });
    expect(cors.headers['access-control-allow-origin']).toBeUndefined();
    const head = await call(`${ROOT}/things`, { method: 'HEAD' });
    expect(head).toMatchObject({ code: 200, text: '' });
  });

  test.each([
    ['redirect', 502, 'the backend attempted to redirect this request, which is not permitted'],
    [
      'redirect?to=https://elsewhere.example.com/',
      502,
      'the backend attempted to redirect this request, which is not permitted',
    ],
    ['redirect-nowhere', 302, 'moved'],
    ['close', 503, 'error trying to reach service: EOF\n'],
  ])('%s', async (mode, code, text) => {
    expect(await call(`${ROOT}/${mode}`)).toMatchObject({ code, text });
  });

  test('is cut off for the client when the backend cuts it off', async () => {
    await expect(call(`${ROOT}/close-midway`)).rejects.toThrow('aborted');
  });

  test('that is not HTTP is an error', async () => {
    const { code, text } = await call(`${ROOT}/garbage`);
    expect(code).toBe(503);
    expect(text).toContain(
      'error trying to reach service: net/http: HTTP/1.x transport connection broken',
    );
  });

  test('may have any size', async () => {
    const { code, text } = await call(`${ROOT}/huge`);
    expect([code, text.length]).toEqual([200, 512 * 64 * 1024]);
  });
});

test('watches stream events', async () => {
  const line = await new Promise<string>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      path: `${ROOT}/things?watch=true`,
      agent: false as const,
      ...admin,
    };
    httpsRequest(options, (response) => {
      response.once('data', (chunk: Buffer) => {
        resolve(chunk.toString('utf8'));
        response.destroy();
      });
    })
      .on('error', reject)
      .end();
  });
  expect(JSON.parse(line)).toMatchObject({ type: 'ADDED', object: { kind: 'Thing' } });
});

describe('an upgrade', () => {
  const upgrade = (path: string, protocol: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = tlsConnect({ host: '127.0.0.1', port, ca: authority.cert, ...admin }, () => {
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ` +
            `${protocol}\r\nX-Remote-User: root\r\n\r\n`,
        );
      });
      let text = '';
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
        if (text.includes('101 Switching') && !text.includes('ping')) socket.write('ping');
        if (text.includes('ping')) socket.end();
      });
    });

  test.each(['websocket', 'SPDY/3.1'])('to %s joins the connections', async (protocol) => {
    const text = await upgrade(`${ROOT}/echo`, protocol);
    expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols/);
    expect(text).toMatch(/ping$/);
    const [arrived] = fake.arrivedAt('echo');
    expect(valuesOf(arrived!, 'upgrade')).toEqual([protocol]);
    expect(valuesOf(arrived!, 'x-remote-user')).toEqual(['admin']);
  });

  test('gets the backend’s response if the backend rejects it', async () => {
    expect(await upgrade(`${ROOT}/refused`, 'SPDY/3.1')).toMatch(
      /^HTTP\/1\.1 403 Forbidden[^]*refused/,
    );
    expect(await upgrade(`${ROOT}/no-upgrade`, 'SPDY/3.1')).toMatch(
      /^HTTP\/1\.1 503 [^]*invalid upgrade response: status code 200/,
    );
  });
});

test('before all APIServices are loaded, no group is reported as missing', async () => {
  const starting = await startTestServer({
    clock: systemClock,
    start: false,
    tls: await authority.server(),
    shutdownTimeoutMs: 500,
  });
  const path = '/apis/unknown.example.com/v1/things';
  expect((await send(starting.server, { path })).code).toBe(404);
  await starting.server.listen();
  expect((await send(starting.server, { path })).json).toMatchObject({
    code: 503,
    message:
      'the request has been made before all known HTTP paths have been installed, please retry',
  });
  expect((await send(starting.server, { path: '/apis/apps/v1/deployments' })).code).toBe(200);
  await starting.server.start();
  expect((await send(starting.server, { path })).code).toBe(404);
  await starting.stop();
});
