import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { parseMountPoints } from '#machinery/files/mount-points.ts';
import type { Logger } from '#machinery/log.ts';
import type { ObjectSource } from '../objects.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { ConfigMap, Container, Pod, Secret, Volume } from '../types.ts';
import { writeAtomically } from './atomic-writer.ts';
import { checkHostPath } from './host-path.ts';
import { FakeIscsiSystem } from './iscsi/fake-system.ts';
import { noMounter, systemMounter, type Mounter } from './mounter.ts';
import type { ClaimSource } from './claims.ts';
import type { PayloadContext } from './payload.ts';
import { prepareSubpath } from './subpath.ts';
import { VolumeError } from './volume-error.ts';
import { VolumeManager } from './volume-manager.ts';

const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, with: () => silent };
const metadata = { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '' };

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'volumes-')));
});
afterEach(async () => {
  const mounter = systemMounter();
  for (const target of await mounter.mountsBelow(root)) await mounter.unmount(target);
  await rm(root, { recursive: true, force: true });
});

const configMaps = new Map<string, ConfigMap>();
const secrets = new Map<string, Secret>();
const objects: ObjectSource = {
  configMap: (_namespace, name) => {
    const found = configMaps.get(name);
    return found === undefined
      ? Promise.reject(apierrors.notFound({ group: '', resource: 'configmap' }, name))
      : Promise.resolve(found);
  },
  secret: (_namespace, name) => {
    const found = secrets.get(name);
    return found === undefined
      ? Promise.reject(apierrors.notFound({ group: '', resource: 'secret' }, name))
      : Promise.resolve(found);
  },
};
const context: PayloadContext = {
  objects,
  downward: {
    podIPs: ['10.0.0.2'],
    hostIPs: ['192.168.0.5'],
    nodeAllocatable: { cpu: '4', memory: '8Gi' },
  },
  token: ({ audience, expirationSeconds }) =>
    Promise.resolve(`token for ${audience ?? 'the API'} of ${expirationSeconds} s`),
};
beforeEach(() => {
  configMaps.clear();
  secrets.clear();
  configMaps.set('colors', {
    metadata,
    data: { sky: 'blue', grass: 'green' },
    binaryData: { raw: 'AAEC' },
  });
  secrets.set('keys', {
    metadata,
    data: { door: Buffer.from('open').toString('base64') },
    type: 'Opaque',
  });
});

const claims: ClaimSource = {
  claim: (_namespace, name) =>
    Promise.reject(apierrors.notFound({ group: '', resource: 'persistentvolumeclaims' }, name)),
  volume: (name) =>
    Promise.reject(apierrors.notFound({ group: '', resource: 'persistentvolumes' }, name)),
};

function manager(
  mounter: Mounter = noMounter,
  hostFiles = true,
  iscsi = new FakeIscsiSystem(),
): VolumeManager {
  const localVolumesDir = join(root, 'local-volumes');
  const isReachable = () => true;
  return new VolumeManager({
    secret: objects.secret,
    iscsi,
    rootDir: root,
    clock: systemClock,
    logger: silent,
    mounter,
    hostFiles,
    claims,
    localVolumesDir,
    isReachable,
  });
}

function podWith(volume: Omit<Volume, 'name'>, spec: Partial<Pod['spec']> = {}): Pod {
  return makePod({
    metadata: { labels: { app: 'web' }, annotations: { note: 'a "quoted" word' } },
    spec: {
      containers: [
        makeContainer('main', {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
          resources: { limits: { cpu: '1500m' } },
        }),
      ],
      volumes: [{ ...volume, name: 'data' }],
      ...spec,
    },
  });
}

async function mount(pod: Pod, volumes = manager()): Promise<string> {
  return (await volumes.mount(pod, context)).get('data') ?? '';
}

async function failure(pod: Pod): Promise<string> {
  try {
    await mount(pod);
  } catch (error) {
    if (error instanceof VolumeError) return error.failures[0]?.message ?? '';
    throw error;
  }
  throw new Error('the volume was made');
}

