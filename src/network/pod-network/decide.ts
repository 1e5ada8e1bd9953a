// Decides the state of this machine in which its pods reach pods of other nodes. Pure: nodes and
// the machine in, a state out.

import {
  bitsOf,
  contains,
  formatIp,
  type IpAddress,
  type IpFamily,
  type IpRange,
  isHostOf,
  parseCidr,
} from '#machinery/net/ip.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import { acceptNodes, type AcceptedRange, LONG, type Peer } from './accept.ts';
import { BATCH_ARGUMENT } from './difference.ts';
import {
  EMPTY_STATE,
  type Link,
  type Machine,
  type NodeRecord,
  type PodNetworkSettings,
  type PodNetworkState,
  type Route,
  type VxlanDevice,
} from './model.ts';

export interface Decision {
  /** This node's ranges in canonical form. Empty: it has none yet. */
  readonly podCidrs: readonly string[];
  readonly state: PodNetworkState;
  /** The MTU of pods. Undefined: the link to other machines is unknown. */
  readonly mtu: number | undefined;
  /** Ranges whose addresses are never masqueraded. */
  readonly podRanges: readonly string[];
  /** Addresses of other nodes, from which VXLAN is accepted. */
  readonly nodeAddresses: readonly string[];
  /** Why this node's pods cannot have a network now. The kernel's state must then stay as it is. */
  readonly obstacle: string | undefined;
  /** Problems of other nodes, for the log. */
  readonly problems: readonly string[];
}

/**
 * The number of bytes that VXLAN adds to a packet: outer IP, UDP and VXLAN headers, and the inner
 * Ethernet header.
 */
const VXLAN_OVERHEAD: Readonly<Record<IpFamily, number>> = { IPv4: 50, IPv6: 70 };
/** Ethernet's MTU. The loopback interface has a larger one, which no other machine supports. */
const DEFAULT_MTU = 1500;

export function decide(
  self: string,
  nodes: Iterable<NodeRecord>,
  machine: Pick<Machine, 'links' | 'foreignRoutes'>,
  settings: PodNetworkSettings,
): Decision {
  return runSteps(decideInSteps(self, nodes, machine, settings));
}

/** Decides the same in steps, if there are many nodes. The nodes are read in the first step. */
export function* decideInSteps(
  self: string,
  nodes: Iterable<NodeRecord>,
  machine: Pick<Machine, 'links' | 'foreignRoutes'>,
  settings: PodNetworkSettings,
): Steps<Decision> {
  const rules = {
    self,
    clusterCidrs: settings.clusterCidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
    serviceCidrs: settings.serviceCidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
    machine,
  };
  const accepted = yield* acceptNodes(nodes, rules);
  const { peers } = accepted;
  const problems = [...accepted.problems];
  const own = accepted.self;
  const podCidrs = (own?.ranges ?? []).map(({ text }) => text);
  const local = localAddress(own, machine.links);
  const plan = new Plan(machine, settings, own, local);
  for (const [index, peer] of peers.entries()) {
    problems.push(...plan.add(peer));
    if (index % LONG === LONG - 1) yield;
  }
  return {
    podCidrs,
    state: podCidrs.length === 0 ? EMPTY_STATE : plan.state(),
    mtu: plan.podMtu(),
    podRanges:
      rules.clusterCidrs.length > 0
        ? settings.clusterCidrs
        : [...podCidrs, ...rangesOf(peers)].toSorted(),
    nodeAddresses: peers.flatMap(({ addresses }) => addresses.map(({ text }) => text)).toSorted(),
    obstacle: obstacleOf(own, local, peers.length > 0),
    problems,
  };
}

const rangesOf = (peers: readonly Peer[]): string[] =>
  peers.flatMap(({ ranges }) => ranges.map(({ text }) => text));

function obstacleOf(
  own: Peer | undefined,
  local: Local | undefined,
  hasPeers: boolean,
): string | undefined {
  if (own === undefined) return 'the node is not registered';
  if (own.ranges.length === 0) return 'the node has no usable range of pod addresses';
  // While a link is down or its address changes, routes to other nodes should stay.
  return hasPeers && own.addresses.length > 0 && local === undefined
    ? 'this machine has no address of its node'
    : undefined;
}

