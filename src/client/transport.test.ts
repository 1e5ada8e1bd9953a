// One suite for every transport: components must not notice which one they use.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { createHttpTransport, type HttpTransportConfig } from './http/index.ts';
import { createInProcessTransport } from './in-process.ts';
import { ThreadClients, ThreadServer, type ThreadUser } from './thread/index.ts';
import { makeCertificate } from './testing/certificate.ts';
import {
  FakeServer,
  serveOverHttp,
  type ServeOptions,
  type ServedOverHttp,
} from './testing/fake-server.ts';
import type { Transport, WatchEvent } from './transport.ts';

type Made = {
  readonly server: FakeServer;
  readonly transport: Transport;
  readonly warnings: string[];
};

let tls: { readonly key: string; readonly cert: string };
const cleanUps: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  tls = await makeCertificate();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function overHttp(
  options: Omit<ServeOptions, 'tls'>,
  config: Partial<HttpTransportConfig> = {},
): Promise<Made & { readonly served: ServedOverHttp }> {
  const server = new FakeServer();
  const warnings: string[] = [];
  const served = await serveOverHttp(server.handler, { ...options, tls });
  const transport = createHttpTransport({
    server: served.url,
    ca: tls.cert,
    clock: systemClock,
    onWarning: (text) => warnings.push(text),
    ...config,
  });
  cleanUps.push(
    () => served.close(),
    () => transport.close(),
  );
  return { server, transport, warnings, served };
}

async function inProcess(): Promise<Made> {
  const server = new FakeServer();
  const warnings: string[] = [];
  return {
    server,
    transport: createInProcessTransport({
      handler: server.handler,
      onWarning: (text) => warnings.push(text),
    }),
    warnings,
  };
}

/** Both ends are in one thread; messages are copied nevertheless. */
async function betweenThreads({ window }: { readonly window?: number } = {}): Promise<
  Made & { readonly users: ThreadUser[]; readonly port: MessagePort }
> {
  const server = new FakeServer();
  const warnings: string[] = [];
  const users: ThreadUser[] = [];
  const { port1, port2 } = new MessageChannel();
  const handlerOf = (user: ThreadUser) => {
    users.push(user);
    return server.handler;
  };
  new ThreadServer({ port: port1, logger: silentLogger, handlerOf, window }).start();
  const clients = new ThreadClients(port2);
  cleanUps.push(() => clients.close());
  const handler = clients.handlerOf({ name: 'jane', groups: ['a'] });
  const transport = createInProcessTransport({ handler, onWarning: (text) => warnings.push(text) });
  return { server, transport, warnings, users, port: port1 };
}

const until = (condition: wait.Condition) =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 2, timeoutMs: 60_000 }, condition);

const make: Record<string, () => Promise<Made>> = {
  'in-process': inProcess,
  'between threads': () => betweenThreads(),
  'HTTP/2': () => overHttp({ protocol: 'http2' }),
  'HTTP/1.1 over TLS': () => overHttp({ protocol: 'https1' }),
  'HTTP/1.1': () => overHttp({ protocol: 'http1' }),
};