describe('emptyDir', () => {
  test('is a world-writable directory in upstream’s layout, and is deleted with the pod', async () => {
    const volumes = manager();
    const path = await mount(podWith({ emptyDir: {} }), volumes);
    expect(path).toBe(join(root, 'pods/uid-1/volumes/kubernetes.io~empty-dir/data'));
    expect((await stat(path)).mode & 0o777).toBe(0o777);
    await writeFile(join(path, 'file'), 'x');
    const plugin = 'kubernetes.io/empty-dir';
    expect(volumes.counts.counts()).toEqual([
      { plugin, state: 'actual_state_of_world', count: 1 },
      { plugin, state: 'desired_state_of_world', count: 1 },
    ]);
    await volumes.unmount('uid-1');
    expect(await readdir(join(root, 'pods'))).toEqual([]);
    expect(volumes.counts.counts()).toEqual([]);
  });

  test('in memory is rejected without the right to mount', async () => {
    expect(await failure(podWith({ emptyDir: { medium: 'Memory' } }))).toContain('takes a mount');
  });

  test.skipIf(!systemMounter().available)(
    'in memory is a tmpfs with the volume’s size limit (needs root on Linux)',
    async (task) => {
      const volumes = manager(systemMounter());
      let path: string;
      try {
        path = await mount(podWith({ emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }), volumes);
      } catch (error) {
        // Root without the right to mount, as in an unprivileged container.
        return task.skip(`mount(8) is not allowed here: ${String(error)}`);
      }
      await expect(writeFile(join(path, 'big'), Buffer.alloc(2 * 1024 * 1024))).rejects.toThrow(
        'ENOSPC',
      );
      await volumes.unmount('uid-1');
      expect(await systemMounter().mountsBelow(root)).toEqual([]);
    },
  );
});

describe('hostPath', () => {
  test('types that must exist', async () => {
    await mkdir(join(root, 'dir'));
    await writeFile(join(root, 'file'), '');
    const socket = createServer();
    await new Promise<void>((resolve) => socket.listen(join(root, 'socket'), resolve));
    await checkHostPath(join(root, 'anything'), '');
    await checkHostPath(join(root, 'dir'), 'Directory');
    await checkHostPath(join(root, 'file'), 'File');
    await checkHostPath(join(root, 'socket'), 'Socket');
    await checkHostPath('/dev/null', 'CharDevice');
    const wrong = (path: string, what: string): string =>
      `hostPath type check failed: ${path} is not ${what}`;
    await expect(checkHostPath(join(root, 'no'), 'Directory')).rejects.toThrow(
      wrong(join(root, 'no'), 'a directory'),
    );
    await expect(checkHostPath(join(root, 'file'), 'Directory')).rejects.toThrow(
      wrong(join(root, 'file'), 'a directory'),
    );
    await expect(checkHostPath(join(root, 'dir'), 'File')).rejects.toThrow(
      wrong(join(root, 'dir'), 'a file'),
    );
    await expect(checkHostPath(join(root, 'dir'), 'Socket')).rejects.toThrow(
      wrong(join(root, 'dir'), 'a socket file'),
    );
    await expect(checkHostPath(join(root, 'dir'), 'CharDevice')).rejects.toThrow(
      wrong(join(root, 'dir'), 'a character device'),
    );
    await expect(checkHostPath('/dev/null', 'BlockDevice')).rejects.toThrow(
      wrong('/dev/null', 'a block device'),
    );
    await expect(checkHostPath(root, 'Mystery')).rejects.toThrow(
      'Mystery is an invalid volume type',
    );
    await new Promise((resolve) => socket.close(resolve));
  });

  test('types that are created', async () => {
    await checkHostPath(join(root, 'a/b'), 'DirectoryOrCreate');
    expect((await stat(join(root, 'a/b'))).mode & 0o777).toBe(0o755);
    await checkHostPath(join(root, 'a/file'), 'FileOrCreate');
    expect((await stat(join(root, 'a/file'))).mode & 0o777).toBe(0o644);
    await expect(checkHostPath(join(root, 'missing/file'), 'FileOrCreate')).rejects.toThrow(
      'ENOENT',
    );
    await expect(checkHostPath(join(root, 'a/file'), 'DirectoryOrCreate')).rejects.toThrow(
      'is not a directory',
    );
  });

  test('is used at its path', async () => {
    expect(await mount(podWith({ hostPath: { path: root, type: 'Directory' } }))).toBe(root);
  });
});

