// Writes images as an OCI layout: layers from directories, manifests, and the archive.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { UserError } from '#cluster/user-error.ts';

export interface Image {
  readonly names: readonly string[];
  /** Names of LAYERS, the lowest first. */
  readonly layers: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly cmd: readonly string[];
  readonly user?: string;
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Writes the files that `fill` puts into a directory as a layer. */
export async function writeLayer(
  blobs: string,
  scratch: string,
  fill: (dir: string) => void,
): Promise<Descriptor> {
  const dir = mkdtempSync(join(scratch, 'layer-'));
  // Every user may read the root directory of an image.
  chmodSync(dir, 0o755);
  fill(dir);
  const archive = `${dir}.tar`;
  run('tar', ['-C', dir, '--numeric-owner', '--sort=name', '-cf', archive, '.']);
  rmSync(dir, { recursive: true, force: true });
  const hash = createHash('sha256');
  await pipeline(createReadStream(archive), hash);
  const digest = hash.digest('hex');
  renameSync(archive, join(blobs, digest));
  const { size } = statSync(join(blobs, digest));
  return { mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: `sha256:${digest}`, size };
}

/**
 * Writes the archive of images whose layers are in the directory `layout`. It appears at `output`
 * when it is complete.
 */
export function writeArchive(
  layout: string,
  images: readonly Image[],
  layers: ReadonlyMap<string, Descriptor>,
  output: string,
): void {
  const blobs = join(layout, 'blobs', 'sha256');
  const manifests = images.flatMap((image) => {
    const manifest = writeManifest(blobs, image, layers);
    return image.names.map((name) => ({
      ...manifest,
      annotations: { 'io.containerd.image.name': name },
    }));
  });
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  const partial = `${output}.partial`;
  run('tar', ['-C', layout, '-cf', partial, 'oci-layout', 'index.json', 'blobs']);
  renameSync(partial, output);
}

/** Writes the manifest of an image of these layers. */
function writeManifest(
  blobs: string,
  image: Image,
  all: ReadonlyMap<string, Descriptor>,
): Descriptor {
  const layers = image.layers.map((name) => {
    const layer = all.get(name);
    if (layer === undefined) throw new Error(`no layer ${name}`);
    return layer;
  });
  const config = writeJson(blobs, 'application/vnd.oci.image.config.v1+json', {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      ...(image.entrypoint !== undefined && { Entrypoint: image.entrypoint }),
      Cmd: image.cmd,
      ...(image.user !== undefined && { User: image.user }),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  return writeJson(blobs, 'application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config,
    layers,
  });
}

/**
 * Writes an image as the registry of agnhost serves it: a file for each tag with the digest of the
 * manifest, and manifests and blobs at sha256/AB/ABC…/data.
 */
export function writeRegistry(
  blobs: string,
  image: Image,
  layers: ReadonlyMap<string, Descriptor>,
  { dir, tag }: { readonly dir: string; readonly tag: string },
): void {
  const place = (folder: string, digest: string): void => {
    const hash = digest.slice('sha256:'.length);
    const to = join(dir, folder, 'sha256', hash.slice(0, 2), hash);
    mkdirSync(to, { recursive: true });
    copyFileSync(join(blobs, hash), join(to, 'data'));
  };
  const manifest = writeManifest(blobs, image, layers);
  const text = readFileSync(join(blobs, manifest.digest.slice('sha256:'.length)), 'utf8');
  const { config, layers: own } = JSON.parse(text) as {
    readonly config: Descriptor;
    readonly layers: readonly Descriptor[];
  };
  place('manifests', manifest.digest);
  for (const { digest } of [config, ...own]) place('blobs', digest);
  writeFileSync(join(dir, 'manifests', tag), `${manifest.digest}\n`);
}

function writeJson(blobs: string, mediaType: string, value: object): Descriptor {
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  writeFileSync(join(blobs, digest), text);
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}

/** Runs a program to its end. Throws a UserError with what it printed if it fails. */
export function run(program: string, args: readonly string[], cwd?: string): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    cwd,
  });
  if (error !== undefined) throw new UserError(`${program} could not be run: ${error.message}`);
  if (status !== 0)
    throw new UserError(
      `${program} ${args.join(' ')} ended with ${status}:\n${(stderr || stdout).slice(-2000)}`,
    );
  return stdout;
}

/** Extracts the first layer of an archive's images into `layout`. */
export function baseLayer(archive: string, layout: string): Descriptor {
  const read = (path: string): unknown => JSON.parse(run('tar', ['-xOf', archive, path]));
  const blob = (digest: string): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  const { manifests } = read('index.json') as { manifests: readonly { digest: string }[] };
  const { layers } = read(blob(manifests[0]?.digest ?? '')) as { layers: readonly Descriptor[] };
  const [base] = layers;
  if (base === undefined) throw new Error(`${archive} has no layers`);
  run('tar', ['-C', layout, '-xf', archive, blob(base.digest)]);
  return base;
}

/** Copies a program, which every user may run. */
export function copyProgram(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}
