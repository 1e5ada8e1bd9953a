// Volumes that do not unmount: their pods wait, others are not affected.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';
import { type Mounter, noMounter } from './mounter.ts';

let kubelet: RealTimeKubelet | undefined;
afterEach(async () => {
  await kubelet?.stop();
  kubelet = undefined;
});

/** A mounter that records its mounts, some of which are busy. */
class BusyMounter implements Mounter {
  readonly available = true;
  readonly bind = noMounter.bind;
  readonly device = noMounter.device;
  readonly grow = noMounter.grow;
  readonly network = noMounter.network;
  readonly #mounts = new Set<string>();
  /** Unmounting a path that contains this text fails. */
  busy: string | undefined;
  attempts = 0;

  tmpfs(target: string): Promise<void> {
    this.#mounts.add(target);
    return Promise.resolve();
  }

  unmount(target: string): Promise<void> {
    if (this.busy !== undefined && target.includes(this.busy)) {
      this.attempts++;
      return Promise.reject(new Error(`umount: ${target}: target is busy.`));
    }
    this.#mounts.delete(target);
    return Promise.resolve();
  }

  mountsBelow(directory: string): Promise<readonly string[]> {
    return Promise.resolve([...this.#mounts].filter((path) => path.startsWith(`${directory}/`)));
  }
}

const SPEC = {
  containers: [{ name: 'main', image: 'busybox:1.36' }],
  volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
};
const MOUNTS = [{ name: 'memory', mountPath: '/memory' }];
const WITH_VOLUME = { ...SPEC, containers: [{ ...SPEC.containers[0]!, volumeMounts: MOUNTS }] };

test('a pod is gone when its volume can be unmounted, with its data untouched until then', async () => {
  const mounter = new BusyMounter();
  kubelet = await startRealTimeKubelet({ mounter });
  const { createPod, waitForPod, waitForGone, deletePod, getPod, rootDir } = kubelet;
  const stuck = await createPod('stuck', WITH_VOLUME);
  await waitForPod('stuck', ({ status }) => status.phase === 'Running');
  mounter.busy = stuck.metadata.uid;
  await deletePod('stuck');
  await kubelet.waitFor(() => Promise.resolve(mounter.attempts >= 2));
  expect((await getPod('stuck')).metadata.deletionTimestamp).toBeDefined();
  expect(existsSync(join(rootDir, 'pods', stuck.metadata.uid))).toBe(true);

  await createPod('other', WITH_VOLUME);
  await waitForPod('other', ({ status }) => status.phase === 'Running');
  await deletePod('other');
  await waitForGone('other');

  // Also after a restart of the kubelet.
  await kubelet.stopKubelet();
  await kubelet.startKubelet();
  const before = mounter.attempts;
  await kubelet.waitFor(() => Promise.resolve(mounter.attempts > before));
  mounter.busy = undefined;
  await waitForGone('stuck');
  expect(existsSync(join(rootDir, 'pods', stuck.metadata.uid))).toBe(false);
});
