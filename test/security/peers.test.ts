// Every exchange of the API server with a peer (kubelets, pods, endpoints of services), against
// peers that reset, close, stall, or send garbage at every byte of the response. Each exchange must
// settle, leave no connection open, and raise no uncaught error.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { duplexPair, Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  nodeProxySubresource,
  podProxySubresource,
  serviceProxySubresource,
} from '#apiserver/endpoint-proxy/proxy.ts';
import {
  attachSubresource,
  execSubresource,
  logSubresource,
  portForwardSubresource,
} from '#apiserver/node-proxy/subresources.ts';
import { ALLOW } from '#apiserver/authorization/authorizer.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { Subresource } from '#apiserver/catalog/kind.ts';
import { RequestState } from '#apiserver/request-state.ts';
import type { ApiResponse, RequestBody } from '#apiserver/request.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import { SeededRandom } from '#machinery/random.ts';

type Script = (socket: Socket) => void;

const OBJECTS: Readonly<Record<string, object>> = {
  'pods/web': {
    metadata: { name: 'web', namespace: 'default' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', ports: [{ containerPort: 80 }] }] },
    status: { podIPs: [{ ip: '10.0.0.7' }] },
  },
  'nodes/n1': {
    metadata: { name: 'n1' },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  },
  'services/web': {
    metadata: { name: 'web', namespace: 'default' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  },
  'endpoints/web': {
    metadata: { name: 'web', namespace: 'default' },
    subsets: [
      {
        addresses: [
          { ip: '10.0.0.7', targetRef: { kind: 'Pod', namespace: 'default', name: 'web' } },
        ],
        ports: [{ name: 'http', port: 80 }],
      },
    ],
  },
};
const find: Find = <T extends KubeObject>(
  _group: string,
  resource: string,
  _namespace: string,
  name: string,
) => Promise.resolve(OBJECTS[`${resource}/${name}`] as T | undefined);

/** The peer's behaviour on each connection. */
let script: Script;
let peer: Server;
let port: number;
/** The peer's ends of open connections. */
const open = new Set<Socket>();
let clock: VirtualClock;
const uncaught: unknown[] = [];
const onUncaught = (error: unknown): void => void uncaught.push(error);

beforeAll(async () => {
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  peer = createServer((socket) => {
    open.add(socket);
    // The peer reads everything, so that it sees the end of the other side.
    socket.on('error', () => undefined).on('data', () => undefined);
    socket.once('close', () => open.delete(socket));
    script(socket);
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  ({ port } = peer.address() as AddressInfo);
});
afterAll(async () => {
  process.off('uncaughtException', onUncaught);
  process.off('unhandledRejection', onUncaught);
  await new Promise((resolve) => peer.close(resolve));
});
beforeEach(() => (clock = new VirtualClock()));
afterEach(async () => {
  await settled();
  expect(uncaught.splice(0)).toEqual([]);
});

/** Waits until the API server holds no connection to the peer. */
async function settled(): Promise<void> {
  for (let turn = 0; open.size > 0 && turn < 5000; turn++)
    await new Promise((resolve) => setTimeout(resolve, 1));
  expect(open.size).toBe(0);
}

const connect = (): Promise<Socket> => dial({ host: '127.0.0.1', port, clock });

interface Exchange {
  readonly served: () => Pick<Subresource, 'rest'>;
  readonly name: string;
  readonly path: string;
  readonly upgrade: boolean;
}

const EXCHANGES: Readonly<Record<string, Exchange>> = {
  'pods/proxy': {
    served: () => podProxySubresource({ find, clock }, { dial: connect }),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/proxy/x',
    upgrade: false,
  },
  'services/proxy': {
    served: () =>
      serviceProxySubresource({ find, clock, random: new SeededRandom('x') }, { dial: connect }),
    name: 'web:http',
    path: '/api/v1/namespaces/default/services/web:http/proxy/x',
    upgrade: false,
  },
  'nodes/proxy': {
    served: () => nodeProxySubresource({ find, clock, nodeConnector: { connect } }),
    name: 'n1',
    path: '/api/v1/nodes/n1/proxy/x',
    upgrade: false,
  },
  'pods/log': {
    served: () => logSubresource(node()),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/log',
    upgrade: false,
  },
  'pods/exec': {
    served: () => execSubresource(node()),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/exec',
    upgrade: true,
  },
  'pods/attach': {
    served: () => attachSubresource(node()),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/attach',
    upgrade: true,
  },
  'pods/portforward': {
    served: () => portForwardSubresource(node()),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/portforward',
    upgrade: true,
  },
  'pods/proxy, upgraded': {
    served: () => podProxySubresource({ find, clock }, { dial: connect }),
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web/proxy/x',
    upgrade: true,
  },
};
const names = Object.keys(EXCHANGES);

const node = () => ({
  find,
  clock,
  nodeConnector: { connect },
  authorizer: { authorize: () => ALLOW },
});

interface Ask {
  readonly method?: string;
  readonly body?: RequestBody;
  readonly signal?: AbortSignal;
}

/**
 * Sends a request, and reads the whole response as a client would. Resolves with its code, or with
 * the error's message.
 */
async function ask(
  which: string,
  { method = 'GET', body, signal }: Ask = {},
): Promise<number | string> {
  const { served, name, path, upgrade } = EXCHANGES[which]!;
  const [client, far] = duplexPair();
  client
    .resume()
    .on('error', () => undefined)
    .on('end', () => client.end());
  far.on('error', () => undefined);
  const request = new RequestState({
    method,
    path,
    query: '',
    headers: { host: 'api', ...(upgrade && { upgrade: 'SPDY/3.1', connection: 'Upgrade' }) },
    body: body ?? { kind: 'bytes', read: () => new Uint8Array() },
    remoteAddress: '127.0.0.1',
    user: { name: 'editor', groups: [] },
    ...(upgrade && { upgrade: { take: () => ({ socket: far, head: new Uint8Array() }) } }),
    ...(signal !== undefined && { parentSignal: () => signal }),
  });
  const namespace = path.startsWith('/api/v1/namespaces/') ? 'default' : '';
  request.info = {
    ...request.info,
    isResourceRequest: true,
    path,
    verb: 'get',
    apiVersion: 'v1',
    namespace,
    name,
  };
  let response: ApiResponse;
  try {
    response = (await served()?.rest.connect?.(request, name, 'x')) as ApiResponse;
  } catch (error) {
    return (error as Error).message;
  }
  if (response.body.kind === 'taken') await response.body.done;
  if (response.body.kind === 'stream') {
    try {
      for await (const chunk of response.body.stream) void chunk;
    } catch (error) {
      return (error as Error).message;
    }
  }
  return response.code;
}

const RESPONSE =
  'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<a href="/">';
const UPGRADED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello';
const responseOf = (which: string): string =>
  EXCHANGES[which]?.upgrade === true ? UPGRADED : RESPONSE;

/**
 * Returns a peer that, after the request arrived, sends the first bytes of the response and then
 * does `next`.
 */
const after =
  (which: string, bytes: number, next: Script): Script =>
  (socket) =>
    void socket.once('data', () => {
      const text = responseOf(which).slice(0, bytes);
      if (text === '') next(socket);
      else socket.write(text, () => next(socket));
    });

const FAILURES: Readonly<Record<string, Script>> = {
  resets: (socket) => void socket.resetAndDestroy(),
  closes: (socket) => void socket.end(),
  'sends garbage': (socket) =>
    void socket.end(Buffer.from('\0\r\n\x80\xff garbage: \x01\r\n\r\n{}', 'latin1')),
};

describe.each(names)('%s', (which) => {
  test.each(Object.entries(FAILURES))(
    'with a peer that %s after every number of bytes',
    async (_name, failure) => {
      const { length } = responseOf(which);
      for (let begin = 0; begin <= length; begin += 16) {
        const scripts: Script[] = [];
        const asked: Promise<unknown>[] = [];
        for (let bytes = begin; bytes < Math.min(begin + 16, length + 1); bytes++)
          scripts.push(after(which, bytes, failure));
        script = (socket) => scripts.pop()?.(socket);
        for (let i = scripts.length; i > 0; i--) asked.push(ask(which));
        for (const outcome of await Promise.all(asked))
          expect(['number', 'string']).toContain(typeof outcome);
      }
      await settled();
    },
  );

  test('with a peer that fails before it reads the request', async () => {
    for (const failure of Object.values(FAILURES)) {
      script = failure;
      expect(['number', 'string']).toContain(typeof (await ask(which)));
    }
  });

  test('with a peer that stalls: a time limit ends the exchange', async () => {
    const { length } = responseOf(which);
    const outcomes: Promise<unknown>[] = [];
    for (const bytes of [0, 1, 20, length - 5, length - 1]) {
      const stalled = new Promise<void>(
        (resolve) => (script = after(which, bytes, () => resolve())),
      );
      outcomes.push(ask(which));
      await stalled;
    }
    const left = new Set(outcomes);
    for (const outcome of outcomes) void outcome.then(() => left.delete(outcome));
    for (let hours = 0; left.size > 0 && hours < 24; hours++) await clock.advance('1h');
    expect(left.size).toBe(0);
  });

  test('with a peer that sends informational responses without end', async () => {
    for (const code of [
      '100 Continue',
      '102 Processing',
      '103 Early Hints',
      '101 Switching Protocols',
      '199 X',
    ]) {
      script = (socket) => {
        const write = (): void => {
          if (!socket.destroyed)
            socket.write(`HTTP/1.1 ${code}\r\n\r\n`, () => setImmediate(write));
        };
        socket.once('data', write);
      };
      expect(await ask(which)).toMatch(/unexpected response: 101|too many 1xx|Parse Error|101/);
    }
  });

  test('with a peer that stalls, and a client that leaves', async () => {
    const gone = new AbortController();
    script = (socket) =>
      void socket.once('data', () => gone.abort(new Error('the client has gone')));
    expect(await ask(which, { signal: gone.signal })).toContain('the client has gone');
  });
});

describe('a peer that switches the protocol without a request', () => {
  test.each(names.filter((name) => EXCHANGES[name]?.upgrade === false))(
    'of %s fails the request',
    async (which) => {
      script = (socket) => void socket.once('data', () => socket.write(UPGRADED));
      expect(await ask(which)).toContain('101');
    },
  );
});

describe('bodies of requests', () => {
  const proxies = ['pods/proxy', 'services/proxy', 'nodes/proxy'];
  const streamed = (stream: () => Readable): RequestBody => ({
    kind: 'bytes',
    stream,
    read: () => {
      throw new Error('it must be streamed');
    },
  });
  const endless = (): Readable => new Readable({ read() {} });

  test.each(proxies)('%s: a peer that resets while the body is awaited', async (which) => {
    script = (socket) =>
      void socket.once('data', () => setImmediate(() => socket.resetAndDestroy()));
    const body = endless();
    body.push('x');
    expect(await ask(which, { method: 'POST', body: streamed(() => body) })).toMatch(
      /ECONNRESET|EPIPE|closed|hang up/,
    );
    expect(body.destroyed).toBe(true);
  });

  test.each(proxies)('%s: a client that disconnects in the middle of its body', async (which) => {
    const body = endless();
    body.push('x');
    script = (socket) => void socket.once('data', () => body.destroy(new Error('reset')));
    expect(await ask(which, { method: 'POST', body: streamed(() => body) })).toBe('reset');
  });

  test.each(proxies)('%s: 32 MiB are streamed, with back-pressure', async (which) => {
    const SIZE = 32 * 1024 * 1024;
    const chunk = Buffer.alloc(64 * 1024);
    let produced = 0;
    let received = 0;
    let most = 0;
    script = (socket) => {
      socket.on('data', (data: Buffer) => {
        received += data.length;
        most = Math.max(most, produced - received);
        if (received >= SIZE && data.subarray(-5).toString() === '0\r\n\r\n') socket.end(RESPONSE);
      });
    };
    const body = new Readable({
      read() {
        produced += chunk.length;
        this.push(produced > SIZE ? null : chunk);
      },
    });
    expect(await ask(which, { method: 'POST', body: streamed(() => body) })).toBe(200);
    expect(most).toBeLessThan(16 * 1024 * 1024);
  });

  test.each(proxies)('%s: a peer that answers before it has read the body', async (which) => {
    script = (socket) =>
      void socket.once('data', () =>
        socket.end('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n'),
      );
    const body = endless();
    body.push('x');
    expect(await ask(which, { method: 'POST', body: streamed(() => body) })).toBe(413);
    if (!body.closed) await once(body, 'close');
  });
});
