// The upstream servers that resolv.conf(5) names.

import { isIP } from 'node:net';
import type { SocketAddress } from '../system/sockets.ts';

const DNS_PORT = 53;
/** resolv.conf(5) allows three; more are useful here. The limit guards against a malformed file. */
const MAX_SERVERS = 15;

/** Returns the valid name servers. Other lines, and invalid addresses, are left out. */
export function serversIn(resolvConf: string): readonly SocketAddress[] {
  const servers = new Map<string, SocketAddress>();
  for (const line of resolvConf.split('\n')) {
    const [keyword, address = ''] = line.trim().split(/\s+/);
    if (keyword !== 'nameserver' || isIP(address.replace(/%.*$/, '')) === 0) continue;
    servers.set(address, { address, port: DNS_PORT });
  }
  return [...servers.values()].slice(0, MAX_SERVERS);
}

/**
 * Parses an address, alone or with a port: '10.0.0.1', '10.0.0.1:5353', '[fd00::1]:53'. Returns
 * undefined for other text.
 */
export function parseServer(text: string): SocketAddress | undefined {
  if (isIP(text) !== 0) return { address: text, port: DNS_PORT };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? DNS_PORT : Number(match[3]);
  if (address === undefined || isIP(address) === 0 || port < 1 || port > 65_535) return undefined;
  return { address, port };
}
