// The data directory of a cluster: its layout, and the claim that one process has on it.
//
//   DIR/store/         the embedded store         DIR/pki/         certificates and keys (0700)
//   DIR/kubeconfig     admin's kubeconfig         DIR/kubelet/     volumes and pod data
//   DIR/containerd/    the private containerd     DIR/runtime/     state of the process runtime
//   DIR/logs/          container and pod logs     DIR/simulated/   containers of simulated nodes
//   DIR/cox.pid        the process that uses it   DIR/cox.log      its log when detached
//   DIR/cox.tag        says that the directory is one of these

import { createHash } from 'node:crypto';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { syncDirectory, writeDurableFile } from '#machinery/files/durable-file.ts';
import { identify, isAlive, type ProcessIdentity } from '#runtime/process-identity.ts';
import { UserError } from '../user-error.ts';

export type { ProcessIdentity } from '#runtime/process-identity.ts';

export interface DataDirLayout {
  readonly root: string;
  readonly store: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly kubelet: string;
  /** Volumes and snapshots of the reference CSI driver. */
  readonly csi: string;
  readonly containerd: string;
  readonly runtime: string;
  readonly logs: string;
  readonly simulated: string;
  readonly pidFile: string;
  readonly tagFile: string;
  readonly logFile: string;
}

export function dataDirLayout(dir: string): DataDirLayout {
  const root = resolve(dir);
  return {
    root,
    store: join(root, 'store'),
    pki: join(root, 'pki'),
    kubeconfig: join(root, 'kubeconfig'),
    csi: join(root, 'csi'),
    kubelet: join(root, 'kubelet'),
    containerd: join(root, 'containerd'),
    runtime: join(root, 'runtime'),
    logs: join(root, 'logs'),
    simulated: join(root, 'simulated'),
    pidFile: join(root, 'cox.pid'),
    tagFile: join(root, 'cox.tag'),
    logFile: join(root, 'cox.log'),
  };
}

/**
 * Returns the name of the nftables table with the cluster's service proxy: the same for the same
 * directory, another for others.
 */
export function proxyTable({ root }: DataDirLayout): string {
  return `coxswain-${createHash('sha256').update(root).digest('hex').slice(0, 10)}`;
}

/**
 * The contents of the pid file: the number of the process, a space, and the process's start time
 * (with the boot's id), which distinguishes it from a later process with the same number. The
 * newline at the end marks the text as complete.
 */
const PID_FILE_PATTERN = /^([1-9]\d{0,9}) (\S[^\n]*)\n$/;

/**
 * Contents of the pid file:
 *
 * - none: there is no pid file;
 * - running: the process that it names runs;
 * - stale: the process that it names has ended (another process may have its number now);
 * - unreadable: it is empty, damaged or no file. It says nothing about who uses the directory.
 */
export type DataDirClaim =
  | { readonly state: 'none' | 'stale' | 'unreadable' }
  | { readonly state: 'running'; readonly process: ProcessIdentity };

