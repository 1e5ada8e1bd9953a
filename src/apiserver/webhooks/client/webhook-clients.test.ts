// Calls of webhooks: requests, error messages, and timeouts that no webhook can exceed.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type Clock, systemClock, VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { Find, FindAll } from '../../catalog/internal-client.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookHandler,
  type WebhookServer,
} from '../testing/webhook-server.ts';
import { WebhookCallError } from './errors.ts';
import { WebhookClients } from './webhook-clients.ts';

let webhook: WebhookServer;
let clients: WebhookClients;
const objects = new Map<string, unknown>();
const find = (async (group: string, resource: string, namespace: string, name: string) =>
  objects.get(`${group}/${resource}/${namespace}/${name}`)) as unknown as Find;
const findAll = (async (group: string, resource: string, namespace: string) =>
  [...objects].flatMap(([key, object]) =>
    key.startsWith(`${group}/${resource}/${namespace}/`) ? [object] : [],
  )) as FindAll;

const echo: WebhookHandler = ({ body, url }, response) =>
  respondJson(response, { url, echo: JSON.parse(body) as unknown });

beforeEach(async () => {
  objects.clear();
  webhook = await startWebhookServer({ handler: echo });
  clients = makeClients(systemClock);
});

afterEach(async () => {
  clients.close();
  await webhook.stop();
});

const makeClients = (clock: Clock): WebhookClients =>
  new WebhookClients({ find, findAll, clock, random: new SeededRandom(1) });

const call = (path = '', timeoutMs = 10_000, more: object = {}): Promise<unknown> =>
  clients.call(
    'hook',
    { url: webhook.url + path, caBundle: webhook.caBundle },
    { hello: 1 },
    { timeoutMs, ...more },
  );

async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof WebhookCallError)
      return error.message.replaceAll(String(webhook.port), 'PORT');
    throw error;
  }
  throw new Error('the call did not fail');
}

const POST = 'Post "https://127.0.0.1:PORT/?timeout=10s": ';

test('a webhook gets the body as JSON, with the timeout in the query', async () => {
  expect(await call('/a//b/', 1500)).toEqual({ url: '/a/b?timeout=2s', echo: { hello: 1 } });
  const [{ method, headers }] = webhook.received as [WebhookServer['received'][0]];
  expect(method).toBe('POST');
  expect(headers).toMatchObject({
    host: `127.0.0.1:${webhook.port}`,
    accept: 'application/json, */*',
    'content-type': 'application/json',
    'content-length': '11',
    'user-agent': 'kube-apiserver-admission',
  });
});

describe('connections', () => {
  test('are reused', async () => {
    for (let turn = 0; turn < 5; turn++) await call();
    await call('', 5_000);
    expect(webhook.connections).toBe(1);
    await Promise.all([call(), call(), call()]);
    expect(webhook.connections).toBe(3);
  });

  test('that the webhook has closed are replaced', async () => {
    let last: Socket | undefined;
    webhook.handler = (request, response, socket) => {
      last = socket;
      void echo(request, response, socket);
    };
    await call();
    last?.destroy();
    await once(last!, 'close');
    // The end of the connection has to arrive at the client, too.
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(await call()).toMatchObject({ echo: { hello: 1 } });
    expect(webhook.connections).toBe(2);
  });

  test('are not used for a second attempt after something was sent', async () => {
    await call();
    webhook.handler = (_request, _response, socket) => void socket.destroy();
    expect(await failure(call())).toBe(`${POST}EOF`);
    expect(webhook.received.length).toBe(2);
  });

  test('are closed when they are unused for long, and with the client', async () => {
    const clock = new VirtualClock();
    clients = makeClients(clock);
    await call();
    await nextTurn();
    await clock.advance('3m');
    await nextTurn();
    await call();
    expect(webhook.connections).toBe(2);
    clients.close();
    await call();
    expect(webhook.connections).toBe(3);
  });
});

