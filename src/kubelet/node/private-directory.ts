// A directory of the kubelet that no other user may read.

import { mkdir } from 'node:fs/promises';

/** Creates the directory, unless it exists. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}
