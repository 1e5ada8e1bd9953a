// The programs of this host that make namespaces and mounts.

import { existsSync } from 'node:fs';
import { SYSTEM_PATH } from '#machinery/execute.ts';
import { requireProgram } from '../../toolbox.ts';

export interface Programs {
  readonly unshare: string;
  readonly nsenter: string;
  readonly mount: string;
  readonly umount: string;
  readonly pivotRoot: string;
  readonly ip: string;
  readonly nft: string | undefined;
}

/** Programs of this host that run outside of containers, with the Debian package of each. */
const REQUIRED = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['pivot_root', 'util-linux'],
  ['mount', 'mount'],
  ['umount', 'mount'],
  ['ip', 'iproute2'],
] as const;

/** Finds the programs. Throws MissingProgramError. */
export function findPrograms(path: string): Programs {
  return {
    unshare: requireProgram('unshare', path, 'util-linux'),
    nsenter: requireProgram('nsenter', path, 'util-linux'),
    mount: requireProgram('mount', path, 'mount'),
    umount: requireProgram('umount', path, 'mount'),
    pivotRoot: requireProgram('pivot_root', path, 'util-linux'),
    ip: requireProgram('ip', path, 'iproute2'),
    nft: optional(() => requireProgram('nft', path, 'nftables')),
  };
}

/** Returns why this process cannot make namespaces; undefined if it can, as far as is known. */
export function missingForIsolation(path = SYSTEM_PATH): string | undefined {
  if (process.platform !== 'linux') return 'namespaces need Linux';
  if (process.getuid?.() !== 0) return 'namespaces need root';
  if (!existsSync('/proc/self/ns/pid')) return 'this kernel has no namespaces';
  for (const [name, packageName] of REQUIRED) {
    if (optional(() => requireProgram(name, path, packageName)) === undefined)
      return `namespaces need ${name} (package ${packageName})`;
  }
  return undefined;
}

/** Returns the result of the function; undefined if it throws. */
export function optional<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
