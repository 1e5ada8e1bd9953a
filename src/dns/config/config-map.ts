// The ConfigMap `cluster-dns` in `kube-system`, by which administrators configure the cluster's
// DNS. See README.md for its format.

import type { ConfigMap } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseServer } from '../forward/resolv-conf.ts';
import type { SocketAddress } from '../system/sockets.ts';
import { isBelow, parseName, type Labels } from '../wire/names.ts';
import {
  CLUSTER_CACHE,
  type DnsConfiguration,
  FORWARD_DEFAULTS,
  type ForwardSource,
} from '../configuration.ts';
import { NO_HOSTS, parseHosts, type Hosts } from './hosts.ts';

export const CONFIG_NAMESPACE = 'kube-system';
export const CONFIG_NAME = 'cluster-dns';

interface StubDomain {
  readonly domain: Labels;
  readonly servers: readonly SocketAddress[];
}

interface Settings {
  /** Ordered by length of the domain, the longest first. */
  readonly stubDomains: readonly StubDomain[];
  /** The upstream servers; undefined: the name servers in the node's resolv.conf. */
  readonly upstreams: readonly SocketAddress[] | undefined;
  readonly hosts: Hosts;
}

/** The TTL of the cluster's records and of hosts, in seconds. */
const TTL = 5;
const REVERSE_ZONES: readonly Labels[] = [
  ['in-addr', 'arpa'],
  ['ip6', 'arpa'],
];

/** Returns the configuration without a ConfigMap. */
export const defaultConfiguration = (clusterDomain: Labels): DnsConfiguration =>
  configurationOf({ stubDomains: [], upstreams: undefined, hosts: NO_HOSTS }, clusterDomain);

function configurationOf(
  { stubDomains, upstreams, hosts }: Settings,
  clusterDomain: Labels,
): DnsConfiguration {
  const forward = (from: Labels, servers: ForwardSource['servers']): ForwardSource => ({
    ...FORWARD_DEFAULTS,
    kind: 'forward',
    from,
    servers,
    cache: CLUSTER_CACHE,
  });
  return {
    blocks: [
      {
        zone: [],
        sources: [
          {
            kind: 'kubernetes',
            domains: [clusterDomain],
            reverse: REVERSE_ZONES,
            ttl: TTL,
            pods: true,
            fallthrough: REVERSE_ZONES,
          },
          { kind: 'hosts', hosts, zones: [[]], ttl: TTL, fallthrough: [[]] },
          ...stubDomains.map(({ domain, servers }) => forward(domain, servers)),
          forward([], upstreams ?? 'node'),
        ],
        rotates: true,
        logsQueries: false,
      },
    ],
  };
}

const KEYS = ['stubDomains', 'upstreamNameservers', 'hosts'] as const;
/** kube-dns had the same limit; more servers only delay a failure. */
const MAX_SERVERS = 15;
const MAX_STUB_DOMAINS = 1000;

/**
 * Parses the ConfigMap. Throws TypeError that names the key and the problem. An unknown key is an
 * error, too: it may be misspelt.
 */
export function parseConfiguration(
  map: Immutable<ConfigMap>,
  clusterDomain: Labels,
): DnsConfiguration {
  const data = map.data ?? {};
  const unknown = Object.keys(data).find((key) => !KEYS.some((known) => known === key));
  if (unknown !== undefined)
    throw new TypeError(`unknown key ${JSON.stringify(unknown)}: known are ${KEYS.join(', ')}`);
  const { stubDomains, upstreamNameservers, hosts } = data;
  const settings = {
    stubDomains:
      stubDomains === undefined
        ? []
        : within('stubDomains', () => parseStubDomains(stubDomains, clusterDomain)),
    upstreams:
      upstreamNameservers === undefined
        ? undefined
        : within('upstreamNameservers', () => parseServers(JSON.parse(upstreamNameservers))),
    hosts: hosts === undefined ? NO_HOSTS : within('hosts', () => parseHosts(hosts)),
  };
  return configurationOf(settings, clusterDomain);
}

function within<T>(key: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new TypeError(`${key}: ${(error as Error).message}`, { cause: error });
  }
}

function parseStubDomains(text: string, clusterDomain: Labels): readonly StubDomain[] {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new TypeError('not a JSON object');
  const entries = Object.entries(parsed);
  if (entries.length > MAX_STUB_DOMAINS)
    throw new TypeError(`more than ${MAX_STUB_DOMAINS} domains`);
  const domains = entries.map(([name, servers]): StubDomain => {
    const domain = parseName(name);
    if (domain === undefined || domain.length === 0)
      throw new TypeError(`${JSON.stringify(name)} is not a DNS name`);
    if (isBelow(domain, clusterDomain))
      throw new TypeError(`${JSON.stringify(name)} belongs to the cluster's domain`);
    return { domain, servers: within(JSON.stringify(name), () => parseServers(servers)) };
  });
  return domains.sort((a, b) => b.domain.length - a.domain.length);
}

function parseServers(value: unknown): readonly SocketAddress[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new TypeError('not a JSON array of addresses');
  if (value.length > MAX_SERVERS) throw new TypeError(`more than ${MAX_SERVERS} servers`);
  return value.map((item: unknown) => {
    const server = typeof item === 'string' ? parseServer(item) : undefined;
    if (server === undefined)
      throw new TypeError(
        `${JSON.stringify(item)} is not an address such as "10.0.0.1" or "10.0.0.1:5353"`,
      );
    return server;
  });
}
