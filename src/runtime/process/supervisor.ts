// Starts a container's process so that it does not depend on us. A shell stays as its parent, in a
// process group of their own: it notes the exit code, and then kills whatever the program has left
// running. Output goes into FIFOs that the program holds open in both directions: without a reader
// it fills them and waits, but never breaks.
//
// The container's environment is for its program alone. PATH, LD_PRELOAD and the like would
// otherwise choose what runs with the rights of this process, before the change to the container's
// user. So every stage before has an environment of ours and absolute paths, and the last shell,
// which has the container's user already, becomes env(1) with the container's variables. They are
// in a file and not in arguments, since every user of the host sees the arguments of a process.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, closeSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readlink, symlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { CriError } from '#cri/index.ts';
import type { ContainerConfig, LogStream } from '#cri/index.ts';
import { openOrMakeDirectory, openRoot, pathOf, type Place } from '#machinery/files/directory.ts';
import { openUntrustedSync } from '#machinery/files/untrusted.ts';
import type { Program, Tools } from './program.ts';

const run = promisify(execFile);

const SHELL = '/bin/sh';
/** The variable by which a container's supervisor is found again after a crash. */
export const ID_VARIABLE = 'COXSWAIN_CONTAINER_ID';

// $1 is the container's directory, the rest the command. A shell that is waiting for its foreground
// program runs a trap only after it, and a trap (unlike an ignored signal) is not inherited.
const SCRIPT = `
dir=$1; shift
trap : HUP INT QUIT TERM USR1 USR2 ALRM
/bin/sh -c 'dir=$1; supervisor=$2; shift 2
printf "%s\\n%s\\n" "$supervisor" "$$" > "$dir/pids.tmp" && mv "$dir/pids.tmp" "$dir/pids"
exec "$@"' sh "$dir" "$$" "$@"
code=$?
echo "$code" > "$dir/exit.tmp" && mv "$dir/exit.tmp" "$dir/exit"
exec >&- 2>&- <&-
kill -9 "-$$"
`;

// $1 is the file of the environment, which the container's user may read but not reach: it is
// opened before the change of user.
const OPEN_ENVIRONMENT = 'exec 3<"$1"; shift; exec "$@"';
// $1 is env(1), the rest the command. The file puts the variables before them.
const APPLY_ENVIRONMENT = 'env=$1; shift; . /dev/fd/3; exec 3<&-; exec "$env" -i -- "$@"';

/**
 * The environment of everything that runs before the container's own program. `path`: this
 * process's own PATH.
 */
export function trustedEnvironment(path: string): Record<string, string> {
  return { PATH: absoluteOnly(path) };
}

/**
 * Names that are not absolute would be looked for where the container has its working directory.
 */
export function absoluteOnly(path: string): string {
  return path
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .join(':');
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** The path of a container's environment file. */
const environmentFile = (dir: string): string => join(dir, 'env');

/** Writes the file that APPLY_ENVIRONMENT reads. It belongs to the user who is to read it. */
function writeEnvironment(
  dir: string,
  env: Readonly<Record<string, string>>,
  owner: number | undefined,
): void {
  const words = Object.entries(env)
    // No program can be given such a variable.
    .filter(([name]) => name !== '' && !name.includes('='))
    .map(([name, value]) => quoted(`${name}=${value}`.replaceAll('\0', '')));
  const path = environmentFile(dir);
  rmSync(path, { force: true });
  writeFileSync(path, `set -- ${words.join(' ')} "$@"\n`, { flag: 'wx', mode: 0o400 });
  if (owner !== undefined) chownSync(path, owner, -1);
}

export interface SupervisedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
}

export interface LaunchConfig {
  readonly dir: string;
  readonly id: string;
  readonly program: Program;
  readonly tools: Tools;
  /** This process's own. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A pipe for standard input; otherwise there is none to read. */
  readonly stdin: boolean;
}

/**
 * Makes the container's directory: its FIFOs, and links to its mounts below `root`. Returns the
 * mounts that are not visible, because something else is at their place. Rejects with
 * InvalidArgument for a mount that cannot be made.
 */
