// Detects a firewall that drops packets which this machine forwards, so that pods would reach
// nothing. Docker sets such a policy.

interface Chain {
  readonly hook?: string;
  readonly policy?: string;
}

/**
 * Reports whether forwarded packets are dropped.
 *
 * @param listing the output of `nft -j list table ip filter`: the table of iptables. Undefined:
 * there is none
 */
export function dropsForwarded(listing: string | undefined): boolean {
  if (listing === undefined) return false;
  const { nftables = [] } = JSON.parse(listing) as {
    readonly nftables?: readonly { readonly chain?: Chain }[];
  };
  return nftables.some(({ chain }) => chain?.hook === 'forward' && chain.policy === 'drop');
}
