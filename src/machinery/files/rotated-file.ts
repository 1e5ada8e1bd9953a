// A log file that is renamed when it has become too large. Old files are compressed, and removed by
// number and age. Their names are those of lumberjack, which upstream uses:
// audit-2026-01-31T12-00-00.000.log.

import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';

export interface RotatedFileConfig {
  readonly path: string;
  /** Bytes. 0: the file is never rotated. */
  readonly maxSize: number;
  /** How many old files are kept. 0: all. */
  readonly maxBackups: number;
  /** How long old files are kept, in ms. 0: for ever. */
  readonly maxAgeMs: number;
  readonly compress: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MODE = 0o600;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}$/;

export class RotatedFile {
  readonly #config: RotatedFileConfig;
  /** Absent after a file could not be opened; the next write tries again. */
  #file: FileHandle | undefined;
  #size: number;
  #cleaning: Promise<void> = Promise.resolve();

  private constructor(config: RotatedFileConfig, file: FileHandle, size: number) {
    this.#config = config;
    this.#file = file;
    this.#size = size;
  }

  /** Opens the file, and creates it and its directory if they are missing. Rejects with Error. */
  static async open(config: RotatedFileConfig): Promise<RotatedFile> {
    await mkdir(dirname(config.path), { recursive: true, mode: 0o700 });
    const file = await open(config.path, 'a', MODE);
    return new RotatedFile(config, file, (await file.stat()).size);
  }

  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text, 'utf8');
    const { maxSize } = this.#config;
    if (maxSize > 0 && this.#size > 0 && this.#size + bytes.length > maxSize) await this.#rotate();
    this.#file ??= await this.#open();
    await this.#file.appendFile(bytes);
    this.#size += bytes.length;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    await this.#cleaning;
  }

  async #rotate(): Promise<void> {
    const { path, logger } = this.#config;
    await this.#file?.close();
    this.#file = undefined;
    await rename(path, await this.#unusedName());
    this.#file = await this.#open();
    this.#cleaning = this.#cleaning.then(() =>
      this.#clean().catch((error: unknown) =>
        logger.warn('old files of a log are not cleaned up', { err: errorMessage(error) }),
      ),
    );
  }

  async #open(): Promise<FileHandle> {
    const file = await open(this.#config.path, 'a', MODE);
    this.#size = (await file.stat()).size;
    return file;
  }

  async #unusedName(): Promise<string> {
    const { path, clock } = this.#config;
    const { prefix, extension } = this.#parts();
    const names = new Set(await readdir(dirname(path)));
    for (let at = clock.now(); ; at++) {
      const time = new Date(at).toISOString().slice(0, -1).replaceAll(':', '-');
      const name = `${prefix}${time}${extension}`;
      if (!names.has(name) && !names.has(`${name}.gz`)) return join(dirname(path), name);
    }
  }

  /** Removes old files that are too many or too old, and compresses the others. */
  async #clean(): Promise<void> {
    const { path, maxBackups, maxAgeMs, compress, clock } = this.#config;
    const { prefix, extension } = this.#parts();
    const folder = dirname(path);
    const old = (await readdir(folder)).flatMap((name) => {
      const plain = name.endsWith('.gz') ? name.slice(0, -3) : name;
      if (!plain.startsWith(prefix) || !plain.endsWith(extension)) return [];
      const time = plain.slice(prefix.length, plain.length - extension.length);
      if (!TIME.test(time)) return [];
      const [day, hours = ''] = time.split('T');
      return [{ name, at: Date.parse(`${day}T${hours.replaceAll('-', ':')}Z`) }];
    });
    old.sort((a, b) => b.at - a.at);
    for (const [index, { name, at }] of old.entries()) {
      const isTooOld = maxAgeMs > 0 && clock.now() - at > maxAgeMs;
      if (isTooOld || (maxBackups > 0 && index >= maxBackups)) await rm(join(folder, name));
      else if (compress && !name.endsWith('.gz')) await this.#compress(join(folder, name));
    }
  }

  async #compress(path: string): Promise<void> {
    await pipeline(
      createReadStream(path),
      createGzip(),
      createWriteStream(`${path}.gz`, { mode: MODE }),
    );
    await rm(path);
  }

  /** Returns what the names of old files begin and end with. */
  #parts(): { readonly prefix: string; readonly extension: string } {
    const { path } = this.#config;
    const extension = extname(path);
    return { prefix: `${basename(path, extension)}-`, extension };
  }
}
