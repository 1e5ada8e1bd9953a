// The process that keeps a pod's namespaces while its containers come and go. In a pid namespace of
// the pod it is process 1, and reaps what containers leave.

import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { CriError } from '#cri/index.ts';
import { identify, type ProcessIdentity } from '../../process-identity.ts';

/**
 * $1 is a FIFO to wait at, $2 the host name or ''; pairs of a sysctl's file and value follow.
 * Processes that are left to it are reaped by the kernel, since it ignores SIGCHLD.
 */
const HOLD = `
set -eu
fifo=$1; name=$2; shift 2
exec 3<> "$fifo"
read -r pid rest < /proc/self/stat
echo "-998" > /proc/self/oom_score_adj || :
if [ -n "$name" ]; then printf '%s' "$name" > /proc/sys/kernel/hostname; fi
while [ $# -gt 0 ]; do printf '%s' "$2" > "$1"; shift 2; done
echo "ok $pid"
exec > /dev/null 2>&1
trap '' CHLD HUP INT TERM
while :; do read -r line <&3 || :; done
`;

const MAX_OUTPUT = 4000;

export interface HolderConfig {
  /** The path of a FIFO that does not exist yet. */
  readonly fifo: string;
  /** The absolute path of unshare(1). */
  readonly unshare: string;
  /** Options of unshare(1), such as --net. */
  readonly namespaces: readonly string[];
  readonly hostname: string;
  /** Files below /proc/sys and their values. */
  readonly sysctls: ReadonlyMap<string, string>;
  /** The PATH of the host's programs. */
  readonly path: string;
}

/** Starts the process, and resolves when its namespaces are as configured. Rejects with Internal. */
export async function startHolder(config: HolderConfig): Promise<ProcessIdentity> {
  const { fifo, unshare, namespaces, hostname, sysctls, path } = config;
  await promisify(execFile)('mkfifo', ['-m', '600', fifo], { env: { PATH: path } });
  const pid = namespaces.includes('--pid') ? ['--fork', '--kill-child'] : [];
  const child = spawn(
    unshare,
    [
      ...namespaces,
      ...pid,
      '--',
      '/bin/sh',
      '-c',
      HOLD,
      'sh',
      fifo,
      hostname,
      ...[...sysctls].flat(),
    ],
    { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: path }, cwd: '/' },
  );
  let output = '';
  const started = await new Promise<number>((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new CriError('Internal', `cannot make the pod's namespaces: ${why}`));
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(0, MAX_OUTPUT);
      const holder = /^ok (\d+)$/m.exec(output)?.[1];
      if (holder !== undefined) resolve(Number(holder));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (error) => fail(error.message));
    child.once('close', () => fail(output.trim()));
  });
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  const identity = identify(started);
  if (identity === undefined)
    throw new CriError('Internal', `the process that holds the pod's namespaces has ended`);
  return identity;
}

/** The sysctls of namespaces, as runc allows them. */
const IPC_SYSCTLS =
  /^kernel\.(?:msgmax|msgmnb|msgmni|sem|shmall|shmmax|shmmni|shm_rmid_forced)$|^fs\.mqueue\./;

/**
 * Returns the files of a pod's sysctls. Throws InvalidArgument for one that belongs to the host, or
 * to a namespace that the pod shares with the host.
 */
export function sysctlFiles(
  sysctls: Readonly<Record<string, string>>,
  own: { readonly net: boolean; readonly ipc: boolean },
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const [name, value] of Object.entries(sysctls)) {
    const dotted = name.replaceAll('/', '.');
    if (!/^[\w-]+(?:\.[\w-]+)+$/.test(dotted))
      throw new CriError('InvalidArgument', `sysctl ${JSON.stringify(name)} is not a valid name`);
    const allowed = (own.ipc && IPC_SYSCTLS.test(dotted)) || (own.net && dotted.startsWith('net.'));
    if (!allowed)
      throw new CriError(
        'InvalidArgument',
        `sysctl ${JSON.stringify(name)} is not in a separate kernel namespace`,
      );
    files.set(`/proc/sys/${dotted.replaceAll('.', '/')}`, value);
  }
  return files;
}
