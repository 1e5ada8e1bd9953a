// The error for damaged data on disk.

import { StorageError } from '../interface.ts';

/** Returns the Corrupt error for a store. `problem` describes the damage, without file names. */
export function corrupt(dataDir: string, problem: string): StorageError {
  return new StorageError(
    'Corrupt',
    `the store in ${dataDir} is damaged (${problem}), and was left as it is: restore a snapshot ` +
      '(cox snapshot restore FILE --data-dir …, which keeps the damaged files), or move the ' +
      'directory away to start with an empty store',
  );
}
