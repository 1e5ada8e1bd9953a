// Requests to pods and services through the API server.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { systemClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Find } from '../catalog/internal-client.ts';
import { rawRequest, send, type RawRequest } from '../testing/requests.ts';
import { startTestServer } from '../testing/server.ts';
import type { Subresource } from '../catalog/kind.ts';
import type { ApiResponse } from '../request.ts';
import { type Location, splitTarget } from './locate.ts';
import { nodeProxySubresource, podProxySubresource, serviceProxySubresource } from './proxy.ts';
import { HtmlLinks } from './html-links.ts';
import { rewriteLocation } from '../node-proxy/location.ts';

const PODS = '/api/v1/namespaces/default/pods';
const PREFIX = `${PODS}/web/proxy`;

let backend: Server;
let seen: { url: string; headers: IncomingMessage['headers'] }[];
let dialed: Location[];
/** The nodes whose kubelet was reached. */
let kubelets: string[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

const dial = (location: Location): Promise<Duplex> => {
  dialed.push(location);
  if (location.port === 9) return Promise.reject(new Error('connect ECONNREFUSED'));
  const [near, far] = duplexPair();
  // The backend gets the other end of the pair as its connection.
  near.once('close', () => far.destroy());
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
const address = (ip: string, name: string) => ({
  ip,
  targetRef: { kind: 'Pod', namespace: 'default', name },
});
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
  'pods/long': pod('long', '0:0:0:0:0:0:0:1'),
  'pods/zeros': pod('zeros', '::0001'),
  'pods/mapped': pod('mapped', '::ffff:127.0.0.1'),
  'pods/hex': pod('hex', '::ffff:7f00:1'),
  'pods/compatible': pod('compatible', '::127.0.0.1'),
  'pods/nat64': pod('nat64', '64:ff9b::7f00:1'),
  'pods/everyone': pod('everyone', 'FF02::1'),
  'pods/link': pod('link', '169.254.169.254'),
  'nodes/n1': {
    metadata: { name: 'n1' },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  },
  'services/web': service,
  'endpoints/web': endpoints,
  'services/empty': { ...service, metadata: { name: 'empty' } },
};
const find: Find = <T extends KubeObject>(
  _group: string,
  resource: string,
  _namespace: string,
  name: string,
) => Promise.resolve(OBJECTS[`${resource}/${name}`] as T | undefined);

function request(
  resource: 'pods' | 'services',
  name: string,
  path: string,
  raw: Partial<RawRequest> = {},
): Promise<ApiResponse> {
  const served: Pick<Subresource, 'rest'> =
    resource === 'pods'
      ? podProxySubresource({ find, clock: systemClock }, { dial })
      : serviceProxySubresource(
          { find, clock: systemClock, random: new SeededRandom('proxy') },
          { dial },
        );
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

/** Sends a request to nodes/proxy. Returns the body of the response. */
async function nodeRequest(id: string, path: string): Promise<string> {
  const [near, far] = duplexPair();
  const nodeConnector = {
    connect: ({ name }: { readonly name: string }) => {
      kubelets.push(name);
      near.once('close', () => far.destroy());
      backend.emit('connection', far);
      return Promise.resolve(near);
    },
  };
  const { rest } = nodeProxySubresource({ find, clock: systemClock, nodeConnector }, { dial });
  const state = rawRequest({ path: `/api/v1/nodes/${id}/proxy/${path}` });
  if (rest.connect === undefined) throw new Error('not a proxy');
  const response = await rest.connect(state, id, path);
  expect(response.headers?.['content-security-policy']).toMatch(/^sandbox /);
  return textOf(response);
}

async function textOf(response: ApiResponse): Promise<string> {
  return (await bytesOf(response)).toString();
}

async function bytesOf({ body }: ApiResponse): Promise<Buffer> {
  if (body.kind !== 'stream') throw new Error(body.kind);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

beforeEach(() => {
  seen = [];
  dialed = [];
  kubelets = [];
  answer = (_request, response) => response.end('said');
  backend = createServer((message, response) => {
    seen.push({ url: `${message.method} ${message.url}`, headers: message.headers });
    answer(message, response);
  });
});
afterEach(() => backend.closeAllConnections());

describe('the target', () => {
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
    [
      'web',
      '/a//b%2Fc?x=1&x=2',
      { scheme: 'http', host: '10.0.0.7', port: 8080 },
      'GET /a//b%2Fc?x=1&x=2',
    ],
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
    ['long', 400, 'address not allowed'],
    ['zeros', 400, 'address not allowed'],
    ['mapped', 400, 'address not allowed'],
    ['hex', 400, 'address not allowed'],
    ['compatible', 400, 'address not allowed'],
    ['nat64', 400, 'address not allowed'],
    ['everyone', 400, 'address not allowed'],
    ['web:9', 503, 'error trying to reach service: connect ECONNREFUSED'],
  ])('of the pod %s is rejected', async (id, code, message) => {
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
    const responsePromise = request('services', id, '/');
    if (typeof expected === 'string') await expect(responsePromise).rejects.toThrow(expected);
    else {
      await responsePromise;
      // Only this endpoint is a pod with its address.
      expect(dialed).toEqual([{ scheme: 'http', host: '10.0.0.7', port: expected }]);
    }
  });
});

describe('a request and its response', () => {
  test('keep the method, the body and the headers, but not the user’s credentials', async () => {
    answer = (message, response) =>
      message.pipe(
        response.writeHead(418, { 'content-type': 'text/x', 'access-control-allow-origin': '*' }),
      );
    const response = await request('pods', 'web', '/x', {
      method: 'PUT',
      body: 'payload',
      headers: {
        host: 'api:6443',
        authorization: 'Bearer secret',
        connection: 'keep-alive, X-Hop',
        'x-hop': 'yes',
        'x-mine': 'yes',
        'x-remote-user': 'jane',
        'x-remote-group': 'developers',
        'x-remote-extra-scopes': 'all',
      },
    });
    expect(response.code).toBe(418);
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    expect(await textOf(response)).toBe('payload');
    const { headers } = seen[0]!;
    expect(headers).toMatchObject({
      host: 'api:6443',
      'x-mine': 'yes',
      'x-forwarded-host': 'api:6443',
      'x-forwarded-proto': 'https',
      'x-forwarded-uri': `${PREFIX}/x`,
      'x-forwarded-for': '127.0.0.1',
    });
    expect(Object.keys(headers)).not.toContainEqual(
      expect.stringMatching(/^(authorization|x-hop|x-remote-.*)$/),
    );
  });

  test('a path without a slash at its end is redirected to one with it', async () => {
    const response = await request('pods', 'web', '?a=b');
    expect(response).toMatchObject({
      code: 301,
      headers: { location: `${PREFIX}/?a=b` },
      body: { kind: 'none' },
    });
    expect(dialed).toEqual([]);
    await request('pods', 'web', '', { method: 'POST' });
    expect(seen.map(({ url }) => url)).toEqual(['POST /']);
  });

  test('redirects and pages lead back through the proxy', async () => {
    answer = (_message, response) => response.writeHead(302, { location: '/login' }).end();
    expect((await request('pods', 'web', '/x')).headers?.['location']).toBe(`${PREFIX}/login`);
    answer = (_message, response) => {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-encoding': 'gzip',
      });
      response.end(gzipSync('<a href="/näxt">ä</a>'));
    };
    const page = await request('pods', 'web', '/x');
    expect(page.headers).toMatchObject({ 'content-encoding': 'gzip' });
    expect(gunzipSync(await bytesOf(page)).toString()).toBe(`<a href="${PREFIX}/näxt">ä</a>`);
  });
});

