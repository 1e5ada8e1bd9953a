// After all end-to-end tests: clusters that tests have killed leave nothing in the kernel of this machine.

import { isRoot } from '#cluster/install.ts';
import { removeLeftStale } from '#cluster/machine/kernel-state.ts';

export async function teardown(): Promise<void> {
  if (process.platform === 'linux' && isRoot()) await removeLeftStale();
}
