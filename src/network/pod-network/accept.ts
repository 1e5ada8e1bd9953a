// Decides which pod ranges and addresses of nodes are accepted. A range that a node claims becomes
// a route of this machine, so a node must not claim a range of another network: the API server lets
// every node write its own status, and a joining node states its range itself.

import {
  contains,
  containsRange,
  formatIp,
  type IpAddress,
  type IpFamily,
  type IpRange,
  isGlobalUnicast,
  overlaps,
  parseCidr,
  parseIp,
} from '#machinery/net/ip.ts';
import type { Steps } from '#machinery/turn.ts';
import type { Machine, NodeRecord } from './model.ts';

/** A node with its accepted claims. */
export interface Peer {
  readonly name: string;
  /** At most one range per family. */
  readonly ranges: readonly AcceptedRange[];
  /** The addresses in canonical form, without those of this machine. */
  readonly addresses: readonly (IpAddress & { readonly text: string })[];
}

export interface AcceptedRange extends IpRange {
  /** The range in canonical form. */
  readonly text: string;
}

export interface Accepted {
  readonly self: Peer | undefined;
  readonly peers: readonly Peer[];
  /** Rejected claims, with the reasons. */
  readonly problems: readonly string[];
}

export interface AcceptRules {
  readonly self: string;
  readonly clusterCidrs: readonly IpRange[];
  readonly serviceCidrs: readonly IpRange[];
  readonly machine: Pick<Machine, 'links' | 'foreignRoutes'>;
}

/**
 * The parsed values of a record, cached: records do not change, and a pass may have thousands of
 * them.
 */
interface ParsedRecord {
  readonly ranges: readonly AcceptedRange[];
  readonly addresses: Peer['addresses'];
  readonly problems: readonly string[];
}

const parsedRecords = new WeakMap<NodeRecord, ParsedRecord>();

function parsed(record: NodeRecord): ParsedRecord {
  const known = parsedRecords.get(record);
  if (known !== undefined) return known;
  const problems: string[] = [];
  const addresses = record.addresses.flatMap((given) => {
    const address = parseIp(given);
    return address === undefined || !isGlobalUnicast(given)
      ? []
      : [{ ...address, text: formatIp(address) }];
  });
  const result = { ranges: rangesOf(record, problems), addresses, problems };
  parsedRecords.set(record, result);
  return result;
}

interface Claim {
  readonly node: string;
  readonly range: AcceptedRange;
}

/**
 * Checks the claims of all nodes. Of two conflicting claims, this machine's own wins, then the
 * older node's. Yields between its steps if there are many nodes.
 */
export function* acceptNodes(nodes: Iterable<NodeRecord>, rules: AcceptRules): Steps<Accepted> {
  const problems: string[] = [];
  const ordered = inOrder(nodes, rules.self);
  const isLong = ordered.length > LONG;
  if (isLong) yield;
  const own = new Set(rules.machine.links.flatMap(({ addresses }) => addresses.map(formatIp)));
  const addressesOf = addressBook(ordered, own, rules.self, problems);
  const hosts = [...addressesOf.values()].flat();
  const { links, foreignRoutes } = rules.machine;
  if (isLong) yield;
  const addresses = sortedAddresses([
    ...hosts,
    ...links.flatMap((link) => link.addresses),
    ...foreignRoutes.flatMap(({ gateway }) => gateway ?? []),
  ]);
  if (isLong) yield;
  const claims: Claim[] = [];
  const ownRanges: IpRange[] = [];
  const judging = { ...rules, addresses, ownRanges };
  for (const node of ordered) {
    const { ranges: claimed, problems: unreadable } = parsed(node);
    problems.push(...unreadable);
    for (const range of claimed) {
      const isOwn = node.name === rules.self;
      const problem = problemOf(range, isOwn, judging);
      if (isOwn && problem === undefined) ownRanges.push(range);
      if (problem === undefined) claims.push({ node: node.name, range });
      else problems.push(`node ${node.name}: range of pods ${range.text} is left out: ${problem}`);
    }
  }
  if (isLong) yield;
  const ranges = withoutConflicts(claims, problems);
  const peers = ordered.map(({ name }) => ({
    name,
    ranges: ranges.get(name) ?? NONE,
    addresses: addressesOf.get(name) ?? NONE,
  }));
  if (isLong) yield;
  const self = peers[0]?.name === rules.self ? peers[0] : undefined;
  return { self, peers: peers.filter((peer) => peer !== self && peer.ranges.length > 0), problems };
}

const NONE: readonly never[] = [];
/** Above this number of nodes, the decision is made in several turns of the event loop. */
export const LONG = 1000;

/** Returns the nodes in the order in which their claims count: this one first, then by age. */
function inOrder(nodes: Iterable<NodeRecord>, self: string): readonly NodeRecord[] {
  const others = [...nodes].sort(byAge);
  const own = others.findIndex(({ name }) => name === self);
  return own <= 0 ? others : [others[own]!, ...others.slice(0, own), ...others.slice(own + 1)];
}

