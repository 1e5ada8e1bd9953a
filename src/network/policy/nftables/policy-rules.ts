// The nftables objects of a policy: a chain for each direction, and sets for the ranges of its
// ipBlocks.

import { formatIp, type IpFamily } from '#machinery/net/ip.ts';
import type { Steps } from '#machinery/turn.ts';
import {
  allowancesOf,
  type AddressRange,
  type Allowance,
  type CompiledPolicy,
  type Direction,
  type Peer,
  type PortMatch,
} from '../model.ts';
import { isEveryPort, isWholeFamily } from '../rules/ranges.ts';
import {
  addressType,
  DIRECTIONS,
  FAMILIES,
  type Family,
  groupSet,
  hashOf,
  IP_FAMILY,
  policyChain,
} from './table.ts';

export interface PolicyObjects {
  /** Rules by chain. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** By name, which is derived from the content. */
  readonly blocks: ReadonlyMap<string, BlockSet>;
}

export interface BlockSet {
  readonly family: Family;
  readonly ranges: readonly AddressRange[];
}

/** The number of ports per rule: an anonymous set must fit the kernel's message. */
const PORTS_PER_RULE = 1000;
const RULES_PER_STEP = 500;

/**
 * Returns the objects of a policy, in steps of a few milliseconds. Pure: equal policies have equal
 * objects.
 */
export function* policyObjects(policy: CompiledPolicy): Steps<PolicyObjects> {
  const chains = new Map<string, readonly string[]>();
  const blocks = new Map<string, BlockSet>();
  for (const direction of DIRECTIONS) {
    const allowances = allowancesOf(policy, direction);
    if (allowances === undefined) continue;
    const rules = new Set<string>();
    for (const allowance of allowances) {
      for (const rule of rulesOf(allowance, direction, blocks)) {
        rules.add(rule);
        if (rules.size % RULES_PER_STEP === 0) yield;
      }
      yield;
    }
    chains.set(policyChain(direction, policy.key), [...rules]);
  }
  return { chains, blocks };
}

/** Returns the arguments of the command that declares a set. */
export const blockDeclaration = ({ family }: BlockSet): string =>
  `{ type ${addressType(family)}; flags interval; }`;
export const blockElements = ({ ranges }: BlockSet): readonly string[] =>
  ranges.map(({ family, first, last }) => {
    const from = textOf(family, first);
    return first === last ? from : `${from}-${textOf(family, last)}`;
  });

/** Formats an address, IPv6 without abbreviations: the canonical form takes ten times as long. */
function textOf(family: IpFamily, value: bigint): string {
  if (family === 'IPv4') return formatIp({ family, value });
  return value
    .toString(16)
    .padStart(32, '0')
    .replaceAll(/(.{4})(?!$)/g, '$1:');
}

/** A match for one family, or for both. */
interface Match {
  readonly family: Family | undefined;
  readonly text: string;
}

const ANY: readonly Match[] = [{ family: undefined, text: '' }];

function* rulesOf(
  { peers, ports }: Allowance,
  direction: Direction,
  blocks: Map<string, BlockSet>,
): Generator<string> {
  const targets = ports === undefined ? ANY : ports.flatMap(portMatches);
  for (const peer of peers ?? [undefined]) {
    for (const source of peer === undefined ? ANY : peerMatches(peer, direction, blocks)) {
      for (const target of targets) {
        if (
          target.family !== undefined &&
          source.family !== undefined &&
          target.family !== source.family
        )
          continue;
        yield [source.text, target.text, 'accept'].filter(Boolean).join(' ');
      }
    }
  }
}

function peerMatches(
  peer: Peer,
  direction: Direction,
  blocks: Map<string, BlockSet>,
): readonly Match[] {
  const at = direction === 'ingress' ? 'saddr' : 'daddr';
  if (peer.kind === 'group') {
    return FAMILIES.map((family) => ({
      family,
      text: `${family} ${at} @${groupSet(peer.group.id, family)}`,
    }));
  }
  return FAMILIES.flatMap((family): Match[] => {
    const ranges = peer.ranges.filter((range) => range.family === IP_FAMILY[family]);
    if (ranges.length === 0) return [];
    if (isWholeFamily(ranges, IP_FAMILY[family]))
      return [{ family, text: `meta nfproto ipv${family === 'ip' ? 4 : 6}` }];
    const name = `block-${hashOf(ranges.map(({ first, last }) => `${first}-${last}`).join(' '))}-${family}`;
    blocks.set(name, { family, ranges });
    return [{ family, text: `${family} ${at} @${name}` }];
  });
}

function portMatches(match: PortMatch): readonly Match[] {
  if (match.kind === 'named') {
    return FAMILIES.map((family) => {
      return {
        family,
        text: `${family} daddr . meta l4proto . th dport @${groupSet(match.group.id, family)}`,
      };
    });
  }
  const { protocol, ranges } = match;
  if (isEveryPort(ranges)) return [{ family: undefined, text: `meta l4proto ${protocol}` }];
  const texts = ranges.map(([first, last]) =>
    first === last ? String(first) : `${first}-${last}`,
  );
  const matches: Match[] = [];
  for (let at = 0; at < texts.length; at += PORTS_PER_RULE) {
    matches.push({
      family: undefined,
      text: `${protocol} dport { ${texts.slice(at, at + PORTS_PER_RULE).join(', ')} }`,
    });
  }
  return matches;
}
