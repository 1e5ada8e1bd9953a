// Runs after all end-to-end tests: removes what killed clusters have left in the kernel of this
// machine.

import { isRoot } from '#cluster/machine/install.ts';
import { removeLeftStale } from '#cluster/machine/kernel-state.ts';

/** Returns the function that vitest calls when the last test has ended. */
export default function setUp(): () => Promise<void> {
  return async () => {
    if (process.platform === 'linux' && isRoot()) await removeLeftStale();
  };
}
