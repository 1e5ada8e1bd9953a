// Programs of this host that also run where its files cannot be seen: in the root directory of a
// container or an image. A toolbox is a directory with copies of the programs, their libraries and
// the dynamic loader. It is mounted read-only below the other root, and its programs are run by the
// loader, since the root has another C library or none.

import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The programs in a toolbox, with the Debian package that has each. */
const PROGRAMS = {
  sh: 'dash',
  mount: 'mount',
  umount: 'mount',
  mkdir: 'coreutils',
  rm: 'coreutils',
  ln: 'coreutils',
  mv: 'coreutils',
  env: 'coreutils',
  tar: 'tar',
  setpriv: 'util-linux',
} as const;

export type ToolName = keyof typeof PROGRAMS;

export interface Toolbox {
  readonly dir: string;
  /** The file name of the dynamic loader in `lib/`. */
  readonly loader: string;
}

/** A program of the host is missing. */
export class MissingProgramError extends Error {
  override readonly name = 'MissingProgramError';
  constructor(program: string, where: string) {
    super(`isolation needs the program ${program}, which is not on PATH (${where})`);
  }
}

/** Returns the absolute path of a program. Throws MissingProgramError. */
export function requireProgram(name: string, path: string, packageName: string): string {
  const found = path
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
    .find(isExecutable);
  if (found === undefined) throw new MissingProgramError(`${name} (package ${packageName})`, path);
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Returns the command that runs a tool of a toolbox which is mounted at `at`. */
export function toolCommand({ loader }: Toolbox, at: string, tool: ToolName): readonly string[] {
  return [`${at}/lib/${loader}`, '--library-path', `${at}/lib`, `${at}/bin/${tool}`];
}

/**
 * Returns the toolbox in `dir`, which is made anew if the host's programs have changed. `path`:
 * where programs are searched. Rejects with MissingProgramError.
 */
export async function ensureToolbox(dir: string, path: string): Promise<Toolbox> {
  const programs = Object.entries(PROGRAMS).map(
    ([name, packageName]) => [name, realpathSync(requireProgram(name, path, packageName))] as const,
  );
  const ldd = requireProgram('ldd', path, 'libc-bin');
  const libraries = new Set<string>();
  let loader = '';
  for (const [, file] of programs) {
    const { stdout } = await run(ldd, [file], { env: { PATH: path, LC_ALL: 'C' } });
    for (const line of stdout.split('\n')) {
      const shared = /=> (\/\S+)/.exec(line)?.[1];
      const alone = /^\s*(\/\S+) \(/.exec(line)?.[1];
      if (shared !== undefined) libraries.add(shared);
      if (alone !== undefined) loader = alone;
    }
  }
  if (loader === '')
    throw new Error('isolation needs programs with a dynamic loader, and ldd reports none');
  libraries.add(loader);
  const files = [
    ...programs.map(([name, file]) => [file, join('bin', name)] as const),
    ...[...libraries].map((file) => [file, join('lib', basename(file))] as const),
  ];
  const stamp = JSON.stringify(
    files.map(([from, to]) => {
      const { size, mtimeMs } = statSync(from);
      return [from, to, size, mtimeMs];
    }),
  );
  const toolbox = { dir, loader: basename(loader) };
  const stampFile = join(dir, 'stamp.json');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return toolbox;
  const partial = `${dir}.partial`;
  await rm(partial, { recursive: true, force: true });
  for (const folder of ['bin', 'lib'])
    await mkdir(join(partial, folder), { recursive: true, mode: 0o755 });
  for (const [from, to] of files) await copyFile(from, join(partial, to));
  await writeFile(join(partial, 'stamp.json'), stamp);
  // Containers that run keep the old directory, which is mounted in them.
  await rm(dir, { recursive: true, force: true });
  await rename(partial, dir);
  return toolbox;
}
