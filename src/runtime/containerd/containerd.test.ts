// Tests of the containerd runtime without containerd: a CRI server of the test responds on a
// socket. test/e2e runs the conformance suite with a real containerd.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import {
  loadPackageDefinition,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { afterEach, describe, expect, test } from 'vitest';
import { type ContainerEvent, CriError, type Runtime } from '#cri/index.ts';
import { criDescriptor } from '#cri/proto.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { serveRemoteCommand } from '#machinery/streams/remotecommand/index.ts';
import { containerdToml } from './containerd-config.ts';
import { createContainerdRuntime } from './create.ts';
import { containerEvents } from './events.ts';
import { fromGrpc, fromPullError, withRpcCode } from './errors.ts';
import { inside, mountsImages } from './image-mounts.ts';
import { tar } from './image-archive.ts';
import { imageArchive } from './index.ts';
import { pauseImage, pauseProgram } from './pause.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

type Unary = (
  call: ServerUnaryCall<Record<string, unknown>, unknown>,
  answer: sendUnaryData<unknown>,
) => void;
type Streaming = (call: ServerWritableStream<Record<string, unknown>, unknown>) => void;

interface Services {
  runtime: {
    v1: { RuntimeService: ServiceClientConstructor; ImageService: ServiceClientConstructor };
  };
}

/** Starts a CRI server with these methods; all others are unimplemented. */
async function serve(methods: Record<string, Unary | Streaming>): Promise<Runtime> {
  const loaded = loadPackageDefinition(
    fromJSON(criDescriptor(), { longs: Number, enums: String, defaults: true }),
  );
  const { RuntimeService, ImageService } = (loaded as unknown as Services).runtime.v1;
  const server = new Server();
  server.addService(RuntimeService.service, methods);
  server.addService(ImageService.service, methods);
  const dir = mkdtempSync(join(tmpdir(), 'cri-'));
  const endpoint = `unix://${join(dir, 'cri.sock')}`;
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (err) =>
      err ? reject(err) : resolve(),
    ),
  );
  const runtime = createContainerdRuntime({ endpoint });
  cleanups.push(
    () => rmSync(dir, { recursive: true }),
    () => server.forceShutdown(),
    () => void runtime.close(),
  );
  return runtime;
}

const failWith =
  (code: status, details: string): Unary =>
  (_, answer) =>
    answer({ code, details });

describe('a pull without a registry', () => {
  const unreachable = failWith(status.UNKNOWN, 'failed to do request: dial tcp: no such host');

  test('names the images on the node, and no more than ten', async () => {
    const images = Array.from({ length: 12 }, (_, i) => ({
      id: `sha256:${i}`,
      repoTags: [`docker.io/library/i${String(i).padStart(2, '0')}:latest`],
    }));
    const { images: service } = await serve({
      PullImage: unreachable,
      ListImages: (_, answer) => answer(null, { images: [...images, { repoTags: [pauseImage] }] }),
    });
    await expect(service.pullImage({ image: 'x' })).rejects.toThrow(
      /no such host \(images on this node: docker\.io\/library\/i00:latest, .* and 2 more\)$/,
    );
  });

  test('keeps its own error if the images cannot be listed, and says if there are none', async () => {
    const broken = await serve({ PullImage: unreachable, ListImages: unreachable });
    await expect(broken.images.pullImage({ image: 'x' })).rejects.toThrow(/no such host$/);
    const empty = await serve({
      PullImage: unreachable,
      ListImages: (_, answer) => answer(null, { images: [] }),
    });
    await expect(empty.images.pullImage({ image: 'x' })).rejects.toThrow(
      /no such host \(there are no images on this node\)$/,
    );
  });
});

