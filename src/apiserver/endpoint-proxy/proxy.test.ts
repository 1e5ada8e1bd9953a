// Requests to pods and services through the API server.

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { KubeObject } from '../../client/client.ts';
import { systemClock } from '../../machinery/clock.ts';
import { SeededRandom } from '../../machinery/random.ts';
import type { Find } from '../registry/find.ts';
import { rawRequest, send, type RawRequest } from '../testing/requests.ts';
import { startTestServer } from '../testing/server.ts';
import type { ServedSubresource } from '../registry/rest.ts';
import type { ApiResponse } from '../request.ts';
import type { Location } from './locate.ts';
import { splitTarget } from './locate.ts';
import { podProxySubresource, serviceProxySubresource } from './proxy.ts';
import { rewriteHtml, rewriteLocation } from './rewrite.ts';

const PODS = '/api/v1/namespaces/default/pods';
const PREFIX = `${PODS}/web/proxy`;

let backend: Server;
let seen: { url: string; headers: IncomingMessage['headers'] }[];
let dialed: Location[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

const dial = (location: Location): Promise<Duplex> => {
  dialed.push(location);
  if (location.port === 9) return Promise.reject(new Error('connect ECONNREFUSED'));
  const [near, far] = duplexPair();
  backend.emit('connection', far);
  return Promise.resolve(near);
};

const pod = (name: string, ip: string, ports: object[] = [{ containerPort: 8080 }]) => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'c', ports }] },
  status: { podIPs: ip === '' ? [] : [{ ip }] },
});
const service = {
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    ports: [
      { name: 'http', port: 80 },
      { name: 'admin', port: 81 },
    ],
  },
};
const address = (ip: string, name: string) => ({ ip, targetRef: { kind: 'Pod', namespace: 'default', name } });
const endpoints = {
  metadata: { name: 'web', namespace: 'default' },
  subsets: [
    {
      addresses: [{ ip: '10.9.9.9' }, address('10.0.0.7', 'web'), address('10.0.0.8', 'web')],
      ports: [{ name: 'http', port: 8080 }],
    },
  ],
};
const OBJECTS: Readonly<Record<string, object>> = {
  'pods/web': pod('web', '10.0.0.7'),
  'pods/six': pod('six', 'fd00::7'),
  'pods/portless': pod('portless', '10.0.0.7', []),
  'pods/new': pod('new', ''),
  'pods/local': pod('local', '127.0.0.1'),
  'pods/link': pod('link', '169.254.169.254'),
  'services/web': service,
  'endpoints/web': endpoints,
  'services/empty': { ...service, metadata: { name: 'empty' } },
};
const find: Find = <T extends KubeObject>(_group: string, resource: string, _namespace: string, name: string) =>
  Promise.resolve(OBJECTS[`${resource}/${name}`] as T | undefined);

function request(resource: 'pods' | 'services', name: string, path: string, raw: Partial<RawRequest> = {}): Promise<ApiResponse> {
  const served: ServedSubresource =
    resource === 'pods'
      ? podProxySubresource({ find, clock: systemClock }, { dial })
      : serviceProxySubresource({ find, clock: systemClock, random: new SeededRandom('proxy') }, { dial });
  const state = rawRequest({
    path: `/api/v1/namespaces/default/${resource}/${name}/proxy${path}`,
    headers: { host: 'api:6443' },
    ...raw,
  });
  state.info = {
    isResourceRequest: true,
    path: state.path,
    verb: 'get',
    apiGroup: '',
    apiVersion: 'v1',
    namespace: 'default',
    inNamespace: true,
    resource,
    subresource: 'proxy',
    name,
    pathName: name,
    pathVerb: '',
    parts: [],
  };
  const { connect } = served.rest;
  if (connect === undefined) throw new Error('not a proxy');
  return connect(state, name, '');
}

