// Makes the image of the product, as the repository's Dockerfile does where a registry can be reached:
// the built program with Node.js. The pods of examples/dns run it.

import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { run } from './cable.ts';
import {
  baseLayer,
  copyProgram,
  type Descriptor,
  type Image,
  writeArchive,
  writeLayer,
} from './oci-layout.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const MAX_AGE_MS = 3_600_000;

const IMAGE: Image = {
  names: ['docker.io/library/coxswain:latest'],
  layers: ['base', 'node', 'nft', 'cox'],
  entrypoint: ['/usr/local/bin/node', '/cox/bin/cox.js'],
  cmd: [],
};

/**
 * Returns the archive of the image. It is made anew when the program has been built anew. `programs`:
 * an archive of `dir` whose first layer is the base of this image, too.
 */
export async function ensureProductImage(
  dir: string,
  programs: string,
  progress: (text: string) => void,
): Promise<string> {
  const program = join(root, 'dist', 'program.js');
  if (!existsSync(program))
    throw new UserError('the program has not been built: npm run conformance builds it first');
  const hash = createHash('sha256')
    .update(JSON.stringify([basename(programs), IMAGE, process.version]))
    .update(readFileSync(program))
    .digest('hex')
    .slice(0, 12);
  const output = join(dir, `coxswain-${hash}.tar`);
  if (existsSync(output)) return output;
  progress('making the image of the product');
  removeOld(dir);
  const layout = mkdtempSync(join(dir, 'coxswain-layout-'));
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const layers = new Map<string, Descriptor>([
      ['base', baseLayer(programs, layout)],
      [
        'node',
        await writeLayer(blobs, layout, (to) =>
          copyProgram(process.execPath, join(to, 'usr/local/bin/node')),
        ),
      ],
      // Service proxies make their rules with it.
      ['nft', await writeLayer(blobs, layout, copyNft)],
      ['cox', await writeLayer(blobs, layout, (to) => copyProduct(join(to, 'cox')))],
    ]);
    writeArchive(layout, [IMAGE], layers, output);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return output;
}

/** The libraries of each program of this machine's release, which the base has. */
const COMMON = /\/(?:libc|libm|ld-linux[\w-]*)\.so/;

function copyNft(to: string): void {
  const program = findProgram('nft');
  if (program === undefined)
    throw new UserError('the image of the product has nft: apt-get install nftables');
  copyProgram(program, join(to, 'usr/sbin/nft'));
  for (const [, library = ''] of run('ldd', program).matchAll(/ (\/\S+) \(0x/g))
    if (!COMMON.test(library)) copyProgram(library, join(to, 'usr', library));
}

/** Removes archives that no run can be about to read. */
function removeOld(dir: string): void {
  const before = systemClock.now() - MAX_AGE_MS;
  for (const name of readdirSync(dir).filter((each) => /^coxswain-[0-9a-f]+\.tar$/.test(each)))
    if (statSync(join(dir, name)).mtimeMs < before) rmSync(join(dir, name));
}

function copyProduct(to: string): void {
  mkdirSync(join(to, 'dist'), { recursive: true });
  cpSync(join(root, 'bin'), join(to, 'bin'), { recursive: true });
  cpSync(join(root, 'package.json'), join(to, 'package.json'));
  for (const name of readdirSync(join(root, 'dist')).filter((each) => /\.c?js$/.test(each)))
    cpSync(join(root, 'dist', name), join(to, 'dist', name));
}