describe.each(Object.keys(make))('transport: %s', (name) => {
  const setUp = () => (make[name] as () => Promise<Made>)();

  test('sends method, path, query, content type and body, and returns the decoded object', async () => {
    const { transport } = await setUp();
    expect(
      await transport.request({
        method: 'PATCH',
        path: '/api/v1/namespaces/x/things/a',
        query: { fieldManager: 'me & you', force: true, dryRun: undefined },
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels: { ü: '1' } } },
      }),
    ).toEqual({
      method: 'PATCH',
      path: '/api/v1/namespaces/x/things/a',
      query: { fieldManager: 'me & you', force: 'true' },
      contentType: 'application/merge-patch+json',
      sent: { metadata: { labels: { ü: '1' } } },
    });
    expect(await transport.request({ method: 'POST', path: '/x', body: {} })).toMatchObject({
      contentType: 'application/json',
    });
    expect(await transport.request({ method: 'DELETE', path: '/x' })).toMatchObject({
      contentType: null,
      sent: null,
    });
  });

  test('returns lists', async () => {
    const { transport } = await setUp();
    expect(
      await transport.request({
        method: 'GET',
        path: '/api/v1/things',
        query: { labelSelector: 'a=b' },
      }),
    ).toEqual({
      apiVersion: 'v1',
      kind: 'ThingList',
      metadata: { resourceVersion: '7' },
      items: ['a', 'b'].map((item) => ({ metadata: { name: item, selected: 'a=b' } })),
    });
  });

  test('rejects with the Status of the server, and creates one if there is none', async () => {
    const { transport } = await setUp();
    const missing = await transport
      .request({ method: 'GET', path: '/missing' })
      .catch((error: unknown) => error);
    expect(apierrors.isNotFound(missing)).toBe(true);
    expect((missing as apierrors.StatusError).status.details).toEqual({
      name: 'missing',
      kind: 'things',
    });
    const broken = await transport
      .request({ method: 'GET', path: '/broken' })
      .catch((error: unknown) => error);
    expect((broken as apierrors.StatusError).code).toBe(502);
    expect(apierrors.isUnexpectedServerError(broken)).toBe(true);
    expect((broken as Error).message).toContain('bad gateway');
  });

  test('rejects at once when the signal aborts, and aborts the request on the server', async () => {
    const { server, transport } = await setUp();
    const stop = new AbortController();
    const asked = transport
      .request({ method: 'GET', path: '/never', signal: stop.signal })
      .catch((error: unknown) => error);
    await transport.request({ method: 'GET', path: '/another' });
    stop.abort(new Error('enough'));
    expect(((await asked) as Error).message).toBe('enough');
    await until(() => server.aborted.includes('/never'));
    const before = transport.request({ method: 'GET', path: '/never', signal: stop.signal });
    await expect(before).rejects.toThrow('enough');
  });

  test('watches: yields events in order, until the server ends the watch', async () => {
    const { server, transport } = await setUp();
    const stream = await transport.watch<{ n: number }>({
      method: 'GET',
      path: '/api/v1/things',
      query: { resourceVersion: '5' },
    });
    const seen: WatchEvent<{ n: number }>[] = [];
    for (let n = 0; n < 200; n++) server.push('ADDED', { n, pad: 'é'.repeat(n) });
    server.push('BOOKMARK', { metadata: { resourceVersion: '9' } });
    server.watches[0]?.close();
    for await (const event of stream) seen.push(event);
    expect(seen.length).toBe(201);
    expect(
      seen.slice(0, 200).every(({ type, object }, index) => type === 'ADDED' && object.n === index),
    ).toBe(true);
    expect(seen[200]).toEqual({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
  });

  test.each(['stop', 'abort', 'break'])(
    'ends a watch without error when its consumer stops (%s), and stops it on the server',
    async (how) => {
      const { server, transport } = await setUp();
      const abort = new AbortController();
      const stream = await transport.watch({
        method: 'GET',
        path: '/api/v1/things',
        signal: abort.signal,
      });
      server.push('ADDED', {});
      let seen = 0;
      for await (const event of stream) {
        expect(event.type).toBe('ADDED');
        seen++;
        if (how === 'break') break;
        if (how === 'stop') stream.stop();
        else abort.abort();
      }
      expect(seen).toBe(1);
      await until(() => server.watches[0]?.ended === true);
      stream.stop();
    },
  );

  test('ends a waiting watch when it is stopped', async () => {
    const { transport } = await setUp();
    const stream = await transport.watch({ method: 'GET', path: '/api/v1/things' });
    const consumed = (async () => {
      for await (const _ of stream) expect.unreachable();
    })();
    await Promise.resolve();
    stream.stop();
    await consumed;
  });

  test('rejects when a watch cannot be opened', async () => {
    const { transport } = await setUp();
    const opening = transport.watch({
      method: 'GET',
      path: '/api/v1/things',
      query: { resourceVersion: '1' },
    });
    expect(apierrors.isResourceExpired(await opening.catch((error: unknown) => error))).toBe(true);
  });

  test('reads text, whole and in pieces', async () => {
    const { transport } = await setUp();
    expect(await transport.text({ method: 'GET', path: '/readyz' })).toBe('ok');
    expect(await transport.text({ method: 'GET', path: '/log' })).toBe('one\ntwo\nthrée\n');
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of await transport.stream({ method: 'GET', path: '/log' }))
      text += decoder.decode(chunk, { stream: true });
    expect(text).toBe('one\ntwo\nthrée\n');
    await expect(transport.text({ method: 'GET', path: '/missing' })).rejects.toThrow('not found');
  });

  test('passes warnings on', async () => {
    const { transport, warnings } = await setUp();
    await transport.request({ method: 'GET', path: '/warn' });
    expect(warnings).toEqual(['it is "deprecated"', 'use another']);
  });

  test('rejects calls once closed', async () => {
    const { transport } = await setUp();
    await transport.request({ method: 'GET', path: '/x' });
    transport.close();
    expect(
      apierrors.isServiceUnavailable(
        await transport.request({ method: 'GET', path: '/x' }).catch((error: unknown) => error),
      ),
    ).toBe(true);
  });
});

