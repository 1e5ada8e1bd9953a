// Which addresses of nodes the services of type LoadBalancer get. An address serves a port for one
// service only, so all services are looked at together.

export interface Wish {
  /** 'namespace/name'. */
  readonly key: string;
  /** 'TCP/80' … */
  readonly ports: readonly string[];
  /** That it may have, the preferred ones first. */
  readonly eligible: readonly string[];
  /** That it has. */
  readonly held: readonly string[];
}

/** Reserved addresses and ports: 'address TCP/6443'. */
export type Reserved = ReadonlySet<string>;

/**
 * What is held stays, as long as it may; then the others get what is left, the first wishes first.
 * At most `most` addresses each. A key that is missing in the answer has none.
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
