// The content of a pod's resolv.conf: the dnsPolicy, the cluster's DNS and search domains, and the
// pod's own dnsConfig.

import type { Input } from '#cri/types.ts';
import type { PodEvents } from './events.ts';
import type { Pod } from './types.ts';

export type DnsConfig = Input<'DNSConfig'>;

/** The limits of resolvers and of upstream's validation. */
const MAX_NAMESERVERS = 3;
const MAX_SEARCH_PATHS = 32;
const MAX_SEARCH_LENGTH = 2048;

export interface DnsSettings {
  /**
   * The addresses of the cluster's DNS service. None: pods use the node's DNS, with a warning;
   * undefined: the same without a warning.
   */
  readonly clusterDNS: readonly string[] | undefined;
  /** 'cluster.local'; '' for none. */
  readonly clusterDomain: string;
  /** The node's own resolv.conf. */
  readonly node: ResolvConf;
  /** Records a warning about the node. Default: none is recorded. */
  readonly warnNode?: (reason: 'MissingClusterDNS', message: string) => void;
}

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Parses resolv.conf(5). Unknown lines are left out. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) servers.push(values[0]);
    // The last `search` or `domain` line counts.
    else if (keyword === 'search')
      searches = values.map((value) => (value === '.' ? value : value.replace(/\.$/, '')));
    else if (keyword === 'options') options = values;
  }
  return { servers, searches, options };
}

export function podDns(pod: Pod, settings: DnsSettings, events: PodEvents): DnsConfig {
  const base = basePolicy(pod, settings, events);
  const extra = pod.spec.dnsConfig;
  const searches = unique([...base.searches, ...(extra?.searches ?? [])]);
  const servers = unique([...base.servers, ...(extra?.nameservers ?? [])]);
  const options = mergeOptions(
    base.options,
    (extra?.options ?? []).flatMap(({ name, value }) =>
      name === undefined ? [] : [value === undefined || value === '' ? name : `${name}:${value}`],
    ),
  );
  return {
    servers: limitServers(pod, servers, events),
    searches: limitSearches(pod, searches, events),
    options,
  };
}

function basePolicy(pod: Pod, settings: DnsSettings, events: PodEvents): ResolvConf {
  const { node } = settings;
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const wantsCluster =
    policy === 'ClusterFirstWithHostNet' ||
    (policy === 'ClusterFirst' && pod.spec.hostNetwork !== true);
  if (!wantsCluster) return node;
  if (settings.clusterDNS === undefined) return node;
  if (settings.clusterDNS.length === 0) {
    const message =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" ' +
      'policy. Falling back to "Default" policy.';
    const { name, namespace, uid } = pod.metadata;
    settings.warnNode?.('MissingClusterDNS', message);
    events.warning(pod, 'MissingClusterDNS', `pod: "${name}_${namespace}(${uid})". ${message}`);
    return node;
  }
  const domain = settings.clusterDomain;
  const clusterSearches =
    domain === '' ? [] : [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  // Names with fewer than five dots are looked up inside the cluster first.
  return {
    servers: settings.clusterDNS,
    searches: unique([...clusterSearches, ...node.searches]),
    options: ['ndots:5'],
  };
}

/** Merges options. A later option replaces an earlier one of the same name. */
function mergeOptions(base: readonly string[], extra: readonly string[]): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of [...base, ...extra]) byName.set(option.split(':')[0] ?? option, option);
  return [...byName.values()];
}

function limitServers(pod: Pod, servers: readonly string[], events: PodEvents): readonly string[] {
  if (servers.length <= MAX_NAMESERVERS) return servers;
  const kept = servers.slice(0, MAX_NAMESERVERS);
  events.warning(
    pod,
    'DNSConfigForming',
    'Nameserver limits were exceeded, some nameservers have been omitted, the applied ' +
      `nameserver line is: ${kept.join(' ')}`,
  );
  return kept;
}

function limitSearches(
  pod: Pod,
  searches: readonly string[],
  events: PodEvents,
): readonly string[] {
  const kept: string[] = [];
  let length = 0;
  for (const search of searches.slice(0, MAX_SEARCH_PATHS)) {
    if (length + search.length > MAX_SEARCH_LENGTH) break;
    kept.push(search);
    length += search.length + 1;
  }
  if (kept.length < searches.length) {
    events.warning(
      pod,
      'DNSConfigForming',
      'Search Line limits were exceeded, some search paths have been omitted, the applied ' +
        `search line is: ${kept.join(' ')}`,
    );
  }
  return kept;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
