// Peers of probes and hooks that reset, stall, send garbage or never end, at every stage of the
// exchange. A probe has an outcome by its deadline whatever the pod answers, and a container is
// stopped when its grace period ends.

import { setMaxListeners } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecSyncResult, RuntimeService } from '#cri/index.ts';
import { HookRunner } from '#kubelet/handlers/hooks.ts';
import { TimeoutError, withTimeout } from '#kubelet/handlers/timeout.ts';
import { ProbeRunner, type ProbeOutcome } from '#kubelet/probes/probe-runner.ts';
import { withDeadlines } from '#kubelet/runtime/deadlines.ts';
import { ContainerKiller } from '#kubelet/runtime/kill.ts';
import { emptyPodStatus, type ContainerRecord } from '#kubelet/pod/pod-status.ts';
import { makeContainer, makePod } from '#kubelet/testing/make-pod.ts';
import type { Probe } from '#kubelet/types.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';

type Peer = (socket: Socket) => void;

/** Writes as fast as the other side reads, until the connection is gone. */
function pump(socket: Socket, text: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(text)) if (socket.writableNeedDrain) return;
  };
  socket.on('drain', more);
  more();
}

const afterRequest =
  (answer: Peer): Peer =>
  (socket) =>
    void socket.once('data', () => answer(socket));
const send = (text: string): Peer => afterRequest((socket) => void socket.write(text));
const sendAndReset = (text: string): Peer =>
  afterRequest((socket) => void socket.write(text, () => socket.resetAndDestroy()));
const sendAndClose = (text: string): Peer => afterRequest((socket) => void socket.end(text));

const TIMEOUT =
  /^Get "http:\/\/127\.0\.0\.1:\d+\/": context deadline exceeded \(Client\.Timeout exceeded while awaiting headers\)$/;
const BROKEN =
  /^Get "http:\/\/127\.0\.0\.1:\d+\/": net\/http: HTTP\/1\.x transport connection broken: /;

