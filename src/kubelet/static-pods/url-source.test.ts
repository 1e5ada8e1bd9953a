import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { getText } from './http.ts';
import { UrlSource } from './url-source.ts';

let server: Server | undefined;
const stopping = new AbortController();
afterEach(async () => {
  const closing = server;
  server = undefined;
  closing?.closeAllConnections();
  if (closing !== undefined) await new Promise((resolve) => closing.close(resolve));
});

const manifest = (image: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: '${image}'}]}`;

async function serve(listener: RequestListener, path = '/pods'): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
}

const sourceOf = (url: string, headers: Readonly<Record<string, readonly string[]>> = {}) =>
  new UrlSource({
    clock: systemClock,
    nodeName: 'Worker-1',
    url,
    headers,
    get: getText,
    checkMs: 1000,
    signal: stopping.signal,
  });

describe('a manifest', () => {
  test('is a pod of the node, with another UID for another manifest', async () => {
    let image = 'busybox:1.36';
    const url = await serve((_, response) => response.end(manifest(image)));
    const source = sourceOf(url);
    const [first] = await source.read();
    expect(first).toMatchObject({
      metadata: {
        name: 'web-worker-1',
        namespace: 'default',
        annotations: { 'kubernetes.io/config.source': 'http' },
      },
      spec: { nodeName: 'Worker-1', restartPolicy: 'Always' },
      status: { phase: 'Pending' },
    });
    expect(first?.metadata.annotations?.['kubernetes.io/config.hash']).toBe(first?.metadata.uid);
    // It has no toleration of its own, unlike a pod of a directory.
    expect(first?.spec.tolerations).toEqual([]);
    expect((await source.read())[0]).toBe(first);
    image = 'busybox:1.37';
    expect((await source.read())[0]?.metadata.uid).not.toBe(first?.metadata.uid);
  });

  test('may be a list, in JSON', async () => {
    const pod = (name: string) => ({
      metadata: { name },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    const list = { apiVersion: 'v1', kind: 'PodList', items: [pod('a'), pod('b')] };
    const url = await serve((_, response) => response.end(JSON.stringify(list)));
    const pods = await sourceOf(url).read();
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['a-worker-1', 'b-worker-1']);
  });

  test('may be empty: no pods', async () => {
    const url = await serve((_, response) => response.end());
    expect(await sourceOf(url).read()).toEqual([]);
  });

  test('is asked for with headers', async () => {
    let seen: unknown;
    const url = await serve((request, response) => {
      seen = [request.headers['authorization'], request.headers['x-list']];
      response.end(manifest('busybox'));
    });
    await sourceOf(url, { Authorization: ['Bearer abc'], 'X-List': ['a', 'b'] }).read();
    expect(seen).toEqual(['Bearer abc', 'a, b']);
  });
});

describe('an error', () => {
  test.each<readonly [string, RequestListener, string | RegExp]>([
    [
      'another status',
      (_, response) => response.writeHead(404).end('secret'),
      '/pods: 404 Not Found',
    ],
    [
      'no pod',
      (_, response) => response.end('{"apiVersion": "v1", "kind": "Secret"}'),
      'not a Pod: v1 Secret',
    ],
    ['no YAML', (_, response) => response.end('a: ['), /./],
    [
      'a pod without a name',
      (_, response) => response.end(manifest('x').replace('{name: web}', '{}')),
      'invalid pod: name is needed for the pod',
    ],
    [
      'a pod that needs the API',
      (_, response) =>
        response.end(`${manifest('x')}\n  `.replace('spec: {', 'spec: {serviceAccountName: x, ')),
      'static pods may not reference serviceaccounts',
    ],
    [
      'an endless manifest',
      (_, response) => {
        const send = (): void => {
          while (response.write(Buffer.alloc(65_536, '#')));
        };
        response.on('drain', send);
        send();
      },
      'the response is longer than 10485760 bytes',
    ],
    ['a broken connection', (request) => request.socket.destroy(), /./],
  ])('is %s', async (_, listener, message) => {
    await expect(sourceOf(await serve(listener)).read()).rejects.toThrow(message);
  });

  test('is a server that hangs', async () => {
    let asked: () => void;
    const request = new Promise<void>((resolve) => (asked = resolve));
    const url = await serve(() => asked());
    const clock = new VirtualClock();
    const source = new UrlSource({
      clock,
      nodeName: 'node',
      url,
      headers: {},
      get: getText,
      checkMs: 1000,
      signal: stopping.signal,
    });
    const pods = source.read();
    const outcome = expect(pods).rejects.toThrow('timed out');
    await request;
    await clock.advance('10s');
    await outcome;
  });

  test('does not show the password of the URL', async () => {
    const url = await serve((_, response) => response.writeHead(403).end());
    const { name } = sourceOf(url.replace('http://', 'http://me:secret@'));
    expect(name).not.toContain('secret');
  });
});