function byAge(a: NodeRecord, b: NodeRecord): number {
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/**
 * Returns the usable addresses of each node. An address has one owner, because two nodes with the
 * same one could not be distinguished.
 */
function addressBook(
  nodes: readonly NodeRecord[],
  own: ReadonlySet<string>,
  self: string,
  problems: string[],
): Map<string, Peer['addresses']> {
  const owners = new Map<string, string>();
  return new Map(
    nodes.map((record) => {
      const { name } = record;
      const usable = parsed(record).addresses.filter(({ text }) => {
        // A node that this process simulates has the address of this machine.
        if (name !== self && own.has(text)) return false;
        const owner = owners.get(text);
        if (owner !== undefined && owner !== name) {
          problems.push(
            `node ${name}: address ${text} is left out: it is the address of node ${owner}`,
          );
          return false;
        }
        owners.set(text, name);
        return true;
      });
      return [name, usable];
    }),
  );
}

/** Returns the first range of each family. */
function rangesOf({ name, podCidrs }: NodeRecord, problems: string[]): AcceptedRange[] {
  const ranges: AcceptedRange[] = [];
  for (const given of podCidrs) {
    const range = parseCidr(given);
    if (range === undefined)
      problems.push(`node ${name}: ${JSON.stringify(given.slice(0, 60))} is no range of addresses`);
    else if (ranges.some(({ family }) => family === range.family))
      problems.push(
        `node ${name}: range of pods ${given} is left out: the node has another of this family`,
      );
    else if (!isGlobalUnicast(formatIp({ family: range.family, value: range.first })))
      problems.push(
        `node ${name}: range of pods ${given} is left out: it is not a range of unicast addresses`,
      );
    else
      ranges.push({
        ...range,
        text: `${formatIp({ family: range.family, value: range.first })}/${range.prefix}`,
      });
  }
  return ranges;
}

/** The facts that a range is checked against. */
interface Judging extends AcceptRules {
  /** Sorted addresses that no range of another node may contain. */
  readonly addresses: readonly IpAddress[];
  readonly ownRanges: readonly IpRange[];
}

function problemOf(range: AcceptedRange, isOwn: boolean, judging: Judging): string | undefined {
  const { clusterCidrs, serviceCidrs, machine, addresses, ownRanges } = judging;
  const isClusterKnown = clusterCidrs.length > 0;
  if (isClusterKnown && !clusterCidrs.some((cluster) => containsRange(cluster, range)))
    return "it is not part of the cluster's ranges of pods";
  if (serviceCidrs.some((services) => overlaps(services, range)))
    return 'it overlaps the range of services';
  if (isOwn) return undefined;
  const address = firstWithin(addresses, range);
  if (address !== undefined)
    return `it has the address ${formatIp(address)} of a node, of this machine, or of a gateway`;
  // Pods in a part of a link's range are allowed if the administrator configured it.
  const link = machine.foreignRoutes.find(
    (route) =>
      route.isConnected &&
      (isClusterKnown ? containsRange(range, route.range) : overlaps(range, route.range)),
  );
  if (link !== undefined) return `it overlaps the range of the link ${link.link} of this machine`;
  const own = ownRanges.find(({ family }) => family === range.family);
  if (!isClusterKnown && own !== undefined && range.prefix < own.prefix)
    return `it is larger than the range of this node, and the cluster's range is not known (--cluster-cidr)`;
  return undefined;
}

/** Returns the ranges of each node, without ranges that overlap an earlier claim. */
function withoutConflicts(
  claims: readonly Claim[],
  problems: string[],
): Map<string, AcceptedRange[]> {
  const accepted = new Map<string, AcceptedRange[]>();
  for (const [index, earlier] of firstOverlaps(claims).entries()) {
    const { node, range } = claims[index]!;
    if (earlier === undefined) accepted.set(node, [...(accepted.get(node) ?? []), range]);
    else
      problems.push(
        `node ${node}: range of pods ${range.text} is left out: ` +
          `it overlaps ${earlier.range.text} of node ${earlier.node}`,
      );
  }
  return accepted;
}

/** Returns, for each claim, an earlier accepted one that overlaps it. */
function firstOverlaps(claims: readonly Claim[]): (Claim | undefined)[] {
  const accepted: Claim[] = [];
  const suspects = overlapping(claims);
  return claims.map((claim) => {
    if (!suspects.has(claim)) return undefined;
    const earlier = accepted.find(({ range }) => overlaps(range, claim.range));
    if (earlier === undefined) accepted.push(claim);
    return earlier;
  });
}

/**
 * Returns the claims that overlap any other, in one pass in the order of addresses: usually there
 * are none.
 */
function overlapping(claims: readonly Claim[]): ReadonlySet<Claim> {
  const found = new Set<Claim>();
  const sorted = claims.toSorted(({ range: a }, { range: b }) => {
    if (a.family !== b.family) return familyOrder(a.family) - familyOrder(b.family);
    return a.first < b.first ? -1 : a.first > b.first ? 1 : a.prefix - b.prefix;
  });
  let widest: Claim | undefined;
  for (const claim of sorted) {
    if (widest !== undefined && overlaps(widest.range, claim.range)) found.add(widest).add(claim);
    else widest = claim;
  }
  return found;
}

const familyOrder = (family: IpFamily): number => (family === 'IPv4' ? 0 : 1);

function sortedAddresses(addresses: readonly IpAddress[]): readonly IpAddress[] {
  return addresses.toSorted((a, b) => {
    if (a.family !== b.family) return familyOrder(a.family) - familyOrder(b.family);
    return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
  });
}

/** Returns an address of the sorted list that is in the range; undefined if there is none. */
function firstWithin(addresses: readonly IpAddress[], range: IpRange): IpAddress | undefined {
  let [low, high] = [0, addresses.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { family, value } = addresses[middle]!;
    const isBefore =
      family === range.family
        ? value < range.first
        : familyOrder(family) < familyOrder(range.family);
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  const found = addresses[low];
  return found !== undefined && contains(range, found) ? found : undefined;
}