/** The peers, each with the outcome of a probe. */
const PEERS: Readonly<Record<string, readonly [Peer, ProbeOutcome['result'], RegExp?]>> = {
  'resets at once': [
    (socket) => void socket.resetAndDestroy(),
    'failure',
    /connection reset by peer|EOF/,
  ],
  'closes at once': [(socket) => void socket.end(), 'failure', /EOF|connection reset by peer/],
  'is silent': [() => undefined, 'failure', TIMEOUT],
  'is silent after the request': [send(''), 'failure', TIMEOUT],
  'closes after the request': [sendAndClose(''), 'failure', /EOF$/],
  'stalls in the status line': [send('HTTP/1.1 2'), 'failure', TIMEOUT],
  'resets in the status line': [
    sendAndReset('HTTP/1.1 2'),
    'failure',
    /connection reset by peer|EOF|broken/,
  ],
  'closes in the headers': [sendAndClose('HTTP/1.1 200 OK\r\nContent-'), 'failure', /EOF|broken/],
  'stalls in the headers': [send('HTTP/1.1 200 OK\r\nContent-'), 'failure', TIMEOUT],
  'sends garbage': [send('SSH-2.0-OpenSSH_9.6\r\n'), 'failure', BROKEN],
  'sends binary garbage without end': [
    afterRequest((socket) => pump(socket, '\0\xff'.repeat(1000))),
    'failure',
    BROKEN,
  ],
  'sends headers without end': [
    afterRequest(
      (socket) => (
        socket.write('HTTP/1.1 200 OK\r\n'),
        pump(socket, `X-A: ${'y'.repeat(1000)}\r\n`)
      ),
    ),
    'failure',
    /server response headers exceeded 1048576 bytes; aborted$/,
  ],
  'continues and stalls': [send('HTTP/1.1 100 Continue\r\n\r\n'), 'failure', TIMEOUT],
  'continues without end': [
    afterRequest((socket) => pump(socket, 'HTTP/1.1 100 Continue\r\n\r\n')),
    'failure',
    /too many 1xx/,
  ],
  'sends early hints without end': [
    afterRequest((socket) => pump(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')),
    'failure',
    /too many 1xx informational responses$/,
  ],
  'sends early hints, then answers': [
    send('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    'success',
  ],
  'switches protocols': [
    send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    'failure',
    /^HTTP probe failed with statuscode: 101$/,
  ],
  'switches protocols without headers': [
    send('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    'failure',
    /statuscode: 101$/,
  ],
  'switches protocols and closes': [
    sendAndClose('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    'failure',
    /statuscode: 101$/,
  ],
  'answers without a body': [send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'), 'success'],
  'closes to end the body': [sendAndClose('HTTP/1.1 200 OK\r\n\r\nhello'), 'success'],
  'stalls in the body': [
    send('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello'),
    'failure',
    TIMEOUT,
  ],
  'closes in the body': [
    sendAndClose('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello'),
    'error',
  ],
  'resets in the body': [
    sendAndReset('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello'),
    'error',
  ],
  'sends garbage for chunks': [
    send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n'),
    'error',
  ],
  'sends a body without end': [
    afterRequest(
      (socket) => (socket.write('HTTP/1.1 200 OK\r\n\r\n'), pump(socket, 'x'.repeat(1000))),
    ),
    'success',
  ],
  fails: [
    send('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'),
    'failure',
    /^HTTP probe failed with statuscode: 500$/,
  ],
  'redirects to itself without end': [
    (socket) =>
      sendAndClose(`HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n`)(socket),
    'failure',
    /^Get "\/again": stopped after 10 redirects$/,
  ],
  'redirects to another host': [
    send(
      'HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 5\r\n\r\nhello',
    ),
    'warning',
    /^Probe terminated redirects, Response body: hello$/,
  ],
  'redirects to nowhere': [send('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'), 'warning'],
  'redirects to no URL': [
    send('HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n'),
    'failure',
    /failed to parse Location/,
  ],
  'redirects to another scheme': [
    send(
      'HTTP/1.1 302 Found\r\nLocation: file://127.0.0.1/etc/passwd\r\nContent-Length: 0\r\n\r\n',
    ),
    'failure',
    /unsupported protocol scheme "file"$/,
  ],
  'has not changed': [send('HTTP/1.1 304 Not Modified\r\n\r\n'), 'warning'],
};

const servers: Server[] = [];
const sockets = new Set<Socket>();
const ports = new Map<string, number>();

async function listen(peer: Peer): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    peer(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  for (const [name, [peer]] of Object.entries(PEERS)) ports.set(name, await listen(peer));
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

const stuck = (): Promise<never> => new Promise(() => undefined);
const unused = new Proxy({} as RuntimeService, { get: () => () => stuck() });
const container = makeContainer('main');
const target = { container, containerId: 'c1', podIP: '127.0.0.1' };
const never = new AbortController().signal;
// Many calls share the signal here.
setMaxListeners(0, never);
const runner = new ProbeRunner({
  runtime: unused,
  clock: systemClock,
  userAgent: 'kube-probe/1.36',
  podNetwork: true,
});
const hooks = new HookRunner({
  runtime: unused,
  clock: systemClock,
  userAgent: 'kube-lifecycle/1.36',
  podNetwork: true,
});

const settled = <T>(work: Promise<T>): Promise<T> =>
  withTimeout(systemClock, 30_000, never, () => work);

/** Returns the outcome with each peer; all peers run at once. */
async function withEachPeer<T>(act: (port: number) => Promise<T>): Promise<Record<string, T>> {
  const outcomes = [...ports].map(
    async ([name, port]) => [name, await settled(act(port))] as const,
  );
  return Object.fromEntries(await Promise.all(outcomes));
}

describe('peers of every kind', () => {
  test('an HTTP probe has the same outcome as in upstream', async () => {
    const outcomes = await withEachPeer((port) =>
      runner.run({ httpGet: { port, path: '/' }, timeoutSeconds: 3 }, target, never),
    );
    for (const [name, [, result, message]] of Object.entries(PEERS)) {
      const outcome = outcomes[name]!;
      expect(outcome.result, name).toBe(result);
      if (message !== undefined)
        expect('message' in outcome ? outcome.message : '', name).toMatch(message);
    }
  });

  test.each<[string, (port: number) => Probe]>([
    ['HTTPS', (port) => ({ httpGet: { port, path: '/', scheme: 'HTTPS' } })],
    ['gRPC', (port) => ({ grpc: { port, service: null } })],
  ])('a probe of %s, which none of them speaks, fails', async (_, probe) => {
    const outcomes = await withEachPeer((port) =>
      runner.run({ ...probe(port), timeoutSeconds: 1 }, target, never),
    );
    expect(new Set(Object.values(outcomes).map(({ result }) => result))).toEqual(
      new Set(['failure']),
    );
  });

  test('a TCP probe has an outcome', async () => {
    const outcomes = await withEachPeer((port) =>
      runner.run({ tcpSocket: { port }, timeoutSeconds: 3 }, target, never),
    );
    for (const [name, { result }] of Object.entries(outcomes)) {
      // The reset may come before the connection is established.
      if (name !== 'resets at once') expect(result, name).toBe('success');
    }
  });

  test('a preStop hook ends, and the container is stopped', async () => {
    const stopped = await withEachPeer(async (port) => {
      const preStop = { httpGet: { port, path: '/' } };
      const pod = makePod({
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [makeContainer('main', { lifecycle: { preStop } })],
        },
      });
      const ids: string[] = [];
      await kill(pod, hooks, { stopContainer: async (id: string) => void ids.push(id) });
      return ids;
    });
    for (const name of Object.keys(PEERS)) expect(stopped[name], name).toEqual(['c1']);
  });

  test('a postStart hook ends when its pod is deleted', async () => {
    await withEachPeer(async (port) => {
      const abort = new AbortController();
      const handler = { httpGet: { port, path: '/' } };
      const running = hooks.run(makePod(), container, 'c1', '127.0.0.1', handler, abort.signal);
      const late = systemClock.setTimer(500, () => abort.abort(new Error('the pod goes')));
      // Some of the peers make the hook succeed, others make it fail earlier.
      await running.catch((error: Error) =>
        expect(error.message).toMatch(/the pod goes|HTTP lifecycle hook/),
      );
      late.cancel();
    });
  });
});

function kill(
  pod: ReturnType<typeof makePod>,
  hookRunner: HookRunner,
  runtime: Partial<RuntimeService>,
  clock = systemClock,
) {
  const killer = new ContainerKiller({
    runtime: runtime as RuntimeService,
    clock,
    logger: silentLogger,
    events: {
      container: () => undefined,
      warning: () => undefined,
      normal: () => undefined,
    } as never,
    hooks: hookRunner,
  });
  const record = { id: 'c1', name: 'main', state: 'running', sandboxId: 's1' } as ContainerRecord;
  const status = {
    ...emptyPodStatus('u', 'p', 'n'),
    containers: [record],
    sandboxes: [sandboxOf('127.0.0.1')],
  };
  return killer.kill({ pod, status, container: record, message: '', reason: '' as never }, never);
}

const sandboxOf = (ip: string) => ({
  id: 's1',
  attempt: 0,
  ready: true,
  createdAt: 0,
  ips: [ip],
  hostNetwork: false,
});

describe('a runtime that does not respond', () => {
  test.each(['exec', 'httpGet'])(
    'does not keep an %s hook longer than the grace period',
    async (kind) => {
      const clock = new VirtualClock();
      const silent = await listen(() => undefined);
      const handler =
        kind === 'exec'
          ? { exec: { command: ['sleep', 'forever'] } }
          : { httpGet: { port: silent, path: '/' } };
      const pod = makePod({
        spec: {
          terminationGracePeriodSeconds: 30,
          containers: [makeContainer('main', { lifecycle: { preStop: handler } })],
        },
      });
      const runtime = {
        execSync: stuck,
        stopContainer: async (_: string, graceMs: number) => void graces.push(graceMs),
      };
      const graces: number[] = [];
      const hookRunner = new HookRunner({
        runtime: runtime as never,
        clock,
        userAgent: 'x',
        podNetwork: true,
      });
      const killing = kill(pod, hookRunner, runtime, clock);
      await clock.advance(31_000);
      await settled(killing);
      expect(graces).toEqual([2000]);
    },
  );

  test('an exec probe does not wait for it', async () => {
    const clock = new VirtualClock();
    const probing = new ProbeRunner({
      runtime: unused,
      clock,
      userAgent: 'x',
      podNetwork: true,
    }).run({ exec: { command: ['check', 'it'] }, timeoutSeconds: 3 }, target, never);
    await clock.advance(20_000);
    expect(await settled(probing)).toEqual({
      result: 'failure',
      message: 'command timed out: "check it" timed out after 3s',
    });
  });

  test('each call ends at its deadline', async () => {
    const clock = new VirtualClock();
    const { runtime, images } = withDeadlines(
      { name: 'stuck', runtime: unused, images: unused as never, close: stuck },
      clock,
    );
    const calls: readonly Promise<unknown>[] = [
      runtime.version(),
      runtime.status(),
      runtime.runPodSandbox({}),
      runtime.stopPodSandbox('s'),
      runtime.removePodSandbox('s'),
      runtime.podSandboxStatus('s'),
      runtime.listPodSandbox(),
      runtime.createContainer('s', {}, {}),
      runtime.startContainer('c'),
      runtime.removeContainer('c'),
      runtime.listContainers(),
      runtime.containerStatus('c'),
      runtime.updateContainerResources('c', {}),
      runtime.reopenContainerLog('c'),
      runtime.execSync('c', ['true']) satisfies Promise<ExecSyncResult>,
      runtime.listContainerStats(),
      images.listImages(),
      images.imageStatus({ image: 'x' }),
      images.imageFsInfo(),
    ];
    const outcomes = Promise.allSettled(calls);
    const stopping = expect(runtime.stopContainer('c', 60_000)).rejects.toMatchObject({
      reason: 'DeadlineExceeded',
    });
    await clock.advance(130_000);
    for (const outcome of await settled(outcomes)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'DeadlineExceeded' } });
    }
    await clock.advance(60_000);
    await settled(stopping);
    // A call returns at once when its caller aborts.
    const abort = new AbortController();
    const given = expect(runtime.startContainer('c', { signal: abort.signal })).rejects.toThrow(
      'enough',
    );
    abort.abort(new Error('enough'));
    await settled(given);
  });

  test('a deadline holds for work that ignores its signal', async () => {
    await expect(withTimeout(systemClock, 1, undefined, stuck)).rejects.toBeInstanceOf(
      TimeoutError,
    );
  });
});
