// A read-only image registry, which serves the images of archives: a node that always pulls its
// images gets them here. It is plain HTTP, at one address of this machine.

import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

/** A blob in an archive. */
interface Blob {
  readonly archive: string;
  readonly offset: number;
  readonly size: number;
}

interface Manifest {
  readonly digest: string;
  readonly mediaType: string;
}

/** The content of archives. */
export interface Content {
  /** By digest. */
  readonly blobs: ReadonlyMap<string, Blob>;
  /** By the image's name, such as registry.k8s.io/pause:3.10.2. */
  readonly manifests: ReadonlyMap<string, Manifest>;
}

export interface Registry {
  /** Such as http://10.251.255.1:5000. */
  readonly url: string;
  close(): Promise<void>;
}

interface Index {
  readonly manifests: readonly (Manifest & {
    readonly annotations?: Readonly<Record<string, string>>;
  })[];
}

const BLOCK = 512;

/** Reads the tables of contents of archives in OCI's layout. */
export async function readContent(archives: readonly string[]): Promise<Content> {
  const blobs = new Map<string, Blob>();
  const manifests = new Map<string, Manifest>();
  for (const archive of archives) {
    const file = await open(archive);
    try {
      for await (const { name, offset, size } of entries(file)) {
        const hash = /^(?:\.\/)?blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
        if (hash !== undefined) blobs.set(`sha256:${hash}`, { archive, offset, size });
        if (!/^(?:\.\/)?index\.json$/.test(name)) continue;
        const text = Buffer.alloc(size);
        await file.read(text, 0, size, offset);
        for (const { digest, mediaType, annotations } of (JSON.parse(text.toString()) as Index)
          .manifests) {
          const image = annotations?.['io.containerd.image.name'];
          if (image !== undefined) manifests.set(image, { digest, mediaType });
        }
      }
    } finally {
      await file.close();
    }
  }
  return { blobs, manifests };
}

/** Lists the files of a tar archive, without names of more than 255 bytes. */
async function* entries(
  file: FileHandle,
): AsyncGenerator<{ readonly name: string; readonly offset: number; readonly size: number }> {
  const header = Buffer.alloc(BLOCK);
  const text = (from: number, to: number): string =>
    header.toString('latin1', from, to).replace(/\0.*$/s, '');
  for (let position = 0; ;) {
    const { bytesRead } = await file.read(header, 0, BLOCK, position);
    if (bytesRead < BLOCK || header[0] === 0) return;
    const size = parseInt(text(124, 136), 8) || 0;
    const prefix = text(257, 262) === 'ustar' ? text(345, 500) : '';
    yield { name: `${prefix}${prefix && '/'}${text(0, 100)}`, offset: position + BLOCK, size };
    position += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}

/** Serves images whose names begin with `host`, as `https://host` would. */
export async function serveRegistry(
  content: Content,
  host: string,
  address: string,
): Promise<Registry> {
  const server = createServer((request, response) => {
    answer(content, host, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { blobs, manifests }: Content,
  host: string,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fail = (status: number): void => void response.writeHead(status).end();
  if (method !== 'GET' && method !== 'HEAD') return fail(405);
  const path = decodeURIComponent(url.split('?')[0] ?? '');
  if (path === '/v2/' || path === '/v2') return fail(200);
  const [, name = '', kind = '', reference = ''] =
    /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
  const known = [...manifests].filter(([image]) => image.startsWith(`${host}/${name}:`));
  const manifest =
    kind !== 'manifests'
      ? undefined
      : (manifests.get(`${host}/${name}:${reference}`) ??
        known.map(([, of]) => of).find(({ digest }) => digest === reference));
  const digest = kind === 'blobs' && known.length > 0 ? reference : manifest?.digest;
  const blob = blobs.get(digest ?? '');
  if (blob === undefined || digest === undefined) return fail(404);
  response.writeHead(200, {
    'content-type': manifest?.mediaType ?? 'application/octet-stream',
    'content-length': blob.size,
    'docker-content-digest': digest,
  });
  if (method === 'HEAD' || blob.size === 0) return void response.end();
  const { archive, offset, size } = blob;
  await pipeline(createReadStream(archive, { start: offset, end: offset + size - 1 }), response);
}

/** Returns containerd's hosts.toml that makes a registry the mirror of another host. */
export const mirrorToml = (host: string, { url }: Pick<Registry, 'url'>): string =>
  `server = "https://${host}"\n\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
