// The host name of a pod's containers, and their /etc/hosts.

import type { Pod } from './types.ts';

const MAX_HOSTNAME_LENGTH = 63;

export interface PodHostname {
  readonly hostname: string;
  /** The full name 'hostname.subdomain.namespace.svc.cluster.local', or '' without a subdomain. */
  readonly fqdn: string;
}

/**
 * Returns the host name. Throws if the FQDN is used as the host name and is too long for the
 * kernel.
 */
export function podHostname(
  pod: Pod,
  clusterDomain: string,
): PodHostname & { /** The host name for the runtime. */ readonly effective: string } {
  if (pod.spec.hostnameOverride !== undefined) {
    return { hostname: pod.spec.hostnameOverride, fqdn: '', effective: pod.spec.hostnameOverride };
  }
  // A pod's name may be longer than a host name. The shortened name must not end with a separator.
  const hostname = pod.spec.hostname ?? shorten(pod.metadata.name);
  const fqdn =
    pod.spec.subdomain === undefined || clusterDomain === ''
      ? ''
      : `${hostname}.${pod.spec.subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  if (pod.spec.setHostnameAsFQDN !== true || fqdn === '')
    return { hostname, fqdn, effective: hostname };
  if (fqdn.length > 64) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too ` +
        `long (64 characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return { hostname, fqdn, effective: fqdn };
}

function shorten(name: string): string {
  return name.length <= MAX_HOSTNAME_LENGTH
    ? name
    : name.slice(0, MAX_HOSTNAME_LENGTH).replace(/[-.]+$/, '');
}

/** Returns the pod's /etc/hosts. `nodeHosts`: the node's file, for pods in its network. */
export function hostsFile(
  pod: Pod,
  name: PodHostname,
  podIPs: readonly string[],
  nodeHosts: string | undefined,
): string {
  const lines: string[] = [];
  if (nodeHosts !== undefined) {
    lines.push('# Kubernetes-managed hosts file (host network).', nodeHosts.replace(/\n$/, ''));
  } else {
    lines.push(
      '# Kubernetes-managed hosts file.',
      '127.0.0.1\tlocalhost',
      '::1\tlocalhost ip6-localhost ip6-loopback',
      'fe00::0\tip6-localnet',
      'fe00::0\tip6-mcastprefix',
      'fe00::1\tip6-allnodes',
      'fe00::2\tip6-allrouters',
    );
    for (const ip of podIPs)
      lines.push(
        name.fqdn === '' ? `${ip}\t${name.hostname}` : `${ip}\t${name.fqdn}\t${name.hostname}`,
      );
  }
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length > 0) {
    lines.push('', '# Entries added by HostAliases.');
    for (const alias of aliases) lines.push(`${alias.ip}\t${(alias.hostnames ?? []).join('\t')}`);
  }
  return `${lines.join('\n')}\n`;
}