/** The address by which other nodes reach this one, and its link. */
interface Local {
  readonly family: IpFamily;
  readonly text: string;
  readonly link: Link;
}

function localAddress(own: Peer | undefined, links: readonly Link[]): Local | undefined {
  for (const { family, value, text } of own?.addresses ?? []) {
    const link = links.find(({ addresses }) =>
      addresses.some((each) => each.family === family && each.value === value),
    );
    if (link !== undefined) return { family, text, link };
  }
  return undefined;
}

/** The state under construction. */
class Plan {
  readonly #machine: Pick<Machine, 'links' | 'foreignRoutes'>;
  readonly #settings: PodNetworkSettings;
  readonly #own: Peer | undefined;
  readonly #local: Local | undefined;
  readonly #families: ReadonlySet<IpFamily>;
  /** The links to other machines. */
  readonly #outerLinks: readonly Link[];
  readonly #routes = new Map<string, Route>();
  readonly #forwarding = new Map<string, string>();
  readonly #neighbours = new Map<string, string>();
  /** The MTUs of links that routes and VXLAN use. */
  readonly #routeMtus = new Set<number>();
  readonly #vxlanMtus = new Set<number>();

  constructor(
    machine: Pick<Machine, 'links' | 'foreignRoutes'>,
    settings: PodNetworkSettings,
    own: Peer | undefined,
    local: Local | undefined,
  ) {
    this.#machine = machine;
    this.#settings = settings;
    this.#own = own;
    this.#local = local;
    this.#families = new Set(own?.ranges.map(({ family }) => family));
    const { bridge, vxlan } = settings.names;
    this.#outerLinks = machine.links.filter(
      ({ name, isLoopback }) =>
        name !== bridge && name !== vxlan && !isLoopback && BATCH_ARGUMENT.test(name),
    );
  }

  /** Adds a node. Returns its problems. */
  add(peer: Peer): readonly string[] {
    return peer.ranges
      .filter(({ family }) => this.#families.has(family))
      .flatMap((range) => this.#addRange(peer, range) ?? []);
  }

  #addRange(peer: Peer, range: AcceptedRange): string | undefined {
    const { mode } = this.#settings;
    if (peer.addresses.length === 0) return undefined;
    const direct = mode === 'vxlan' ? undefined : this.#onLink(peer, range.family);
    if (direct !== undefined) {
      const { link, via } = direct;
      this.#routeMtus.add(link.mtu);
      if (!link.isUp)
        return `node ${peer.name}: no route to ${range.text}, the link ${link.name} is down`;
      this.#routes.set(range.text, {
        family: range.family,
        destination: range.text,
        via,
        link: link.name,
      });
      return undefined;
    }
    if (mode === 'routes')
      return (
        `node ${peer.name}: no route to ${range.text}, ` +
        'the node is not on a link of this machine (see --pod-network)'
      );
    return this.#addTunnel(peer, range);
  }

  #addTunnel(peer: Peer, range: AcceptedRange): string | undefined {
    const local = this.#local;
    const remote = peer.addresses.find(({ family }) => family === local?.family);
    if (local === undefined || remote === undefined) {
      const family = local?.family ?? 'usable';
      return `node ${peer.name}: pods in ${range.text} cannot be reached, the node has no ${family} address`;
    }
    const mac = tunnelMac(peer);
    const via = firstAddress(range);
    const other = this.#forwarding.get(mac);
    if (other !== undefined && other !== remote.text)
      return (
        `node ${peer.name}: pods in ${range.text} cannot be reached, ` +
        `their node and that at ${other} get the same tunnel address`
      );
    this.#vxlanMtus.add(this.#linkTo(remote)?.mtu ?? local.link.mtu);
    this.#forwarding.set(mac, remote.text);
    this.#neighbours.set(via, mac);
    this.#routes.set(range.text, {
      family: range.family,
      destination: range.text,
      via,
      link: this.#settings.names.vxlan,
    });
    return undefined;
  }

  /** Returns the link that this machine shares with the node, and the node's address on it. */
  #onLink(peer: Peer, family: IpFamily): { readonly link: Link; readonly via: string } | undefined {
    for (const address of peer.addresses) {
      if (address.family !== family) continue;
      let [best, prefix]: [Link | undefined, number] = [undefined, -1];
      for (const link of this.#outerLinks) {
        if (!link.isEthernet) continue;
        for (const { range } of link.addresses) {
          if (range.prefix > prefix && isOnLink(range, address))
            [best, prefix] = [link, range.prefix];
        }
      }
      if (best !== undefined) return { link: best, via: address.text };
    }
    return undefined;
  }

  /** Returns the link for packets to the address: that of the longest matching route. */
  #linkTo(address: Peer['addresses'][number]): Link | undefined {
    let [name, prefix, metric]: [string | undefined, number, number] = [undefined, -1, 0];
    for (const route of this.#machine.foreignRoutes) {
      const isBetter =
        route.range.prefix > prefix || (route.range.prefix === prefix && route.metric < metric);
      if (isBetter && contains(route.range, address))
        [name, prefix, metric] = [route.link, route.range.prefix, route.metric];
    }
    return this.#machine.links.find((link) => link.name === name);
  }

  #vxlan(): VxlanDevice | undefined {
    const { mode, vxlanId, vxlanPort } = this.#settings;
    const [local, own] = [this.#local, this.#own];
    const isWanted = this.#forwarding.size > 0 || mode === 'vxlan';
    if (!isWanted || local === undefined || own === undefined || own.ranges.length === 0)
      return undefined;
    return {
      id: vxlanId,
      port: vxlanPort,
      local: local.text,
      mac: tunnelMac(own),
      mtu: Math.min(local.link.mtu, ...this.#vxlanMtus) - VXLAN_OVERHEAD[local.family],
      addresses: own.ranges
        .map((range) => `${firstAddress(range)}/${range.family === 'IPv4' ? 32 : 128}`)
        .toSorted(),
    };
  }

  state(): PodNetworkState {
    return {
      vxlan: this.#vxlan(),
      routes: this.#routes,
      forwarding: this.#forwarding,
      neighbours: this.#neighbours,
    };
  }

  podMtu(): number | undefined {
    const link = this.#local?.link ?? this.#defaultLink();
    const vxlan = this.#vxlan();
    const mtus = [
      ...(link === undefined ? [] : [link.mtu]),
      ...this.#routeMtus,
      ...(vxlan === undefined ? [] : [vxlan.mtu]),
    ];
    if (mtus.length === 0) return undefined;
    return link?.isLoopback === true ? Math.min(DEFAULT_MTU, ...mtus) : Math.min(...mtus);
  }

  /** Returns the link of the default route. */
  #defaultLink(): Link | undefined {
    const routes = this.#machine.foreignRoutes
      .filter(({ range }) => range.prefix === 0)
      .toSorted((a, b) => a.metric - b.metric);
    return this.#machine.links.find(({ name }) => name === routes[0]?.link);
  }
}

