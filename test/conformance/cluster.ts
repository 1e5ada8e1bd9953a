// The cluster that a run is made on, started by README's command in a data directory that goes with it.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '../../src/cluster/user-error.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface RunningCluster {
  readonly kubeconfig: string;
  /** Of the containerd that runs its containers, if any does. */
  readonly containerdSocket: string;
  stop(): Promise<void>;
}

/** Flags of `npm run up`. Simulated nodes are several, as tests move pods between them; a real one is this machine, where another cluster may have the addresses of the default. */
export const upFlags = (simulated: boolean): readonly string[] =>
  simulated
    ? ['--runtime', 'simulated', '--nodes', '3', '--store', 'memory']
    : ['--runtime', 'containerd', '--pod-cidr', '10.250.0.0/16'];

/** What it logs goes to `logFile`. Resolves when the cluster is ready. Rejects with a UserError, which has the last of what it said, where it ends instead. */
export async function startCluster(simulated: boolean, logFile: string): Promise<RunningCluster> {
  const dataDir = mkdtempSync(join(tmpdir(), 'cox-conformance-'));
  const flags = ['--data-dir', dataDir, '--secure-port', '0', '--quiet', ...upFlags(simulated)];
  const child = spawn('npm', ['run', '--silent', 'up', '--', ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const said: string[] = [];
  writeFileSync(logFile, '');
  createInterface({ input: child.stderr }).on('line', (line) => {
    appendFileSync(logFile, `${line}\n`);
    said.push(line);
    if (said.length > 20) said.shift();
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('cluster ready')) resolve();
    });
    child.once('error', reject);
    void ended.then(() => reject(new UserError(`no cluster was started:\n${said.join('\n')}`)));
  });
  const stop = async (): Promise<void> => {
    // The whole process group: npm does not always pass a signal on.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await ready;
  } catch (err) {
    await stop();
    throw err;
  }
  return { kubeconfig: join(dataDir, 'kubeconfig'), containerdSocket: join(dataDir, 'containerd', 'containerd.sock'), stop };
}