describe('calls', () => {
  test('responses are complete, except for absent messages', async () => {
    const { runtime } = await serve({
      ContainerStatus: (call, answer) =>
        answer(null, { status: { id: call.request['containerId'], state: 'CONTAINER_RUNNING' } }),
    });
    const { status: container } = await runtime.containerStatus('abc');
    expect(container).toMatchObject({
      id: 'abc',
      state: 'CONTAINER_RUNNING',
      exitCode: 0,
      labels: {},
      mounts: [],
    });
    expect(container && 'metadata' in container).toBe(false);
  });

  test('missing objects count as stopped and removed', async () => {
    const gone = failWith(status.NOT_FOUND, 'no such container');
    const { runtime } = await serve({
      StopContainer: gone,
      RemoveContainer: gone,
      StopPodSandbox: gone,
      RemovePodSandbox: gone,
    });
    await runtime.stopContainer('x', 1000);
    await runtime.removeContainer('x');
    await runtime.stopPodSandbox('x');
    await runtime.removePodSandbox('x');
  });

  test('the grace period is rounded up to whole seconds', async () => {
    const asked: unknown[] = [];
    const { runtime } = await serve({
      StopContainer: (call, answer) => {
        asked.push(call.request['timeout']);
        answer(null, {});
      },
    });
    await runtime.stopContainer('x', 1500);
    await runtime.stopContainer('x', 0);
    expect(asked).toEqual([2, 0]);
  });

  test('an aborted call rejects with the reason, and the runtime is notified', async () => {
    let cancelled: () => void;
    const heard = new Promise<void>((resolve) => (cancelled = resolve));
    const abort = new AbortController();
    const { runtime } = await serve({
      ListContainers: (call: ServerUnaryCall<Record<string, unknown>, unknown>) => {
        call.on('cancelled', () => cancelled());
        abort.abort(new Error('changed my mind'));
      },
    });
    await expect(runtime.listContainers({}, { signal: abort.signal })).rejects.toThrow(
      'changed my mind',
    );
    await heard;
    await expect(runtime.listContainers({}, { signal: abort.signal })).rejects.toThrow(
      'changed my mind',
    );
  });

  test('a call that exceeds its deadline is aborted', async () => {
    const { runtime } = await serve({ Version: () => undefined });
    await expect(runtime.version({ timeoutMs: 50 })).rejects.toMatchObject({
      reason: 'DeadlineExceeded',
    });
  });

  test('a missing runtime is unavailable', async () => {
    const { runtime, close } = createContainerdRuntime({ endpoint: '/no/such/socket' });
    await expect(runtime.version({ timeoutMs: 2000 })).rejects.toMatchObject({
      reason: 'Unavailable',
    });
    await close();
  });
});

test.each([
  [status.NOT_FOUND, 'gone', 'NotFound'],
  [
    status.UNKNOWN,
    'failed to reserve sandbox name "a": name "a" is reserved for "b"',
    'AlreadyExists',
  ],
  [
    status.FAILED_PRECONDITION,
    'failed to reserve container name "a": name "a" is reserved for "b"',
    'AlreadyExists',
  ],
  [status.UNKNOWN, 'container "a" is in CONTAINER_EXITED state', 'FailedPrecondition'],
  [status.UNKNOWN, 'write /x: no space left on device', 'ResourceExhausted'],
  [status.UNIMPLEMENTED, 'unknown method', 'Unimplemented'],
  [status.UNKNOWN, 'something else', 'Internal'],
])('error %i %j is %s', (code, details, reason) => {
  expect(fromGrpc(Object.assign(new Error(details), { code, details }))).toMatchObject({
    reason,
    message: details,
  });
});

test.each([
  [status.NOT_FOUND, 'docker.io/library/x:latest: not found', 'ImageNotFound'],
  [
    status.UNKNOWN,
    'failed to do request: dial tcp: lookup registry: no such host',
    'RegistryUnavailable',
  ],
  [status.UNKNOWN, 'SignatureValidationFailed: no', 'SignatureValidationFailed'],
  [status.INVALID_ARGUMENT, 'invalid reference format', 'InvalidImageName'],
  [status.UNKNOWN, 'pull access denied', 'ImagePull'],
  [status.UNAVAILABLE, 'the runtime is away', 'Unavailable'],
])('pull error %i %j is %s', (code, details, reason) => {
  expect(fromPullError(Object.assign(new Error(details), { code, details }))).toMatchObject({
    reason,
  });
});

