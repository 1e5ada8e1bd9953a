// The pod network of one node through CNI plugins: a bridge, addresses out of the node's pod CIDR,
// host ports. Only the configuration is made here; the container runtime calls the plugins.

import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface BridgeNetworkConfig {
  /**
   * Where the node's pods get their addresses from, for example 10.244.0.0/24; two, with a comma,
   * for IPv4 and IPv6.
   */
  readonly podCidr: string;
  /** The bridge's name, at most 15 characters (the kernel's limit). See bridgeName. */
  readonly bridge: string;
  /** Where the plugins remember which addresses are taken; one directory per cluster. */
  readonly dataDir: string;
  /** Largest packet; 0 leaves it to the plugin. Default: 0. */
  readonly mtu?: number;
  /**
   * The plugin rewrites the source of everything that leaves the node's own range, through
   * iptables. Default: true.
   */
  readonly masquerade?: boolean;
  /**
   * Host ports through iptables. Default: true; without iptables on the host, pods would not start
   * with it.
   */
  readonly hostPorts?: boolean;
}

/** A CNI network configuration list, version 0.4.0. */
export interface CniConfigList {
  readonly cniVersion: string;
  readonly name: string;
  readonly plugins: readonly Readonly<Record<string, unknown>>[];
}

const MAX_INTERFACE_NAME = 15;
/** The file in the directory of configurations. */
export const CNI_CONFIG_FILE = '10-coxswain.conflist';

/**
 * A name for the bridge that is the same for the same directory and differs for others, so that
 * clusters do not share one.
 */
export function bridgeName(dataDir: string): string {
  return `cox${createHash('sha256').update(dataDir).digest('hex').slice(0, 10)}`;
}

export function bridgeNetwork(config: BridgeNetworkConfig): CniConfigList {
  const { podCidr, bridge, dataDir, mtu = 0, masquerade = true, hostPorts = true } = config;
  if (bridge.length > MAX_INTERFACE_NAME || !/^[a-z][a-z0-9-]*$/i.test(bridge)) {
    throw new RangeError(`${JSON.stringify(bridge)} is no name for a network interface`);
  }
  const cidrs = podCidr.split(',').map((cidr) => cidr.trim());
  return {
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: masquerade,
        // A node may get another range; its bridge then has the address of the one before.
        forceAddress: true,
        // So that a pod reaches itself through a service.
        hairpinMode: true,
        promiscMode: false,
        ...(mtu > 0 && { mtu }),
        ipam: {
          type: 'host-local',
          dataDir: join(dataDir, 'ipam'),
          ranges: cidrs.map((subnet) => [{ subnet }]),
          routes: cidrs.map((cidr) => ({ dst: cidr.includes(':') ? '::/0' : '0.0.0.0/0' })),
        },
      },
      ...(hostPorts ? [{ type: 'portmap', capabilities: { portMappings: true } }] : []),
    ],
  };
}

/**
 * Writes the configuration as the only one of the directory's first rank. Atomic: a runtime that
 * watches sees all or nothing.
 */
export async function writeCniConfig(confDir: string, config: CniConfigList): Promise<string> {
  await mkdir(confDir, { recursive: true });
  const path = join(confDir, CNI_CONFIG_FILE);
  await writeFile(`${path}.tmp`, `${JSON.stringify(config, undefined, 2)}\n`);
  await rename(`${path}.tmp`, path);
  return path;
}

/** Where distributions put the plugins. */
const pluginDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

/** The directory with the plugins that bridgeNetwork needs, or undefined if none has them all. */
export function findCniPlugins(dirs: readonly string[] = pluginDirs): string | undefined {
  return dirs.find((dir) =>
    ['bridge', 'host-local', 'loopback', 'portmap'].every((plugin) =>
      existsSync(join(dir, plugin)),
    ),
  );
}
