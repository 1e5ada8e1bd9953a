// After all end-to-end tests: clusters that tests have killed leave nothing in the kernel of this
// machine.

import { isRoot } from '#cluster/install.ts';
import { removeLeftStale } from '#cluster/machine/kernel-state.ts';

/** Returns what vitest calls when the last test has ended. */
export default function setUp(): () => Promise<void> {
  return async () => {
    if (process.platform === 'linux' && isRoot()) await removeLeftStale();
  };
}
