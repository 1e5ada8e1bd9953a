// Facts about this machine, for its Node object.

import { readdir, readFile, statfs } from 'node:fs/promises';
import { arch, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { machineInterfaces } from '#machinery/net/machine-interfaces.ts';
import { newQuantity } from '#machinery/text/quantity.ts';
import type { ResourceList } from '../types.ts';

/**
 * The part of a Node's status.nodeInfo about the machine. The rest is about the runtime and the
 * kubelet.
 */
export interface MachineInfo {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly operatingSystem: string;
  readonly architecture: string;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
};

const SHARED_FOR_MS = 1000;
const DEFAULT_MAX_PODS = 110;

const KEYS: readonly (keyof MachineInfo)[] = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'operatingSystem',
  'architecture',
];

/**
 * Reads the information; '' for parts that cannot be read. Reads nothing if all parts are given: a
 * simulated node has no machine.
 */
export async function readMachineInfo(given: Partial<MachineInfo> = {}): Promise<MachineInfo> {
  if (isComplete(given)) return given;
  return { ...(await readAll()), ...given };
}

function isComplete(info: Partial<MachineInfo>): info is MachineInfo {
  return KEYS.every((key) => info[key] !== undefined);
}

async function readAll(): Promise<MachineInfo> {
  const [machineID, systemUUID, bootID, osRelease] = await Promise.all([
    readOr('', '/etc/machine-id', '/var/lib/dbus/machine-id'),
    readOr('', '/sys/class/dmi/id/product_uuid', '/proc/device-tree/system-id'),
    readOr('', '/proc/sys/kernel/random/boot_id'),
    readOr('', '/etc/os-release', '/usr/lib/os-release'),
  ]);
  return {
    machineID,
    systemUUID: systemUUID === '' ? machineID : systemUUID,
    bootID,
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
    // Containers are Linux containers, wherever the kubelet runs.
    operatingSystem: 'linux',
    architecture: ARCHITECTURES[arch()] ?? arch(),
  };
}

/** Returns CPUs, memory and disk of this machine, and the default number of pods. */
export async function readCapacity(
  rootDir: string,
  maxPods = DEFAULT_MAX_PODS,
): Promise<ResourceList> {
  const [disk, hugePages] = await Promise.all([
    statfs(rootDir).catch(() => undefined),
    readHugePages(),
  ]);
  return {
    cpu: String(cpus().length),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    ...(disk !== undefined
      ? { 'ephemeral-storage': `${Math.floor((disk.blocks * disk.bsize) / 1024)}Ki` }
      : {}),
    ...hugePages,
    pods: String(maxPods),
  };
}

/** Returns the amounts of preallocated huge pages: 'hugepages-2Mi': '1Gi'. */
async function readHugePages(directory = '/sys/kernel/mm/hugepages'): Promise<ResourceList> {
  const names = await readdir(directory).catch(() => []);
  const amounts = await Promise.all(
    names.map(async (name) => {
      const kilobytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
      const count = Number(await readOr('0', join(directory, name, 'nr_hugepages')));
      if (!Number.isSafeInteger(kilobytes) || !Number.isSafeInteger(count)) return [];
      const size = newQuantity(kilobytes * 1024, 'BinarySI');
      return [[`hugepages-${size.toString()}`, size.mul(count).toString()] as const];
    }),
  );
  return Object.fromEntries(amounts.flat());
}

/** Returns the first address of each family by which other machines can reach this one. */
export function machineAddresses(): readonly string[] {
  const all = Object.values(machineInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter((entry) => !entry.internal && !entry.address.startsWith('fe80:'));
  const four = all.find((entry) => entry.family === 'IPv4');
  const six = all.find((entry) => entry.family === 'IPv6');
  return [four, six].filter((entry) => entry !== undefined).map((entry) => entry.address);
}

/**
 * Returns a function that returns machineAddresses(), at most a second old: kubelets of many nodes
 * in one process share it.
 */
export function sharedMachineAddresses(clock: Clock): () => readonly string[] {
  let readAt = Number.NEGATIVE_INFINITY;
  let addresses: readonly string[] = [];
  return () => {
    const now = clock.monotonic();
    if (now - readAt >= SHARED_FOR_MS) {
      const current = machineAddresses();
      // Each node of a process compares them with the last ones.
      if (!deepEqual(current, addresses)) addresses = current;
      readAt = now;
    }
    return addresses;
  };
}

/**
 * Returns a function that returns the capacity of this machine with its root disk, which it reads
 * once: all simulated nodes of a process have it.
 */
export function sharedCapacity(): () => Promise<ResourceList> {
  let capacity: Promise<ResourceList> | undefined;
  return () => (capacity ??= readCapacity('/'));
}

async function readOr(fallback: string, ...paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      return (await readFile(path, 'utf8')).trim();
    } catch {
      // The file is missing or not readable for this user: try the next one.
    }
  }
  return fallback;
}
