// The CNI configuration for a node's pod network: a bridge, addresses from the node's pod CIDR, and
// host ports. The container runtime calls the plugins.

import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface BridgeNetworkConfig {
  /**
   * The range of the node's pods, for example 10.244.0.0/24; two, separated by a comma, for IPv4
   * and IPv6.
   */
  readonly podCidr: string;
  /** The bridge's name, at most 15 characters (the kernel's limit). See bridgeName. */
  readonly bridge: string;
  /** The directory in which the plugins record used addresses; one per cluster. */
  readonly dataDir: string;
  /** The maximum packet size (MTU); 0 leaves it to the plugin. Default: 0. */
  readonly mtu?: number;
  /**
   * Whether the plugin masquerades traffic that leaves the node's own range, through iptables.
   * Default: true.
   */
  readonly masquerade?: boolean;
  /**
   * Whether host ports work, through iptables. Default: true; on a host without iptables, pods then
   * do not start.
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
/** The name of the file in the configuration directory. */
export const CNI_CONFIG_FILE = '10-coxswain.conflist';

/**
 * Returns a name for the bridge that is stable for a directory and different for others, so that
 * clusters do not share a bridge.
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
        // A node may get another range; its bridge still has the previous address then.
        forceAddress: true,
        // Lets a pod reach itself through a service.
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
 * Writes the configuration as the first one of the directory. Atomic: a watching runtime sees all
 * or nothing.
 */
export async function writeCniConfig(confDir: string, config: CniConfigList): Promise<string> {
  await mkdir(confDir, { recursive: true });
  const path = join(confDir, CNI_CONFIG_FILE);
  await writeFile(`${path}.tmp`, `${JSON.stringify(config, undefined, 2)}\n`);
  await rename(`${path}.tmp`, path);
  return path;
}

/** The directories in which distributions install the plugins. */
const pluginDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

/**
 * Returns the directory with the plugins that bridgeNetwork needs; undefined if none has all of
 * them.
 */
export function findCniPlugins(dirs: readonly string[] = pluginDirs): string | undefined {
  return dirs.find((dir) =>
    ['bridge', 'host-local', 'loopback', 'portmap'].every((plugin) =>
      existsSync(join(dir, plugin)),
    ),
  );
}
