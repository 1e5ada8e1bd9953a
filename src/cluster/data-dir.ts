// The data directory of a cluster: its layout, and the claim that one process has on it.
//
//   DIR/store/         the embedded store         DIR/pki/         certificates and keys (0700)
//   DIR/kubeconfig     admin's kubeconfig         DIR/kubelet/     volumes and pod data
//   DIR/containerd/    the private containerd     DIR/runtime/     state of the process runtime
//   DIR/logs/          container and pod logs     DIR/cox.pid      who runs on it, DIR/cox.log when detached

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from './user-error.ts';

export interface DataDirLayout {
  readonly root: string;
  readonly store: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly kubelet: string;
  readonly containerd: string;
  readonly runtime: string;
  readonly logs: string;
  readonly pidFile: string;
  readonly logFile: string;
}

export function dataDirLayout(dir: string): DataDirLayout {
  const root = resolve(dir);
  return {
    root,
    store: join(root, 'store'),
    pki: join(root, 'pki'),
    kubeconfig: join(root, 'kubeconfig'),
    kubelet: join(root, 'kubelet'),
    containerd: join(root, 'containerd'),
    runtime: join(root, 'runtime'),
    logs: join(root, 'logs'),
    pidFile: join(root, 'cox.pid'),
    logFile: join(root, 'cox.log'),
  };
}

/** A process, told apart from a later one with the same number by when it started. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot (field 22 of /proc/PID/stat); empty where there is no /proc. */
  readonly startTime: string;
}

/** The identity of a running process; undefined if there is none with that number. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0);
  } catch (err) {
    // EPERM: it runs, as somebody else.
    if ((err as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie holds nothing any more: it only waits for its parent to ask for its status.
    if (fields[0] === 'Z') return undefined;
    return { pid, startTime: fields[19] ?? '' };
  } catch {
    return { pid, startTime: '' };
  }
}

/** The process that runs on the directory, if one does. */
export function runningProcess(layout: DataDirLayout): ProcessIdentity | undefined {
  if (!existsSync(layout.pidFile)) return undefined;
  const [pid, startTime = ''] = readFileSync(layout.pidFile, 'utf8').trim().split(' ');
  const running = processIdentity(Number(pid));
  return running !== undefined && running.startTime === startTime ? running : undefined;
}

/**
 * Claims the directory for this process; answers the release. Throws UserError if another process runs on it. A claim whose
 * process died is taken over.
 */
export function claimDataDir(layout: DataDirLayout): () => void {
  try {
    mkdirSync(layout.root, { recursive: true, mode: 0o700 });
  } catch (err) {
    throw new UserError(
      `cannot make the data directory ${layout.root}: ${(err as Error).message}. Choose another with --data-dir.`,
      { cause: err },
    );
  }
  const self = processIdentity(process.pid) as ProcessIdentity;
  for (let attempt = 0; ; attempt++) {
    try {
      const file = openSync(layout.pidFile, 'wx', 0o644);
      writeSync(file, `${self.pid} ${self.startTime}\n`);
      closeSync(file);
      return () => rmSync(layout.pidFile, { force: true });
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 0) {
        throw new UserError(
          `cannot write in the data directory ${layout.root}: ${(err as Error).message}. Choose another with --data-dir.`,
          { cause: err },
        );
      }
      const other = runningProcess(layout);
      if (other !== undefined && other.pid !== process.pid) {
        throw new UserError(
          `a cluster already runs on ${layout.root} (process ${other.pid}). ` +
            `Stop it with 'cox down --data-dir ${layout.root}' or Ctrl-C, or choose another directory with --data-dir.`,
        );
      }
      rmSync(layout.pidFile, { force: true });
    }
  }
}
