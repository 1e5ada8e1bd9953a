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
  readonly br?: Uint8Array;
  readonly gzip?: Uint8Array;
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
const MIN_COMPRESSED_BYTES = 1024;
const HASHED = /[-.][A-Za-z0-9_]{8,}\.[a-z0-9]+$/;
const MAX_FILES = 1000;

const asBrotli = promisify(brotliCompress);
const asGzip = promisify(gzip);

/**
 * Reads the folder. Files that the build has compressed (.br, .gz) are used; others are compressed.
 * Returns undefined if there is no such folder: the console was not built. Other files than those of
 * known types are left out.
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
    const compressed = (extension: string): Promise<Buffer> | undefined =>
      present.has(name + extension) ? readFile(join(folder, name + extension)) : undefined;
    const isSmall = bytes.length < MIN_COMPRESSED_BYTES || !COMPRESSIBLE.test(contentType);
    const br = isSmall ? undefined : await (compressed('.br') ?? brotliOf(bytes));
    const gz = isSmall ? undefined : await (compressed('.gz') ?? asGzip(bytes, { level: 9 }));
    assets.set(name.split(sep).join('/'), {
      contentType,
      bytes,
      ...(br !== undefined && { br }),
      ...(gz !== undefined && { gzip: gz }),
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      immutable: HASHED.test(name),
    });
  }
  return assets;
}

const brotliOf = (bytes: Uint8Array): Promise<Buffer> =>
  asBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
