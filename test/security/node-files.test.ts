// Files that a pod puts where the kubelet reads: FIFO, socket, device, links (relative, absolute,
// dangling, in a circle, to an endless device), directory, huge sparse file. For each, the kubelet
// returns within a bound, changes no file outside of the volume, and leaves libuv's thread pool
// free for other calls.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { complete, type ContainerStatus } from '#cri/index.ts';
import { withTimeout } from '#kubelet/handlers/timeout.ts';
import { readLogs } from '#kubelet/logs/read-logs.ts';
import { rotateLogs } from '#kubelet/logs/rotate-logs.ts';
import { readTerminationMessage } from '#kubelet/logs/termination-message.ts';
import { hostsFilePath } from '#kubelet/paths.ts';
import { DirectorySource } from '#kubelet/static-pods/directory-source.ts';
import { MirrorPods } from '#kubelet/static-pods/mirror-pods.ts';
import { StaticPods } from '#kubelet/static-pods/static-pods.ts';
import { makeContainer, makePod } from '#kubelet/testing/make-pod.ts';
import { writeAtomically } from '#kubelet/volumes/atomic-writer.ts';
import { checkHostPath } from '#kubelet/volumes/host-path.ts';
import { makeMounts } from '#kubelet/volumes/mounts.ts';
import { noMounter } from '#kubelet/volumes/mounter.ts';
import { setVolumeGroup } from '#kubelet/volumes/ownership.ts';
import { prepareSubpath } from '#kubelet/volumes/subpath.ts';
import { VolumeManager } from '#kubelet/volumes/volume-manager.ts';
import { systemClock } from '#machinery/clock.ts';
import { poolIsAlive } from '#machinery/files/thread-pool.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';

const isRoot = process.getuid?.() === 0;
/**
 * The directory of a FIFO and a device. Links lead to them, so that no program is started for each
 * use.
 */
let samples: string;
beforeAll(() => {
  samples = mkdtempSync(join(tmpdir(), 'node-files-samples-'));
  execFileSync('mkfifo', [join(samples, 'fifo')]);
  if (isRoot) execFileSync('mknod', [join(samples, 'device'), 'c', '1', '5']);
});
afterAll(() => rmSync(samples, { recursive: true, force: true }));

let dir: string;
const sockets: ReturnType<typeof createServer>[] = [];
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'node-files-')));
  mkdirSync(join(dir, 'outside'), { mode: 0o700 });
  writeFileSync(join(dir, 'outside/secret'), 'secret', { mode: 0o600 });
});
afterEach(async () => {
  // No thread is left in a call that does not return.
  expect(await poolIsAlive(10_000)).toBe(true);
  expect(readFileSync(join(dir, 'outside/secret'), 'utf8')).toBe('secret');
  expect(readdirSync(join(dir, 'outside'))).toEqual(['secret']);
  expect([
    statSync(join(dir, 'outside')).mode & 0o777,
    statSync(join(dir, 'outside/secret')).mode & 0o777,
  ]).toEqual([0o700, 0o600]);
  for (const socket of sockets.splice(0)) socket.close();
  execFileSync('rm', ['-rf', dir]);
});

const KINDS: Readonly<Record<string, (path: string) => void | Promise<void>>> = {
  'a FIFO': (path) => linkSync(join(samples, 'fifo'), path),
  'a socket': async (path) => {
    const server = createServer();
    sockets.push(server);
    await new Promise<void>((resolve) => server.listen(path, resolve));
  },
  ...(isRoot && { 'a device': (path: string) => linkSync(join(samples, 'device'), path) }),
  'a relative link': (path) => symlinkSync('../outside/secret', path),
  'an absolute link': (path) => symlinkSync(join(dir, 'outside/secret'), path),
  'a link to a directory': (path) => symlinkSync(join(dir, 'outside'), path),
  'a dangling link': (path) => symlinkSync(join(dir, 'outside/made'), path),
  'a link to itself': (path) => symlinkSync(path, path),
  'a link to an endless device': (path) => symlinkSync('/dev/zero', path),
  'a directory': (path) => {
    mkdirSync(path);
  },
  'a huge sparse file': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 2 ** 40);
  },
};
const kinds = Object.keys(KINDS);