async function textOf({ body }: ApiResponse): Promise<string> {
  if (body.kind !== 'stream') throw new Error(body.kind);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

beforeEach(() => {
  seen = [];
  dialed = [];
  answer = (_request, response) => response.end('said');
  backend = createServer((message, response) => {
    seen.push({ url: `${message.method} ${message.url}`, headers: message.headers });
    answer(message, response);
  });
});
afterEach(() => backend.closeAllConnections());

describe('what is asked for', () => {
  test.each([
    ['web', { scheme: 'http', name: 'web', port: '' }],
    ['web:80', { scheme: 'http', name: 'web', port: '80' }],
    ['web:name', { scheme: 'http', name: 'web', port: 'name' }],
    ['https:web:443', { scheme: 'https', name: 'web', port: '443' }],
    ['http:web:', { scheme: 'http', name: 'web', port: '' }],
    [':web:80', { scheme: 'http', name: 'web', port: '80' }],
    ['ftp:web:80', undefined],
    ['a:b:c:d', undefined],
    [':80', undefined],
  ])('%s', (id, expected) => {
    expect(splitTarget(id)).toEqual(expected);
  });

  test.each<[id: string, path: string, to: Location, asked: string]>([
    ['web', '/', { scheme: 'http', host: '10.0.0.7', port: 8080 }, 'GET /'],
    ['web', '/a/b/', { scheme: 'http', host: '10.0.0.7', port: 8080 }, 'GET /a/b/'],
    ['web', '/a//b%2Fc?x=1&x=2', { scheme: 'http', host: '10.0.0.7', port: 8080 }, 'GET /a//b%2Fc?x=1&x=2'],
    ['web:81', '/', { scheme: 'http', host: '10.0.0.7', port: 81 }, 'GET /'],
    ['https:web:8443', '/', { scheme: 'https', host: '10.0.0.7', port: 8443 }, 'GET /'],
    ['portless', '/', { scheme: 'http', host: '10.0.0.7', port: 80 }, 'GET /'],
    ['https:portless:', '/', { scheme: 'https', host: '10.0.0.7', port: 443 }, 'GET /'],
    ['six', '/', { scheme: 'http', host: 'fd00::7', port: 8080 }, 'GET /'],
  ])('of the pod %s at %s', async (id, path, to, asked) => {
    expect(await textOf(await request('pods', id, path))).toBe('said');
    expect(dialed).toEqual([to]);
    expect(seen.map(({ url }) => url)).toEqual([asked]);
  });

  test.each<[id: string, code: number, message: string]>([
    ['ftp:web:80', 400, 'invalid pod request "ftp:web:80"'],
    ['none', 404, 'pods "none" not found'],
    ['new', 400, 'address not allowed'],
    ['local', 400, 'address not allowed'],
    ['link', 400, 'address not allowed'],
    ['web:9', 503, 'error trying to reach service: connect ECONNREFUSED'],
  ])('of the pod %s is refused', async (id, code, message) => {
    await expect(request('pods', id, '/')).rejects.toMatchObject({ message, status: { code } });
  });

  test.each<[id: string, port: number | string]>([
    ['web:http', 8080],
    ['web:80', 8080],
    ['http:web:80', 8080],
    ['web', 'no endpoints available for service "web"'],
    ['web:admin', 'no endpoints available for service "web"'],
    ['web:82', 'no service port 82 found for service "web"'],
    ['empty:http', 'no endpoints available for service "empty"'],
    ['none:http', 'services "none" not found'],
    ['a:b:c:d', 'invalid service request "a:b:c:d"'],
  ])('of the service %s', async (id, expected) => {
    const answered = request('services', id, '/');
    if (typeof expected === 'string') await expect(answered).rejects.toThrow(expected);
    else {
      await answered;
      // The only one that is a pod with this address.
      expect(dialed).toEqual([{ scheme: 'http', host: '10.0.0.7', port: expected }]);
    }
  });
});

describe('what goes through', () => {
  test('the method, the body and the headers, but not who asks', async () => {
    answer = (message, response) =>
      message.pipe(response.writeHead(418, { 'content-type': 'text/x', 'access-control-allow-origin': '*' }));
    const response = await request('pods', 'web', '/x', {
      method: 'PUT',
      body: 'payload',
      headers: { host: 'api:6443', authorization: 'Bearer secret', 'x-mine': 'yes' },
    });
    expect(response.code).toBe(418);
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    expect(await textOf(response)).toBe('payload');
    const { headers } = seen[0] as (typeof seen)[number];
    expect(headers).toMatchObject({
      host: 'api:6443',
      'x-mine': 'yes',
      'x-forwarded-host': 'api:6443',
      'x-forwarded-proto': 'https',
      'x-forwarded-uri': `${PREFIX}/x`,
      'x-forwarded-for': '127.0.0.1',
    });
    expect(headers).not.toHaveProperty('authorization');
  });

  test('without a slash at its end the path is told again with one', async () => {
    const response = await request('pods', 'web', '?a=b');
    expect(response).toMatchObject({ code: 301, headers: { location: `${PREFIX}/?a=b` }, body: { kind: 'none' } });
    expect(dialed).toEqual([]);
    await request('pods', 'web', '', { method: 'POST' });
    expect(seen.map(({ url }) => url)).toEqual(['POST /']);
  });

  test('redirects and pages lead back through the proxy', async () => {
    answer = (_message, response) => response.writeHead(302, { location: '/login' }).end();
    expect((await request('pods', 'web', '/x')).headers?.['location']).toBe(`${PREFIX}/login`);
    answer = (_message, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-encoding': 'gzip' });
      response.end(gzipSync('<a href="/näxt">ä</a>'));
    };
    const page = await request('pods', 'web', '/x');
    expect(page.headers).not.toHaveProperty('content-encoding');
    expect(await textOf(page)).toBe(`<a href="${PREFIX}/näxt">ä</a>`);
  });
});

const place = { scheme: 'https', host: 'api:6443', backend: '10.0.0.7:8080', prefix: PREFIX };

test.each([
  ['/login', `${PREFIX}/login`],
  ['/', `${PREFIX}/`],
  ['/a?b=/c#d', `${PREFIX}/a?b=/c#d`],
  [`${PREFIX}/a`, `${PREFIX}/a`],
  ['a/b', 'a/b'],
  ['../b', '../b'],
  ['#top', '#top'],
  ['mailto:x@example.com', 'mailto:x@example.com'],
  ['http://10.0.0.7:8080/a', `https://api:6443${PREFIX}/a`],
  ['http://api:6443/a', `https://api:6443${PREFIX}/a`],
  ['https://example.com/a', 'https://example.com/a'],
  ['//example.com/a', '//example.com/a'],
])('the location %s', (location, expected) => {
  expect(rewriteLocation(location, place)).toBe(expected);
});

test('only the links of a page are changed', () => {
  const page = `<p title="/a">/a</p><A HREF='/a' class="/a"><img src=/b alt="x > y"><script>if (a < b) "/c"</script><form action="http://10.0.0.7:8080/d">`;
  expect(rewriteHtml(page, place)).toBe(
    `<p title="/a">/a</p><A HREF='${PREFIX}/a' class="/a"><img src="${PREFIX}/b" alt="x > y"><script>if (a < b) "/c"</script><form action="https://api:6443${PREFIX}/d">`,
  );
});

test('the server serves both', async () => {
  const t = await startTestServer();
  try {
    for (const resource of ['pods', 'services']) {
      const { code, json } = await send(t.server, { path: `/api/v1/namespaces/default/${resource}/none/proxy/x/y` });
      expect([code, json.message]).toEqual([404, `${resource} "none" not found`]);
    }
    const { json } = await send(t.server, { path: '/api/v1' });
    const listed = (json as unknown as { resources: { name: string; kind: string; verbs: string[] }[] }).resources;
    expect(listed.filter(({ name }) => name === 'pods/proxy' || name === 'services/proxy')).toMatchObject([
      { kind: 'PodProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
      { kind: 'ServiceProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
    ]);
  } finally {
    await t.stop();
  }
});
