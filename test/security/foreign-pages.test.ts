// Pages of other origins in a browser that has the user's client certificate, which it sends with the
// requests of every page: they must not act as the user. The same holds for pages of pods, which the
// server itself passes on, and whose origin in a sandbox is 'null'.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RequestOptions, type SecuredCluster, startSecuredCluster } from './cluster.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const ORIGINS = ['https://evil.example', 'https://127.0.0.1', 'null'];

let cluster: SecuredCluster;
let own: string;

beforeAll(async () => {
  cluster = await startSecuredCluster({ nodes: 1 });
  own = cluster.url.origin;
});
afterAll(() => cluster.stop());

/** A request that a page may make without the server's consent: it has no content type. */
const simplePost = (name: string, headers: Readonly<Record<string, string>>): RequestOptions => ({
  method: 'POST',
  path: CONFIG_MAPS,
  body: { metadata: { name } },
  headers: { 'content-type': 'text/plain', ...headers },
});

const webSocket = (origin: string): RequestOptions => ({
  path: '/api/v1/namespaces/default/pods/none/exec?command=id&stdout=true',
  headers: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
    origin,
  },
});

test.each(ORIGINS)('a page of %s changes nothing', async (origin) => {
  for (const [at, type] of ['', 'text/plain', 'application/json'].entries()) {
    const { code } = await cluster.request(
      simplePost(`stolen-${at}`, { origin, 'content-type': type }),
    );
    expect(code).toBe(401);
  }
  await cluster.expect(401, { method: 'DELETE', path: CONFIG_MAPS, headers: { origin } });
  const { json } = await cluster.expect(200, { path: CONFIG_MAPS });
  expect(json.items.map(({ metadata }) => metadata.name)).toEqual(['kube-root-ca.crt']);
});

test('a page of another origin opens no WebSocket, and one of this origin does', async () => {
  for (const origin of ORIGINS) await cluster.expect(401, webSocket(origin));
  const { json } = await cluster.expect(404, webSocket(own));
  expect(json.message).toBe('pods "none" not found');
});

test('credentials that a page has to know count for every origin', async () => {
  const token = await cluster.account('default', 'reader', ['view']);
  for (const origin of [...ORIGINS, own])
    await cluster.expect(200, { path: CONFIG_MAPS, token, headers: { origin } });
});

test('kubectl proxy passes the Origin of its own pages on', async () => {
  const headers = { origin: 'http://localhost:8001', 'x-forwarded-for': '127.0.0.1' };
  await cluster.expect(201, simplePost('ours', { ...headers, 'content-type': 'application/json' }));
});
