// Reads whether the kernel of this machine limits the swap of containers, and how much there is.

import { access, readFile } from 'node:fs/promises';
import type { MachineSwap, SwapBehavior } from '../runtime/swap.ts';

const CGROUPS = '/sys/fs/cgroup';

/** Returns undefined if the kernel cannot limit swap. `memoryBytes`: of the node. */
export async function readSwapFacts(
  behavior: SwapBehavior,
  memoryBytes: number,
): Promise<MachineSwap | undefined> {
  const isUnified = await exists(`${CGROUPS}/cgroup.controllers`);
  const own = isUnified ? await ownCgroup() : undefined;
  const file = isUnified
    ? `${CGROUPS}${own ?? ''}/memory.swap.max`
    : `${CGROUPS}/memory/memory.memsw.limit_in_bytes`;
  if (!(await exists(file))) return undefined;
  const meminfo = await readFile('/proc/meminfo', 'utf8');
  const swapBytes = Number(/^SwapTotal: *(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
  return { behavior, cgroupVersion: isUnified ? 2 : 1, memoryBytes, swapBytes };
}

/** Returns the path of this process' cgroup: '/system.slice/…', or '' for the root. */
async function ownCgroup(): Promise<string> {
  const text = await readFile('/proc/self/cgroup', 'utf8');
  const path = /^0::(\/.*)$/m.exec(text)?.[1] ?? '/';
  return path === '/' ? '' : path;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