describe('volumes of API objects', () => {
  test('a config map has a file per key', async () => {
    const path = await mount(podWith({ configMap: { name: 'colors', defaultMode: 0o640 } }));
    expect((await readdir(path)).filter((name) => !name.startsWith('..')).toSorted()).toEqual([
      'grass',
      'raw',
      'sky',
    ]);
    expect(await readFile(join(path, 'sky'), 'utf8')).toBe('blue');
    expect(await readFile(join(path, 'raw'))).toEqual(Buffer.from([0, 1, 2]));
    expect((await stat(join(path, 'sky'))).mode & 0o777).toBe(0o640);
    expect(await readlink(join(path, 'sky'))).toBe('..data/sky');
  });

  test('items choose keys, paths and modes', async () => {
    const path = await mount(
      podWith({
        configMap: { name: 'colors', items: [{ key: 'sky', path: 'above/color', mode: 0o400 }] },
      }),
    );
    expect(await readFile(join(path, 'above/color'), 'utf8')).toBe('blue');
    expect((await stat(join(path, 'above/color'))).mode & 0o777).toBe(0o400);
    expect((await readdir(path)).filter((name) => !name.startsWith('..'))).toEqual(['above']);
  });

  test('missing objects are reported, unless they are optional', async () => {
    expect(await failure(podWith({ configMap: { name: 'none' } }))).toBe(
      'configmap "none" not found',
    );
    expect(await failure(podWith({ secret: { secretName: 'none' } }))).toBe(
      'secret "none" not found',
    );
    expect(
      await failure(
        podWith({ configMap: { name: 'colors', items: [{ key: 'sea', path: 'sea' }] } }),
      ),
    ).toBe('configmap references non-existent config key: sea');
    expect(
      await failure(
        podWith({ secret: { secretName: 'keys', items: [{ key: 'gate', path: 'gate' }] } }),
      ),
    ).toBe('references non-existent secret key: gate');
    const path = await mount(podWith({ configMap: { name: 'none', optional: true } }));
    expect((await readdir(path)).filter((name) => !name.startsWith('..'))).toEqual([]);
  });

  test('the downward API has fields and resources', async () => {
    const path = await mount(
      podWith({
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'note', fieldRef: { fieldPath: "metadata.annotations['note']" } },
            { path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } },
            {
              path: 'cpu',
              resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '0' },
            },
            {
              path: 'millis',
              resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' },
            },
            {
              path: 'memory',
              resourceFieldRef: {
                containerName: 'main',
                resource: 'limits.memory',
                divisor: '1Mi',
              },
            },
          ],
        },
      }),
    );
    const files = await Promise.all(
      ['labels', 'note', 'annotations', 'cpu', 'millis', 'memory'].map((name) =>
        readFile(join(path, name), 'utf8'),
      ),
    );
    expect(files).toEqual([
      'app="web"',
      'a "quoted" word',
      'note="a \\"quoted\\" word"',
      '2',
      '1500',
      '8192',
    ]);
  });

  test('a projected volume joins its sources, and reports everything that is missing', async () => {
    const path = await mount(
      podWith({
        projected: {
          sources: [
            { configMap: { name: 'colors', items: [{ key: 'sky', path: 'sky' }] } },
            { secret: { name: 'keys' } },
            { serviceAccountToken: { path: 'token', expirationSeconds: 3607, audience: 'vault' } },
            {
              downwardAPI: {
                items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }],
              },
            },
          ],
        },
      }),
    );
    expect(await readFile(join(path, 'token'), 'utf8')).toBe('token for vault of 3607 s');
    expect(await readFile(join(path, 'namespace'), 'utf8')).toBe('default');
    expect(await readFile(join(path, 'door'), 'utf8')).toBe('open');
    expect(
      await failure(
        podWith({
          projected: { sources: [{ configMap: { name: 'a' } }, { secret: { name: 'b' } }] },
        }),
      ),
    ).toBe('[configmap "a" not found, secret "b" not found]');
  });

  test('are rewritten when their source has changed', async () => {
    const volumes = manager();
    const pod = podWith({ configMap: { name: 'colors' } });
    const path = await mount(pod, volumes);
    const first = await readlink(join(path, '..data'));
    configMaps.set('colors', { metadata, data: { sky: 'grey' } });
    await mount(pod, volumes);
    expect(await readFile(join(path, 'sky'), 'utf8')).toBe('blue');
    volumes.markStale('uid-1');
    await mount(pod, volumes);
    expect(await readFile(join(path, 'sky'), 'utf8')).toBe('grey');
    expect((await readdir(path)).toSorted()).toEqual(
      [await readlink(join(path, '..data')), '..data', 'sky'].toSorted(),
    );
    expect(await readlink(join(path, '..data'))).not.toBe(first);
  });

  test('an image is mounted by the runtime, so nothing is created', async () => {
    expect(await mount(podWith({ image: { reference: 'registry.example/pages:1' } }))).toBe('');
    expect(await readdir(root)).toEqual([]);
  });

  test('an unsupported kind is rejected with its name', async () => {
    expect(await failure(podWith({ glusterfs: { endpoints: 's', path: '/' } }))).toBe(
      'no volume plugin matched: volumes of type glusterfs are not supported by this kubelet',
    );
  });

  test('on a node without files, sources are resolved and nothing is written', async () => {
    const volumes = manager(noMounter, false);
    await mount(podWith({ configMap: { name: 'colors' } }), volumes);
    await expect(
      manager(noMounter, false).mount(podWith({ configMap: { name: 'none' } }), context),
    ).rejects.toThrow('configmap "none" not found');
    expect(await readdir(root)).toEqual([]);
  });
});

