// Assigns addresses of nodes to services of type LoadBalancer. A port of an address serves one
// service only, so all services are assigned together.

export interface Wish {
  /** 'namespace/name'. */
  readonly key: string;
  /** For example 'TCP/80'. */
  readonly ports: readonly string[];
  /** The addresses that the service may have, preferred ones first. */
  readonly eligible: readonly string[];
  /** The addresses that the service has. */
  readonly held: readonly string[];
}

/** Reserved addresses and ports: 'address TCP/6443'. */
export type Reserved = ReadonlySet<string>;

/**
 * Returns the addresses of each service. Valid present addresses are kept; the remaining ones are
 * assigned in the order of the wishes. At most `most` addresses each. A key that is missing in the
 * result has no address.
 */
export function assign(
  wishes: readonly Wish[],
  reserved: Reserved,
  most: number,
): ReadonlyMap<string, readonly string[]> {
  const taken = new Set(reserved);
  const given = new Map<string, string[]>();
  const take = ({ key, ports }: Wish, address: string): void => {
    const list = given.get(key) ?? [];
    const uses = ports.map((port) => `${address} ${port}`);
    if (list.length === most || list.includes(address) || uses.some((use) => taken.has(use)))
      return;
    uses.forEach((use) => taken.add(use));
    given.set(key, [...list, address]);
  };
  for (const wish of wishes)
    for (const address of wish.held) if (wish.eligible.includes(address)) take(wish, address);
  for (const wish of wishes) for (const address of wish.eligible) take(wish, address);
  return given;
}
