// Builds the test programs of a suite in a copy of its module: the module cache must not change,
// and tests write beside their files.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import type { Suite } from './suites.ts';

export interface TestProgram {
  /** The package, relative to the module. */
  readonly name: string;
  readonly path: string;
  /** The folder of the package, in which it runs. */
  readonly dir: string;
  /** The folder of the module. */
  readonly source: string;
}

/** Returns the programs of the suite, built or not. */
export function programsOf({ module, version, packages }: Suite): readonly TestProgram[] {
  // COXSWAIN_ENVTEST_SUITES_CACHE moves the folder.
  const dir = join(
    process.env['COXSWAIN_ENVTEST_SUITES_CACHE'] ??
      join(homedir(), '.cache', 'coxswain', 'envtest-suites'),
    `${module.replaceAll('/', '_')}@${version}`,
  );
  return packages.map((name) => ({
    name,
    path: join(dir, 'bin', `${fileName(name)}.test`),
    dir: join(dir, 'module', name),
    source: join(dir, 'module'),
  }));
}

/** Returns the name of a package's files. */
export const fileName = (name: string): string =>
  name === '.' ? 'module' : name.replaceAll('/', '_');

/** Builds what is missing of them. Throws a UserError if Go is missing or a build fails. */
export function ensurePrograms(
  suite: Suite,
  programs: readonly TestProgram[],
  progress: (text: string) => void,
): void {
  const missing = programs.filter(({ path }) => !existsSync(path));
  const [first] = missing;
  if (first === undefined) return;
  if (findProgram('go') === undefined)
    throw new UserError('there is no `go` in PATH: install Go 1.26 or later (https://go.dev/dl)');
  const { source } = first;
  if (!existsSync(source)) copyModule(suite, source);
  for (const [i, { name, path }] of missing.entries()) {
    progress(`building ${suite.module} ${suite.version}: ${name} (${i + 1} of ${missing.length})`);
    mkdirSync(join(path, '..'), { recursive: true });
    go(
      ['test', '-c', '-p', '1', '-ldflags', '-s -w', '-o', `${path}.partial`, `./${name}`],
      source,
    );
    renameSync(`${path}.partial`, path);
  }
}

function copyModule({ module, version }: Suite, target: string): void {
  const args = ['mod', 'download', '-json', `${module}@${version}`];
  const { Dir } = JSON.parse(go(args, homedir())) as { readonly Dir: string };
  rmSync(`${target}.partial`, { recursive: true, force: true });
  cpSync(Dir, `${target}.partial`, { recursive: true });
  // Folders of the module cache are read-only.
  spawnSync('chmod', ['-R', 'u+w', `${target}.partial`]);
  renameSync(`${target}.partial`, target);
}

function go(args: readonly string[], cwd: string): string {
  const { status, stdout } = spawnSync('go', [...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go ${args.join(' ')} failed`);
  return stdout;
}