describe('the atomic writer', () => {
  const write = (files: Readonly<Record<string, string>>): Promise<boolean> => {
    const payload = new Map(
      Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o644 }]),
    );
    return writeAtomically({ directory: root, payload, stamp: 'now' });
  };

  test('keeps files that are up to date', async () => {
    expect(await write({ a: '1', 'b/c': '2' })).toBe(true);
    expect(await write({ a: '1', 'b/c': '2' })).toBe(false);
    expect(await write({ a: '1' })).toBe(true);
    expect((await readdir(root)).filter((name) => !name.startsWith('..'))).toEqual(['a']);
  });

  test.each(['/abs', '../up', 'a/../../up', '..data', ''])('rejects the path %j', async (path) => {
    await expect(write({ [path]: 'x' })).rejects.toThrow('invalid path');
    expect(await readdir(root)).toEqual([]);
  });
});

describe('subPath', () => {
  const prepare = (subPath: string, mounter: Mounter = noMounter): Promise<string> =>
    prepareSubpath({
      volumePath: join(root, 'volume'),
      subPath,
      target: join(root, 'target/0'),
      mounter,
    });

  beforeEach(async () => {
    await mkdir(join(root, 'volume/inside'), { recursive: true });
    await mkdir(join(root, 'secret'));
    await writeFile(join(root, 'secret/key'), 'secret');
  });

  test('is a directory of the volume, created if it is missing', async () => {
    expect(await prepare('inside')).toBe(join(root, 'volume/inside'));
    expect(await prepare('new/deep')).toBe(join(root, 'volume/new/deep'));
    expect((await stat(join(root, 'volume/new/deep'))).isDirectory()).toBe(true);
  });

  test.each(['/etc', '../secret', 'inside/../../secret'])('%s is rejected', async (subPath) => {
    await expect(prepare(subPath)).rejects.toThrow('SubPath');
  });

  test('follows a link inside, and rejects a link to the outside without creating a file there', async () => {
    await symlink('inside', join(root, 'volume/good'));
    await symlink('../secret', join(root, 'volume/bad'));
    expect(await prepare('good')).toBe(join(root, 'volume/inside'));
    await expect(prepare('bad')).rejects.toThrow('not within volume path');
    await expect(prepare('bad/key')).rejects.toThrow('not within volume path');
    await expect(prepare('bad/new')).rejects.toThrow('not within volume path');
    expect(await readdir(join(root, 'secret'))).toEqual(['key']);
  });

  test.skipIf(!systemMounter().available)(
    'is bound to a path of the kubelet, so that it cannot be replaced (needs root on Linux)',
    async (task) => {
      await writeFile(join(root, 'volume/inside/file'), 'mine');
      const mounter = systemMounter();
      let target: string;
      try {
        target = await prepare('inside', mounter);
      } catch (error) {
        return task.skip(`mount(8) is not allowed here: ${String(error)}`);
      }
      expect(target).toBe(join(root, 'target/0'));
      expect(await readFile(join(target, 'file'), 'utf8')).toBe('mine');
      await rm(join(root, 'volume/inside'), { recursive: true });
      await symlink('../secret', join(root, 'volume/inside'));
      expect(await readdir(target)).not.toContain('key');
      expect(await prepare('', mounter)).toBe(target);
      expect(await readdir(target)).toContain('inside');
    },
  );
});

test('mount points are parsed with their escapes', () => {
  expect(
    parseMountPoints(
      '22 1 0:20 / /with\\040blank rw - tmpfs tmpfs rw\n23 1 0:21 / /plain rw - ext4 /dev/sda rw\n',
    ),
  ).toEqual(['/with blank', '/plain']);
});

