// Creates container images from files, as archives for `ctr images import` and `docker load`: an
// OCI layout plus docker's manifest.json, in one tar. It needs no registry and no build tool.

import { createHash } from 'node:crypto';

export interface ImageFile {
  /** The path in the image, without the leading slash. */
  readonly path: string;
  /** The content of a regular file; the target of a link; absent for a directory. */
  readonly content?: Uint8Array;
  readonly link?: { readonly target: string; readonly kind: 'hard' | 'symbolic' };
  /** Permission bits. Default: 0755 for directories and files, 0777 for links. */
  readonly mode?: number;
}

export interface ImageArchiveConfig {
  /** Full names with tags, such as docker.io/library/busybox:latest. */
  readonly names: readonly string[];
  readonly files: readonly ImageFile[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
  /** The architecture. Default: that of this machine. */
  readonly architecture?: string;
}

const BLOCK = 512;
const typeFlags = { file: '0', hard: '1', symbolic: '2', directory: '5' } as const;

function tarHeader(path: string, size: number, mode: number, type: string, target: string): Buffer {
  if (Buffer.byteLength(path) > 100 || Buffer.byteLength(target) > 100)
    throw new RangeError(`too long for a tar: ${path}`);
  const header = Buffer.alloc(BLOCK);
  header.write(path, 0);
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  // The time is the epoch, so that equal files give equal images.
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Returns a tar of the files, in their order. */
export function tar(files: readonly ImageFile[]): Buffer {
  const blocks: Buffer[] = [];
  for (const { path, content, link, mode } of files) {
    if (content !== undefined) {
      blocks.push(
        tarHeader(path, content.length, mode ?? 0o755, typeFlags.file, ''),
        Buffer.from(content),
      );
      blocks.push(Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK));
    } else if (link !== undefined) {
      blocks.push(tarHeader(path, 0, mode ?? 0o777, typeFlags[link.kind], link.target));
    } else {
      blocks.push(tarHeader(`${path}/`, 0, mode ?? 0o755, typeFlags.directory, ''));
    }
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Returns Go's name of an architecture, from node's. */
export function goArchitecture(arch: string = process.arch): string {
  return ({ x64: 'amd64', ia32: '386' } as Readonly<Record<string, string>>)[arch] ?? arch;
}

/** A blob by its digest, as manifests have it. */
export interface Descriptor {
  readonly mediaType: string;
  /** 'sha256:…' */
  readonly digest: string;
  readonly size: number;
}

export interface ImageBlobs {
  /** The contents by digest, without 'sha256:'. */
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly layer: Descriptor;
  readonly config: Descriptor;
  readonly manifest: Descriptor;
}

/** Returns the layer, the configuration and the manifest of an image, as a registry has them. */
export function imageBlobs(config: Omit<ImageArchiveConfig, 'names'>): ImageBlobs {
  const layer = tar(config.files);
  const blobs = new Map<string, Buffer>();
  const blob = (data: Buffer, mediaType: string): Descriptor => {
    const digest = sha256(data);
    blobs.set(digest, data);
    return { mediaType, digest: `sha256:${digest}`, size: data.length };
  };
  const layerDescriptor = blob(layer, 'application/vnd.oci.image.layer.v1.tar');
  const imageConfig = blob(
    json({
      architecture: config.architecture ?? goArchitecture(),
      os: 'linux',
      config: {
        Env: config.env ?? ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
        Entrypoint: config.entrypoint,
        Cmd: config.cmd,
        WorkingDir: config.workingDir ?? '',
      },
      rootfs: { type: 'layers', diff_ids: [layerDescriptor.digest] },
    }),
    'application/vnd.oci.image.config.v1+json',
  );
  const manifest = blob(
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: imageConfig,
      layers: [layerDescriptor],
    }),
    'application/vnd.oci.image.manifest.v1+json',
  );
  return { blobs, layer: layerDescriptor, config: imageConfig, manifest };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Returns the complete archive. */
export function imageArchive(config: ImageArchiveConfig): Buffer {
  const { blobs, layer, config: imageConfig, manifest } = imageBlobs(config);
  const blobPath = (digest: string): string => `blobs/sha256/${digest.replace('sha256:', '')}`;
  return tar([
    { path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }), mode: 0o644 },
    {
      path: 'index.json',
      content: json({
        schemaVersion: 2,
        manifests: config.names.map((name) => ({
          ...manifest,
          annotations: { 'io.containerd.image.name': name },
        })),
      }),
      mode: 0o644,
    },
    {
      path: 'manifest.json',
      content: json([
        {
          Config: blobPath(imageConfig.digest),
          RepoTags: config.names,
          Layers: [blobPath(layer.digest)],
        },
      ]),
      mode: 0o644,
    },
    ...[...blobs].map(([digest, content]) => ({ path: blobPath(digest), content, mode: 0o644 })),
  ]);
}
