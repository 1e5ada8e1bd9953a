// Looks for a firewall that drops what this machine forwards: pods would reach nothing. Docker sets
// such a policy.

interface Chain {
  readonly hook?: string;
  readonly policy?: string;
}

/**
 * @param listing what `nft -j list table ip filter` prints: the table of iptables. Undefined: there
 * is none
 */
export function dropsForwarded(listing: string | undefined): boolean {
  if (listing === undefined) return false;
  const { nftables = [] } = JSON.parse(listing) as {
    readonly nftables?: readonly { readonly chain?: Chain }[];
  };
  return nftables.some(({ chain }) => chain?.hook === 'forward' && chain.policy === 'drop');
}
