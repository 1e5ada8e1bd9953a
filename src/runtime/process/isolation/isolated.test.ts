import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { criConformance } from '#cri/conformance.ts';
import type { ContainerConfig, ContainerStatus, PodSandboxConfig, Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type ImageFile, tar } from '../../containerd/image-archive.ts';
import { hasPty } from '../pty.ts';
import { killContainers } from '../reset.ts';
import { createIsolatedRuntime } from '../create.ts';
import { Cgroups } from './cgroups.ts';
import { missingForIsolation } from './programs.ts';

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path));
// These tests change the kernel's state (a bridge, mounts) and take a minute: they run if they are
// asked for, best in test/critest/room.sh.
const missing =
  (process.env['COXSWAIN_ISOLATION_TESTS'] === undefined
    ? 'set COXSWAIN_ISOLATION_TESTS=1'
    : undefined) ??
  missingForIsolation() ??
  (BUSYBOX === undefined ? 'busybox is missing' : undefined);
const named = (what: string): string => (missing === undefined ? what : `${what} (${missing})`);

const digestOf = (data: Buffer): string =>
  `sha256:${createHash('sha256').update(data).digest('hex')}`;
const waitFor = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs: 120_000 }, condition);

const APPLETS =
  'sh sleep cat echo id touch ls mount hostname test true false kill env pwd printf dd stty ' +
  'head seq ps grep mkdir chmod mknod ping wc sort tr trap date nc';

/** Returns an image of busybox as documents of a registry, by their paths. */
function busyboxImage(): ReadonlyMap<string, Buffer> {
  const file = (path: string, content: string): ImageFile => ({
    path,
    content: Buffer.from(content),
    mode: 0o644,
  });
  const layer = tar([
    ...['bin', 'etc', 'tmp', 'root', 'data'].map((path) => ({ path })),
    { path: 'bin/busybox', content: readFileSync(BUSYBOX!) },
    ...APPLETS.split(' ').map((name): ImageFile => ({
      path: `bin/${name}`,
      link: { target: 'busybox', kind: 'symbolic' },
    })),
    file('etc/passwd', 'root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n'),
    file('etc/group', 'root:x:0:\nann:x:1000:\nextra:x:5000:ann\n'),
    { path: 'etc/escape', link: { target: '/../../../../etc', kind: 'symbolic' } },
  ]);
  // The second layer removes a directory, and must not write through a link of the first.
  const second = tar([
    { path: '.wh.data', content: Buffer.from('') },
    { path: 'second', content: Buffer.from('2\n'), mode: 0o644 },
  ]);
  const configOf = (from: string): Buffer =>
    Buffer.from(
      JSON.stringify({
        config: { Cmd: ['sh'], Env: ['PATH=/bin', `FROM=${from}`], User: '' },
        rootfs: { type: 'layers', diff_ids: [digestOf(layer), digestOf(second)] },
      }),
    );
  const [config, other] = [configOf('image'), configOf('other')];
  const descriptor = (data: Buffer, mediaType: string) => ({
    mediaType,
    digest: digestOf(data),
    size: data.length,
  });
  const layerType = 'application/vnd.oci.image.layer.v1.tar';
  const manifestOf = (of: Buffer): Buffer =>
    Buffer.from(
      JSON.stringify({
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: descriptor(of, 'application/vnd.oci.image.config.v1+json'),
        layers: [descriptor(layer, layerType), descriptor(second, layerType)],
      }),
    );
  const documents = (name: string, of: Buffer): readonly (readonly [string, Buffer])[] => [
    [`/v2/${name}/manifests/latest`, manifestOf(of)],
    ...[of, layer, second].map((blob) => [`/v2/${name}/blobs/${digestOf(blob)}`, blob] as const),
  ];
  return new Map([...documents('busybox', config), ...documents('other', other)]);
}

const IMAGE = 'test.example/busybox';

interface Started {
  readonly stateDir: string;
  readonly registry: Server;
  readonly open: () => Promise<Runtime>;
  readonly dispose: () => Promise<void>;
}

let subnets = process.pid;

/** Returns addresses that no interface of this machine has. */
function freeSubnet(): string {
  const taken = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  for (let tries = 0; tries < 250; tries++) {
    const prefix = `10.207.${++subnets % 250}.`;
    if (!taken.some(({ address }) => address.startsWith(prefix))) return `${prefix}0/24`;
  }
  throw new Error('no subnet is free');
}

