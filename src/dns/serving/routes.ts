// Joins a configuration with what its sources need, and decides which of them answers a question.

import {
  type CacheSettings,
  type DnsConfiguration,
  type ForwardSource,
  type HostsSource,
  type KubernetesSource,
  limitedTtl,
  limitsFor,
  type ServerBlock,
  type Source,
  zoneOf,
} from '../configuration.ts';
import type { Forwarder } from '../forward/forwarder.ts';
import type { AnsweredBy } from '../metrics.ts';
import { addressKey } from '../records/addresses.ts';
import type { ClusterZone, ZoneAnswer } from '../records/cluster-zone.ts';
import { parseReverse } from '../records/reverse.ts';
import { formatName, isBelow, type Labels } from '../wire/names.ts';
import { addressRecord, nameRecord, type ResourceRecord } from '../wire/records.ts';
import { RCODE, TYPE } from '../wire/types.ts';

/** A configuration with what its sources need. */
export interface Routes {
  /** Ordered by length of the zone, the longest first. */
  readonly blocks: readonly RoutedBlock[];
  /** All forwarders, each once. */
  readonly forwarders: readonly Forwarder[];
}

export interface RoutedBlock extends Omit<ServerBlock, 'sources'> {
  readonly sources: readonly RoutedSource[];
}

export type RoutedSource =
  /** `records`: those of each domain. */
  | (KubernetesSource & { readonly records: readonly [ClusterZone, ...ClusterZone[]] })
  | HostsSource
  | (ForwardSource & { readonly forwarder: Forwarder });

/** An answer of this process, or the forwarder that has to be asked. */
export type Decision =
  | { readonly answer: ZoneAnswer; readonly by: AnsweredBy }
  | { readonly forwarder: Forwarder };

const ANY_TTL = 8482;

export interface RouteParts {
  readonly forwarderTo: (source: ForwardSource) => Forwarder;
  readonly recordsOf: (source: KubernetesSource, domain: Labels) => ClusterZone;
}

export function makeRoutes(
  { blocks }: DnsConfiguration,
  { forwarderTo, recordsOf }: RouteParts,
): Routes {
  // Several zones may have one server block, and therefore one source.
  const forwarders = new Map<ForwardSource, Forwarder>();
  const forwarderOf = (source: ForwardSource): Forwarder => {
    const forwarder = forwarders.get(source) ?? forwarderTo(source);
    forwarders.set(source, forwarder);
    return forwarder;
  };
  const routed = (source: Source): RoutedSource => {
    switch (source.kind) {
      case 'kubernetes': {
        const [first, ...others] = source.domains;
        const records = others.map((domain) => recordsOf(source, domain));
        return { ...source, records: [recordsOf(source, first), ...records] };
      }
      case 'hosts':
        return source;
      case 'forward':
        return { ...source, forwarder: forwarderOf(source) };
    }
  };
  return {
    blocks: blocks.map((block) => ({ ...block, sources: block.sources.map(routed) })),
    forwarders: [...forwarders.values()],
  };
}

/** Returns the block of a name; undefined if it is in no zone. */
export const blockOf = ({ blocks }: Routes, labels: Labels): RoutedBlock | undefined =>
  blocks.find(({ zone }) => isBelow(labels, zone));

/**
 * Decides where the answer to a question comes from.
 *
 * @param most the number of records that the answer has room for
 */
export function decide(routes: Routes, labels: Labels, type: number, most: number): Decision {
  if (routes.forwarders.some((forwarder) => forwarder.noticeLoop(labels, type)))
    return { answer: failed(RCODE.SERVFAIL), by: '' };
  const block = blockOf(routes, labels);
  if (block === undefined) return { answer: failed(RCODE.REFUSED), by: '' };
  for (const source of block.sources) {
    const decision = fromSource(source, labels, type, most);
    if (decision === undefined) continue;
    if (block.cache === undefined || 'forwarder' in decision || decision.by === '') return decision;
    return { ...decision, answer: withLimitedTtls(decision.answer, block.cache, labels) };
  }
  return { answer: failed(RCODE.SERVFAIL), by: '' };
}

