// Installs what real containers need on Debian-like systems, when it is missing and may be installed.

import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs of the containerd runtime, and the Debian package of each. */
const TOOLS = [
  {
    name: 'containerd',
    package: 'containerd',
    isThere: () => findProgram('containerd') !== undefined,
  },
  { name: 'runc', package: 'runc', isThere: () => findProgram('runc') !== undefined },
  {
    name: 'CNI plugins',
    package: 'containernetworking-plugins',
    isThere: () => CNI_BIN_DIRS.some((dir) => existsSync(join(dir, 'bridge'))),
  },
  // Without a registry, the pod sandbox's own program is made from it.
  {
    name: 'busybox',
    package: 'busybox-static',
    isThere: () => findProgram('busybox') !== undefined,
  },
] as const;

const CNI_BIN_DIRS = ['/opt/cni/bin', '/usr/lib/cni'] as const;

/** Packages that are installed with the tools, where any is: the service proxy works without them, but not as well. */
const HELPFUL_PACKAGES = ['nftables', 'conntrack'] as const;

/** The path of a program in PATH or in the usual system folders. */
export function findProgram(name: string): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The names of what is missing for real containers; empty when all is there. */
export function missingTools(): readonly string[] {
  return TOOLS.filter((tool) => !tool.isThere()).map((tool) => tool.name);
}

/** Returns whether `installTools` can work on this machine. */
export function canInstall(): boolean {
  return process.platform === 'linux' && isRoot() && findProgram('apt-get') !== undefined;
}

/**
 * Installs what is missing with apt-get. Answers undefined when everything is there afterwards,
 * else why it is not (for the person at the terminal). No service is started: the cluster runs a
 * private containerd.
 */
export async function installTools(progress: (text: string) => void): Promise<string | undefined> {
  const packages = [
    ...TOOLS.filter((tool) => !tool.isThere()).map((tool) => tool.package),
    ...HELPFUL_PACKAGES,
  ];
  progress(`installing ${packages.join(', ')} with apt-get (--no-install skips this)`);
  // Keeps init scripts from starting a system-wide containerd (systemd does not heed it; one that
  // runs is only not used).
  const noServices = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
  let result = await aptGet(install, noServices);
  if (result !== undefined) {
    // A fresh machine has no package lists yet.
    result = await aptGet(['update', '-qq'], noServices);
    result ??= await aptGet(install, noServices);
  }
  if (result !== undefined) return result;
  const missing = missingTools();
  return missing.length === 0
    ? undefined
    : `apt-get succeeded but ${missing.join(', ')} cannot be found`;
}

/** Undefined on success, else the last lines that apt-get printed. */
function aptGet(args: readonly string[], env: Record<string, string>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn('apt-get', args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keepTail = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-2000);
    };
    child.stdout.on('data', keepTail);
    child.stderr.on('data', keepTail);
    child.once('error', (err) => resolve(err.message));
    child.once('close', (code) =>
      resolve(
        code === 0
          ? undefined
          : `apt-get ${args[0]} failed: ${output.trim().split('\n').slice(-3).join('; ')}`,
      ),
    );
  });
}
