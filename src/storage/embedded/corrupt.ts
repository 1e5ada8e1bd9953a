// What to say when the data on disk is damaged.

import { StorageError } from '../interface.ts';

/** `problem`: what was found, without names of files. */
export function corrupt(dataDir: string, problem: string): StorageError {
  return new StorageError(
    'Corrupt',
    `the store in ${dataDir} is damaged (${problem}): restore the directory from a backup, or move it away to start with an empty store`,
  );
}
