// The files of the console's web application, read once. A request's path is only looked up among
// their names, so it cannot reach any other file.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export interface Asset {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** Returns the bytes in an encoding; undefined if that would save nothing. */
  encoded(encoding: 'br' | 'gzip'): Promise<Uint8Array | undefined>;
  readonly etag: string;
  /** The name has a hash of the content: it never has another. */
  readonly immutable: boolean;
}

/** By the path below the folder, with slashes. */
export type Assets = ReadonlyMap<string, Asset>;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
};
const COMPRESSIBLE = /^(text\/|application\/|image\/svg)/;
const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;
const MIN_COMPRESSED_BYTES = 1024;
const HASHED = /[-.][A-Za-z0-9_]{8,}\.[a-z0-9]+$/;
const MAX_FILES = 1000;

const asBrotli = promisify(brotliCompress);
const asGzip = promisify(gzip);

/**
 * Reads the folder. Files that the build has compressed (.br, .gz) are used; others are compressed
 * when they are first requested. Returns undefined if there is no such folder: the console was not
 * built. Other files than those of known types are left out.
 */
export async function readAssets(folder: string): Promise<Assets | undefined> {
  let names: string[];
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    names = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const present = new Set(names);
  const assets = new Map<string, Asset>();
  for (const name of names.slice(0, MAX_FILES)) {
    const contentType = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (contentType === undefined) continue;
    const bytes = await readFile(join(folder, name));
    const isSmall = bytes.length < MIN_COMPRESSED_BYTES || !COMPRESSIBLE.test(contentType);
    const compressed = new Map<string, Promise<Uint8Array>>();
    const compress = (encoding: 'br' | 'gzip'): Promise<Uint8Array> => {
      const built = name + EXTENSIONS[encoding];
      if (present.has(built)) return readFile(join(folder, built));
      return encoding === 'br' ? brotliOf(bytes) : asGzip(bytes, { level: 6 });
    };
    assets.set(name.split(sep).join('/'), {
      contentType,
      bytes,
      encoded: async (encoding) => {
        if (isSmall) return undefined;
        const result = compressed.get(encoding) ?? compress(encoding);
        compressed.set(encoding, result);
        return result;
      },
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      immutable: HASHED.test(name),
    });
  }
  return assets;
}

const brotliOf = (bytes: Uint8Array): Promise<Buffer> =>
  asBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