export async function prepareContainerDir(
  dir: string,
  config: ContainerConfig,
): Promise<readonly string[]> {
  const root = join(dir, 'root');
  mkdirSync(root, { recursive: true, mode: 0o755 });
  const hidden: string[] = [];
  /** By the path in the container, the outer ones first. */
  const mounts = new Map<string, string>();
  for (const { containerPath, hostPath } of config.mounts ?? []) {
    if (!containerPath || !hostPath) continue;
    // As in a container's own root directory, '/..' is '/'.
    const path = posix.join('/', containerPath).replace(/\/+$/, '');
    if (path === '')
      throw new CriError('InvalidArgument', 'the process runtime cannot mount a volume at /');
    mounts.set(path, hostPath);
  }
  for (const path of [...mounts.keys()].toSorted((a, b) => depth(a) - depth(b))) {
    if (!(await linkMount(root, mounts, path))) hidden.push(path);
  }
  await run('mkfifo', ['-m', '600', join(dir, 'stdout'), join(dir, 'stderr')]);
  return hidden;
}

const depth = (path: string): number => path.split('/').length;

/**
 * Makes the link of a mount, inside the root directory or inside the volume of the mount around it.
 * Links that are in a volume are not followed: a container has made them. Resolves with false if
 * something else is at its place.
 */
async function linkMount(
  root: string,
  mounts: ReadonlyMap<string, string>,
  path: string,
): Promise<boolean> {
  const names = path.slice(1).split('/');
  const name = names.pop()!;
  let outer = '';
  for (let prefix = posix.dirname(path); prefix !== '/'; prefix = posix.dirname(prefix)) {
    if (!mounts.has(prefix)) continue;
    outer = prefix;
    break;
  }
  const below = names.slice(outer === '' ? 0 : depth(outer) - 1);
  const target = mounts.get(path)!;
  let place: Place;
  try {
    // A volume's own path is the kubelet's, or the node's, and may be a link.
    place = outer === '' ? await openRoot(root) : await openRoot(`${mounts.get(outer)!}/.`);
  } catch (error) {
    throw new CriError(
      'InvalidArgument',
      `cannot mount a volume at ${path}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  try {
    for (const directory of below) {
      const parent = place;
      place = await openOrMakeDirectory(parent, directory, 0o755);
      await parent.handle.close();
    }
    const link = `${pathOf(place)}/${name}`;
    try {
      await symlink(target, link);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return (await readlink(link).catch(() => undefined)) === target;
    }
  } catch (error) {
    throw new CriError(
      'InvalidArgument',
      `cannot mount a volume at ${path}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  } finally {
    await place.handle.close();
  }
}

/**
 * The command that runs a program with its user and environment; `dir`: where writeEnvironment has
 * put the file.
 */
export function withUserAndEnvironment(
  { command, runAs }: Program,
  tools: Tools,
  dir: string,
): readonly [string, ...string[]] {
  // env(1) takes a word with '=' for a variable.
  const wanted = command[0].includes('=') ? [SHELL, '-c', 'exec "$0" "$@"', ...command] : command;
  const program = [SHELL, '-c', APPLY_ENVIRONMENT, 'sh', tools.env, ...wanted];
  return [
    SHELL,
    '-c',
    OPEN_ENVIRONMENT,
    'sh',
    environmentFile(dir),
    ...switchUser(runAs, tools),
    ...program,
  ];
}

function switchUser(runAs: Program['runAs'], { setpriv }: Tools): readonly string[] {
  if (runAs === undefined) return [];
  if (setpriv === undefined)
    throw new CriError('FailedPrecondition', 'this host has no setpriv, which changes the user');
  const groups =
    runAs.groups.length > 0 ? [`--groups=${runAs.groups.join(',')}`] : ['--clear-groups'];
  return [setpriv, `--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, ...groups, '--'];
}

export async function launch(config: LaunchConfig): Promise<SupervisedProcess> {
  const { dir, id, program, tools, path, env, cwd, stdin } = config;
  writeEnvironment(dir, env, program.runAs?.uid);
  const outputs = (['stdout', 'stderr'] as const).map((name) =>
    openUntrustedSync(join(dir, name), constants.O_RDWR, { type: 'named pipe' }),
  );
  try {
    const child = spawn(
      SHELL,
      ['-c', SCRIPT, 'sh', dir, ...withUserAndEnvironment(program, tools, dir)],
      {
        detached: true,
        stdio: [stdin ? 'pipe' : 'ignore', ...outputs],
        env: { ...trustedEnvironment(path), [ID_VARIABLE]: id },
        cwd,
      },
    );
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return { child, pid: child.pid! };
  } finally {
    for (const output of outputs) closeSync(output);
  }
}

/**
 * Reads one of a container's output FIFOs. It ends when the last process that could write to it
 * has.
 */
export function readOutput(dir: string, stream: LogStream): Socket {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const fd = openUntrustedSync(join(dir, stream), flags, { type: 'named pipe' });
  return new Socket({ fd, readable: true, writable: false });
}
