// The addresses of a pod.

/** Returns at most one address of each family, that of the node's own family first. */
export function sortPodIPs(ips: readonly string[], nodeIP: string | undefined): readonly string[] {
  return oneOfEachFamily(ips, nodeIP ?? '0.0.0.0');
}

export function oneOfEachFamily(ips: readonly string[], like: string): readonly string[] {
  const six = isIPv6(like);
  const result: string[] = [];
  const own = ips.find((ip) => isIPv6(ip) === six);
  const other = ips.find((ip) => isIPv6(ip) !== six);
  if (own !== undefined) result.push(own);
  if (other !== undefined) result.push(other);
  return result;
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}
