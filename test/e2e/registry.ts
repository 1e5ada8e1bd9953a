// Registries for tests: Debian's docker-registry with a password, and one that can fail.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import * as wait from '#machinery/wait.ts';
import type { ImageBlobs } from '#runtime/containerd/index.ts';

/** The reason why there is no registry with a password; undefined if there is one. */
export const missingRegistry =
  findProgram('docker-registry') === undefined
    ? 'docker-registry is not installed (apt-get install docker-registry)'
    : undefined;

export const USER = 'tester';
export const PASSWORD = 'secret';
/** A bcrypt hash of the password. */
const HASH = '$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a';

export interface PasswordRegistry {
  /** For names of images: 127.0.0.1:PORT. */
  readonly host: string;
  /** Stores an image. */
  push(repository: string, tag: string, image: ImageBlobs): Promise<void>;
  stop(): Promise<void>;
}

export async function startPasswordRegistry(dir: string): Promise<PasswordRegistry> {
  mkdirSync(dir, { recursive: true });
  const host = `127.0.0.1:${await freePort()}`;
  writeFileSync(join(dir, 'htpasswd'), `${USER}:${HASH}\n`);
  const config = {
    version: '0.1',
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(dir, 'data') } },
    http: { addr: host },
    auth: { htpasswd: { realm: 'test', path: join(dir, 'htpasswd') } },
  };
  // JSON is YAML, too.
  writeFileSync(join(dir, 'config.yml'), JSON.stringify(config));
  const child = spawn('docker-registry', ['serve', join(dir, 'config.yml')], { stdio: 'ignore' });
  const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
  const request = async (
    method: string,
    url: string,
    body?: Buffer,
    type = 'application/octet-stream',
  ): Promise<Response> => {
    const response = await fetch(new URL(url, `http://${host}`), {
      method,
      headers: { authorization, 'content-type': type },
      ...(body !== undefined && { body: new Uint8Array(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status}`);
    return response;
  };
  await wait.pollImmediately({ clock: systemClock, intervalMs: 100, timeoutMs: 30_000 }, () =>
    request('GET', '/v2/').then(
      () => true,
      () => false,
    ),
  );
  return {
    host,
    async push(repository, tag, { blobs, config: settings, layer, manifest }) {
      for (const { digest } of [layer, settings]) {
        const upload = await request('POST', `/v2/${repository}/blobs/uploads/`);
        const location = new URL(upload.headers.get('location') ?? '', `http://${host}`);
        location.searchParams.set('digest', digest);
        await request('PUT', location.href, blobs.get(digest.replace('sha256:', '')));
      }
      const content = blobs.get(manifest.digest.replace('sha256:', ''));
      await request('PUT', `/v2/${repository}/manifests/${tag}`, content, manifest.mediaType);
    },
    stop: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.kill();
  await closed;
}

/** How a registry responds to requests for the layer of an image. */
type Behavior = 'serve' | 'hang' | 'hold' | 'corrupt' | 'cut';

/** A registry without a password, which behaves for each repository as the test sets it. */
export class FaultyRegistry {
  /** Repositories, by name, with the behavior of each. */
  readonly behaviors = new Map<string, Behavior>();
  /** The paths of all requests, with their parameters. */
  readonly requests: string[] = [];
  /** The repositories whose layers are being held. */
  readonly held: { readonly repository: string; readonly release: () => void }[] = [];
  readonly #images = new Map<string, ImageBlobs>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  add(repository: string, image: ImageBlobs, behavior: Behavior = 'serve'): void {
    this.#images.set(repository, image);
    this.behaviors.set(repository, behavior);
  }

  /** Closes all connections, as a restart does. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  stop(): void {
    this.dropConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '';
    this.requests.push(url);
    const [path = ''] = url.split('?');
    if (path === '/v2/') return void response.end('{}');
    const match = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path);
    const [, repository = '', kind, reference = ''] = match ?? [];
    const image = this.#images.get(repository);
    if (image === undefined) return void response.writeHead(404).end();
    const digest = kind === 'manifests' ? image.manifest.digest : reference;
    const content = image.blobs.get(digest.replace('sha256:', ''));
    if (content === undefined) return void response.writeHead(404).end();
    const type = kind === 'manifests' ? image.manifest.mediaType : 'application/octet-stream';
    const send = (body: Buffer): void => {
      response.writeHead(200, {
        'content-type': type,
        'content-length': content.length,
        'docker-content-digest': digest,
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (digest !== image.layer.digest) return send(content);
    switch (this.behaviors.get(repository) ?? 'serve') {
      case 'serve':
        return send(content);
      case 'hang':
        return;
      case 'hold':
        return void this.held.push({ repository, release: () => send(content) });
      case 'corrupt':
        return send(Buffer.alloc(content.length, 7));
      case 'cut':
        response.writeHead(200, { 'content-length': content.length });
        response.write(content.subarray(0, 1000), () => response.destroy());
        return;
    }
  }
}
