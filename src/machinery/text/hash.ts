// Hashes for distribution and comparison. None of them resists a search for collisions.

const encoder = new TextEncoder();

/** Returns the 32-bit FNV-1a of the text's UTF-8 or of bytes. */
export function fnv32a(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of toBytes(data)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** Returns the 32-bit FNV-1, which multiplies before it mixes the byte in. */
export function fnv32(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of toBytes(data)) hash = Math.imul(hash, 0x01000193) ^ byte;
  return hash >>> 0;
}

/** Returns the 64-bit FNV-1a. */
export function fnv64a(data: string | Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of toBytes(data))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : data;
}