describe('a webhook that', () => {
  const answers = (handler: WebhookHandler): void => void (webhook.handler = handler);

  test('hangs is aborted by the timeout', async () => {
    answers(() => undefined);
    expect(await failure(call('', 50))).toBe(
      'Post "https://127.0.0.1:PORT/?timeout=1s": context deadline exceeded',
    );
  });

  test('sends its response one byte at a time is aborted by the timeout', async () => {
    answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    expect(await failure(call('', 3000))).toBe(
      'unexpected error when reading response body. Please retry. Original error: context deadline exceeded',
    );
  });

  test('hangs is aborted with the caller’s request', async () => {
    const caller = new AbortController();
    answers(() => caller.abort());
    expect(await failure(call('', 10_000, { signal: caller.signal }))).toBe(
      `${POST}context canceled`,
    );
    expect(await failure(call('', 10_000, { signal: caller.signal }))).toBe(
      `${POST}context canceled`,
    );
  });

  test('closes the connection', async () => {
    answers((_request, _response, socket) => void socket.destroy());
    expect(await failure(call())).toBe(`${POST}EOF`);
  });

  test('closes the connection within the response', async () => {
    answers((_request, response, socket) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"a":');
      setImmediate(() => socket.destroy());
    });
    expect(await failure(call())).toBe(
      'unexpected error when reading response body. Please retry. Original error: unexpected EOF',
    );
  });

  test('does not speak HTTP', async () => {
    answers((_request, _response, socket) => void socket.end('SSH-2.0-x\r\n\r\n'));
    expect(await failure(call())).toBe(
      `${POST}net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-x"`,
    );
  });

  test('sends too much', async () => {
    answers((_request, response) => void response.end('x'.repeat(200_000)));
    expect(await failure(call('', 10_000, { maxResponseBytes: 100_000 }))).toContain(
      'larger than the limit of 100000 bytes',
    );
  });

  test('sends nothing, or invalid JSON', async () => {
    answers((_request, response) => void response.end());
    expect(await failure(call())).toBe(
      '0-length response with status code: 200 and content type: application/json',
    );
    answers((_request, response) => void response.end('{"a":'));
    expect(await failure(call())).toBe(
      "couldn't get version/kind; json parse error: unexpected end of JSON input",
    );
  });

  test.each([
    [
      500,
      'text/plain',
      'broken',
      'an error on the server ("broken") has prevented the request from succeeding',
    ],
    [
      500,
      'application/json',
      '{}',
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [404, 'text/plain', 'x', 'the server could not find the requested resource'],
    [403, 'text/plain', 'go away', 'go away'],
    [
      302,
      'text/plain',
      '',
      'the server responded with the status code 302 but did not return more information',
    ],
    [
      503,
      'application/json',
      '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"own"}',
      'own',
    ],
  ])('responds with %i and %s %s', async (code, type, body, message) => {
    answers(
      (_request, response) => void response.writeHead(code, { 'content-type': type }).end(body),
    );
    expect(await failure(call())).toBe(message);
  });

  test('redirects is followed, only to https, a limited number of times', async () => {
    answers((request, response, socket) => {
      if (request.url.startsWith('/end'))
        void echo(request.method === 'GET' ? { ...request, body: '0' } : request, response, socket);
      else response.writeHead(Number(request.url.slice(1, 4)), { location: '/end?x=1' }).end();
    });
    expect(await call('/307')).toEqual({ url: '/end?x=1', echo: { hello: 1 } });
    expect(await call('/302')).toEqual({ url: '/end?x=1', echo: 0 });
    answers((_request, response) => void response.writeHead(307, { location: '/again' }).end());
    expect(await failure(call())).toBe('Post "/again": stopped after 10 redirects');
    answers(
      (_request, response) => void response.writeHead(301, { location: 'http://127.0.0.1/' }).end(),
    );
    expect(await failure(call())).toBe(
      'Post "http://127.0.0.1/": a redirect may only lead to https',
    );
  });

  test('asks for a later retry is called again', async () => {
    clients = makeClients(new VirtualClock());
    let calls = 0;
    answers((request, response, socket) => {
      if (++calls < 3) response.writeHead(429, { 'retry-after': '0' }).end();
      else void echo(request, response, socket);
    });
    expect(await call()).toMatchObject({ echo: { hello: 1 } });
    answers(
      (_request, response) =>
        void response.writeHead(503, { 'retry-after': '0' }).end(String(++calls)),
    );
    calls = 0;
    expect(await failure(call())).toBe('the server is currently unable to handle the request');
    expect(calls).toBe(11);
  });
});

