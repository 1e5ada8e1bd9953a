// Reads images from registries over HTTP: the distribution API's manifests and blobs, with basic and
// token authentication. Everything that is read is checked against its digest.

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AuthConfig, CriError } from '#cri/index.ts';
import type { ImageReference } from './reference.ts';

/** The largest manifest or configuration that is read, in bytes. */
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
/** The largest layer that is read, compressed. */
const MAX_LAYER_BYTES = 32 * 1024 * 1024 * 1024;

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const INDEX_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface ResolvedManifest {
  /** The digest of the document that the name refers to: the index's, if there is one. */
  readonly digest: string;
  readonly manifest: Manifest;
}

/** The part of the platform's function that is used here. */
export type HttpGet = (
  url: string | URL,
  init: { readonly headers: Readonly<Record<string, string>>; readonly signal?: AbortSignal },
) => Promise<Response>;

export interface RegistryClientConfig {
  /** Makes a request, and follows redirections. */
  readonly httpGet: HttpGet;
  /** The base URL that serves the images of a registry, by the registry's host. */
  readonly mirrors: ReadonlyMap<string, string>;
  readonly auth: AuthConfig | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A connection to one registry for one pull. */
export class RegistryClient {
  readonly #httpGet: HttpGet;
  readonly #base: string;
  readonly #repository: string;
  readonly #auth: AuthConfig | undefined;
  readonly #signal: AbortSignal | undefined;
  #authorization: string | undefined;

  constructor(reference: ImageReference, { httpGet, mirrors, auth, signal }: RegistryClientConfig) {
    this.#httpGet = httpGet;
    this.#base = mirrors.get(reference.host) ?? defaultUrl(reference.host);
    this.#repository = reference.repository;
    this.#auth = auth;
    this.#signal = signal;
    if (auth?.registryToken) this.#authorization = `Bearer ${auth.registryToken}`;
  }

  /**
   * Returns the manifest for this machine. Rejects with ImageNotFound, RegistryUnavailable or
   * ImagePull.
   */
  async manifest(reference: string): Promise<ResolvedManifest> {
    const { body, type, digest } = await this.#document(reference);
    if (!INDEX_TYPES.includes(type)) return { digest, manifest: parseManifest(body) };
    const entries = (body as { manifests?: readonly IndexEntry[] }).manifests ?? [];
    const entry = entries.find(({ platform }) => isThisMachine(platform));
    if (entry === undefined)
      throw new CriError('ImageNotFound', `no match for platform in manifest ${digest}: not found`);
    const chosen = await this.#document(entry.digest);
    return { digest, manifest: parseManifest(chosen.body) };
  }

  async #document(
    reference: string,
  ): Promise<{ readonly body: unknown; readonly type: string; readonly digest: string }> {
    const response = await this.#get(`manifests/${reference}`, [...MANIFEST_TYPES, ...INDEX_TYPES]);
    const data = await readAll(response);
    const digest = `sha256:${createHash('sha256').update(data).digest('hex')}`;
    if (reference.startsWith('sha256:') && digest !== reference)
      throw new CriError('ImagePull', `manifest ${reference} has the digest ${digest}`);
    const body = parseJson(data);
    const type =
      (body as { mediaType?: string }).mediaType ??
      response.headers.get('content-type')?.split(';')[0] ??
      '';
    return { body, type, digest };
  }

