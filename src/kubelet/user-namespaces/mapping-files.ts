// The files with the mappings of pods.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DurableCheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { podDir } from '../paths.ts';
import { MAPPINGS_FILE } from './mappings.ts';

/** The file of a pod; a fake keeps texts. */
export interface MappingFiles {
  /** Returns the contents; undefined if there is no file. */
  read(uid: string): Promise<string | undefined>;
  /** Resolves when the contents are on the disk. */
  write(uid: string, contents: string): Promise<void>;
  remove(uid: string): Promise<void>;
}

/** Returns the files below the root directory. */
export function mappingFiles(rootDir: string): MappingFiles {
  const pathOf = (uid: string): string => join(podDir(rootDir, uid), MAPPINGS_FILE);
  return {
    read: (uid) => new DurableCheckpointFile(pathOf(uid)).read(),
    async write(uid, contents) {
      await mkdir(podDir(rootDir, uid), { recursive: true, mode: 0o750 });
      await new DurableCheckpointFile(pathOf(uid)).write(contents);
    },
    remove: (uid) => rm(pathOf(uid), { force: true }),
  };
}

/** Returns files in memory, for nodes without files: their pods lose their ranges with the kubelet. */
export function mappingsInMemory(): MappingFiles {
  const contents = new Map<string, string>();
  return {
    read: (uid) => Promise.resolve(contents.get(uid)),
    write: (uid, text) => Promise.resolve(void contents.set(uid, text)),
    remove: (uid) => Promise.resolve(void contents.delete(uid)),
  };
}
