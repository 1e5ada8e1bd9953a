// A registry that serves the images of images.ts, read-only, for every registry's name: its base
// URL ends with the name of the registry that it stands for.

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { blobPath } from './images.ts';

/** The registries that critest's images come from. */
export const REGISTRIES = ['registry.k8s.io', 'gcr.io', 'k8s.gcr.io'];

const PATH = /^\/([\w.]+)\/v2\/(.+)\/(manifests|blobs)\/([\w.:-]+)$/;

/** Listens on the loopback interface. Resolves with a function that ends it. */
export function serveRegistry(dir: string, port: number): Promise<() => void> {
  const names = JSON.parse(readFileSync(join(dir, 'names.json'), 'utf8')) as Readonly<
    Record<string, string>
  >;
  const server = createServer((request, response) => answer(dir, names, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(() => server.close()));
  });
}

function answer(
  dir: string,
  names: Readonly<Record<string, string>>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const [, host, repository, kind, reference = ''] = PATH.exec(request.url ?? '') ?? [];
  const digest = reference.startsWith('sha256:')
    ? reference
    : names[`${host}/${repository}:${reference}`];
  const path = digest === undefined ? undefined : blobPath(dir, digest);
  const size = path && /^sha256:[0-9a-f]{64}$/.test(digest!) ? sizeOf(path) : undefined;
  if (path === undefined || size === undefined) {
    response.writeHead(404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN' }] }));
    return;
  }
  response.writeHead(200, {
    'Content-Type':
      kind === 'manifests'
        ? 'application/vnd.oci.image.manifest.v1+json'
        : 'application/octet-stream',
    'Content-Length': size,
    'Docker-Content-Digest': digest,
  });
  createReadStream(path).pipe(response);
}

const sizeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.size;
