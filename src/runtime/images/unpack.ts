// Unpacks a layer into the root directory of an image. tar runs inside of that directory (chroot, in
// a mount namespace of its own), so links in the image lead nowhere else.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CriError } from '#cri/index.ts';
import { type Toolbox, toolCommand } from '../toolbox.ts';
import type { Descriptor } from './registry-client.ts';

const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';
/** The longest list of names that is read of a layer, in bytes. */
const MAX_NAMES_BYTES = 256 * 1024 * 1024;
const MAX_ERROR_LENGTH = 2000;

/**
 * The place of the toolbox in the image while a layer is unpacked. It is a name that no image has.
 */
const TOOLS = '/.coxswain-unpack';

// $1 is the image's root, $2 the toolbox; the rest is the command, run in the root.
const ENTER = `
set -eu
root=$1; tools=$2; shift 2
mount --bind "$root" "$root"
mkdir "$root${TOOLS}"
mount --bind "$tools" "$root${TOOLS}"
mount -o remount,bind,ro "$root${TOOLS}"
unshare --root "$root" --wd / -- "$@" || code=$?
umount -l "$root${TOOLS}"
rmdir "$root${TOOLS}"
exit \${code:-0}
`;

// $1 is the loader, $2 the toolbox; the rest are paths to remove, each after a letter: 'd' removes
// the path, 'o' everything in it.
const REMOVE = `
set -eu
tool() { name=$1; shift; "$loader" --library-path "$tools/lib" "$tools/bin/$name" "$@"; }
loader=$1; tools=$2; shift 2
while [ $# -gt 0 ]; do
  tool rm -rf -- "$2"
  [ "$1" = o ] && tool mkdir -p -- "$2"
  shift 2
done
`;

