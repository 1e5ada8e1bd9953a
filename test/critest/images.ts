// The images that critest pulls, made on this machine from what the conformance suite's images have:
// layers of busybox, of Debian with nginx, and of upstream's program for "no new privileges".

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageFile, tar } from '#runtime/containerd/image-archive.ts';
import { run } from '../conformance/oci-layout.ts';

const E2E = 'registry.k8s.io/e2e-test-images';
const STAGING = 'gcr.io/k8s-staging-cri-tools';

interface Recipe {
  readonly names: readonly string[];
  /** An image of the conformance suite whose layers and environment it has. */
  readonly from: 'busybox' | 'nginx' | 'nonewprivs';
  readonly files?: readonly ImageFile[];
  readonly cmd?: readonly string[];
  readonly user?: string;
}

const FROM: Readonly<Record<Recipe['from'], string>> = {
  busybox: `${E2E}/busybox:1.37.0-1`,
  nginx: `${E2E}/nginx:1.27-0`,
  nonewprivs: `${E2E}/nonewprivs:1.4`,
};

/** A file that makes an image differ from the others, as in upstream's own images. */
const mark = (name: string): ImageFile => ({
  path: name,
  content: Buffer.from(`${name}\n`),
  mode: 0o644,
});
const text = (path: string, content: string): ImageFile => ({
  path,
  content: Buffer.from(content),
  mode: 0o644,
});
const staging = (...names: readonly string[]): readonly string[] =>
  names.map((name) => `${STAGING}/${name}`);

const RECIPES: readonly Recipe[] = [
  { names: [`${E2E}/busybox:1.29-2`], from: 'busybox' },
  {
    // Upstream's image has busybox's grep, whose matches in /proc files are text.
    names: [`${E2E}/nginx:1.14-2`],
    from: 'nginx',
    files: [{ path: 'usr/local/bin/grep', link: { target: '/bin/busybox', kind: 'symbolic' } }],
  },
  { names: [`${E2E}/nonewprivs:1.3`], from: 'nonewprivs' },
  {
    names: staging('hostnet-nginx-amd64:latest', 'hostnet-nginx-arm64:latest'),
    from: 'nginx',
    files: [
      text(
        'etc/nginx/conf.d/default.conf',
        'server { listen 12003; location / { root /var/www/html; index index.html; } }\n',
      ),
    ],
  },
  {
    // Upstream's is Apache, which logs its own name as this one does.
    names: [`${E2E}/httpd:2.4.39-4`],
    from: 'busybox',
    files: [{ path: 'www' }, text('www/index.html', '<html><body>It works!</body></html>\n')],
    cmd: ['sh', '-c', 'echo httpd; exec httpd -f -p 80 -h /www'],
  },
  {
    names: ['registry.k8s.io/pause:3.9', 'k8s.gcr.io/pause:3.9'],
    from: 'busybox',
    files: [mark('pause')],
    cmd: ['sleep', '1000000'],
  },
  { names: staging('test-image-latest:latest'), from: 'busybox', files: [mark('latest')] },
  { names: staging('test-image-tag:test'), from: 'busybox', files: [mark('test')] },
  { names: staging('test-image-tag:all'), from: 'busybox', files: [mark('all')] },
  ...['1', '2', '3'].map((number): Recipe => ({
    names: staging(`test-image-${number}:latest`),
    from: 'busybox',
    files: [mark(number)],
  })),
  {
    names: staging('test-image-tags:1', 'test-image-tags:2', 'test-image-tags:3'),
    from: 'busybox',
    files: [mark('tags')],
  },
  { names: staging('test-image-user-uid:latest'), from: 'busybox', user: '1002' },
  { names: staging('test-image-user-username:latest'), from: 'busybox', user: 'www-data' },
  { names: staging('test-image-user-uid-group:latest'), from: 'busybox', user: '1003:users' },
  {
    names: staging('test-image-user-username-group:latest'),
    from: 'busybox',
    user: 'www-data:www-data',
  },
  {
    names: staging('test-image-predefined-group:latest'),
    from: 'busybox',
    files: [
      text(
        'etc/passwd',
        'root:x:0:0:root:/root:/bin/sh\ndefault-user:x:1000:1000::/home:/bin/sh\n',
      ),
      text(
        'etc/group',
        'root:x:0:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n',
      ),
    ],
    user: '1000',
  },
];

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Config {
  readonly architecture: string;
  readonly os: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly rootfs: { readonly type: string; readonly diff_ids: readonly string[] };
}

