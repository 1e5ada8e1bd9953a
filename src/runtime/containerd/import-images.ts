// Imports images into a containerd: archives (docker save, or an OCI layout in a tar) and folders with an OCI layout,
// through the program ctr. containerd's own API for it moves the contents in pieces as well, but leaves unpacking and
// naming to its clients.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CriError } from '#cri/index.ts';
import { findProgram, systemPath } from './host.ts';

export interface ImportConfig {
  /** The path of containerd's socket. */
  readonly socket: string;
  /** Default: that of ctr. */
  readonly snapshotter?: string;
  /** A file or a folder. */
  readonly source: string;
  /** The repository of images whose name in the archive is only a tag: 'docker.io/library/web'. */
  readonly baseName?: string;
}

const MAX_ERROR = 2000;

/** Reports whether the folder has an OCI image layout. */
export function isOciLayout(dir: string): boolean {
  return existsSync(join(dir, 'oci-layout')) && existsSync(join(dir, 'index.json'));
}

/** Resolves when the images can be used. Rejects with CriError: InvalidArgument for a source that has no images. */
export async function importImages(config: ImportConfig): Promise<void> {
  const { socket, snapshotter, source, baseName } = config;
  const found = await stat(source).catch((error: unknown) => {
    throw new CriError('InvalidArgument', `cannot read ${source}`, { cause: error });
  });
  const folder = found.isDirectory();
  if (folder && !isOciLayout(source))
    throw new CriError(
      'InvalidArgument',
      `${source} is no image: a folder needs oci-layout and index.json`,
    );
  if (!folder && !found.isFile())
    throw new CriError('InvalidArgument', `${source} is neither a file nor a folder`);
  const args = [
    '--address',
    socket,
    '--namespace',
    'k8s.io',
    'images',
    'import',
    ...(snapshotter === undefined ? [] : ['--snapshotter', snapshotter]),
    ...(baseName === undefined ? [] : ['--base-name', baseName]),
    folder ? '-' : source,
  ];
  const problem = await runCtr(args, folder ? source : undefined);
  if (problem !== undefined) throw new CriError('Internal', `cannot import ${source}: ${problem}`);
}

/** `folder`: packed into the standard input of ctr. Returns what went wrong. */
function runCtr(args: readonly string[], folder: string | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const env = { PATH: systemPath() };
    const stdin = folder === undefined ? 'ignore' : 'pipe';
    const ctr = spawn(findProgram('ctr') ?? 'ctr', args, { env, stdio: [stdin, 'ignore', 'pipe'] });
    let errors = '';
    const keep = (chunk: Buffer): void => {
      errors = (errors + chunk.toString()).slice(0, MAX_ERROR);
    };
    ctr.stderr?.on('data', keep);
    ctr.once('error', (error) => resolve(error.message));
    ctr.once('close', (code) =>
      resolve(code === 0 ? undefined : errors.trim() || `ctr ended with status ${code}`),
    );
    if (folder === undefined || ctr.stdin === null) return;
    const tar = spawn('tar', ['-cf', '-', '-C', folder, '.'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    tar.stderr.on('data', keep);
    tar.once('error', (error) => {
      errors = error.message;
      ctr.stdin?.destroy();
    });
    // ctr may end before it has read everything: its status says why.
    ctr.stdin.on('error', () => undefined);
    tar.stdout.pipe(ctr.stdin);
  });
}