describe.skipIf(process.getuid?.() !== 0)('a service account token (needs root)', () => {
  const token = {
    projected: { sources: [{ serviceAccountToken: { path: 'token' } }], defaultMode: 0o644 },
  };
  const main = (runAsUser?: number): Container =>
    makeContainer('main', {
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      ...(runAsUser !== undefined && { securityContext: { runAsUser } }),
    });
  // The cases of upstream's tests of projected tokens: test/e2e/auth/service_accounts.go, "mounts a
  // token with …".
  test.each<[string, Partial<Pod['spec']>, number, number, number]>([
    ['no user and no group', { containers: [main()] }, 0o644, 0, 0],
    [
      'the pod’s user',
      { containers: [main()], securityContext: { runAsUser: 1000 } },
      0o600,
      1000,
      0,
    ],
    ['a common user of the containers', { containers: [main(1000), main(1000)] }, 0o600, 1000, 0],
    ['containers of different users', { containers: [main(1000), main(1001)] }, 0o644, 0, 0],
    ['a container without a user', { containers: [main(1000), main()] }, 0o644, 0, 0],
    [
      'an init container of another user',
      { containers: [main(1000)], initContainers: [main(1001)] },
      0o644,
      0,
      0,
    ],
    ['a group', { containers: [main()], securityContext: { fsGroup: 10_000 } }, 0o640, 0, 10_000],
    [
      'a user and a group',
      { containers: [main()], securityContext: { runAsUser: 1000, fsGroup: 10_000 } },
      0o640,
      1000,
      10_000,
    ],
  ])('of a pod with %s', async (_, spec, mode, uid, gid) => {
    const volumes = manager();
    const pod = podWith(token, spec);
    const path = join(await mount(pod, volumes), 'token');
    const info = await stat(path);
    expect([(info.mode & 0o777).toString(8), info.uid, info.gid]).toEqual([
      mode.toString(8),
      uid,
      gid,
    ]);
    // The next mount finds nothing to write.
    const before = await readlink(join(path, '../..data'));
    volumes.markStale('uid-1');
    await mount(pod, volumes);
    expect(await readlink(join(path, '../..data'))).toBe(before);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'fsGroup gives the files to the group (needs root)',
  async () => {
    const path = await mount(podWith({ emptyDir: {} }, { securityContext: { fsGroup: 4242 } }));
    const info = await lstat(path);
    expect(info.gid).toBe(4242);
    expect(info.mode & 0o2000).toBe(0o2000);
  },
);

describe('iSCSI volumes', () => {
  const source = { targetPortal: '192.0.2.1', iqn: 'iqn.2001-04.com.example:x', lun: 0 };
  /** Mounts only what is needed here. */
  const mounter: Mounter = {
    ...noMounter,
    available: true,
    device: () => Promise.resolve(),
    bind: () => Promise.resolve(),
  };

  test('are mounted in the directory of the pod', async () => {
    const path = await mount(podWith({ iscsi: source }), manager(mounter));
    expect(path).toBe(join(root, 'pods/uid-1/volumes/kubernetes.io~iscsi/data'));
  });

  test('authenticate with a secret of the namespace', async () => {
    const login = { 'node.session.auth.username': Buffer.from('me').toString('base64') };
    secrets.set('login', { metadata, data: login });
    const system = new FakeIscsiSystem();
    const iscsi = { ...source, chapAuthSession: true, secretRef: { name: 'login' } };
    await mount(podWith({ iscsi }), manager(mounter, true, system));
    expect(system.commands.join('\n')).toContain('-n node.session.auth.username -v me');
    const without = { ...source, chapAuthSession: true };
    await expect(mount(podWith({ iscsi: without }), manager(mounter))).rejects.toThrow(
      'CHAP enabled but secret name or namespace is empty',
    );
  });

  test('without iscsiadm, an event says what is missing', async () => {
    const system = new FakeIscsiSystem();
    system.isInstalled = false;
    const failed = mount(podWith({ iscsi: source }), manager(mounter, true, system));
    const { events } = (await failed.catch((error: unknown) => error)) as VolumeError;
    expect(events).toEqual([
      {
        reason: 'FailedMount',
        message:
          'MountVolume.WaitForAttach failed for volume "data" : executable file not found in $PATH',
      },
    ]);
  });

  test('of simulated nodes have no files', async () => {
    expect(await mount(podWith({ iscsi: source }), manager(noMounter, false))).toBe('');
  });
});
