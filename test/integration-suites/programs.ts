// Builds the test programs of a suite, with the patched files in the place of upstream's.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { type Patch, patched, patches } from './patches.ts';
import type { Suite } from './suites.ts';

const moduleDir = fileURLToPath(new URL('.', import.meta.url));
const FOLDER = 'test/integration';
const KUBERNETES = 'k8s.io/kubernetes';
/**
 * Binds each file to its place (pairs of arguments up to `--`), then runs the rest, with the first
 * argument as the program's name.
 */
const WITH_FILES =
  'name=$1; shift; while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; ' +
  'exec -a "$name" "$@"';

/** Returns the arguments of `unshare` by which a program sees files in the place of others. */
export const withFiles = (
  name: string,
  files: readonly (readonly [file: string, place: string])[],
): readonly string[] => [
  '--mount',
  '--propagation',
  'private',
  'bash',
  '-c',
  WITH_FILES,
  'bash',
  name,
  ...files.flat(),
  '--',
];

export interface TestProgram {
  /** The package, such as `apiserver/apply`. */
  readonly name: string;
  /** The package's path, as Go has it. */
  readonly package: string;
  readonly path: string;
  /** The package's folder in Go's cache of modules, in which the program runs. */
  readonly dir: string;
}

/** Returns the programs of the suite, built or not. Throws a UserError if Go is missing. */
export function programsOf({ module, packages }: Suite): readonly TestProgram[] {
  const source = sourceOf(module);
  const title = module === KUBERNETES ? '' : module.slice(module.indexOf('/') + 1);
  return packages.map((name) => {
    const path = join(FOLDER, name);
    const goPackage = `${module}/${path}`;
    return {
      name: join(title, name === '.' && title !== '' ? '' : name),
      package: goPackage,
      path: join(cacheDir(), `${goPackage.replaceAll('/', '_')}.test`),
      dir: join(source, path),
    };
  });
}

/**
 * Builds what is missing of them. Returns the names of the packages that cannot be built, and prints
 * the compiler's messages. Throws a UserError if no files can be mounted.
 */
export function ensurePrograms(
  programs: readonly TestProgram[],
  progress: (text: string) => void,
): readonly string[] {
  const missing = programs.filter(({ path }) => !existsSync(path));
  if (missing.length === 0) return [];
  mkdirSync(cacheDir(), { recursive: true });
  const files = patches.map((patch, i) => patchedFile(patch, i));
  return missing.flatMap(({ name, package: goPackage, path }, i) => {
    progress(`building ${name} (${i + 1} of ${missing.length})`);
    const args = ['go', 'test', '-c', '-p', '1', '-vet=off', '-ldflags', '-s -w'];
    const { status } = spawnSync(
      'unshare',
      [...withFiles('go', files), ...args, '-o', `${path}.partial`, goPackage],
      // Go's index of a module knows the content of its files, and so not what is mounted.
      { cwd: moduleDir, env: { ...process.env, GODEBUG: 'goindex=0' }, stdio: ['ignore', 2, 2] },
    );
    if (status !== 0) return [name];
    renameSync(`${path}.partial`, path);
    return [];
  });
}

/** Writes a patched file. Returns its path and that of the file which it replaces. */
function patchedFile(patch: Patch, number: number): readonly [string, string] {
  const original = join(sourceOf(patch.module), patch.file);
  const file = join(cacheDir(), `patch-${number}.go`);
  writeFileSync(file, patched(patch, readFileSync(original, 'utf8')));
  return [file, original];
}

/**
 * Returns the folder of the programs, another one for each version and each change of the patches.
 * COXSWAIN_INTEGRATION_SUITES_CACHE moves it.
 */
function cacheDir(): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'patches.ts', 'server/server.go'])
    hash.update(readFileSync(join(moduleDir, file)));
  const root =
    process.env['COXSWAIN_INTEGRATION_SUITES_CACHE'] ??
    join(homedir(), '.cache', 'coxswain', 'integration-suites');
  return join(root, hash.digest('hex').slice(0, 12));
}

/** Returns the folder of a module's sources. */
function sourceOf(module: string): string {
  const { Dir } = JSON.parse(go('mod', 'download', '-json', module)) as { readonly Dir: string };
  return Dir;
}

function go(...args: readonly string[]): string {
  if (findProgram('go') === undefined)
    throw new UserError('there is no `go` in PATH: install Go 1.26 or later (https://go.dev/dl)');
  const { status, stdout } = spawnSync('go', args, {
    cwd: moduleDir,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go ${args.join(' ')} failed`);
  return stdout;
}
