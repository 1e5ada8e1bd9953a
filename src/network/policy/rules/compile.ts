// Compiles a NetworkPolicy to a value: selectors parsed, blocks as ranges, ports by protocol. Pure.
//
// A part that cannot be programmed allows nothing and is a problem for the log. This is safe: rules
// only add to the allowed traffic, so leaving a part out never allows more.

import { contains, type IpRange, parseCidr, parseIp } from '#machinery/net/ip.ts';
import {
  everything,
  labelSelectorAsSelector,
  nothing,
  type Selector,
} from '#machinery/selectors/labels.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import type {
  AddressRange,
  Allowance,
  CompiledPolicy,
  Direction,
  Group,
  NamedPort,
  NetworkPolicy,
  Peer,
  PolicyPod,
  PortMatch,
  PortRange,
  Protocol,
} from '../model.ts';
import { unionOf, unionOfPorts, without } from './ranges.ts';

type ApiRule = NonNullable<NetworkPolicy['spec']['ingress']>[number] &
  NonNullable<NetworkPolicy['spec']['egress']>[number];
type ApiPeer = NonNullable<ApiRule['from']>[number];
type ApiPort = NonNullable<ApiRule['ports']>[number];
type NamedPorts = NonNullable<Group['ports']>;

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map<string, Protocol>([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
]);
const ALL_PORTS: PortRange = [0, 65_535];
/**
 * The maximum number of peers, ranges and ports of a policy. The API allows policies of 1.5 MB,
 * which can have 100,000 of them.
 */
const MAX_PARTS = 10_000;
const PARTS_PER_STEP = 200;

/** Compiles a policy. Never throws: see `problems`. */
export const compilePolicy = (policy: NetworkPolicy): CompiledPolicy =>
  runSteps(compileInSteps(policy));

/** Compiles a policy in steps of a few milliseconds. */
export function* compileInSteps(policy: NetworkPolicy): Steps<CompiledPolicy> {
  const { namespace = '', name } = policy.metadata;
  const { spec } = policy;
  const problems: string[] = [];
  const selector = selectorOf(spec.podSelector, 'spec.podSelector', problems);
  const compiler = new Compiler(namespace, selector ?? everything(), problems);
  const isTooLarge = countParts(spec) > MAX_PARTS;
  if (isTooLarge) problems.push(`spec: has more than ${MAX_PARTS} peers, ranges and ports`);
  // With an invalid selector it is unknown which pods the policy selects: it isolates all pods of
  // its namespace and allows nothing.
  const isUsable = selector !== undefined && !isTooLarge;
  // The API server sets the types; the same default here handles objects of older servers.
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress === undefined ? [] : ['Egress'])];
  const allowances: Partial<Record<Direction, readonly Allowance[]>> = {};
  for (const direction of ['ingress', 'egress'] as const) {
    if (!types.includes(direction === 'ingress' ? 'Ingress' : 'Egress')) continue;
    allowances[direction] = isUsable
      ? yield* compiler.allowances(direction, spec[direction] ?? [])
      : [];
  }
  return {
    key: `${namespace}/${name}`,
    namespace,
    selector: compiler.selector,
    ingress: allowances.ingress,
    egress: allowances.egress,
    problems,
  };
}

function countParts({ ingress = [], egress = [] }: NetworkPolicy['spec']): number {
  let count = 0;
  const rules: readonly ApiRule[] = [...ingress, ...egress];
  for (const { from = [], to = [], ports = [] } of rules) {
    count += 1 + ports.length;
    for (const { ipBlock } of [...from, ...to]) count += 1 + (ipBlock?.except?.length ?? 0);
  }
  return count;
}

/** Returns the groups that a policy's rules refer to, by id. */
export function groupsOf(policy: CompiledPolicy): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const { peers = [], ports = [] } of [...(policy.ingress ?? []), ...(policy.egress ?? [])]) {
    for (const peer of peers) if (peer.kind === 'group') groups.set(peer.group.id, peer.group);
    for (const match of ports) if (match.kind === 'named') groups.set(match.group.id, match.group);
  }
  return groups;
}

/**
 * Returns the elements of a pod in a group that it matches. `addresses`: those of the pod's
 * addresses that count.
 */
export function elementsOf(
  group: Group,
  pod: PolicyPod,
  addresses: readonly string[],
): readonly string[] {
  const { within, ports, localOnly } = group;
  if (addresses.length === 0 || (localOnly && !pod.local)) return [];
  const usable =
    within === undefined ? addresses : addresses.filter((address) => isWithin(within, address));
  if (ports === undefined) return usable;
  const numbers = pod.ports.filter(({ name, protocol }) =>
    ports.some((port) => port.name === name && port.protocol === protocol),
  );
  return [
    ...new Set(
      usable.flatMap((address) =>
        numbers.map(({ protocol, port }) => `${address} . ${protocol} . ${port}`),
      ),
    ),
  ];
}

function isWithin(ranges: readonly AddressRange[], text: string): boolean {
  const address = parseIp(text);
  return (
    address !== undefined && ranges.some((range) => contains({ ...range, prefix: 0 }, address))
  );
}

class Compiler {
  readonly selector: Selector;
  readonly #namespace: string;
  readonly #problems: string[];

  constructor(namespace: string, selector: Selector, problems: string[]) {
    this.#namespace = namespace;
    this.selector = selector;
    this.#problems = problems;
  }

