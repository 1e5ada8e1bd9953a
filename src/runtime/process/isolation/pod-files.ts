// The files that each pod has of its own: host name, hosts and resolv.conf.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname as hostName } from 'node:os';
import { join } from 'node:path';
import type { PodSandboxConfig } from '#cri/index.ts';
import type { SandboxRecord } from '../../records.ts';
import { networkOf } from './namespace-modes.ts';
import { optional } from './programs.ts';

const NAMES = ['hostname', 'hosts', 'resolv.conf'] as const;

/** Writes the files into the pod's directory, which is made. */
export function writePodFiles(dir: string, { id, config, ip }: SandboxRecord): void {
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const name = networkOf(config) === 'NODE' ? hostName() : config.hostname || id.slice(0, 12);
  const files: Readonly<Record<(typeof NAMES)[number], string>> = {
    hostname: `${name}\n`,
    hosts:
      '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' +
      (ip === '' ? '' : `${ip}\t${name}\n`),
    'resolv.conf': resolvConf(config),
  };
  for (const file of NAMES) writeFileSync(join(dir, file), files[file]);
}

/** Returns the files in the pod's directory, by their paths in containers. */
export function podFiles(dir: string): ReadonlyMap<string, string> {
  return new Map(NAMES.map((name) => [`/etc/${name}`, join(dir, name)]));
}

function resolvConf(config: PodSandboxConfig): string {
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  if (servers.length + searches.length + options.length === 0)
    return optional(() => readFileSync('/etc/resolv.conf', 'utf8')) ?? '';
  return [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
    '',
  ].join('\n');
}
