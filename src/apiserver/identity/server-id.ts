// The identity of an API server, which clients and other servers see in its Lease, and as a hash in
// labels of metrics.

import { createHash } from 'node:crypto';

/** The alphabet of base32 (RFC 4648), in lower case. */
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const HASH_BYTES = 16;

/**
 * Returns the name of the server on a machine: 'apiserver-' and a hash of the machine's name. It is
 * the same after a restart, and the same as that of upstream's server on the machine (feature
 * APIServerIdentity).
 */
export function serverId(hostname: string): string {
  const hash = createHash('sha256');
  for (const part of [hostname, 'kube-apiserver']) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return `apiserver-${base32(hash.digest().subarray(0, HASH_BYTES))}`;
}

/** Without padding. */
function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let count = 0;
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    count += 8;
    for (; count >= 5; count -= 5) text += BASE32[(bits >> (count - 5)) & 31];
    bits &= (1 << count) - 1;
  }
  return count === 0 ? text : text + BASE32[(bits << (5 - count)) & 31];
}
