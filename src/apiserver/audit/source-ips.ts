// The addresses that a request came through, as its headers and its connection say. Only the last
// one, that of the connection, cannot be chosen by the client.

import { isIP } from 'node:net';
import type { ApiRequest } from '../request.ts';

/** Returns the addresses: those of proxies' headers first, that of the connection last. */
export function sourceIps({
  headers,
  remoteAddress,
}: Pick<ApiRequest, 'headers' | 'remoteAddress'>): readonly string[] {
  const forwarded = (headers['x-forwarded-for'] ?? '').split(',').map((text) => text.trim());
  const ips = forwarded.filter((text) => isIP(text) > 0).map(withoutMapping);
  const real = withoutMapping((headers['x-real-ip'] ?? '').trim());
  if (isIP(real) > 0 && !ips.includes(real)) ips.push(real);
  const remote = withoutMapping(remoteAddress);
  if (isIP(remote) > 0 && ips.at(-1) !== remote) ips.push(remote);
  return ips;
}

/** Returns an IPv4 address that is mapped into IPv6 as IPv4. */
function withoutMapping(ip: string): string {
  const mapped = ip.replace(/^::ffff:/i, '');
  return isIP(mapped) === 4 ? mapped : ip;
}