export interface Unpacking {
  readonly toolbox: Toolbox;
  /** The absolute path of unshare(1). */
  readonly unshare: string;
  /** The PATH of the host's programs. */
  readonly path: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Unpacks a layer over the earlier ones: removes what it hides, then writes its files. `diffId`:
 * the digest of the uncompressed layer; undefined is not checked. Rejects with ImagePull.
 */
export async function unpackLayer(
  file: string,
  layer: Descriptor,
  diffId: string | undefined,
  root: string,
  unpacking: Unpacking,
): Promise<void> {
  const names = await runTar(
    ['tar', '--list', '--quoting-style=literal', '--file', '-'],
    open(file, layer),
    unpacking,
  );
  const hidden = names.split('\n').flatMap((name) => hiddenPath(name) ?? []);
  if (hidden.length > 0) await inRoot(root, ['sh', '-c', REMOVE], hidden, undefined, unpacking);
  const hash = createHash('sha256');
  const counted = (chunk: Buffer): void => void hash.update(chunk);
  const options = [
    '--extract',
    '--file',
    '-',
    '--directory=/',
    '--numeric-owner',
    '--same-permissions',
    '--same-owner',
    '--xattrs',
    '--xattrs-include=*',
    '--delay-directory-restore',
    `--exclude=${WHITEOUT}*`,
  ];
  await inRoot(root, ['tar'], options, { from: open(file, layer), through: counted }, unpacking);
  const actual = `sha256:${hash.digest('hex')}`;
  if (diffId !== undefined && diffId !== actual)
    throw new CriError(
      'ImagePull',
      `layer ${layer.digest} has the diff ID ${actual}, not ${diffId}`,
    );
}

/** Returns the arguments of REMOVE for an entry of a layer; undefined if it hides nothing. */
export function hiddenPath(name: string): readonly [string, string] | undefined {
  const path = `/${name}`.replaceAll(/\/(?:\.?\/)+/g, '/').replace(/\/$/, '');
  const slash = path.lastIndexOf('/');
  const [parent, base] = [path.slice(0, slash), path.slice(slash + 1)];
  if (!base.startsWith(WHITEOUT) || path.split('/').includes('..')) return undefined;
  if (base === OPAQUE) return parent === '' ? undefined : ['o', parent];
  const hidden = base.slice(WHITEOUT.length);
  return hidden === '' || hidden === '.' || hidden === '..'
    ? undefined
    : ['d', `${parent}/${hidden}`];
}

/** Returns the uncompressed layer. Throws ImagePull for a compression that is not supported. */
function open(file: string, { mediaType }: Descriptor): Readable {
  const data = createReadStream(file);
  if (/[+.]gzip$/.test(mediaType)) {
    const unzipped = createGunzip();
    data.once('error', (error) => unzipped.destroy(error));
    return data.pipe(unzipped);
  }
  if (/[.]tar$/.test(mediaType)) return data;
  data.destroy();
  throw new CriError(
    'ImagePull',
    `layers of the type ${mediaType} are not supported, only tar and gzip`,
  );
}

interface Input {
  readonly from: Readable;
  /** Called with every piece, also with those that the program does not read. */
  readonly through: (chunk: Buffer) => void;
}

/**
 * Writes all input. A program that closes its own end early, as tar does at the mark of an
 * archive's end, gets no more, and the rest is still read.
 */
async function feed({ from, through }: Input, to: Writable): Promise<void> {
  let open = true;
  const closed = new Promise<void>((resolve) => {
    const close = (): void => {
      open = false;
      resolve();
    };
    to.once('error', close);
    to.once('close', close);
  });
  for await (const chunk of from) {
    through(chunk as Buffer);
    if (open && !to.write(chunk))
      await Promise.race([closed, new Promise<void>((resolve) => void to.once('drain', resolve))]);
  }
  to.end();
}

/** Runs a tool of the toolbox in the image's root. */
async function inRoot(
  root: string,
  [tool, ...first]: readonly ['sh' | 'tar', ...string[]],
  args: readonly string[] | readonly (readonly [string, string])[],
  input: Input | undefined,
  unpacking: Unpacking,
): Promise<void> {
  const { toolbox, unshare } = unpacking;
  const own = tool === 'sh' ? ['sh', `${TOOLS}/lib/${toolbox.loader}`, TOOLS] : [];
  await runProgram(
    [
      unshare,
      '--mount',
      '--propagation=private',
      '--',
      '/bin/sh',
      '-c',
      ENTER,
      'sh',
      root,
      toolbox.dir,
      ...toolCommand(toolbox, TOOLS, tool),
      ...first,
      ...own,
      ...args.flat(),
    ],
    input,
    unpacking,
  );
}

function runTar(command: readonly string[], from: Readable, unpacking: Unpacking): Promise<string> {
  return runProgram(command, { from, through: () => undefined }, unpacking);
}

async function runProgram(
  [program = '', ...args]: readonly string[],
  input: Input | undefined,
  { path, signal }: Unpacking,
): Promise<string> {
  const child = spawn(program, args, {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { PATH: path, LC_ALL: 'C' },
    ...(signal && { signal, killSignal: 'SIGKILL' as const }),
  });
  let stderr = '';
  child.stderr!.on(
    'data',
    (chunk: Buffer) => (stderr += chunk.toString().slice(0, MAX_ERROR_LENGTH - stderr.length)),
  );
  const out: Buffer[] = [];
  let size = 0;
  child.stdout!.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_NAMES_BYTES) out.push(chunk);
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // An unreadable layer ends the program's input, and is reported after the program's own error.
  const fed =
    input === undefined
      ? undefined
      : feed(input, child.stdin!).catch((error: unknown) => {
          child.stdin!.destroy();
          return error;
        });
  const code = await ended;
  const broken = await fed;
  signal?.throwIfAborted();
  if (code !== 0)
    throw new CriError('ImagePull', `cannot unpack a layer: ${stderr.trim() || String(broken)}`);
  if (broken !== undefined)
    throw new CriError('ImagePull', `cannot read a layer: ${String(broken)}`);
  if (size > MAX_NAMES_BYTES)
    throw new CriError('ImagePull', 'cannot unpack a layer: it has too many names');
  return Buffer.concat(out).toString('utf8');
}
