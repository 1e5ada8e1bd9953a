// Imports a busybox image into a cluster's private containerd, since tests can reach no registry.

import { join } from 'node:path';
import { writeBusyboxArchive } from '../fixtures/images/build.ts';
import { run } from './harness.ts';

export async function importBusybox(dataDir: string): Promise<void> {
  const archive = join(dataDir, 'busybox.tar');
  writeBusyboxArchive(archive);
  const socket = join(dataDir, 'containerd', 'containerd.sock');
  const imported = await run('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive]);
  if (imported.status !== 0)
    throw new Error(`ctr images import ended with ${imported.status}: ${imported.stderr}`);
}
