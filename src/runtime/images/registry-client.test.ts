import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuthConfig } from '#cri/index.ts';
import { parseReference } from './reference.ts';
import { RegistryClient } from './registry-client.ts';

const digestOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

const config = JSON.stringify({ config: { Cmd: ['sh'] } });
const layer = 'not really a layer';
const manifest = JSON.stringify({
  config: { mediaType: 'c', digest: digestOf(config), size: config.length },
  layers: [{ mediaType: 'l', digest: digestOf(layer), size: layer.length }],
});
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
const index = JSON.stringify({
  mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [
    { digest: digestOf('other'), platform: { os: 'windows', architecture } },
    { digest: digestOf(manifest), platform: { os: 'linux', architecture } },
  ],
});

let dir: string;
let server: Server;
let documents: Map<string, string>;
let before: (request: IncomingMessage, response: ServerResponse) => boolean;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'registry-client-'));
  before = () => false;
  documents = new Map([
    ['/v2/team/app/manifests/v1', manifest],
    ['/v2/team/app/manifests/many', index],
    [`/v2/team/app/manifests/${digestOf(manifest)}`, manifest],
    [`/v2/team/app/blobs/${digestOf(config)}`, config],
    [`/v2/team/app/blobs/${digestOf(layer)}`, layer],
  ]);
  server = createServer((request, response) => {
    if (before(request, response)) return;
    const document = documents.get(request.url ?? '');
    response.writeHead(document === undefined ? 404 : 200).end(document);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const client = (auth?: AuthConfig): RegistryClient =>
  new RegistryClient(parseReference('registry.example/team/app:v1'), {
    httpGet: fetch,
    mirrors: new Map([['registry.example', url()]]),
    auth,
    signal: undefined,
  });

const answering =
  (status: number): typeof before =>
  (_, response) => {
    response.writeHead(status).end();
    return true;
  };

test('a manifest, its configuration and its layers are read', async () => {
  const found = await client().manifest('v1');
  expect(found.digest).toBe(digestOf(manifest));
  expect(await client().config(found.manifest.config)).toEqual({ config: { Cmd: ['sh'] } });
  await client().download(found.manifest.layers[0]!, join(dir, 'layer'));
  expect(readFileSync(join(dir, 'layer'), 'utf8')).toBe(layer);
});

test('an index leads to the manifest of this machine', async () => {
  const found = await client().manifest('many');
  expect(found.digest).toBe(digestOf(index));
  expect(found.manifest.config.digest).toBe(digestOf(config));
});

test('content with another digest is rejected', async () => {
  documents.set(`/v2/team/app/blobs/${digestOf(layer)}`, 'something else');
  documents.set(`/v2/team/app/blobs/${digestOf(config)}`, '{}');
  documents.set(`/v2/team/app/manifests/${digestOf(manifest)}`, '{}');
  const descriptor = (text: string) => ({ mediaType: 'l', digest: digestOf(text), size: 1 });
  await expect(client().download(descriptor(layer), join(dir, 'layer'))).rejects.toThrow(
    /has the digest/,
  );
  await expect(client().config(descriptor(config))).rejects.toThrow(/has the digest/);
  await expect(client().manifest(digestOf(manifest))).rejects.toThrow(/has the digest/);
});

test('what is not there, and what cannot be reached, have reasons of their own', async () => {
  await expect(client().manifest('v2')).rejects.toMatchObject({ reason: 'ImageNotFound' });
  before = answering(503);
  await expect(client().manifest('v1')).rejects.toMatchObject({ reason: 'RegistryUnavailable' });
  before = answering(403);
  await expect(client().manifest('v1')).rejects.toMatchObject({ reason: 'ImagePull' });
});

test('credentials are sent when the registry asks for them', async () => {
  const wanted = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  before = (request, response) => {
    if (request.headers.authorization === wanted) return false;
    response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
    return true;
  };
  await expect(client().manifest('v1')).rejects.toThrow(/may require authorization/);
  const found = await client({ username: 'ann', password: 'secret' }).manifest('v1');
  expect(found.digest).toBe(digestOf(manifest));
});

test('a token is fetched where the registry says', async () => {
  before = (request, response) => {
    if (request.url?.startsWith('/token?') === true) {
      expect(request.url).toContain('scope=repository%3Ateam%2Fapp%3Apull');
      response.end(JSON.stringify({ token: 'abc' }));
      return true;
    }
    if (request.headers.authorization === 'Bearer abc') return false;
    const challenge = `Bearer realm="${url()}/token",scope="repository:team/app:pull"`;
    response.writeHead(401, { 'WWW-Authenticate': challenge }).end();
    return true;
  };
  expect((await client().manifest('v1')).digest).toBe(digestOf(manifest));
});

test.each(['[]', '{', '{"config":{}}', '{"config":{"digest":"x"},"layers":[]}'])(
  'a malformed manifest is rejected: %s',
  async (text) => {
    documents.set('/v2/team/app/manifests/v1', text);
    await expect(client().manifest('v1')).rejects.toMatchObject({ reason: 'ImagePull' });
  },
);