/** Reads the pid file. Never throws for its contents. */
export function readClaim(layout: DataDirLayout): DataDirClaim {
  let text: string;
  try {
    // A FIFO would block the read for ever.
    if (!lstatSync(layout.pidFile).isFile()) return { state: 'unreadable' };
    text = readFileSync(layout.pidFile, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'none' };
    throw new UserError(`cannot read ${layout.pidFile}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const identity = parsePidFile(text);
  if (identity === undefined) return { state: 'unreadable' };
  return isAlive(identity) ? { state: 'running', process: identity } : { state: 'stale' };
}

/** Returns the process that a pid file names; undefined for every text that `claimDataDir` did not write. */
export function parsePidFile(text: string): ProcessIdentity | undefined {
  const [, pid, startTime] = PID_FILE_PATTERN.exec(text) ?? [];
  return pid === undefined || startTime === undefined ? undefined : { pid: Number(pid), startTime };
}

/**
 * Returns the process that runs on the directory, or undefined. Throws UserError if the pid file is
 * unreadable although the store is in use: then the process is not certain, and must not be
 * signalled.
 */
export async function runningProcess(layout: DataDirLayout): Promise<ProcessIdentity | undefined> {
  const claim = readClaim(layout);
  if (claim.state === 'unreadable') await checkStoreUnused(layout);
  return claim.state === 'running' ? claim.process : undefined;
}

/**
 * Claims the directory for this process and returns a function that releases it. The pid file
 * appears with all of its contents or not at all, and is on the disk when this resolves. A claim
 * whose process has ended is taken over; so is an unreadable one, if no process has the store open.
 * Throws UserError if another process runs on the directory, or if it cannot be written.
 */
export async function claimDataDir(layout: DataDirLayout): Promise<() => void> {
  try {
    mkdirSync(layout.root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new UserError(
      `cannot make the data directory ${layout.root}: ${(error as Error).message}. Choose another with --data-dir.`,
      { cause: error },
    );
  }
  const self = identify(process.pid);
  if (self === undefined)
    throw new Error(`the start time of process ${process.pid} cannot be read`);
  const text = `${self.pid} ${self.startTime}\n`;
  for (;;) {
    const claim = readClaim(layout);
    if (claim.state === 'running') throw inUse(layout, claim.process);
    if (claim.state === 'unreadable') await checkStoreUnused(layout);
    try {
      if (claim.state !== 'none') removeClaim(layout, self);
      if (createPidFile(layout, self, text)) {
        if (!isDataDir(layout) && entriesOf(layout).every(isOwnEntry)) tagDataDir(layout);
        return () => releaseClaim(layout, text);
      }
    } catch (error) {
      throw new UserError(
        `cannot write in the data directory ${layout.root}: ${(error as Error).message}. ` +
          'Choose another with --data-dir.',
        { cause: error },
      );
    }
    // Another process has written a pid file since it was read: that one decides.
  }
}

/** Creates the pid file. Returns false if there is one already. Two processes may try at the same time. */
function createPidFile(layout: DataDirLayout, self: ProcessIdentity, text: string): boolean {
  const own = `${layout.pidFile}.${self.pid}`;
  try {
    writeDurableFile(own, text, { mode: 0o644 });
    linkSync(own, layout.pidFile);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
  syncDirectory(layout.root);
  return true;
}

/**
 * Removes a pid file that names no running process. It is moved away first: if another process has
 * replaced it since it was read, the new one is put back.
 */
function removeClaim(layout: DataDirLayout, self: ProcessIdentity): void {
  const aside = `${layout.pidFile}.stale.${self.pid}`;
  rmSync(aside, { recursive: true, force: true });
  try {
    renameSync(layout.pidFile, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (readClaim({ ...layout, pidFile: aside }).state === 'running') linkSync(aside, layout.pidFile);
  rmSync(aside, { recursive: true, force: true });
}

function releaseClaim(layout: DataDirLayout, text: string): void {
  try {
    if (readFileSync(layout.pidFile, 'utf8') !== text) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  rmSync(layout.pidFile, { force: true });
}

function inUse({ root }: DataDirLayout, { pid }: ProcessIdentity): UserError {
  return new UserError(
    `a cluster already runs on ${root} (process ${pid}). ` +
      `Stop it with 'cox down --data-dir ${root}' or Ctrl-C, or choose another directory with --data-dir.`,
  );
}

/** Throws UserError if a process has the store open. */
export async function checkStoreUnused(layout: DataDirLayout): Promise<void> {
  const { storeHolder } = await import('#storage/embedded/lock.ts');
  const holder = await storeHolder(layout.store);
  if (holder === undefined) return;
  throw new UserError(
    `${layout.pidFile} names no running process, but the store in ${layout.store} is in use ` +
      `by ${holder}: stop that process first`,
  );
}

const TAG =
  'This is a data directory of Coxswain. `cox reset` removes it with all that runs from it.\n';
/** Names at the top of a data directory, with those of earlier stores and of unfinished writes. */
const OWN_ENTRY = new RegExp(
  String.raw`^(store(\.(restored|before-restore-\d+)(\.restoring)?)?|pki|kubeconfig|kubelet|` +
    String.raw`containerd|runtime|logs|simulated|csi|cox\.(log|tag|pid)|cox\.pid\.(stale\.)?\d+)(\.tmp)?$`,
);

/** Reports whether a cluster makes entries of this name at the top of its data directory. */
export function isOwnEntry(name: string): boolean {
  return OWN_ENTRY.test(name);
}

/** Returns the names at the top of the directory; none if it does not exist. */
export function entriesOf({ root }: DataDirLayout): readonly string[] {
  try {
    return readdirSync(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new UserError(`cannot read ${root}: ${(error as Error).message}`, { cause: error });
  }
}

/** Writes the tag by which `isDataDir` knows the directory again. */
export function tagDataDir(layout: DataDirLayout): void {
  writeDurableFile(layout.tagFile, TAG, { mode: 0o644 });
}

/**
 * Returns whether a cluster has made the directory: it has the tag, or a part that only a cluster
 * makes. `pki` and `kubeconfig` are no proof: other installations have directories with those
 * names, too.
 */
export function isDataDir(layout: DataDirLayout): boolean {
  const parts = [
    layout.tagFile,
    join(layout.store, 'storage.db'),
    join(layout.runtime, 'sandboxes'),
    join(layout.containerd, 'containerd.json'),
    join(layout.containerd, 'cni', '10-coxswain.conflist'),
  ];
  return parts.some((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}