  /** Returns a small blob as JSON. */
  async config(descriptor: Descriptor): Promise<unknown> {
    const data = await readAll(await this.#get(`blobs/${descriptor.digest}`));
    const digest = `sha256:${createHash('sha256').update(data).digest('hex')}`;
    if (digest !== descriptor.digest)
      throw new CriError('ImagePull', `blob ${descriptor.digest} has the digest ${digest}`);
    return parseJson(data);
  }

  /** Writes a blob to a file. */
  async download({ digest }: Descriptor, path: string): Promise<void> {
    const response = await this.#get(`blobs/${digest}`);
    if (response.body === null) throw new CriError('ImagePull', `blob ${digest} is empty`);
    const hash = createHash('sha256');
    let size = 0;
    const check = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        size += chunk.length;
        hash.update(chunk);
        done(size > MAX_LAYER_BYTES ? new Error(`blob ${digest} is too large`) : null, chunk);
      },
    });
    await pipeline(
      Readable.fromWeb(response.body),
      check,
      createWriteStream(path, { flags: 'wx' }),
      {
        ...(this.#signal && { signal: this.#signal }),
      },
    );
    const actual = `sha256:${hash.digest('hex')}`;
    if (actual !== digest)
      throw new CriError('ImagePull', `blob ${digest} has the digest ${actual}`);
  }

  async #get(path: string, accept: readonly string[] = []): Promise<Response> {
    const url = `${this.#base}/v2/${this.#repository}/${path}`;
    let response = await this.#request(url, accept);
    if (response.status === 401 && (await this.#authenticate(response)))
      response = await this.#request(url, accept);
    if (response.ok) return response;
    await response.body?.cancel();
    const name = url.replace(/^https?:\/\//, '');
    if (response.status === 404) throw new CriError('ImageNotFound', `${name}: not found`);
    if (response.status === 401 || response.status === 403)
      throw new CriError(
        'ImagePull',
        `pull access denied, repository does not exist or may require authorization: ${name}: ` +
          `unexpected status: ${response.status} ${response.statusText}`,
      );
    throw new CriError(
      response.status >= 500 ? 'RegistryUnavailable' : 'ImagePull',
      `${name}: unexpected status: ${response.status} ${response.statusText}`,
    );
  }

  async #request(url: string, accept: readonly string[]): Promise<Response> {
    try {
      return await this.#httpGet(url, {
        headers: {
          ...(accept.length > 0 && { Accept: accept.join(', ') }),
          ...(this.#authorization !== undefined && { Authorization: this.#authorization }),
        },
        ...(this.#signal && { signal: this.#signal }),
      });
    } catch (error) {
      this.#signal?.throwIfAborted();
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new CriError('RegistryUnavailable', `failed to do request: ${url}: ${String(cause)}`, {
        cause: error,
      });
    }
  }

  /** Reacts to a challenge. Returns false if there is nothing to try. */
  async #authenticate(response: Response): Promise<boolean> {
    await response.body?.cancel();
    const challenge = response.headers.get('www-authenticate') ?? '';
    const basic = basicCredentials(this.#auth);
    if (/^basic\b/i.test(challenge)) {
      if (basic === undefined || this.#authorization !== undefined) return false;
      this.#authorization = `Basic ${basic}`;
      return true;
    }
    const fields = Object.fromEntries(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    );
    if (!/^bearer\b/i.test(challenge) || !fields['realm']) return false;
    const url = new URL(fields['realm']);
    for (const name of ['service', 'scope'] as const)
      if (fields[name]) url.searchParams.set(name, fields[name]);
    const token = await this.#httpGet(url, {
      headers: basic === undefined ? {} : { Authorization: `Basic ${basic}` },
      ...(this.#signal && { signal: this.#signal }),
    });
    if (!token.ok) return false;
    const granted = parseJson(await readAll(token)) as { token?: string; access_token?: string };
    const value = granted.token ?? granted.access_token;
    if (value === undefined) return false;
    this.#authorization = `Bearer ${value}`;
    return true;
  }
}

interface IndexEntry {
  readonly digest: string;
  readonly platform?: { readonly os?: string; readonly architecture?: string };
}

function isThisMachine(platform: IndexEntry['platform']): boolean {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  return platform?.os === 'linux' && platform.architecture === architecture;
}

function defaultUrl(host: string): string {
  if (host === 'docker.io') return 'https://registry-1.docker.io';
  const plain = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host);
  return `${plain ? 'http' : 'https'}://${host}`;
}

function basicCredentials(auth: AuthConfig | undefined): string | undefined {
  if (auth?.username)
    return Buffer.from(`${auth.username}:${auth.password ?? ''}`).toString('base64');
  return auth?.auth ? auth.auth : undefined;
}

async function readAll(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > MAX_DOCUMENT_BYTES)
      throw new CriError('ImagePull', `a document of the image is larger than 4 MiB`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function parseJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8')) as unknown;
  } catch (error) {
    throw new CriError('ImagePull', `a document of the image is not JSON: ${String(error)}`);
  }
}

function isDescriptor(value: unknown): value is Descriptor {
  const { digest, mediaType } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof digest === 'string' &&
    /^sha256:[0-9a-f]{64}$/.test(digest) &&
    typeof mediaType === 'string'
  );
}

function parseManifest(value: unknown): Manifest {
  const { config, layers } = value as { config?: unknown; layers?: unknown };
  if (!isDescriptor(config) || !Array.isArray(layers) || !layers.every(isDescriptor))
    throw new CriError('ImagePull', 'the manifest has no config or no layers');
  return { config, layers };
}