async function start(): Promise<Started> {
  const podCidr = freeSubnet();
  const stateDir = mkdtempSync(join(tmpdir(), 'isolated-runtime-'));
  const documents = busyboxImage();
  const registry = createServer((request, response) => {
    const document = documents.get(request.url ?? '');
    response.writeHead(document === undefined ? 404 : 200).end(document);
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  const { port } = registry.address() as AddressInfo;
  const registryMirrors = new Map([['test.example', `http://127.0.0.1:${port}`]]);
  return {
    stateDir,
    registry,
    open: () => createIsolatedRuntime({ stateDir, podCidr, registryMirrors }),
    async dispose() {
      registry.close();
      await killContainers(stateDir, systemClock);
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

describe.skipIf(missing !== undefined)(named('in namespaces'), () => {
  const claim = (has: boolean, what: string) => has || what;
  criConformance(
    'process with namespaces',
    async () => {
      const started = await start();
      let runtime = await started.open();
      await runtime.images.pullImage({ image: IMAGE });
      return {
        runtime,
        image: IMAGE,
        waitFor,
        images: {
          pullable: 'test.example/other:latest',
          missing: { image: 'test.example/none:latest' },
        },
        async restart() {
          await runtime.close();
          runtime = await started.open();
          return runtime;
        },
        async dispose() {
          await runtime.close();
          await started.dispose();
        },
      };
    },
    {
      podNetwork: true,
      realProcesses: true,
      stdin: true,
      tty: claim(hasPty(), 'this host has no script command'),
      attach: true,
      mounts: true,
      users: true,
      portForward: true,
      stats: true,
      updateResources: claim(new Cgroups().version !== 'none', 'no cgroups can be made here'),
      events: true,
      restart: true,
      pull: true,
      removeImage: true,
    },
  );

  let started: Started;
  let runtime: Runtime;
  let dir: string;
  let uid = 0;
  beforeAll(async () => {
    started = await start();
    runtime = await started.open();
    await runtime.images.pullImage({ image: IMAGE });
    dir = mkdtempSync(join(tmpdir(), 'isolated-files-'));
  });
  afterAll(async () => {
    await runtime?.close();
    await started?.dispose();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs a script to its end in a pod of its own. */
  async function output(
    script: string,
    config: ContainerConfig = {},
    pod: PodSandboxConfig = {},
  ): Promise<{ readonly text: string; readonly status: ContainerStatus }> {
    const id = `u${++uid}`;
    const sandbox = { metadata: { name: 'p', namespace: 'n', uid: id }, logDirectory: dir, ...pod };
    const podId = await runtime.runtime.runPodSandbox(sandbox);
    try {
      const container = await runtime.runtime.createContainer(
        podId,
        {
          metadata: { name: 'c' },
          image: { image: IMAGE },
          command: ['sh', '-c', script],
          logPath: `${id}.log`,
          ...config,
        },
        sandbox,
      );
      await runtime.runtime.startContainer(container);
      const read = async () => (await runtime.runtime.containerStatus(container)).status!;
      await waitFor(async () => (await read()).state === 'CONTAINER_EXITED');
      const log = readFileSync(join(dir, `${id}.log`), 'utf8');
      const text = log.replaceAll(/^\S+ \S+ \S /gm, '').trim();
      return { text, status: await read() };
    } finally {
      await runtime.runtime.removePodSandbox(podId);
    }
  }

  test('a container sees the files of its image, and none of this machine', async () => {
    const { text } = await output(`cat /second; ls -d /data; ls ${dir}; echo $FROM; pwd`);
    expect(text).toContain('2');
    expect(text).toContain(`ls: ${dir}: No such file`);
    expect(text).toContain('ls: /data: No such file');
    // Standard error is a stream of its own: its lines may come later.
    expect(text.split('\n').filter((line) => !line.startsWith('ls: '))).toEqual([
      '2',
      'image',
      '/',
    ]);
  });

  test('what it writes and mounts stays in it, and its namespaces are its own', async () => {
    const kinds = ['uts', 'mnt', 'pid', 'net', 'ipc', 'cgroup'];
    const privileged = { linux: { securityContext: { privileged: true } } };
    const script =
      'mkdir /made && mount -t tmpfs x /made && touch /made/file && ' +
      `for kind in ${kinds.join(' ')}; do ls -l /proc/self/ns/$kind; done`;
    const { text, status } = await output(script, privileged);
    expect(status.exitCode).toBe(0);
    for (const kind of kinds) {
      expect(text).toContain(`${kind}:[`);
      expect(text).not.toContain(readlinkSync(`/proc/self/ns/${kind}`));
    }
    expect(existsSync('/made')).toBe(false);
    // The next container of the image begins anew.
    expect((await output('ls /made')).text).toContain('No such file');
  });

  test('capabilities, devices and system files are limited', async () => {
    const { text } = await output(
      'grep CapBnd /proc/self/status; mknod /dev/x c 1 3; mkdir /sys/x',
      { linux: { securityContext: { capabilities: { dropCapabilities: ['ALL'] } } } },
    );
    expect(text).toContain('CapBnd:\t0000000000000000');
    expect(text).toContain('mknod: /dev/x: Operation not permitted');
    expect(text).toContain("mkdir: can't create directory '/sys/x': Read-only file system");
  });

  test('a device that it makes cannot be opened', async () => {
    const { text } = await output('mknod /x c 1 3 && cat /x; mknod /tmp/y c 1 3 && cat /tmp/y');
    expect(text).toContain("cat: can't open '/x': Permission denied");
    expect(text).toContain("cat: can't open '/tmp/y': Permission denied");
  });

  test.skipIf(!hasPty())('a terminal of its own', async () => {
    const { text } = await output('test -t 0 && test -t 1 && echo terminal', { tty: true });
    expect(text).toBe('terminal');
  });

  test('users and groups', async () => {
    const linux = { securityContext: { runAsUsername: 'ann', supplementalGroups: [7] } };
    const { text, status } = await output('id; echo $HOME', { linux });
    expect(text).toMatch(/uid=1000\(ann\) gid=1000\(ann\) groups=7,1000\(ann\),5000\(extra\)/);
    expect(text).toContain('/home/ann');
    expect(status.user?.linux).toEqual({
      uid: 1000,
      gid: 1000,
      supplementalGroups: [7, 1000, 5000],
    });
  });

  test('a program that the image does not have fails the start', async () => {
    await expect(output('', { command: ['no-such-program'] })).rejects.toThrow(
      'exec: "no-such-program": executable file not found in $PATH',
    );
  });

  test('a link in the image does not lead a mount out of it', async () => {
    const volume = mkdtempSync(join(dir, 'volume-'));
    writeFileSync(join(volume, 'file'), 'x');
    const before = readFileSync('/proc/self/mountinfo', 'utf8');
    const mounts = [{ hostPath: volume, containerPath: '/etc/escape/made', readonly: true }];
    const { text } = await output('cat /etc/made/file; touch /etc/made/other', { mounts });
    expect(text).toContain('x');
    expect(text).toContain('Read-only file system');
    expect(existsSync('/etc/made')).toBe(false);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).toBe(before);
  });

  test('a directory of an image is a volume, and links do not lead out of it', async () => {
    const volume = (imageSubPath: string): ContainerConfig => ({
      mounts: [{ containerPath: '/image', readonly: true, image: { image: IMAGE }, imageSubPath }],
    });
    expect((await output('cat /image/group', volume('etc'))).text).toContain('extra:x:5000');
    await expect(output('', volume('etc/escape'))).rejects.toThrow('leads out of the image');
    await expect(output('', volume('missing'))).rejects.toThrow('has no "missing"');
  });

  test('a seccomp profile that cannot be applied is rejected, unconfined is not', async () => {
    const seccomp = (profileType: 'Unconfined' | 'RuntimeDefault'): ContainerConfig => ({
      linux: { securityContext: { seccomp: { profileType } } },
    });
    await expect(output('true', seccomp('RuntimeDefault'))).rejects.toThrow(
      'loads no seccomp filters',
    );
    expect((await output('echo ran', seccomp('Unconfined'))).text).toBe('ran');
  });

  test.skipIf(new Cgroups().version === 'none')('a limit of memory is enforced', async () => {
    const resources = { memoryLimitInBytes: 16 << 20, memorySwapLimitInBytes: 16 << 20 };
    const { status } = await output('dd if=/dev/zero of=/dev/null bs=64M', {
      linux: { resources },
    });
    expect(status).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  test('a pull with a damaged layer leaves nothing', async () => {
    await expect(runtime.images.pullImage({ image: 'test.example/missing' })).rejects.toMatchObject(
      {
        reason: 'ImageNotFound',
      },
    );
    expect(await runtime.images.listImages()).toHaveLength(1);
  });

  test('sysctls of the host are rejected', async () => {
    mkdirSync(join(dir, 'x'), { recursive: true });
    const linux = { sysctls: { 'kernel.panic': '1' } };
    await expect(output('true', {}, { linux })).rejects.toThrow('separate kernel namespace');
  });
});