describe('in-process', () => {
  test('passes objects by reference, both ways', async () => {
    const body = { metadata: { name: 'a' } };
    const { transport } = await inProcess();
    const answer = await transport.request<{ sent: unknown }>({
      method: 'POST',
      path: '/api/v1/things',
      body,
    });
    expect(answer.sent).toBe(body);
  });
});

describe('between threads', () => {
  test('sends the identity of the user', async () => {
    const { transport, users } = await betweenThreads();
    await transport.request({ method: 'GET', path: '/x' });
    expect(users).toEqual([{ name: 'jane', groups: ['a'] }]);
  });

  test('shares one object between watches of it', async () => {
    const { server, transport } = await betweenThreads();
    const watches = await Promise.all(
      [1, 2, 3].map(() => transport.watch({ method: 'GET', path: '/api/v1/things' })),
    );
    const readers = watches.map((watch) => watch[Symbol.asyncIterator]());
    // More than are kept: late watches get their own copies.
    for (let n = 0; n < 3000; n++) server.push('ADDED', { n });
    for (let n = 0; n < 3000; n++) {
      const [first, ...others] = await Promise.all(
        readers.map(async (reader) => (await reader.next()).value?.object),
      );
      expect(first).toEqual({ n });
      for (const other of others) expect(other).toBe(first);
    }
    for (const watch of watches) watch.stop();
  });

  test('leaves managedFields out of watched objects, and only there', async () => {
    const { server, transport } = await betweenThreads();
    const watch = await transport.watch({ method: 'GET', path: '/api/v1/things' });
    server.push('ADDED', {
      metadata: { name: 'a', managedFields: [{ manager: 'm' }], uid: 'u' },
      spec: { managedFields: [1] },
    });
    const { value } = await watch[Symbol.asyncIterator]().next();
    expect(value?.object).toEqual({
      metadata: { name: 'a', uid: 'u' },
      spec: { managedFields: [1] },
    });
    const body = { metadata: { managedFields: [{ manager: 'm' }] } };
    expect(await transport.request({ method: 'PUT', path: '/x', body })).toMatchObject({
      sent: body,
    });
    watch.stop();
  });

  test('blocks a watch that is not read', async () => {
    const { server, transport, port } = await betweenThreads({ window: 1000 });
    const watch = await transport.watch({ method: 'GET', path: '/api/v1/things' });
    for (let n = 0; n < 100; n++) server.push('ADDED', { n, pad: 'x'.repeat(500) });
    let n = 0;
    for await (const { object } of watch) {
      expect(object).toMatchObject({ n });
      if (++n === 100) break;
    }
    port.close();
  });

  test('fails calls in flight when the other thread ends', async () => {
    const { server, transport, port } = await betweenThreads();
    const watch = await transport.watch({ method: 'GET', path: '/api/v1/things' });
    const asked = transport
      .request({ method: 'GET', path: '/never' })
      .catch((error: unknown) => error);
    const read = (async () => {
      for await (const _ of watch) expect.unreachable();
    })().catch((error: unknown) => error);
    await transport.request({ method: 'GET', path: '/x' });
    port.close();
    for (const failure of [await asked, await read])
      expect(apierrors.isServiceUnavailable(failure)).toBe(true);
    await until(() => server.aborted.includes('/never'));
  });
});