describe('a page of a pod in a browser', () => {
  const HEADERS = {
    'content-type': 'text/html',
    'content-security-policy': "default-src 'self'",
    'clear-site-data': '"cookies"',
    'service-worker-allowed': '/',
    'set-cookie': ['a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT', '__Host-coxswain-console=x'],
    'x-own': 'yes',
  };
  const SANDBOXED = /^default-src 'self', sandbox (?!.*allow-same-origin)allow-downloads.*scripts$/;

  beforeEach(() => {
    answer = (_message, response) => response.writeHead(200, HEADERS).end('<p>');
  });

  test.each([
    ['a browser or kubectl at this server', {}],
    [
      'a browser at a front proxy',
      {
        headers: { 'x-forwarded-for': '192.0.2.7' },
        peerCertificate: {
          commonName: 'front',
          organizations: [],
          notAfter: Infinity,
          isFrontProxy: true,
        },
      },
    ],
  ])('cannot act at the origin of this server: %s', async (_name, raw) => {
    const { headers } = await request('services', 'web:http', '/', raw);
    expect(headers?.['content-security-policy']).toMatch(SANDBOXED);
    expect(headers).toMatchObject({ 'x-own': 'yes' });
    for (const name of ['set-cookie', 'clear-site-data', 'service-worker-allowed'])
      expect(headers).not.toHaveProperty(name);
  });

  test('a page without a policy of its own cannot either', async () => {
    answer = (_message, response) => response.writeHead(404).end('<p>');
    const policy = (await request('pods', 'web', '/')).headers?.['content-security-policy'];
    expect(policy).toMatch(/^sandbox (?!.*allow-same-origin)/);
  });

  test('behind kubectl proxy, which is another origin, it is unchanged', async () => {
    const { headers } = await request('pods', 'web', '/', {
      headers: { 'x-forwarded-for': '127.0.0.1' },
    });
    const { 'content-type': _type, ...others } = HEADERS;
    expect(headers).toMatchObject(others);
  });

  test('an invented content coding passes unchanged', async () => {
    answer = (_message, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'constructor' })
        .end('<a href="/x">');
    expect(await textOf(await request('pods', 'web', '/x'))).toBe('<a href="/x">');
  });

  test('slashes at the start of the path do not become the host of a redirect', async () => {
    answer = (_message, response) => response.writeHead(302, { location: '/login' }).end();
    const { headers } = await request('pods', 'web', '', { path: `/${PREFIX}` });
    expect(headers).toMatchObject({ location: `${PREFIX}/` });
    const inside = await request('pods', 'web', '', { path: `/${PREFIX}/x` });
    expect(inside.headers).toMatchObject({ location: `${PREFIX}/login` });
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

/** Rewrites a page in pieces of `size` characters. */
function rewritten(page: string, size = page.length): string {
  const links = new HtmlLinks((link) => rewriteLocation(link, place));
  let out = '';
  for (let at = 0; at < page.length; at += size) out += links.push(page.slice(at, at + size));
  return out + links.end();
}

describe('the links of a page', () => {
  test.each([
    [`<p title="/a">/a</p>`, undefined],
    [`<A HREF='/a' class="/a">`, `<A HREF='${PREFIX}/a' class="/a">`],
    [`<img src=/b alt="x > y">`, `<img src="${PREFIX}/b" alt="x > y">`],
    [`<img alt='a="b' src = "/b"/>`, `<img alt='a="b' src = "${PREFIX}/b"/>`],
    [
      '<script src="/s">if (a < b) "<a href=\'/c\'>"</script><a href=/c>',
      `<script src="${PREFIX}/s">if (a < b) "<a href='/c'>"</script><a href="${PREFIX}/c">`,
    ],
    ['<form action="http://10.0.0.7:8080/d">', `<form action="https://api:6443${PREFIX}/d">`],
    [
      '<!-- <a href="/x"> - -- --><a href="/y">',
      `<!-- <a href="/x"> - -- --><a href="${PREFIX}/y">`,
    ],
    ['<!DOCTYPE html><html manifest="/m">', `<!DOCTYPE html><html manifest="${PREFIX}/m">`],
    [
      '<title><a href="/x"></title><a href="/x">',
      `<title><a href="/x"></title><a href="${PREFIX}/x">`,
    ],
    ['</a href="/x">', undefined],
    ['a < b <<a href="/x">', `a < b <<a href="${PREFIX}/x">`],
    ['<a href="/never closed', undefined],
    ['<a href', undefined],
    ['<a data-x href="/x"disabled>', `<a data-x href="${PREFIX}/x"disabled>`],
  ])('%s', (page, expected = page) => {
    expect(rewritten(page)).toBe(expected);
    expect(rewritten(page, 1)).toBe(expected);
    expect(rewritten(page, 7)).toBe(expected);
  });

  test('in tags that are too long stay unchanged', () => {
    const x = 'x'.repeat(100_000);
    for (const [page, expected] of [
      [
        `<a title="${x}" href="/x">b<a href="/x">`,
        `<a title="${x}" href="/x">b<a href="${PREFIX}/x">`,
      ],
      [`<a href=${x} class='y'>`, `<a href=${x} class='y'>`],
      [
        `<a ${'b '.repeat(70_000)} href='/y'><q cite=/y>`,
        `<a ${'b '.repeat(70_000)} href='/y'><q cite="${PREFIX}/y">`,
      ],
    ] as const) {
      for (const size of [page.length, 1, 4096])
        expect(rewritten(page, size) === expected).toBe(true);
    }
  });

  test.each([
    '<a ',
    '<a href=',
    '<a href="/',
    '<',
    '<!--',
    '</',
    "<a b='",
    '<script>',
    '<a href=/ ',
    '&lt;<',
  ])('of megabytes of %s take time and memory in proportion', (part) => {
    const cpuMs = (length: number): number => {
      const page = part.repeat(length / part.length);
      const links = new HtmlLinks((link) => rewriteLocation(link, place));
      // CPU time is measured, since the machine may be busy.
      const before = process.cpuUsage();
      for (let at = 0; at < page.length; at += 65_536) links.push(page.slice(at, at + 65_536));
      links.end();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    cpuMs(100_000);
    const [small, large] = [cpuMs(250_000), cpuMs(4_000_000)];
    // The page is 16 times as long, so a quadratic tokenizer would take 256 times as long.
    expect(large).toBeLessThan(Math.max(small, 10) * 100);
  });

  test('of an endless page, and of a highly compressed one, are rewritten as a stream', async () => {
    for (const bomb of [false, true]) {
      const chunk = Buffer.alloc(65_536, '<a href="/x">');
      let produced = 0;
      const endless = new Readable({
        read() {
          produced += chunk.length;
          this.push(chunk);
        },
      });
      answer = (_message, response) => {
        response.writeHead(200, {
          'content-type': 'text/html',
          ...(bomb && { 'content-encoding': 'gzip' }),
        });
        (bomb ? endless.pipe(createGzip()) : endless).pipe(response);
        response.on('close', () => endless.destroy());
      };
      const { body } = await request('pods', 'web', '/x');
      if (body.kind !== 'stream') throw new Error(body.kind);
      let read = 0;
      for await (const piece of body.stream) {
        read += piece.length;
        if (read > (bomb ? 20_000 : 20_000_000)) break;
      }
      // The client has disconnected, so the backend stops sending.
      if (!endless.destroyed) await once(endless, 'close');
      expect(produced).toBeLessThan(100_000_000);
    }
  });
});

test('the server serves both subresources', async () => {
  const t = await startTestServer();
  try {
    for (const resource of ['pods', 'services']) {
      const { code, json } = await send(t.server, {
        path: `/api/v1/namespaces/default/${resource}/none/proxy/x/y`,
      });
      expect([code, json.message]).toEqual([404, `${resource} "none" not found`]);
    }
    const { json } = await send(t.server, { path: '/api/v1' });
    const listed = (
      json as unknown as { resources: { name: string; kind: string; verbs: string[] }[] }
    ).resources;
    expect(
      listed.filter(({ name }) => name === 'pods/proxy' || name === 'services/proxy'),
    ).toMatchObject([
      { kind: 'PodProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
      { kind: 'ServiceProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
    ]);
  } finally {
    await t.stop();
  }
});

describe('nodes/proxy', () => {
  test.each(['n1', 'n1:10250', 'https:n1:10250', 'http:n1:'])(
    '%s: the request is forwarded to the kubelet',
    async (id) => {
      expect(await nodeRequest(id, 'metrics')).toBe('said');
      expect([kubelets, dialed]).toEqual([['n1'], []]);
      expect(seen[0]?.url).toBe('GET /metrics');
    },
  );

  test("a port other than the kubelet's is a port of the node", async () => {
    expect(await nodeRequest('n1:8080', 'healthz')).toBe('said');
    expect(await nodeRequest('https:n1:8443', 'healthz')).toBe('said');
    expect(kubelets).toEqual([]);
    expect(dialed).toEqual([
      { scheme: 'http', host: '10.0.0.1', port: 8080 },
      { scheme: 'https', host: '10.0.0.1', port: 8443 },
    ]);
    expect(seen.map(({ url }) => url)).toEqual(['GET /healthz', 'GET /healthz']);
  });

  test.each([
    ['ftp:n1:21', 'invalid node request "ftp:n1:21"'],
    ['n1:0', 'invalid port "0"'],
    ['n1:x', 'invalid port "x"'],
    ['none:8080', 'nodes "none" not found'],
  ])('%s is rejected', async (id, message) => {
    await expect(nodeRequest(id, '')).rejects.toThrow(message);
  });
});
