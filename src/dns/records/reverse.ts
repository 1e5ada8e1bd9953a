// Reverse names of addresses: `4.3.2.1.in-addr.arpa` and its counterpart for IPv6.

import type { Labels } from '../wire/names.ts';

export interface ReverseName {
  /** ['in-addr', 'arpa'] or ['ip6', 'arpa']. */
  readonly zone: Labels;
  /** undefined: the name is not a complete address. */
  readonly address: Uint8Array | undefined;
  /** The name is the zone itself. */
  readonly apex: boolean;
}

/** Parses a reverse name. Returns undefined for a name outside of the two zones. */
export function parseReverse(labels: Labels): ReverseName | undefined {
  const kind = labels.at(-2);
  if (labels.at(-1) !== 'arpa' || (kind !== 'in-addr' && kind !== 'ip6')) return undefined;
  const parts = labels.slice(0, -2).reverse();
  const zone = [kind, 'arpa'];
  const address = kind === 'in-addr' ? parseV4(parts) : parseV6(parts);
  return { zone, address, apex: parts.length === 0 };
}

function parseV4(parts: Labels): Uint8Array | undefined {
  if (
    parts.length !== 4 ||
    !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  )
    return undefined;
  return Uint8Array.from(parts, Number);
}

function parseV6(parts: Labels): Uint8Array | undefined {
  if (parts.length !== 32 || !parts.every((part) => /^[0-9a-f]$/.test(part))) return undefined;
  return Uint8Array.from({ length: 16 }, (_, i) =>
    Number.parseInt(`${parts[2 * i]}${parts[2 * i + 1]}`, 16),
  );
}
