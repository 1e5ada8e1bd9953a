// Names of directories that may not be there.

import { readdir } from 'node:fs/promises';

/** Returns the names in a directory, in no order; none if it does not exist. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