describe('a connection that cannot be established', () => {
  test('is refused', async () => {
    await webhook.stop();
    expect(await failure(call())).toBe(
      `${POST}dial tcp 127.0.0.1:PORT: connect: connection refused`,
    );
    webhook = await startWebhookServer({ handler: echo });
  });

  test('is trusted by the server’s own certificate in the bundle', async () => {
    const config = { url: webhook.url, caBundle: webhook.ownBundle };
    expect(await clients.call('hook', config, { hello: 1 }, { timeoutMs: 10_000 })).toBeTruthy();
  });

  test('has another certificate, or none', async () => {
    const other = await startWebhookServer({ handler: echo });
    const config = { url: webhook.url, caBundle: other.caBundle };
    await other.stop();
    expect(await failure(clients.call('hook', config, {}, { timeoutMs: 10_000 }))).toBe(
      `${POST}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    );
    const plain = createServer(
      (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}`;
    expect(await failure(clients.call('hook', { url }, {}, { timeoutMs: 10_000 }))).toBe(
      `Post "${url}/?timeout=10s": http: server gave HTTP response to HTTPS client`,
    );
    plain.close();
  });
});

describe('a service', () => {
  const config = (port?: number) => ({
    service: { namespace: 'ns', name: 'svc', path: '/x', ...(port !== undefined && { port }) },
    caBundle: webhook.caBundle,
  });
  const callService = (port?: number) =>
    clients.call('hook', config(port), {}, { timeoutMs: 10_000 });
  const SERVICE = 'Post "https://svc.ns.svc:443/x?timeout=10s": ';
  const metadata = {
    name: 'svc',
    namespace: 'ns',
    labels: { 'kubernetes.io/service-name': 'svc' },
  };
  const addService = (spec: object): void =>
    void objects.set('/services/ns/svc', { metadata, spec });
  const addSlice = (name: string, ready: boolean, ip = '127.0.0.1'): void =>
    void objects.set(`discovery.k8s.io/endpointslices/ns/${name}`, {
      metadata: { ...metadata, name },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: webhook.port }],
      endpoints: [{ addresses: [ip], conditions: { ready } }],
    });

  test('that is missing, or lacks the port or a ready endpoint, is an error', async () => {
    expect(await failure(callService())).toBe(`${SERVICE}service "svc" not found`);
    addService({ ports: [{ name: 'https', port: 443, targetPort: 'named' }] });
    expect(await failure(callService(444))).toBe(
      'Post "https://svc.ns.svc:444/x?timeout=10s": no service port 444 found for service "svc"',
    );
    expect(await failure(callService())).toBe(`${SERVICE}no endpoints available for service "svc"`);
    addSlice('a', false);
    expect(await failure(callService())).toBe(`${SERVICE}no endpoints available for service "svc"`);
  });

  test('is called at its ready endpoints, with the name of its certificate', async () => {
    addService({ ports: [{ name: 'https', port: 443 }] });
    addSlice('a', true);
    addSlice('b', false, '127.0.0.9');
    expect(await failure(callService())).toMatch(
      /x509: certificate is valid for .*, not svc\.ns\.svc$/,
    );
  });

  test('without slices is called at its Endpoints', async () => {
    addService({ ports: [{ port: 443 }] });
    objects.set('/endpoints/ns/svc', {
      metadata,
      subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: webhook.port }] }],
    });
    expect(await failure(callService())).toMatch(/not svc\.ns\.svc$/);
  });

  test('with an external name is called there', async () => {
    addService({ type: 'ExternalName', externalName: 'localhost' });
    expect(await failure(callService(webhook.port))).toMatch(/not svc\.ns\.svc$/);
  });
});
