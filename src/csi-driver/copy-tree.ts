// Copies the directory of a volume while containers write to it.
//
// A container may replace a directory by a link to one of the host's at any time, and cp(1) would
// follow it: what the container must not read would be in the copy. tar(1) opens each name relative to
// the open directory above it, without following links, and makes links last when it extracts.

import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { SYSTEM_PATH } from '#machinery/execute.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';

/** The exit code of tar for files that have changed or vanished while they were read. */
const CHANGED = 1;
const MAX_ERROR_LENGTH = 2000;

const ATTRIBUTES = ['--numeric-owner', '--xattrs', '--xattrs-include=*', '--acls'];

/**
 * Copies the contents with owners, modes and attributes to a new directory. Sockets are left out.
 * Files that change meanwhile are copied as they are at some moment. Rejects with Internal, also if
 * an entry becomes one of another type while it is read: callers of CSI retry.
 */
export async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  const read = start('--create', ['--one-file-system', '--sparse'], from, ['.']);
  const written = start('--extract', ['--same-owner', '--same-permissions'], to, []);
  const [piped, readEnd, writeEnd] = await Promise.allSettled([
    pipeline(read.child.stdout, written.child.stdin),
    read.end,
    written.end,
  ]);
  // The second program's failure is the cause of the first one's broken pipe.
  for (const { outcome, allowed } of [
    { outcome: writeEnd, allowed: 0 },
    { outcome: readEnd, allowed: CHANGED },
  ]) {
    if (outcome.status === 'rejected') throw outcome.reason;
    const { code, stderr } = outcome.value;
    if (code > allowed) throw new RpcError('INTERNAL', `copying ${from}: ${stderr.trim()}`);
  }
  // The second program may close its input before the last write is reported. Its code says whether
  // it has read an archive, and the first one's that this was the whole.
  if (piped.status === 'rejected' && !read.child.stdout.readableEnded) throw piped.reason;
}

function start(
  verb: string,
  options: readonly string[],
  directory: string,
  members: readonly string[],
) {
  const args = [verb, '--file=-', ...ATTRIBUTES, ...options, `--directory=${directory}`];
  const child = spawn('tar', [...args, ...members], {
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    stdio: 'pipe',
  });
  let stderr = '';
  child.stderr.on(
    'data',
    (chunk: Buffer) => (stderr += chunk.toString().slice(0, MAX_ERROR_LENGTH - stderr.length)),
  );
  const end = new Promise<{ readonly code: number; readonly stderr: string }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 128, stderr }));
  });
  return { child, end };
}
