// The open files of processes, from /proc.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ProcessFiles } from '../cgroups/descriptors.ts';

/** `root`: the mount point of the file system proc. */
export function processFiles(root = '/proc'): ProcessFiles {
  return {
    open: (pid) => unlessGone(() => readdirSync(`${root}/${pid}/fd`)),
    target: (pid, name) => unlessGone(() => readlinkSync(`${root}/${pid}/fd/${name}`)),
    limits: (pid) => unlessGone(() => readFileSync(`${root}/${pid}/limits`, 'utf8')),
  };
}

/** Returns undefined for a process that has ended, and for one that this process may not look at. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}
