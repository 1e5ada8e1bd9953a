// Starts a container's process so that it does not depend on this process. A shell stays as its
// parent, in a process group of their own: it records the exit code, and then kills all processes
// that the program has left running. Output goes into FIFOs that the program holds open in both
// directions: without a reader the program blocks when they are full, but never gets an error.
//
// The container's environment is for its program alone. PATH, LD_PRELOAD and similar variables
// would otherwise affect programs that run with the rights of this process, before the change to
// the container's user. So every earlier stage has a trusted environment and absolute paths, and
// the last shell, which already runs as the container's user, becomes env(1) with the container's
// variables. They are in a file and not in arguments, since every user of the host can read the
// arguments of a process.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, closeSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readlink, symlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { type ContainerConfig, CriError, type LogStream } from '#cri/index.ts';
import { openOrMakeDirectory, openRoot, pathOf, type Place } from '#machinery/files/directory.ts';
import { openUntrustedSync } from '#machinery/files/untrusted.ts';
import type { Program, Tools } from './program.ts';

const run = promisify(execFile);

const SHELL = '/bin/sh';
/** The variable by which a container's supervisor is found after a crash. */
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

// $1 is the environment file, which the container's user could not open by its path: it is opened
// before the change of user.
const OPEN_ENVIRONMENT = 'exec 3<"$1"; shift; exec "$@"';
// $1 is env(1), the rest is the command. The file prepends the variables to the arguments.
const APPLY_ENVIRONMENT = 'env=$1; shift; . /dev/fd/3; exec 3<&-; exec "$env" -i -- "$@"';

/**
 * Returns the environment of programs that run before the container's own. `path`: this process's
 * PATH.
 */
export function trustedEnvironment(path: string): Record<string, string> {
  return { PATH: absoluteOnly(path) };
}

/**
 * Returns the absolute names in PATH. A relative name would be looked up in the container's working
 * directory.
 */
export function absoluteOnly(path: string): string {
  return path
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .join(':');
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Returns the path of a container's environment file. */
const environmentFile = (dir: string): string => join(dir, 'env');

/** Writes the file for APPLY_ENVIRONMENT. It belongs to the user who reads it. */
function writeEnvironment(
  dir: string,
  env: Readonly<Record<string, string>>,
  owner: number | undefined,
): void {
  const words = Object.entries(env)
    // No program can have such a variable.
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
  /** The standard input of the program; undefined if it is empty. */
  readonly stdin: Writable | undefined;
}

/** A program that is ready to be run by a supervisor. */
export interface Launchable {
  /** The command that becomes the program; it reads the file of writeEnvironment. */
  readonly command: readonly string[];
  /** The environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** The user that reads the environment file. Undefined: the user of this process. */
  readonly owner: number | undefined;
  readonly cwd: string;
  /**
   * The command reports at file descriptor 4: the line "ok" right before its program begins, or
   * else an error.
   */
  readonly reports: boolean;
  /** The command must have an open input: its end would be typed into a terminal. */
  readonly needsInput?: boolean;
}

export interface LaunchConfig extends Launchable {
  readonly dir: string;
  readonly id: string;
  /** The PATH of this process. */
  readonly path: string;
  /** Whether standard input is open; otherwise it is empty. */
  readonly stdin: boolean;
}

/**
 * Creates the container's directory: its FIFOs, and links to its mounts below `root`. Returns the
 * mounts that are not visible, because another file is at their path. Rejects with InvalidArgument
 * for a mount that cannot be made.
 */
export async function prepareContainerDir(
  dir: string,
  config: ContainerConfig,
): Promise<readonly string[]> {
  const root = join(dir, 'root');
  mkdirSync(root, { recursive: true, mode: 0o755 });
  const hidden: string[] = [];
  /** By the path in the container, outer ones first. */
  const mounts = new Map<string, string>();
  for (const { containerPath, hostPath } of config.mounts ?? []) {
    if (!containerPath || !hostPath) continue;
    // As in a container's root directory, '/..' is '/'.
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
 * Creates the link of a mount, inside the root directory or inside the volume of the surrounding
 * mount. Links in a volume are not followed, because a container may have created them. Resolves
 * with false if another file is at the path.
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
    // The volume's own path comes from the kubelet or the node, and may be a link.
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
 * Returns a command that runs a program with its user and environment; `dir`: the directory with
 * the file of writeEnvironment.
 */
export function withUserAndEnvironment(
  { command, runAs }: Program,
  tools: Tools,
  dir: string,
): readonly [string, ...string[]] {
  // env(1) treats an argument with '=' as a variable.
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
  const { dir, id, command, owner, path, env, cwd, stdin, reports } = config;
  writeEnvironment(dir, env, owner);
  const outputs = (['stdout', 'stderr'] as const).map((name) =>
    openUntrustedSync(join(dir, name), constants.O_RDWR, { type: 'named pipe' }),
  );
  const input = stdin ? await openInput(dir) : undefined;
  try {
    const child = spawn(SHELL, ['-c', SCRIPT, 'sh', dir, ...command], {
      detached: true,
      stdio: [
        input?.reader ?? 'ignore',
        ...outputs,
        ...(reports ? (['ignore', 'pipe'] as const) : []),
      ],
      env: { ...trustedEnvironment(path), [ID_VARIABLE]: id },
      cwd,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    if (reports) await untilReady(child.stdio[4] as Readable);
    child.once('exit', () => input?.writer.destroy());
    return { child, pid: child.pid!, stdin: input?.writer };
  } catch (error) {
    input?.writer.destroy();
    throw error;
  } finally {
    for (const output of outputs) closeSync(output);
    if (input !== undefined) closeSync(input.reader);
  }
}

/**
 * Opens both ends of a new pipe for standard input. It must not be a socket, which Node makes: a
 * program that sends a socket's data to its output by sendfile(2), as busybox's cat, holds the lock
 * of the output pipe while it waits for data. A read of that pipe then blocks this thread, in spite
 * of O_NONBLOCK, and the data would have to come from this thread.
 */
async function openInput(dir: string): Promise<{ reader: number; writer: Socket }> {
  const path = join(dir, 'stdin');
  rmSync(path, { force: true });
  await run('mkfifo', ['-m', '600', path]);
  const open = (flags: number): number =>
    openUntrustedSync(path, flags | constants.O_NONBLOCK, { type: 'named pipe' });
  const reader = open(constants.O_RDONLY);
  try {
    const writer = new Socket({ fd: open(constants.O_WRONLY), readable: false, writable: true });
    // The program may have closed its input.
    writer.on('error', () => undefined);
    return { reader, writer };
  } catch (error) {
    closeSync(reader);
    throw error;
  } finally {
    rmSync(path, { force: true });
  }
}

/** The longest report that is read, in characters. */
const MAX_REPORT = 4000;

/** Resolves at the line "ok". Rejects with the report if the stream ends without it. */
async function untilReady(report: Readable): Promise<void> {
  let text = '';
  try {
    for await (const chunk of report) {
      text = (text + String(chunk)).slice(0, MAX_REPORT);
      if (text === 'ok\n' || text.endsWith('\nok\n')) return;
    }
  } finally {
    report.destroy();
  }
  throw new Error(text.trim() || 'the container could not be set up');
}

/**
 * Opens one of a container's output FIFOs. It ends when the last process that could write to it has
 * ended.
 */
export function readOutput(dir: string, stream: LogStream): Socket {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const fd = openUntrustedSync(join(dir, stream), flags, { type: 'named pipe' });
  return new Socket({ fd, readable: true, writable: false });
}
