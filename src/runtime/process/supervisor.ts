// Starts a container's process so that it does not depend on us. A shell stays as its parent, in a process group of their
// own: it notes the exit code, and then kills whatever the program has left running. Output goes into FIFOs that the
// program holds open in both directions: without a reader it fills them and waits, but never breaks.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, symlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerConfig, LogStream } from '../../cri/index.ts';
import type { Program } from './requirements.ts';

const run = promisify(execFile);

// $1 is the container's directory, the rest the command. A shell that is waiting for its foreground program runs a trap only
// after it, and a trap (unlike an ignored signal) is not inherited.
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

export interface SupervisedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
}

export interface LaunchConfig {
  readonly dir: string;
  readonly program: Program;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A pipe for standard input; otherwise there is none to read. */
  readonly stdin: boolean;
}

/** Makes the container's directory: its FIFOs, and links to its mounts below `root`. */
export async function prepareContainerDir(dir: string, config: ContainerConfig): Promise<void> {
  const root = join(dir, 'root');
  mkdirSync(root, { recursive: true, mode: 0o755 });
  for (const { containerPath, hostPath } of config.mounts ?? []) {
    if (!containerPath || !hostPath) continue;
    const link = join(root, containerPath);
    mkdirSync(dirname(link), { recursive: true });
    try {
      symlinkSync(hostPath, link);
    } catch (err) {
      // A mount inside another one: it is there already, through the link of the outer one.
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    }
  }
  await run('mkfifo', ['-m', '600', join(dir, 'stdout'), join(dir, 'stderr')]);
}

/** Switches user and groups, for a supervisor that has root. */
export function asUser({ command, runAs }: Program): readonly string[] {
  if (runAs === undefined) return command;
  const groups = runAs.groups.length > 0 ? [`--groups=${runAs.groups.join(',')}`] : ['--clear-groups'];
  return ['setpriv', `--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, ...groups, '--', ...command];
}

export async function launch(config: LaunchConfig): Promise<SupervisedProcess> {
  const { dir, program, env, cwd, stdin } = config;
  const outputs = (['stdout', 'stderr'] as const).map((name) => openSync(join(dir, name), constants.O_RDWR));
  try {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', dir, ...asUser(program)], {
      detached: true,
      stdio: [stdin ? 'pipe' : 'ignore', ...outputs],
      env,
      cwd,
    });
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

/** Reads one of a container's output FIFOs. It ends when the last process that could write to it has. */
export function readOutput(dir: string, stream: LogStream): Socket {
  const fd = openSync(join(dir, stream), constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