test.each([
  [status.NOT_FOUND, 'rpc error: code = NotFound desc = broken'],
  [status.UNAVAILABLE, 'rpc error: code = Unavailable desc = broken'],
  [status.UNKNOWN, 'broken'],
])('pull error %i has the text of upstream’s events', (code, message) => {
  const error = fromPullError(Object.assign(new Error('x'), { code, details: 'broken' }));
  expect(error.message).toBe(message);
});

test('the text of other errors has every code, but not errors of this client', () => {
  const error = fromGrpc(
    Object.assign(new Error('x'), { code: status.UNKNOWN, details: 'broken' }),
  );
  expect(withRpcCode(error).message).toBe('rpc error: code = Unknown desc = broken');
  expect(withRpcCode(new CriError('Internal', 'own')).message).toBe('own');
});

test('exec uses the URL in the runtime’s response', async () => {
  const http = createServer();
  http.on('upgrade', (request, socket, head) => {
    const options = { stdin: true, stdout: true, stderr: true, tty: false };
    void serveRemoteCommand(
      request,
      socket,
      head,
      options,
      async ({ stdin, stdout, stderr }) => {
        stderr!.end(`${request.method} ${request.url}`);
        stdin!.pipe(stdout!);
        await new Promise((resolve) => stdout!.once('finish', resolve));
        return { exitCode: 12 };
      },
      { clock: systemClock, logger: silentLogger },
    );
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => http.close());
  const asked: unknown[] = [];
  const { runtime } = await serve({
    Exec: (call, answer) => {
      asked.push(call.request);
      answer(null, { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/exec/token` });
    },
  });
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end('through');
  const [result, out, err] = await Promise.all([
    runtime.exec(
      'c',
      { command: ['cat'], stdin: true, stdout: true, stderr: true },
      { stdin, stdout, stderr },
    ),
    stdout.toArray(),
    stderr.toArray(),
  ]);
  expect(result).toEqual({ exitCode: 12 });
  expect(Buffer.concat(out as Buffer[]).toString()).toBe('through');
  expect(Buffer.concat(err as Buffer[]).toString()).toBe('POST /exec/token');
  expect(asked).toMatchObject([
    { containerId: 'c', cmd: ['cat'], stdin: true, stdout: true, stderr: true, tty: false },
  ]);
});

describe('events', () => {
  test('come from CRI’s own stream without containerd', async () => {
    const { runtime } = await serve({
      GetContainerEvents: (call: ServerWritableStream<Record<string, unknown>, unknown>) => {
        call.write({
          containerId: 'c',
          containerEventType: 'CONTAINER_STOPPED_EVENT',
          createdAt: 5,
        });
      },
    });
    const stop = new AbortController();
    const seen: ContainerEvent[] = [];
    for await (const event of runtime.containerEvents!(stop.signal)) {
      seen.push(event);
      stop.abort();
    }
    expect(seen).toMatchObject([
      { containerId: 'c', containerEventType: 'CONTAINER_STOPPED_EVENT', createdAt: 5 },
    ]);
  });

  test('are detected by polling without either', async () => {
    let state = 'CONTAINER_CREATED';
    const { runtime } = await serve({
      ListPodSandbox: (_, answer) => answer(null, { items: [{ id: 'p', state: 'SANDBOX_READY' }] }),
      ListContainers: (_, answer) =>
        answer(null, {
          containers: state === 'gone' ? [] : [{ id: 'c', podSandboxId: 'p', state }],
        }),
      PodSandboxStatus: (_, answer) => answer(null, { status: { id: 'p' } }),
    });
    const clock = new VirtualClock();
    const stop = new AbortController();
    const unimplemented = (): never => {
      throw new CriError('Unimplemented', 'unknown method');
    };
    const connection = { stream: unimplemented, streamOf: unimplemented };
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of containerEvents({ connection, runtime, clock }, stop.signal)) {
        seen.push(`${event.containerId} ${event.containerEventType} ${event.podSandboxStatus?.id}`);
      }
    })();
    const looked = async (next: string, count: number): Promise<void> => {
      while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
      state = next;
      await clock.advance('1s');
      while (seen.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    await looked('CONTAINER_EXITED', 2);
    await looked('gone', 3);
    expect(seen).toEqual([
      'c CONTAINER_STARTED_EVENT p',
      'c CONTAINER_STOPPED_EVENT p',
      'c CONTAINER_DELETED_EVENT p',
    ]);
    stop.abort();
    await reading;
  });
});

test('the configuration of a private containerd', () => {
  const toml = containerdToml({
    root: '/data/root',
    state: '/data/"state"',
    socket: '/data/containerd.sock',
    snapshotter: 'native',
    sandboxImage: 'coxswain.local/pause:1',
    registryDir: '/data/certs.d',
    restrictOomScoreAdj: true,
    cniConfDir: '/data/cni',
    cniBinDir: '/usr/lib/cni',
    systemdCgroup: false,
    handlers: '\n[handlers]\n',
  });
  expect(toml).toMatch(/true\n\n\[handlers\]\n$/);
  expect(toml).toContain('state = "/data/\\"state\\""');
  expect(toml).toContain('restrict_oom_score_adj = true');
  expect(toml).toMatch(/^version = 2$/m);
  // Mirrors that the machine's administrator has configured are used.
  expect(toml).toMatch(
    /\.registry\]\n {4}config_path = "\/data\/certs\.d:\/etc\/containerd\/certs\.d"$/m,
  );
});

describe('image archives', () => {
  test('are equal for equal files', () => {
    const config = {
      names: ['a:1'],
      files: [{ path: 'f', content: Buffer.from('x') }],
      architecture: 'amd64',
    };
    expect(imageArchive(config).equals(imageArchive(config))).toBe(true);
  });

  test('contain the files', () => {
    const archive = tar([
      { path: 'dir' },
      { path: 'dir/file', content: Buffer.from('hello'), mode: 0o640 },
      { path: 'dir/link', link: { target: 'dir/file', kind: 'hard' } },
    ]);
    expect(archive.length % 512).toBe(0);
    const header = archive.subarray(512, 1024);
    expect(header.toString('latin1', 0, 8)).toBe('dir/file');
    expect(header.toString('latin1', 100, 107)).toBe('0000640');
    expect(header.toString('latin1', 257, 262)).toBe('ustar');
    expect(archive.toString('latin1', 1024, 1029)).toBe('hello');
    const stored = Number.parseInt(header.toString('latin1', 148, 154), 8);
    const sum = header.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 0x20 : byte), 0);
    expect(stored).toBe(sum);
    expect(() => tar([{ path: 'x'.repeat(101) }])).toThrow(RangeError);
  });

  test.each(['x64', 'arm64'])('the pause program for %s is an executable', (arch) => {
    const elf = pauseProgram(arch)!;
    expect(elf.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(elf.readBigUInt64LE(24)).toBe(0x400078n);
    expect(elf.length).toBe(Number(elf.readBigUInt64LE(96)));
    expect(elf.length).toBeLessThan(256);
  });
});

describe('images as volumes', () => {
  test.each([
    ['1.6.20~ds1', false],
    ['v2.0.5', false],
    ['2.1.0', true],
    ['v2.2.1', true],
    ['3.0.0', true],
  ])('containerd %s mounts them itself: %s', (version, expected) => {
    expect(mountsImages(version)).toBe(expected);
  });

  test('a path stays within the image', async () => {
    const root = mkdtempSync(join(tmpdir(), 'cox-image-'));
    cleanups.push(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'share/pages'), { recursive: true });
    symlinkSync('/etc', join(root, 'outside'));
    expect(await inside(root, '')).toBe(root);
    expect(await inside(root, 'share/./pages/')).toBe(join(root, 'share/pages'));
    await expect(inside(root, 'share/none')).rejects.toMatchObject({ reason: 'NotFound' });
    await expect(inside(root, 'outside/passwd')).rejects.toThrow('links are not followed');
    await expect(inside(root, 'share/../..')).rejects.toThrow('leads out of the image');
  });
});
