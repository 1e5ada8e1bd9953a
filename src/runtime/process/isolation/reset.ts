// Removes what pods in namespaces have left on the system, without their runtime: the processes that
// hold namespaces, mounts, the bridge and its rules.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execute } from '#machinery/execute.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';
import { type ProcessIdentity, signalProcess } from '../../process-identity.ts';
import { bridgeOf } from './network.ts';

const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Removes everything; the containers' own processes must be gone. Idempotent. */
export async function removeNamespaces(stateDir: string): Promise<void> {
  if (!existsSync(join(stateDir, 'mounts'))) return;
  for (const holder of holders(join(stateDir, 'sandboxes'))) signalProcess(holder, 'SIGKILL');
  const points = mountPoints().filter((path) => path.startsWith(`${stateDir}/`));
  for (const path of points.toReversed()) {
    const { code, stderr } = await execute(['umount', '-l', '--', path], '');
    if (code !== 0) throw new Error(`cannot unmount ${path}: ${stderr.trim()}`);
  }
  const bridge = bridgeOf(stateDir);
  if (existsSync(`/sys/class/net/${bridge}`)) {
    await execute(['ip', 'link', 'delete', bridge], '');
    await execute(['nft', 'delete', 'table', 'ip', bridge], '').catch(() => undefined);
  }
}

/** Returns the recorded processes that hold namespaces. Damaged records are ignored. */
function holders(dir: string): readonly ProcessIdentity[] {
  return (existsSync(dir) ? readdirSync(dir) : []).flatMap((name) => {
    try {
      const text = readUntrustedSync(join(dir, name), MAX_RECORD_BYTES).data.toString('utf8');
      const { holder } = JSON.parse(text) as { readonly holder?: Partial<ProcessIdentity> };
      const { pid, startTime } = holder ?? {};
      return typeof pid === 'number' && pid > 1 && typeof startTime === 'string'
        ? [{ pid, startTime }]
        : [];
    } catch {
      return [];
    }
  });
}

/** Returns the paths of all mounts, in the order in which they were made. */
export function mountPoints(): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
}
