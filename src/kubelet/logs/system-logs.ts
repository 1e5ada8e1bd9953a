// Serves the machine's log directory, as upstream's kubelet does at /logs/: files, and lists of
// directories as links. Unlike upstream's, a symbolic link that leads out of the directory is not
// followed: a pod that may write there could point it at any file of the machine.

import { createReadStream } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';

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
  const file = await resolved(root, path);
  const kind = file === undefined ? undefined : await stat(file).catch(unlessMissing);
  if (file === undefined || kind === undefined || !(kind.isFile() || kind.isDirectory())) {
    text(response, 404, '404 page not found\n');
    return;
  }
  if (kind.isDirectory()) {
    if (path !== '' && !path.endsWith('/')) {
      response.writeHead(301, { location: `${posix.basename(path)}/` }).end();
      return;
    }
    const body = await listing(file);
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...NO_SNIFF })
      .end(isHead ? undefined : body);
    return;
  }
  response.writeHead(200, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': kind.size,
    ...NO_SNIFF,
  });
  if (isHead || kind.size === 0) response.end();
  // A log may grow meanwhile, but the length is already sent.
  else await pipeline(createReadStream(file, { end: kind.size - 1 }), response);
}

const NO_SNIFF = { 'x-content-type-options': 'nosniff' };

/** Returns the path of the file; undefined if there is none in the directory. */
async function resolved(root: string, path: string): Promise<string | undefined> {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  if (decoded.includes('\0')) return undefined;
  const top = await realpath(root).catch(unlessMissing);
  if (top === undefined) return undefined;
  // Normalized as an absolute path, so that no `..` is left.
  const file = await realpath(join(top, posix.normalize(`/${decoded}`))).catch(unlessMissing);
  return file !== undefined && (file === top || file.startsWith(`${top}/`)) ? file : undefined;
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

const reference = (name: string): string =>
  encodeURI(name).replaceAll('?', '%3F').replaceAll('#', '%23');

const escaped = (name: string): string =>
  name.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

/** Returns undefined for an error that means that the file does not exist; otherwise throws. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ELOOP')
    return undefined;
  throw error;
}

function text(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8', ...NO_SNIFF }).end(body);
}