/**
 * Reports whether the address is usable on the link. On links between two machines, all addresses
 * are.
 */
const isOnLink = (range: IpRange, address: IpAddress): boolean =>
  bitsOf(range.family) - range.prefix <= 1 ? contains(range, address) : isHostOf(range, address);

const firstAddress = ({ family, first }: AcceptedRange): string =>
  formatIp({ family, value: first });

/**
 * Returns the hardware address of a node in the tunnel. It is derived from the node's first range,
 * which is unique, so nodes need not publish theirs, and none can claim another node's.
 */
export function tunnelMac({ ranges }: Pick<Peer, 'ranges'>): string {
  const [range] = ranges;
  const value = range === undefined ? 0n : foldTo40Bits(range);
  const octets = [
    0x0a,
    ...[4, 3, 2, 1, 0].map((index) => Number((value >> BigInt(8 * index)) & 0xffn)),
  ];
  return octets.map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}

/**
 * Folds a range to 40 bits. IPv4 addresses fit. Ranges of IPv6 differ in the bits before the end of
 * their prefix, so those become the last bits.
 */
function foldTo40Bits({ family, first, prefix }: AcceptedRange): bigint {
  if (family === 'IPv4') return (0x58n << 32n) | first;
  return (first >> BigInt(128 - prefix)) & 0xff_ffff_ffffn;
}
