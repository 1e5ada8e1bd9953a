// The form of every response apart from its content: the newline at the end, indentation, content
// type, Audit-Id. The expectations are upstream's; test/differential compares them with a running
// reference.

import { connect as http2Connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { systemClock } from '#machinery/clock.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '../testing/certificates.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let authority: TestAuthority;
let admin: Credentials;
let t: TestServer;
let port: number;

beforeAll(async () => {
  authority = await makeTestAuthority();
  admin = await authority.client('admin', ['system:masters']);
  t = await startTestServer({ clock: systemClock, tls: await authority.server() });
  ({ port } = await t.server.listen());
});
afterAll(() => t.stop());

interface Call {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the request without credentials. Default: as the administrator. */
  readonly anonymous?: boolean;
}

interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

function overHttp1({
  path,
  method = 'GET',
  headers = {},
  body,
  anonymous = false,
}: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      path,
      method,
      headers,
      agent: false as const,
    };
    const outgoing = httpsRequest({ ...options, ...(!anonymous && admin) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          code: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

async function overHttp2({
  path,
  method = 'GET',
  headers = {},
  body,
  anonymous = false,
}: Call): Promise<Answer> {
  const session = http2Connect(`https://127.0.0.1:${port}`, {
    ca: authority.cert,
    ...(!anonymous && admin),
  });
  try {
    return await new Promise((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request({ ...headers, ':path': path, ':method': method });
      let responseHeaders: Readonly<Record<string, unknown>> = {};
      const chunks: Buffer[] = [];
      stream.once('response', (received) => (responseHeaders = received));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('error', reject);
      stream.once('end', () =>
        resolve({
          code: Number(responseHeaders[':status']),
          headers: responseHeaders,
          text: Buffer.concat(chunks).toString(),
        }),
      );
      stream.end(body);
    });
  } finally {
    session.close();
  }
}

const JSON_TYPE = 'application/json';
const CURL = { 'user-agent': 'curl/8.0' };
const TYPED = { 'content-type': JSON_TYPE };
const NAMESPACE = '/api/v1/namespaces/default';
const accept = (type: string): Record<string, string> => ({ accept: type });

/** 'line': compact, with a newline at the end. 'indented': without one. */
type Form = 'line' | 'indented' | 'text' | 'no newline';

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
])('over %s', (_name, ask) => {
  test.each<[call: Call, code: number, type: string, form: Form]>([
    [{ path: NAMESPACE }, 200, JSON_TYPE, 'line'],
    [{ path: `${NAMESPACE}?pretty=true` }, 200, JSON_TYPE, 'indented'],
    [{ path: NAMESPACE, headers: CURL }, 200, JSON_TYPE, 'indented'],
    [{ path: `${NAMESPACE}?pretty=false`, headers: CURL }, 200, JSON_TYPE, 'line'],
    [{ path: '/api/v1/namespaces' }, 200, JSON_TYPE, 'line'],
    [{ path: '/api/v1/namespaces?pretty=1' }, 200, JSON_TYPE, 'indented'],
    [
      { path: '/api/v1/namespaces', headers: accept(`${JSON_TYPE};as=Table;v=v1;g=meta.k8s.io`) },
      200,
      JSON_TYPE,
      'line',
    ],
    [
      {
        path: '/api/v1/namespaces',
        headers: accept(`${JSON_TYPE};as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io`),
      },
      200,
      JSON_TYPE,
      'line',
    ],
    [
      {
        path: `${NAMESPACE}/configmaps?dryRun=All`,
        method: 'POST',
        headers: TYPED,
        body: '{"metadata":{"name":"wire"}}',
      },
      201,
      JSON_TYPE,
      'line',
    ],
    [{ path: '/api/v1/namespaces/nope' }, 404, JSON_TYPE, 'line'],
    [{ path: '/api/v1/namespaces/nope', headers: CURL }, 404, JSON_TYPE, 'indented'],
    // An error that cannot have the requested form is indented JSON.
    [
      {
        path: '/api/v1/namespaces/nope',
        headers: accept(`${JSON_TYPE};as=Table;v=v1;g=meta.k8s.io`),
      },
      404,
      JSON_TYPE,
      'indented',
    ],
    [{ path: NAMESPACE, headers: accept('text/html') }, 406, JSON_TYPE, 'indented'],
    [
      { path: `${NAMESPACE}/configmaps`, method: 'POST', headers: TYPED, body: '{' },
      400,
      JSON_TYPE,
      'line',
    ],
    [{ path: NAMESPACE, anonymous: true }, 401, JSON_TYPE, 'line'],
    [
      { path: '/readyz/etcd', anonymous: true, headers: { authorization: 'Bearer wrong' } },
      401,
      JSON_TYPE,
      'line',
    ],
    [{ path: '/api' }, 200, JSON_TYPE, 'line'],
    [{ path: '/api/v1' }, 200, JSON_TYPE, 'line'],
    [{ path: '/apis' }, 200, JSON_TYPE, 'line'],
    [{ path: '/apis/apps/v1', headers: CURL }, 200, JSON_TYPE, 'indented'],
    [{ path: '/' }, 200, JSON_TYPE, 'indented'],
    [{ path: '/version' }, 200, JSON_TYPE, 'indented'],
    [{ path: '/openapi/v2' }, 200, JSON_TYPE, 'no newline'],
    [{ path: '/healthz' }, 200, 'text/plain; charset=utf-8', 'no newline'],
    [{ path: '/readyz?verbose' }, 200, 'text/plain; charset=utf-8', 'text'],
    [{ path: '/nope' }, 404, 'text/plain; charset=utf-8', 'text'],
    [
      { path: '/metrics' },
      200,
      'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
      'text',
    ],
  ])('%j: %d, %s, %s', async (call, code, type, form) => {
    const { code: answered, headers, text } = await ask(call);
    expect([answered, headers['content-type']]).toEqual([code, type]);
    expect(headers['audit-id']).toMatch(UUID);
    expect([text.endsWith('\n'), text.startsWith('{\n')]).toEqual([
      form === 'line' || form === 'text',
      form === 'indented',
    ]);
    if (form === 'line') expect(text.indexOf('\n')).toBe(text.length - 1);
  });

  test('each response has an Audit-Id: a new one, or that of the request', async () => {
    const [one, other] = [await ask({ path: NAMESPACE }), await ask({ path: NAMESPACE })];
    expect(one.headers['audit-id']).not.toBe(other.headers['audit-id']);
    const withAuditId = await ask({ path: NAMESPACE, headers: { 'audit-id': 'of the client' } });
    expect(withAuditId.headers['audit-id']).toBe('of the client');
  });

  test('a watch sends a line for each event', async () => {
    const watch =
      '/api/v1/namespaces?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Ddefault';
    const { headers, text } = await ask({ path: watch });
    expect(headers['audit-id']).toMatch(UUID);
    expect(
      text
        .split('\n')
        .map((line) => (line === '' ? '' : (JSON.parse(line) as { type: string }).type)),
    ).toEqual(['ADDED', '']);
  });
});
