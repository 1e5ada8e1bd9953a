// Reads the facts about this machine, with the checks that a start of the cluster makes where there are any.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { freemem, release } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { NftSession, obstacleToNft } from '#machinery/net/nft/index.ts';
import { overlayfsWorks } from '#runtime/containerd/index.ts';
import { dataDirLayout, readClaim } from '../data-dir/data-dir.ts';
import { findProgram, isRoot, missingTools } from '../machine/install.ts';
import {
  type MachineFacts,
  type ModuleName,
  MODULES,
  type ModuleState,
  type PortFact,
} from './facts.ts';

/** Ports of `cox up` with default flags, and with --ingress. */
const PORTS = [
  { port: 6443, use: 'API server' },
  { port: 10_250, use: 'kubelet' },
  { port: 80, use: 'Ingresses' },
  { port: 443, use: 'Ingresses with TLS' },
] as const;

export async function readFacts(dataDir: string): Promise<MachineFacts> {
  const layout = dataDirLayout(dataDir);
  const root = isRoot();
  const place = nearestExisting(layout.root);
  const programs = {
    nft: findProgram('nft') !== undefined,
    conntrack: findProgram('conntrack') !== undefined,
    ip: findProgram('ip') !== undefined,
    kubectl: findProgram('kubectl') !== undefined,
    modprobe: findProgram('modprobe') !== undefined,
  };
  return {
    platform: process.platform,
    root,
    distribution: distributionOf(textOf('/etc/os-release')),
    missingTools: missingTools(),
    programs,
    nftObstacle: await nftObstacle(programs.nft),
    overlayWorks: root && process.platform === 'linux' ? await overlayIn(place) : undefined,
    modules: moduleStates(),
    cgroups: cgroupsOf(),
    inotify: {
      watches: numberIn('/proc/sys/fs/inotify/max_user_watches'),
      instances: numberIn('/proc/sys/fs/inotify/max_user_instances'),
    },
    openFiles: openFilesOf(textOf('/proc/self/limits')),
    disk: await diskOf(place),
    memoryAvailableBytes: availableMemory(textOf('/proc/meminfo')) ?? freemem(),
    running: readClaim(layout).state === 'running',
    ports: await Promise.all(PORTS.map(portFact)),
  };
}

/** Returns the folder itself or the nearest one above it that exists. */
function nearestExisting(dir: string): string {
  let place = dir;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}

/** Returns the contents of a small file; '' if it cannot be read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Systems without the file: the fact is then not known.
    return '';
  }
}

function numberIn(path: string): number | undefined {
  const text = textOf(path).trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Reads ID and ID_LIKE of os-release. */
export function distributionOf(osRelease: string): MachineFacts['distribution'] {
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?=["']?([^"'\n]*)/gm)].flatMap(([, value = '']) =>
    value.split(' '),
  );
  if (ids.some((id) => id === 'debian' || id === 'ubuntu')) return 'debian';
  if (ids.some((id) => ['fedora', 'rhel', 'centos'].includes(id))) return 'fedora';
  return ids.includes('alpine') ? 'alpine' : 'other';
}

/** Returns the soft limit of open files. */
export function openFilesOf(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft);
}

export function availableMemory(meminfo: string): number | undefined {
  const [, kibibytes] = /^MemAvailable:\s+(\d+) kB/m.exec(meminfo) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

async function nftObstacle(installed: boolean): Promise<string | undefined> {
  if (!installed) return 'the program nft is missing';
  const nft = new NftSession({ clock: systemClock });
  try {
    return await obstacleToNft(nft, 'add table inet coxswain-probe\n');
  } finally {
    await nft.close();
  }
}

/** The trial needs a folder of its own: `place` belongs to the user. */
async function overlayIn(place: string): Promise<boolean | undefined> {
  let dir: string;
  try {
    dir = mkdtempSync(join(place, '.coxswain-doctor-'));
  } catch {
    // A file system that cannot be written: the check of the disk shows it.
    return undefined;
  }
  try {
    return await overlayfsWorks(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function moduleStates(): Readonly<Record<ModuleName, ModuleState>> {
  const folder = join('/lib/modules', release());
  const listed = textOf(join(folder, 'modules.dep'));
  const builtIn = textOf(join(folder, 'modules.builtin'));
  const stateOf = (name: ModuleName): ModuleState => {
    if (existsSync(join('/sys/module', name)) || hasModule(builtIn, name)) return 'loaded';
    if (name === 'overlay' && /\toverlay$/m.test(textOf('/proc/filesystems'))) return 'loaded';
    // A bridge has these settings only with the module.
    if (name === 'br_netfilter' && existsSync('/proc/sys/net/bridge')) return 'loaded';
    if (hasModule(listed, name)) return 'available';
    return listed === '' ? 'unknown' : 'missing';
  };
  return Object.fromEntries(MODULES.map((name) => [name, stateOf(name)])) as Record<
    ModuleName,
    ModuleState
  >;
}

/** `list`: modules.dep or modules.builtin. File names have dashes or underscores. */
export function hasModule(list: string, name: string): boolean {
  const pattern = name.replaceAll('_', '[-_]');
  return new RegExp(`/${pattern}\\.ko(\\.\\w+)?(:|$)`, 'm').test(list);
}

function cgroupsOf(): MachineFacts['cgroups'] {
  const unified = textOf('/sys/fs/cgroup/cgroup.controllers');
  if (unified !== '') return { version: 2, controllers: unified.trim().split(' ') };
  const named = ['cpu', 'memory', 'pids', 'cpuset'].filter((name) =>
    existsSync(join('/sys/fs/cgroup', name)),
  );
  return named.length > 0
    ? { version: 1, controllers: named }
    : { version: undefined, controllers: [] };
}

async function diskOf(dir: string): Promise<MachineFacts['disk']> {
  const { bavail, bsize, blocks } = await statfs(dir);
  return blocks === 0 ? undefined : { dir, freeBytes: bavail * bsize };
}

function portFact({ port, use }: Pick<PortFact, 'port' | 'use'>): Promise<PortFact> {
  const address = '127.0.0.1';
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code, message }: NodeJS.ErrnoException) =>
      resolve({ port, use, address, obstacle: code === 'EADDRINUSE' ? 'in use' : message }),
    );
    server.listen(port, address, () =>
      server.close(() => resolve({ port, use, address, obstacle: undefined })),
    );
  });
}