describe('HTTP', () => {
  test('shares one connection, and opens another at the limit of streams', async () => {
    const { transport, served } = await overHttp({ protocol: 'http2', maxConcurrentStreams: 10 });
    const ask = () => transport.request({ method: 'GET', path: '/x' });
    await ask();
    await Promise.all(Array.from({ length: 5 }, ask));
    expect(served.connections).toBe(1);
    const watches = await Promise.all(
      Array.from({ length: 25 }, () => transport.watch({ method: 'GET', path: '/api/v1/things' })),
    );
    expect(served.connections).toBe(3);
    await ask();
    for (const watch of watches) watch.stop();
  });

  test.each(['http1', 'http2'] as const)(
    'reconnects after the server was gone (%s)',
    async (protocol) => {
      const { transport, served } = await overHttp({ protocol });
      const stream = await transport.watch({ method: 'GET', path: '/api/v1/things' });
      const consumed = (async () => {
        for await (const _ of stream) expect.unreachable();
      })().catch((error: unknown) => error);
      const asked = transport
        .request({ method: 'GET', path: '/never' })
        .catch((error: unknown) => error);
      await transport.request({ method: 'GET', path: '/x' });
      served.breakConnections();
      expect(apierrors.isServiceUnavailable(await consumed)).toBe(true);
      expect(apierrors.isServiceUnavailable(await asked)).toBe(true);
      expect(await transport.request({ method: 'GET', path: '/x' })).toMatchObject({ path: '/x' });
      await served.close();
      // The first request may still use a connection that looks open.
      let down: unknown;
      await until(async () => {
        down = await transport
          .request({ method: 'GET', path: '/x' })
          .catch((error: unknown) => error);
        expect(apierrors.isServiceUnavailable(down)).toBe(true);
        return /ECONNREFUSED/.test((down as Error).message);
      });
      expect((down as Error).message).toContain(`GET ${served.url}/x: `);
    },
  );

  test('sends the identity of the user', async () => {
    let token = 'first';
    const { transport, served } = await overHttp(
      { protocol: 'http2' },
      {
        token: () => token,
        impersonate: { user: 'jane', groups: ['a', 'b'], extra: { 'example.com/Why': ['x'] } },
        userAgent: 'tester',
      },
    );
    await transport.request({ method: 'GET', path: '/x' });
    expect(served.lastHeaders).toMatchObject({
      authorization: 'Bearer first',
      'impersonate-user': 'jane',
      'impersonate-group': 'a, b',
      'impersonate-extra-example.com%2fwhy': 'x',
      'user-agent': 'tester',
    });
    token = 'second';
    await transport.request({ method: 'GET', path: '/x' });
    expect(served.lastHeaders.authorization).toBe('Bearer second');
  });

  test('accepts only certificates of its authority, for the right name', async () => {
    const other = await makeCertificate();
    const strange = await overHttp({ protocol: 'http2' }, { ca: other.cert });
    await expect(strange.transport.request({ method: 'GET', path: '/x' })).rejects.toThrow(
      /certificate/,
    );
    const misnamed = await overHttp({ protocol: 'http2' }, { tlsServerName: 'other-server' });
    await expect(misnamed.transport.request({ method: 'GET', path: '/x' })).rejects.toThrow(
      /altnames/,
    );
    const named = await overHttp({ protocol: 'http2' }, { tlsServerName: 'kubernetes' });
    await named.transport.request({ method: 'GET', path: '/x' });
    const careless = await overHttp(
      { protocol: 'http2' },
      { ca: undefined, insecureSkipTlsVerify: true },
    );
    await careless.transport.request({ method: 'GET', path: '/x' });
  });

  test.each(['https1', 'http2'] as const)(
    'checks a certificate for an IP address, which TLS does not ask for (%s)',
    async (protocol) => {
      const warnings: Error[] = [];
      const onWarning = (warning: Error): number => warnings.push(warning);
      process.on('warning', onWarning);
      const right = await overHttp({ protocol }, { tlsServerName: '127.0.0.1' });
      await right.transport.request({ method: 'GET', path: '/x' });
      const wrong = await overHttp({ protocol }, { tlsServerName: '10.9.8.7' });
      await expect(wrong.transport.request({ method: 'GET', path: '/x' })).rejects.toThrow(
        /IP: 10\.9\.8\.7 is not in the cert's list/,
      );
      process.off('warning', onWarning);
      expect(warnings).toEqual([]);
    },
  );

  test('keeps the base path of the server', async () => {
    const { transport, served } = await overHttp({ protocol: 'http1' });
    const below = createHttpTransport({
      server: `${served.url}/clusters/one/`,
      clock: systemClock,
    });
    cleanUps.push(() => below.close());
    expect(await below.request({ method: 'GET', path: '/api' })).toMatchObject({
      path: '/clusters/one/api',
    });
    expect(await transport.request({ method: 'GET', path: '/api' })).toMatchObject({
      path: '/api',
    });
  });
});

test('a client that sends requests without a pause lets the event loop turn', async () => {
  const response = { code: 200, body: { kind: 'text', text: '{}' } } as const;
  const transport = createInProcessTransport({ handler: () => Promise.resolve(response) });
  const turns: number[] = [];
  let requests = 0;
  setImmediate(() => turns.push(requests));
  for (; requests < 1000; requests++) await transport.request({ method: 'GET', path: '/' });
  expect(turns[0]).toBeLessThanOrEqual(100);
});
