// Asks the kernel for AppArmor.

import { readFile } from 'node:fs/promises';

const ENABLED_FILE = '/sys/module/apparmor/parameters/enabled';

/** Reports whether this machine's kernel enforces AppArmor profiles. */
export async function isAppArmorEnabled(file = ENABLED_FILE): Promise<boolean> {
  try {
    return (await readFile(file, 'utf8')).startsWith('Y');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
