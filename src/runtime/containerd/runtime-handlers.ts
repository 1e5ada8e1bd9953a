// The runtime handlers that the machine's administrator has configured for containerd, such as
// gVisor's: a private containerd offers them, too, so that RuntimeClasses can name them.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

/** The configuration of the machine's own containerd. */
export const MACHINE_CONFIG = '/etc/containerd/config.toml';

const CRI = 'plugins."io.containerd.grpc.v1.cri"';
/** A table of a handler, or below one; the plugin's name and its quotes differ between versions. */
const HANDLER_TABLE = /^\s*\[plugins\..+?\.containerd\.runtimes\.(.+)\]\s*$/;
const ANY_TABLE = /^\s*\[/;
const CGROUP_DRIVER = /^(\s*SystemdCgroup = ).*$/;
/** The private containerd has a handler of this name of its own. */
const OWN_HANDLER = /^"?'?runc['"]?(?:\.|$)/;

/**
 * Returns the tables of all handlers but `runc` of a configuration that `containerd config dump` has
 * printed, for a configuration in format version 2. Their cgroup driver is that of the private
 * containerd: the kubelet names the cgroups of all pods alike.
 */
export function handlerTables(dump: string, systemdCgroup: boolean): string {
  const kept: string[] = [];
  let inHandler = false;
  for (const line of dump.split('\n')) {
    const [, name] = HANDLER_TABLE.exec(line) ?? [];
    if (name !== undefined || ANY_TABLE.test(line))
      inHandler = name !== undefined && !OWN_HANDLER.test(name);
    if (!inHandler || line.trim() === '') continue;
    if (name === undefined) kept.push(line.trim().replace(CGROUP_DRIVER, `$1${systemdCgroup}`));
    else kept.push('', `[${CRI}.containerd.runtimes.${name}]`);
  }
  return kept.map((line) => `${line}\n`).join('');
}

/**
 * Returns the tables of the handlers in the machine's configuration; none if there is no such file.
 * Rejects if `containerd`, the program, cannot read it.
 */
export async function machineHandlers(
  containerd: string,
  systemdCgroup: boolean,
  file: string = MACHINE_CONFIG,
): Promise<string> {
  if (!existsSync(file)) return '';
  const { stdout } = await promisify(execFile)(containerd, ['--config', file, 'config', 'dump']);
  return handlerTables(stdout, systemdCgroup);
}
