// Serves the machine's log directory, as upstream's kubelet does at /logs/: files, and lists of
// directories as links. Unlike upstream's, it follows no symbolic links: a pod that may write there
// could point one at any file of the machine.

import { constants, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openBelow, openRoot, pathOf, type Place } from '#machinery/files/directory.ts';
import { openUntrusted } from '#machinery/files/untrusted.ts';

/** A directory with more entries is listed up to here. */
const MAX_ENTRIES = 10_000;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/**
 * Responds with the file or the directory `path`, which is encoded as in a URL and relative to
 * `root`. `isHead`: without a body.
 */
export async function serveSystemLogs(
  root: string,
  path: string,
  isHead: boolean,
  response: ServerResponse,
): Promise<void> {
  const place = await placeOf(root, path);
  if (place === undefined) return notFound(response);
  try {
    const kind = await place.handle.stat();
    if (kind.isDirectory()) await sendList(place, path, isHead, response);
    else if (kind.isFile()) await sendFile(place, kind, isHead, response);
    else notFound(response);
  } finally {
    await place.handle.close();
  }
}

async function sendList(
  place: Place,
  path: string,
  isHead: boolean,
  response: ServerResponse,
): Promise<void> {
  if (path !== '' && !path.endsWith('/')) {
    response.writeHead(301, { location: `${posix.basename(path)}/` }).end();
    return;
  }
  const body = await listing(pathOf(place));
  response
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...NO_SNIFF })
    .end(isHead ? undefined : body);
}

async function sendFile(
  place: Place,
  { size }: Stats,
  isHead: boolean,
  response: ServerResponse,
): Promise<void> {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': size,
    ...NO_SNIFF,
  };
  if (isHead || size === 0) {
    response.writeHead(200, headers).end();
    return;
  }
  // The path is the kernel's link to the inode that was found.
  const file = await openUntrusted(pathOf(place), constants.O_RDONLY, { followLinks: true });
  response.writeHead(200, headers);
  // A log may grow meanwhile, but the length is already sent.
  await pipeline(file.createReadStream({ end: size - 1 }), response);
}

const NO_SNIFF = { 'x-content-type-options': 'nosniff' };

/** Opens the inode of a file; undefined if it does not exist, or a link is on the way. */
async function placeOf(root: string, path: string): Promise<Place | undefined> {
  let names: readonly string[];
  try {
    // Normalized as an absolute path, so that no `..` is left.
    names = posix
      .normalize(`/${decodeURIComponent(path)}`)
      .split('/')
      .filter((name) => name !== '');
  } catch {
    return undefined;
  }
  if (names.some((name) => name.includes('\0'))) return undefined;
  let place: Place | undefined;
  try {
    place = await openRoot(root);
    for (const name of names) {
      const outer = place;
      place = undefined;
      try {
        place = await openBelow(outer, name);
      } finally {
        await outer.handle.close();
      }
    }
    return place;
  } catch (error) {
    await place?.handle.close();
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(code)) return undefined;
    throw error;
  }
}

async function listing(dir: string): Promise<string> {
  const names: string[] = [];
  for await (const entry of await opendir(dir)) {
    if (names.length === MAX_ENTRIES) break;
    names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
  }
  const links = names
    .sort()
    .map((name) => `<a href="${escaped(reference(name))}">${escaped(name)}</a>\n`);
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`;
}

/** Returns the name as a relative reference, whose first part would be a scheme with a colon. */
const reference = (name: string): string =>
  (name.includes(':') ? './' : '') + encodeURI(name).replaceAll('?', '%3F').replaceAll('#', '%23');

const escaped = (name: string): string =>
  name.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

function notFound(response: ServerResponse): void {
  response
    .writeHead(404, { 'content-type': 'text/plain; charset=utf-8', ...NO_SNIFF })
    .end('404 page not found\n');
}
