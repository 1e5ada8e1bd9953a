// The configuration of the server: a value, made of the ConfigMap `cluster-dns` or of a Corefile.

import type { SocketAddress } from './system/sockets.ts';
import { isBelow, type Labels } from './wire/names.ts';
import type { Hosts } from './config/hosts.ts';

export interface DnsConfiguration {
  /**
   * Ordered by length of the zone, the longest first. A question is answered by the first block
   * whose zone it is in; one that is in none is refused.
   */
  readonly blocks: readonly ServerBlock[];
}

export interface ServerBlock {
  /** The root, [], has all names. */
  readonly zone: Labels;
  /** Asked in turn, until one has an answer. If none has, the answer is SERVFAIL. */
  readonly sources: readonly Source[];
  /** Whether address records begin at another one in each answer. */
  readonly rotates: boolean;
  /** Whether each query is logged. */
  readonly logsQueries: boolean;
  /**
   * Limits the TTLs of what this server knows itself. It caches nothing of it: records are always
   * those of the moment. Absent: no limit.
   */
  readonly cache?: CacheSettings;
}

export type Source = KubernetesSource | HostsSource | ForwardSource;

/** The records of the cluster. */
export interface KubernetesSource {
  readonly kind: 'kubernetes';
  /** Domains of the cluster. Names of addresses are in the first one. */
  readonly domains: readonly [Labels, ...Labels[]];
  /** Zones of addresses, below in-addr.arpa or ip6.arpa. */
  readonly reverse: readonly Labels[];
  /** The TTL of records, in seconds. */
  readonly ttl: number;
  /** Whether names with the address of a pod exist, whether or not the pod does. */
  readonly pods: boolean;
  /** The zones in which the next source has names that this one has not. */
  readonly fallthrough: readonly Labels[];
}

export interface HostsSource {
  readonly kind: 'hosts';
  readonly hosts: Hosts;
  /** The zones of its names. Names of addresses need none. */
  readonly zones: readonly Labels[];
  readonly ttl: number;
  /** The zones in which the next source has names that this one has not. Others get SERVFAIL. */
  readonly fallthrough: readonly Labels[];
}

export interface ForwardSource {
  readonly kind: 'forward';
  /** The zone whose names are forwarded. */
  readonly from: Labels;
  readonly except: readonly Labels[];
  /** 'node': the name servers in the node's resolv.conf. */
  readonly servers: readonly SocketAddress[] | 'node';
  /** Absent: answers are not cached. */
  readonly cache?: CacheSettings;
  readonly policy: ForwardPolicy;
  /** The number of questions in flight; further ones are refused. */
  readonly maxConcurrent: number;
  /** Whether questions go over TCP only. Otherwise over UDP first. */
  readonly tcp: boolean;
  /** The number of consecutive failures after which a server is down; 0: it never is. */
  readonly maxFailures: number;
  /** The time between two probes of a server that is down. */
  readonly probeIntervalMs: number;
  /** Whether it is logged as an error that no server has answered a question. */
  readonly logsFailures: boolean;
}

export type ForwardPolicy = 'random' | 'round_robin' | 'sequential';

export interface CacheSettings {
  /** The zones whose answers are cached. */
  readonly zones: readonly Labels[];
  readonly success: CacheLimits;
  readonly denial: CacheLimits;
  /** How long the failure of a server is cached, in seconds; 0: not at all. */
  readonly failureTtl: number;
}

export interface CacheLimits {
  readonly entries: number;
  /** The TTL that a record has at most, in seconds. */
  readonly maxTtl: number;
  /** The TTL that a record has at least. 0: a record of TTL 0 is not cached. */
  readonly minTtl: number;
  /** The zones whose answers are not cached. */
  readonly except: readonly Labels[];
}

/** The default settings of a forwarder: those of CoreDNS where it has any. */
export const FORWARD_DEFAULTS = {
  except: [],
  policy: 'random',
  maxConcurrent: 512,
  tcp: false,
  maxFailures: 2,
  probeIntervalMs: 500,
  logsFailures: false,
} as const satisfies Partial<ForwardSource>;

/** The cache of kubeadm's Corefile, `cache 30`, except that a TTL is never raised. */
export const CLUSTER_CACHE: CacheSettings = {
  zones: [[]],
  success: { entries: 5000, maxTtl: 30, minTtl: 0, except: [] },
  denial: { entries: 5000, maxTtl: 30, minTtl: 0, except: [] },
  failureTtl: 5,
};

/** Returns the limits for answers about a name; undefined if the cache is not for it. */
export function limitsFor(
  settings: CacheSettings,
  kind: 'success' | 'denial',
  labels: Labels,
): CacheLimits | undefined {
  const limits = settings[kind];
  return zoneOf(labels, settings.zones) !== undefined && zoneOf(labels, limits.except) === undefined
    ? limits
    : undefined;
}

export const limitedTtl = (ttl: number, { minTtl, maxTtl }: CacheLimits): number =>
  Math.min(Math.max(ttl, minTtl), maxTtl);

/** Returns the zone among those that a name is in: the longest. */
export function zoneOf(labels: Labels, zones: readonly Labels[]): Labels | undefined {
  let longest: Labels | undefined;
  for (const zone of zones)
    if ((longest === undefined || zone.length > longest.length) && isBelow(labels, zone))
      longest = zone;
  return longest;
}
