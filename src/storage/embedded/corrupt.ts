// The error for damaged data on the disk.

import { StorageError } from '../interface.ts';

/** `problem`: what was found, without names of files. */
export function corrupt(dataDir: string, problem: string): StorageError {
  return new StorageError(
    'Corrupt',
    `the store in ${dataDir} is damaged (${problem}), and was left as it is: restore a snapshot ` +
      '(cox snapshot restore FILE --data-dir …, which keeps the damaged files), or move the directory away to start with an empty store',
  );
}