/** Puts each kind below a new directory of the volume, one after the other. */
async function forEachKind(
  act: (kind: string, place: (path: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  for (const kind of kinds) {
    await act(kind, async (path) => {
      mkdirSync(dirname(path), { recursive: true });
      await KINDS[kind]!(path);
    });
  }
}

/** Settles within the bound, whatever the outcome. */
async function bounded<T>(work: Promise<T>): Promise<T> {
  return await withTimeout(systemClock, 20_000, undefined, () => work);
}
const outcome = (work: Promise<unknown>): Promise<string> =>
  bounded(
    work.then(
      (value) => String(value),
      (error: Error) => `rejected: ${error.message}`,
    ),
  );

const never = new AbortController().signal;
const annotations = {
  terminationMessagePath: '/tl',
  terminationMessagePolicy: 'FallbackToLogsOnError',
} as never;
const statusOf = (hostPath: string, logPath: string): ContainerStatus =>
  complete('ContainerStatus', {
    mounts: [{ containerPath: '/tl', hostPath }],
    exitCode: 1,
    logPath,
  });

test('termination logs, all at once, more than the threads of the pool', async () => {
  const reads: Promise<string>[] = [];
  await forEachKind(async (kind, place) => {
    for (let i = 0; i < 4; i++) {
      const path = join(dir, `tl-${kind}-${i}`);
      await place(path);
      reads.push(readTerminationMessage(statusOf(path, ''), annotations));
    }
  });
  const messages = await bounded(Promise.all(reads));
  for (const [index, message] of messages.entries()) {
    const kind = kinds[Math.floor(index / 4)]!;
    if (kind === 'a huge sparse file') expect(message).toBe('\0'.repeat(4096));
    else
      expect(message, kind).toMatch(
        /^Error on reading termination log .* is a .*, not a regular file$/,
      );
  }
});

test('container logs: read, followed, from the end, as a termination message, rotated', async () => {
  await forEachKind(async (kind, place) => {
    const path = join(dir, `logs/${kind}.log`);
    await place(path);
    if (kind !== 'a huge sparse file') {
      const message = await bounded(readTerminationMessage(statusOf('', path), annotations));
      expect(message, kind).toMatch(/^Error on reading termination message from logs: /);
    }
    for (const options of [{}, { follow: true }, { tailLines: 3 }]) {
      const abort = new AbortController();
      const source = {
        path,
        clock: systemClock,
        isRunning: () => Promise.resolve(true),
        pollMs: 5,
      };
      const next = readLogs(source, options, abort.signal).next();
      if (kind === 'a huge sparse file') {
        // This file has no content for a very long time: the client aborts.
        abort.abort();
        expect((await bounded(next)).done).toBe(true);
      } else expect(await outcome(next), kind).toMatch(/rejected: .* is a .*, not a regular file/);
    }
    const moved: string[] = [];
    await bounded(
      rotateLogs({
        runtime: { reopenContainerLog: async (id: string) => void moved.push(id) } as never,
        clock: systemClock,
        logger: silentLogger,
        containers: [{ id: kind, logPath: path }],
        maxBytes: 1000,
        maxFiles: 3,
      }),
    );
    expect(moved).toEqual(kind === 'a huge sparse file' ? [kind] : []);
  });
});

test('a log that is replaced while it is followed', async () => {
  await forEachKind(async (kind, place) => {
    const path = join(dir, `followed/${kind}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '2026-01-01T00:00:00Z stdout F one\n');
    const abort = new AbortController();
    const source = { path, clock: systemClock, isRunning: () => Promise.resolve(true), pollMs: 1 };
    const stream = readLogs(source, { follow: true }, abort.signal);
    expect((await bounded(stream.next())).value?.toString()).toBe('one\n');
    const next = stream.next();
    unlinkSync(path);
    await place(path);
    if (kind === 'a huge sparse file') {
      abort.abort();
      expect((await bounded(next)).done).toBe(true);
    } else expect(await outcome(next), kind).toMatch(/not a regular file/);
  });
});

test('lines without end take no memory', async () => {
  const path = join(dir, 'long');
  writeFileSync(path, '');
  truncateSync(path, 60 * 1024 * 1024);
  writeFileSync(path, '\n2026-01-01T00:00:00Z stdout F after\n', { flag: 'a' });
  const source = { path, clock: systemClock, isRunning: () => Promise.resolve(false), pollMs: 1 };
  const before = process.memoryUsage().arrayBuffers;
  const texts: string[] = [];
  for await (const text of readLogs(source, {}, never)) texts.push(text.toString());
  expect(texts).toEqual(['after\n']);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  texts.length = 0;
  for await (const text of readLogs(source, { tailLines: 5 }, never)) texts.push(text.toString());
  expect(texts).toEqual(['after\n']);
});

test('/etc/hosts of a pod', async () => {
  await forEachKind(async (kind, place) => {
    const rootDir = join(dir, kind);
    const path = hostsFilePath(rootDir, 'uid-1');
    await place(path);
    const pod = makePod();
    const [mount] = await bounded(
      makeMounts({
        pod,
        container: makeContainer('main'),
        volumes: new Map(),
        imageVolumes: new Map(),
        environment: new Map(),
        hostname: { hostname: 'web', domain: '', effective: 'web' } as never,
        podIPs: ['10.0.0.2'],
        nodeHosts: undefined,
        rootDir,
        mounter: noMounter,
        random: systemRandom,
        recursiveReadOnly: false,
        hostFiles: true,
      }),
    );
    expect(mount?.hostPath).toBe(path);
    expect(lstatSync(path).isFile(), kind).toBe(true);
    expect(readFileSync(path, 'utf8'), kind).toContain('\n10.0.0.2\t');
  });
});

describe('volumes of API objects', () => {
  const payload = new Map([
    ['key', { data: Buffer.from('value'), mode: 0o644 }],
    ['below/key', { data: Buffer.from('other'), mode: 0o600 }],
  ]);

  test.each([
    '..data',
    '..data_tmp',
    'key',
    'below',
    '..data/key',
    '..data/below',
    '..data/below/key',
    'extra',
  ])('%s', async (name) => {
    await forEachKind(async (kind, place) => {
      const directory = join(dir, `volume-${kind}`);
      mkdirSync(directory);
      await writeAtomically({ directory, payload, stamp: 'one' });
      const target = join(directory, name);
      rmSync(target, { recursive: true, force: true });
      await place(target);
      const setPermissions = (): Promise<void> => setVolumeGroup(directory, 4242, true);
      await bounded(writeAtomically({ directory, payload, stamp: 'two', setPermissions }));
      await bounded(
        writeAtomically({
          directory,
          payload: new Map([...payload, ['more', payload.get('key')!]]),
          stamp: 'three',
          setPermissions,
        }),
      );
      expect(readFileSync(join(directory, 'key'), 'utf8'), kind).toBe('value');
      expect(readFileSync(join(directory, 'below/key'), 'utf8'), kind).toBe('other');
      expect(
        readdirSync(directory)
          .filter((entry) => !entry.startsWith('..'))
          .toSorted(),
        kind,
      ).toEqual(['below', 'key', 'more']);
    });
  });

  test("a kubelet's link that leads outside is not followed when old files are removed", async () => {
    const directory = join(dir, 'volume');
    mkdirSync(directory);
    for (const target of ['../outside', join(dir, 'outside'), '..', '.', '..data', 'other']) {
      symlinkSync(target, join(directory, '..data'));
      await writeAtomically({ directory, payload, stamp: 'now' });
      expect(readFileSync(join(directory, 'key'), 'utf8')).toBe('value');
      unlinkSync(join(directory, '..data'));
    }
  });
});

test('a volume with a group as its owner', async () => {
  const volume = join(dir, 'volume');
  mkdirSync(volume);
  await forEachKind((kind, place) => place(join(volume, kind, 'inner')));
  await bounded(setVolumeGroup(volume, 4242, false));
  if (isRoot) expect(lstatSync(join(volume, 'a directory/inner')).gid).toBe(4242);
});

test('subPath: as the last and as a middle part', async () => {
  const volumePath = join(dir, 'volume');
  mkdirSync(volumePath);
  await forEachKind(async (kind, place) => {
    await place(join(volumePath, kind));
    for (const subPath of [kind, `${kind}/below/it`]) {
      const result = await outcome(
        prepareSubpath({ volumePath, subPath, target: join(dir, 'target'), mounter: noMounter }),
      );
      if (kind === 'a directory' || (subPath === kind && !kind.includes('link')))
        expect(result).toBe(join(volumePath, subPath));
      else expect(result, subPath).toMatch(/^rejected: /);
    }
  });
});

test('subPath: for a container that swaps links meanwhile, nothing is created outside', async () => {
  const volumePath = join(dir, 'volume');
  mkdirSync(join(volumePath, 'a'), { recursive: true });
  // The worker swaps as fast as it can: 'a' is a directory, then a link to the outside. Each step
  // works with any state.
  const swapper = new Worker(
    `const { existsSync, renameSync, mkdirSync, rmSync, symlinkSync, unlinkSync } = require('node:fs');
     const { volume, outside } = require('node:worker_threads').workerData;
     const attempt = (step) => { try { step(); } catch {} };
     const stay = () => { for (let i = 0; i < 30; i++) existsSync(volume); };
     for (;;) {
       attempt(() => rmSync(volume + '/old', { recursive: true, force: true }));
       attempt(() => renameSync(volume + '/a', volume + '/old'));
       attempt(() => symlinkSync(outside, volume + '/a'));
       stay();
       attempt(() => unlinkSync(volume + '/a'));
       attempt(() => mkdirSync(volume + '/a'));
       stay();
     }`,
    { eval: true, workerData: { volume: volumePath, outside: join(dir, 'outside') } },
  );
  let made = 0;
  try {
    for (let round = 0; round < 60; round++) {
      // Several attempts run at once, so that more of them are between check and creation when the
      // link appears.
      const prepared = Array.from({ length: 10 }, (_, i) => {
        const subPath = `a/${round}-${i}/x`;
        return outcome(
          prepareSubpath({ volumePath, subPath, target: join(dir, 'target'), mounter: noMounter }),
        );
      });
      made += (await Promise.all(prepared)).filter(
        (result) => !result.startsWith('rejected'),
      ).length;
    }
  } finally {
    await swapper.terminate();
  }
  expect(readdirSync(join(dir, 'outside'))).toEqual(['secret']);
  expect(made).toBeGreaterThan(0);
});

test('the directory of a pod is removed', async () => {
  await forEachKind((kind, place) =>
    place(join(dir, 'root/pods/uid-1/volumes/kubernetes.io~empty-dir/data', kind, 'inner')),
  );
  const volumes = new VolumeManager({
    secret: () => Promise.reject(new Error('there are no secrets')),
    rootDir: join(dir, 'root'),
    clock: systemClock,
    logger: silentLogger,
    mounter: noMounter,
    hostFiles: true,
    claims: {} as never,
    localVolumesDir: join(dir, 'local'),
    isReachable: () => true,
  });
  await bounded(volumes.unmount('uid-1'));
  expect(existsSync(join(dir, 'root/pods/uid-1'))).toBe(false);
});

test('hostPath types', async () => {
  await forEachKind(async (kind, place) => {
    const path = join(dir, 'host', kind);
    await place(path);
    for (const type of [
      '',
      'Directory',
      'DirectoryOrCreate',
      'File',
      'FileOrCreate',
      'Socket',
      'CharDevice',
      'BlockDevice',
    ]) {
      // The target of a dangling link would be created. Upstream does that, too, and a hostPath is
      // a right over the host.
      if (kind === 'a dangling link' && type.endsWith('OrCreate')) continue;
      const result = await outcome(checkHostPath(path, type));
      expect(result, `${kind} ${type}`).toMatch(
        /^undefined$|^rejected: (hostPath type check failed|ELOOP)/,
      );
    }
  });
});

test('manifests of static pods: the others run', async () => {
  const path = join(dir, 'manifests');
  mkdirSync(path);
  for (const kind of kinds) {
    // The names sort before and after all others in the list.
    await KINDS[kind]!(join(path, `0 ${kind}`));
    await KINDS[kind]!(join(path, `z ${kind}`));
  }
  writeFileSync(
    join(path, 'good.yaml'),
    'apiVersion: v1\nkind: Pod\nmetadata: { name: good }\nspec: { containers: [{ name: c, image: i }] }\n',
  );
  const added: string[] = [];
  const pods = new StaticPods({
    clock: systemClock,
    logger: silentLogger,
    mirrors: new MirrorPods({
      client: {} as never,
      logger: silentLogger,
      nodeName: 'node',
      nodeUid: () => Promise.resolve('n'),
    }),
    sources: [
      new DirectorySource({
        clock: systemClock,
        logger: silentLogger,
        nodeName: 'node',
        path,
        checkMs: 1000,
      }),
    ],
    onAdd: (pod) => void added.push(pod.metadata.name),
    onRemove: () => undefined,
  });
  await bounded(pods.load());
  expect(added).toEqual(['good-node']);
});
