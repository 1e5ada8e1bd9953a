import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePod } from '../testing/make-pod.ts';
import type { PersistentVolume } from './claims.ts';
import { LocalVolumes } from './local-mounts.ts';
import { noMounter } from './mounter.ts';

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), 'cox-locals-')))));
afterEach(() => rmSync(root, { recursive: true }));

const named = (name: string): PersistentVolume => ({
  metadata: { name, uid: 'pv-uid', resourceVersion: '1', creationTimestamp: '' },
  spec: {},
  status: {},
});
const pod = makePod({ metadata: { name: 'p', uid: 'u' } });

test('a directory is used where it is, and can grow without any work', async () => {
  const locals = new LocalVolumes({
    rootDir: join(root, 'kubelet'),
    localVolumesDir: join(root, 'own'),
    mounter: noMounter,
  });
  expect(await locals.mount(pod, named('pv'), { path: root }, false)).toBe(root);
  expect(locals.isMounted('u', root)).toBe(true);
  // The provisioner grows its volumes by itself.
  await locals.mount(pod, named('own'), { path: join(root, 'own/pvc-1') }, false);
  expect(locals.growable.map(({ volume }) => volume.name)).toEqual(['pv']);
  await expect(locals.growable[0]?.volume.grow(1)).resolves.toBeUndefined();
  locals.forget('u');
  expect(locals.isMounted('u', root)).toBe(false);
  expect(locals.growable).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)(
  'the directory behind a link belongs to the group of the pod (needs root)',
  async () => {
    const locals = new LocalVolumes({
      rootDir: join(root, 'kubelet'),
      localVolumesDir: join(root, 'own'),
      mounter: noMounter,
    });
    mkdirSync(join(root, 'backend'));
    symlinkSync(join(root, 'backend'), join(root, 'link'));
    const grouped = makePod({
      metadata: { name: 'p', uid: 'u' },
      spec: { securityContext: { fsGroup: 4242 } },
    });
    await locals.mount(grouped, named('pv'), { path: join(root, 'link') }, false);
    expect(statSync(join(root, 'backend')).gid).toBe(4242);
  },
);
