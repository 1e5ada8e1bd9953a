// A small file in which the kubelet keeps state over restarts. Writes are durable, do not block the
// event loop, and never overlap: if several changes wait for the disk, only the last one is written.

import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readUntrusted } from '#machinery/files/untrusted.ts';

/** The interface that managers use; a fake keeps a string. */
export interface CheckpointFile {
  /** Returns the contents; undefined if there is no such file. */
  read(): Promise<string | undefined>;
  /** Replaces the contents. Resolves when they, or later ones, are on the disk. */
  write(contents: string): Promise<void>;
}

const MAX_BYTES = 64 * 1024 * 1024;

export class DurableCheckpointFile implements CheckpointFile {
  readonly #path: string;
  /** The write that is in flight. */
  #writing: Promise<void> = Promise.resolve();
  /** The write that follows it, with its contents. */
  #next: { contents: string; readonly done: Promise<void> } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<string | undefined> {
    try {
      return (await readUntrusted(this.#path, MAX_BYTES)).toString('utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  write(contents: string): Promise<void> {
    if (this.#next !== undefined) {
      this.#next.contents = contents;
      return this.#next.done;
    }
    const done = this.#writing.then(async () => {
      const latest = this.#next!.contents;
      this.#next = undefined;
      await this.#replace(latest);
    });
    this.#next = { contents, done };
    // A failed write is reported to its callers; the next one starts nevertheless.
    this.#writing = done.catch(() => undefined);
    return done;
  }

  async #replace(contents: string): Promise<void> {
    const directory = dirname(this.#path);
    const temporary = `${this.#path}.tmp`;
    await mkdir(directory, { recursive: true, mode: 0o755 });
    await rm(temporary, { force: true });
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(contents);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    const entries = await open(directory, 'r');
    try {
      await entries.sync();
    } finally {
      await entries.close();
    }
  }
}