/** As a cache would, gives all records one TTL. */
function withLimitedTtls(answer: ZoneAnswer, cache: CacheSettings, labels: Labels): ZoneAnswer {
  const kind = answer.answers.length > 0 ? 'success' : 'denial';
  const limits = limitsFor(cache, kind, labels);
  const records = [...answer.answers, ...answer.authorities, ...answer.additionals];
  if (limits === undefined || records.length === 0) return answer;
  const ttl = limitedTtl(Math.min(...records.map((record) => record.ttl)), limits);
  const limited = (some: readonly ResourceRecord[]): readonly ResourceRecord[] =>
    some.map((record) => ({ ...record, ttl }));
  return {
    ...answer,
    answers: limited(answer.answers),
    authorities: limited(answer.authorities),
    additionals: limited(answer.additionals),
  };
}

function fromSource(
  source: RoutedSource,
  labels: Labels,
  type: number,
  most: number,
): Decision | undefined {
  switch (source.kind) {
    case 'kubernetes': {
      const answer = fromCluster(source, labels, type, most);
      return answer && { answer, by: 'kubernetes' };
    }
    case 'hosts': {
      const answer = fromHosts(source, labels, type);
      return answer && { answer, by: answer.rcode === RCODE.SERVFAIL ? '' : 'hosts' };
    }
    case 'forward':
      if (!isBelow(labels, source.from) || zoneOf(labels, source.except) !== undefined)
        return undefined;
      return forwarded(source.forwarder, type);
  }
}

function forwarded(forwarder: Forwarder, type: number): Decision {
  if (type === TYPE.AXFR || type === TYPE.IXFR)
    return { answer: failed(RCODE.REFUSED), by: 'forward' };
  if (type !== TYPE.ANY) return { forwarder };
  // RFC 8482: the answer to ANY is minimal.
  const texts = ['RFC8482', ''];
  return {
    answer: local([{ owner: undefined, type: TYPE.HINFO, ttl: ANY_TTL, data: { texts } }]),
    by: 'forward',
  };
}

function fromCluster(
  {
    domains,
    reverse,
    records,
    fallthrough,
  }: KubernetesSource & {
    readonly records: readonly [ClusterZone, ...ClusterZone[]];
  },
  labels: Labels,
  type: number,
  most: number,
): ZoneAnswer | undefined {
  const falls = (): boolean => zoneOf(labels, fallthrough) !== undefined;
  const domain = zoneOf(labels, domains);
  if (domain !== undefined) {
    const zone = records[domains.indexOf(domain)] ?? records[0];
    const answer = zone.answer(labels, type, most);
    return answer.rcode === RCODE.NXDOMAIN && falls() ? undefined : answer;
  }
  const [first] = records;
  const zone = zoneOf(labels, reverse);
  if (zone === undefined) return undefined;
  if (labels.length === zone.length) return first.reverseApex(zone, type);
  const address = parseReverse(labels)?.address;
  const answer = address === undefined ? undefined : first.reverse(address, zone, type);
  return answer ?? (falls() ? undefined : first.denied(zone));
}

function fromHosts(
  { hosts, zones, ttl, fallthrough }: HostsSource,
  labels: Labels,
  type: number,
): ZoneAnswer | undefined {
  if (type === TYPE.PTR) {
    const address = hosts.names.size === 0 ? undefined : parseReverse(labels)?.address;
    const names = address === undefined ? undefined : hosts.names.get(addressKey(address));
    return names && local(names.map((name) => nameRecord(TYPE.PTR, undefined, name, ttl)));
  }
  if (zoneOf(labels, zones) === undefined) return undefined;
  const addresses = hosts.addresses.get(formatName(labels));
  if (addresses === undefined)
    return zoneOf(labels, fallthrough) === undefined ? failed(RCODE.SERVFAIL) : undefined;
  const length = type === TYPE.A ? 4 : type === TYPE.AAAA ? 16 : 0;
  const matching = addresses.filter((address) => address.length === length);
  return local(matching.map((address) => addressRecord(undefined, address, ttl)));
}

function local(answers: readonly ResourceRecord[], rcode: number = RCODE.NOERROR): ZoneAnswer {
  return { rcode, answers, authorities: [], additionals: [], truncated: false };
}

const failed = (rcode: number): ZoneAnswer => local([], rcode);
