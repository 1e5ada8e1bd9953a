// The configuration of a kubelet with its defaults, and files of the node that are read at the start.

import { mkdir, realpath } from 'node:fs/promises';
import type { Runtime } from '#cri/index.ts';
import { readUntrusted } from '#machinery/files/untrusted.ts';
import type { KubeletConfig } from '../config.ts';
import { isAppArmorEnabled } from '../node/apparmor-enabled.ts';
import { parseResolvConf, type DnsSettings } from '../dns.ts';
import { localVolumesPath } from '../paths.ts';
import { noMounter, systemMounter, type Mounter } from '../volumes/mounter.ts';

const MAX_NODE_FILE_BYTES = 1024 * 1024;
const RUNTIME_DEADLINE_MS = 30_000;

/** The configuration with its defaults, and values that are read once at the start. */
export interface Settings {
  readonly hostFiles: boolean;
  readonly podNetwork: boolean;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly localVolumesDir: string;
  readonly mounter: Mounter;
  /** Whether the kernel enforces AppArmor profiles. True on simulated nodes. */
  readonly appArmor: boolean;
  readonly dns: DnsSettings;
  readonly runtimeName: string;
  /** For example 'containerd://1.7.24'. */
  readonly runtimeVersion: string;
}

export async function readSettings(
  config: KubeletConfig,
  { runtime }: Runtime,
  signal: AbortSignal,
): Promise<Settings> {
  const hostFiles = config.hostFiles ?? true;
  const { runtimeName, runtimeVersion } = await runtime.version({
    signal,
    timeoutMs: RUNTIME_DEADLINE_MS,
  });
  const rootDir = await prepareRoot(config.rootDir ?? '/var/lib/kubelet', hostFiles);
  return {
    hostFiles,
    podNetwork: config.podNetwork ?? true,
    rootDir,
    podLogsDir: config.podLogsDir ?? '/var/log/pods',
    localVolumesDir: config.localVolumesDir ?? localVolumesPath(rootDir),
    appArmor: config.appArmor ?? (!hostFiles || (await isAppArmorEnabled())),
    mounter: config.mounter ?? (hostFiles ? systemMounter() : noMounter),
    dns: {
      clusterDNS: config.clusterDNS,
      clusterDomain: config.clusterDomain ?? 'cluster.local',
      node: parseResolvConf(
        hostFiles ? await readResolvConf(config.resolvConf ?? '/etc/resolv.conf') : '',
      ),
    },
    runtimeName,
    runtimeVersion: `${runtimeName}://${reportedVersion(runtimeVersion)}`,
  };
}

const SEMANTIC = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/;

/**
 * Returns the version in the form of upstream: a semantic version as it is, and of any other one
 * ('1.6.20~ds1') the numbers.
 */
export function reportedVersion(version: string): string {
  return SEMANTIC.exec(version)?.[1] ?? /^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? version;
}

/** Creates the directory. Returns its real path, as it appears in lists of mount points. */
async function prepareRoot(rootDir: string, hostFiles: boolean): Promise<string> {
  if (!hostFiles) return rootDir;
  await mkdir(rootDir, { recursive: true, mode: 0o750 });
  return await realpath(rootDir);
}

/**
 * Reads a small text file of the node. A container with a hostPath volume may have replaced the
 * file with any other type.
 */
export async function readNodeFile(path: string): Promise<string> {
  return (await readUntrusted(path, MAX_NODE_FILE_BYTES, { followLinks: true })).toString('utf8');
}

async function readResolvConf(path: string): Promise<string> {
  if (path === '') return '';
  try {
    return await readNodeFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