/** Unpacks the archives into a directory of blobs. Returns manifests by the images' names. */
function openArchives(
  archives: readonly string[],
  dir: string,
): ReadonlyMap<string, readonly Descriptor[]> {
  const found = new Map<string, Descriptor[]>();
  for (const archive of archives) {
    run('tar', ['-C', dir, '-xf', archive, 'index.json', 'blobs']);
    const index = JSON.parse(readFileSync(join(dir, 'index.json'), 'utf8')) as {
      readonly manifests: readonly Descriptor[];
    };
    for (const manifest of index.manifests) {
      const name = manifest.annotations?.['io.containerd.image.name'] ?? '';
      found.set(name, [...(found.get(name) ?? []), manifest]);
    }
  }
  return found;
}

/**
 * Writes the images into `dir` unless they are there: `blobs/`, and `names.json` with the digest of
 * each name's manifest. `archives`: those of the conformance suite.
 */
export function ensureCritestImages(archives: readonly string[], dir: string): void {
  const stamp = createHash('sha256')
    .update(JSON.stringify([archives, RECIPES]))
    .digest('hex');
  const stampFile = join(dir, 'stamp');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const partial = `${dir}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(join(partial, 'blobs', 'sha256'), { recursive: true });
  const sources = openArchives(archives, partial);
  const names: Record<string, string> = {};
  for (const recipe of RECIPES) {
    const manifest = writeImage(recipe, sources, partial);
    for (const name of recipe.names) names[name] = manifest;
  }
  writeFileSync(join(partial, 'names.json'), JSON.stringify(names, null, 2));
  writeFileSync(join(partial, 'stamp'), stamp);
  rmSync(dir, { recursive: true, force: true });
  renameSync(partial, dir);
}

/** Returns the digest of the image's manifest. */
function writeImage(
  { from, files, cmd, user }: Recipe,
  sources: ReadonlyMap<string, readonly Descriptor[]>,
  dir: string,
): string {
  const [source] = sources.get(FROM[from]) ?? [];
  if (source === undefined) throw new Error(`the archives have no image ${FROM[from]}`);
  const manifest = readJson<{ readonly config: Descriptor; readonly layers: Descriptor[] }>(
    dir,
    source.digest,
  );
  const config = readJson<Config>(dir, manifest.config.digest);
  const layers = [...manifest.layers];
  const diffIds = [...config.rootfs.diff_ids];
  if (files !== undefined) {
    const layer = writeBlob(dir, tar(files), 'application/vnd.oci.image.layer.v1.tar');
    layers.push(layer);
    diffIds.push(layer.digest);
  }
  const made = writeBlob(
    dir,
    Buffer.from(
      JSON.stringify({
        ...config,
        config: {
          ...config.config,
          ...(cmd !== undefined && { Cmd: cmd, Entrypoint: undefined }),
          ...(user !== undefined && { User: user }),
        },
        rootfs: { type: 'layers', diff_ids: diffIds },
      }),
    ),
    'application/vnd.oci.image.config.v1+json',
  );
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const document = JSON.stringify({ schemaVersion: 2, mediaType, config: made, layers });
  return writeBlob(dir, Buffer.from(document), mediaType).digest;
}

function readJson<T>(dir: string, digest: string): T {
  return JSON.parse(readFileSync(blobPath(dir, digest), 'utf8')) as T;
}

export const blobPath = (dir: string, digest: string): string =>
  join(dir, 'blobs', 'sha256', digest.replace(/^sha256:/, ''));

function writeBlob(dir: string, data: Buffer, mediaType: string): Descriptor {
  const digest = `sha256:${createHash('sha256').update(data).digest('hex')}`;
  writeFileSync(blobPath(dir, digest), data);
  return { mediaType, digest, size: data.length };
}
