// Manifests of static pods in a directory, or in a single file.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { FileTypeError, readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import type { Pod } from '../types.ts';
import { MAX_MANIFEST_BYTES, parseManifests } from './manifests.ts';
import type { StaticPodSource } from './static-pods.ts';

export interface DirectorySourceConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  /** A directory, or a single file. Files with a leading dot in their name are left out. */
  readonly path: string;
  readonly checkMs: number;
}

export class DirectorySource implements StaticPodSource {
  readonly name: string;
  readonly checkMs: number;
  readonly #config: DirectorySourceConfig;

  constructor(config: DirectorySourceConfig) {
    this.#config = config;
    this.name = config.path;
    this.checkMs = config.checkMs;
  }

  /** Returns the pods of all readable manifests. Others are logged and left out. */
  async read(): Promise<readonly Pod[]> {
    const { clock, logger, nodeName } = this.#config;
    const context = { nodeName, source: 'file', origin: nodeName, now: clock.now() } as const;
    const found: Pod[] = [];
    for (const file of await this.#files()) {
      try {
        const manifest = await readUntrusted(file, MAX_MANIFEST_BYTES, { followLinks: true });
        found.push(...(await parseManifests(manifest.toString('utf8'), context)));
      } catch (error) {
        const isDirectory = error instanceof FileTypeError && error.actual === 'directory';
        if (!isDirectory) logger.error('static pod manifest is invalid', { file, err: error });
      }
    }
    return found;
  }

  async #files(): Promise<readonly string[]> {
    const { path } = this.#config;
    try {
      const names = await readdir(path);
      return names
        .filter((name) => !name.startsWith('.'))
        .toSorted()
        .map((name) => join(path, name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return [];
      if (code !== 'ENOTDIR') throw error;
      return [path];
    }
  }
}
