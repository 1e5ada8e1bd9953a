// The kernel's settings in /proc/sys and /sys: files with a value each.

import { readFile, writeFile } from 'node:fs/promises';

export interface SettingFiles {
  /** Returns the value without white space around it. Rejects if there is no such file. */
  read(path: string): Promise<string>;
  write(path: string, value: string): Promise<void>;
}

export const systemSettingFiles: SettingFiles = {
  read: async (path) => (await readFile(path, 'utf8')).trim(),
  write: (path, value) => writeFile(path, value),
};