  *allowances(direction: Direction, rules: readonly ApiRule[]): Steps<readonly Allowance[]> {
    const allowances: Allowance[] = [];
    for (const [index, rule] of rules.entries()) {
      const at = `spec.${direction}[${index}]`;
      const given = direction === 'ingress' ? rule.from : rule.to;
      const peers =
        given === undefined || given.length === 0
          ? undefined
          : yield* this.#peers(given, `${at}.peers`);
      allowances.push(...this.#withPorts(direction, peers, rule.ports ?? [], `${at}.ports`));
      yield;
    }
    return allowances;
  }

  *#peers(given: readonly ApiPeer[], at: string): Steps<readonly Peer[]> {
    const peers = new Map<string, Peer>();
    const ranges: AddressRange[] = [];
    for (const [index, peer] of given.entries()) {
      const place = `${at}[${index}]`;
      if (index % PARTS_PER_STEP === 0) yield;
      if (peer.ipBlock !== undefined) {
        ranges.push(...(yield* this.#block(peer.ipBlock, place)));
      } else if (peer.podSelector === undefined && peer.namespaceSelector === undefined) {
        this.#problems.push(`${place}: is empty`);
      } else {
        const group = this.#group(peer, place);
        peers.set(group.id, { kind: 'group', group });
      }
    }
    return [
      ...peers.values(),
      ...(ranges.length === 0 ? [] : [{ kind: 'ranges', ranges: unionOf(ranges) } as const]),
    ];
  }

  #group({ podSelector, namespaceSelector }: ApiPeer, at: string): Group {
    const selectors = (selector: typeof podSelector, field: string): Selector =>
      selectorOf(selector, `${at}.${field}`, this.#problems) ?? nothing();
    return groupOf({
      namespaces:
        namespaceSelector === undefined
          ? this.#namespace
          : selectors(namespaceSelector, 'namespaceSelector'),
      pods: selectors(podSelector, 'podSelector'),
      localOnly: false,
    });
  }

  *#block(
    { cidr, except = [] }: NonNullable<ApiPeer['ipBlock']>,
    at: string,
  ): Steps<readonly AddressRange[]> {
    const range = parseCidr(cidr);
    const holes: (IpRange | undefined)[] = [];
    for (const text of except) if (holes.push(parseCidr(text)) % PARTS_PER_STEP === 0) yield;
    if (range !== undefined && holes.every((hole) => hole !== undefined))
      return without(range, holes);
    this.#problems.push(`${at}.ipBlock: has a range that is not in canonical form`);
    return [];
  }

  #withPorts(
    direction: Direction,
    peers: readonly Peer[] | undefined,
    ports: readonly ApiPort[],
    at: string,
  ): readonly Allowance[] {
    if (ports.length === 0) return [{ peers, ports: undefined }];
    const numbers = new Map<Protocol, PortRange[]>();
    const named: Omit<NamedPort, 'port'>[] = [];
    ports.forEach(({ protocol: text = 'TCP', port, endPort }, index) => {
      const protocol = PROTOCOLS.get(text);
      if (protocol === undefined) this.#problems.push(`${at}[${index}]: unknown protocol`);
      else if (typeof port === 'string') named.push({ protocol, name: port });
      else
        numbers.set(protocol, [
          ...(numbers.get(protocol) ?? []),
          port === undefined ? ALL_PORTS : [port, endPort ?? port],
        ]);
    });
    const matches = [...numbers].map(([protocol, ranges]): PortMatch => ({
      kind: 'numbers',
      protocol,
      ranges: unionOfPorts(ranges),
    }));
    if (named.length === 0) return [{ peers, ports: matches }];
    const byNumber = matches.length === 0 ? [] : [{ peers, ports: matches }];
    if (direction === 'ingress') {
      const group = groupOf({
        namespaces: this.#namespace,
        pods: this.selector,
        localOnly: true,
        ports: named,
      });
      return [{ peers, ports: [...matches, { kind: 'named', group }] }];
    }
    // A port name refers to the destination's ports, so the destination's address and port are
    // matched together.
    return [
      ...byNumber,
      {
        peers: undefined,
        ports: destinations(peers, named).map((group) => ({ kind: 'named', group })),
      },
    ];
  }
}

/** Returns the groups of pods among the peers, with the numbers of their named ports. */
function destinations(peers: readonly Peer[] | undefined, ports: NamedPorts): readonly Group[] {
  const everyPod = { namespaces: everything(), pods: everything(), localOnly: false, ports };
  if (peers === undefined) return [groupOf(everyPod)];
  return peers.map((peer) =>
    groupOf(
      peer.kind === 'group' ? { ...peer.group, ports } : { ...everyPod, within: peer.ranges },
    ),
  );
}

function groupOf(group: Omit<Group, 'id'>): Group {
  const { namespaces, pods, localOnly, within, ports } = group;
  const id = JSON.stringify([
    typeof namespaces === 'string' ? namespaces : textOf(namespaces),
    textOf(pods),
    localOnly,
    within?.map(({ first, last, family }) => `${family} ${first}-${last}`) ?? null,
    ports?.map(({ protocol, name }) => `${protocol} ${name}`).sort() ?? null,
  ]);
  return { ...group, id };
}

/**
 * Returns the text of a selector. Without the tag, a selector that matches nothing would have the
 * text of one that matches everything.
 */
const textOf = (selector: Selector): readonly [string | null] => [
  selector.requirements() === undefined ? null : selector.toString(),
];

/** Parses a selector; an absent one matches everything. Returns undefined if it is invalid. */
function selectorOf(
  selector: NetworkPolicy['spec']['podSelector'] | undefined,
  at: string,
  problems: string[],
): Selector | undefined {
  try {
    return labelSelectorAsSelector(selector ?? {});
  } catch {
    problems.push(`${at}: is no valid selector`);
    return undefined;
  }
}
