// A node with pods, made of network namespaces, for tests with a real kernel. Needs root, iproute2
// and nft.
// - The node has the bridge pods0 (10.0.0.254) with pod1 10.0.0.1 and pod2 10.0.0.2.
// - Behind 10.0.1.254 is `other` with 10.0.1.1 and 10.0.1.2: pods of another node.
//
// The IPv6 addresses are fd00:0:0:a::1 and ::2, fd00:0:0:b::1 and ::2.

import { spawnSync } from 'node:child_process';
import { Agent } from '#machinery/net/testing/agent.ts';

const PLACES = ['node', 'pod1', 'pod2', 'other'] as const;
export type Place = (typeof PLACES)[number];

export const BRIDGE = 'pods0';
export const POD_CIDRS = ['10.0.0.0/24', 'fd00:0:0:a::/64'];
/** The TCP and UDP ports of every place. */
export const PORTS = [80, 81];
export const ECHO_PORT = 90;

export const ADDRESSES: Readonly<Record<Place, readonly string[]>> = {
  node: ['10.0.0.254', 'fd00:0:0:a::fe'],
  pod1: ['10.0.0.1', 'fd00:0:0:a::1'],
  pod2: ['10.0.0.2', 'fd00:0:0:a::2'],
  other: ['10.0.1.1', 'fd00:0:0:b::1', '10.0.1.2', 'fd00:0:0:b::2'],
};

const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Returns the reason why the lab cannot run; undefined if it can. */
export function labIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['ip', 'nft']) {
    if (spawnSync(program, ['-V'], { env: ENV }).error !== undefined)
      return `needs the program ${program}`;
  }
  const inside = [
    '--net',
    'sh',
    '-c',
    `nft list tables && ip link add ${BRIDGE} type bridge && test -e /proc/sys/net/bridge`,
  ];
  return spawnSync('unshare', inside, { env: ENV }).status === 0
    ? undefined
    : 'needs nftables, bridges and br_netfilter';
}

export class Lab {
  readonly #prefix = `coxpol-${process.pid}`;
  readonly #agents = new Map<Place, Agent>();

  static async start(): Promise<Lab> {
    const lab = new Lab();
    lab.#build();
    await Promise.all(
      PLACES.map(async (place) => {
        const agent = new Agent(lab.inside(place));
        lab.#agents.set(place, agent);
        for (const host of ADDRESSES[place]) {
          await Promise.all(PORTS.map((port) => agent.serve(place, host, port)));
          await agent.echo(host, ECHO_PORT);
        }
      }),
    );
    return lab;
  }

  /** Returns a program and arguments that run other programs in a namespace. */
  inside(place: Place): readonly string[] {
    return ['ip', 'netns', 'exec', `${this.#prefix}-${place}`];
  }

  agent(place: Place): Agent {
    return this.#agents.get(place)!;
  }

  /** Adds an IPv4 address to a place. */
  addAddress(place: Place, address: string): void {
    run(['ip', '-n', `${this.#prefix}-${place}`, 'address', 'add', `${address}/32`, 'dev', 'eth0']);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    run(['sh', '-c', PLACES.map((place) => `ip netns delete ${this.#prefix}-${place}`).join('; ')]);
  }

  #build(): void {
    const at = (place: Place): string => `${this.#prefix}-${place}`;
    const node = `ip -n ${at('node')}`;
    const lines = PLACES.flatMap((place) => [
      `ip netns add ${at(place)}`,
      `ip netns exec ${at(place)} sh -e -c 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad'`,
      `ip -n ${at(place)} link set lo up`,
    ]);
    lines.push(
      `ip netns exec ${at('node')} sh -e -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 ` +
        "> /proc/sys/net/ipv6/conf/all/forwarding'",
      // Nodes translate addresses of services and of traffic that leaves the cluster, so they track
      // connections.
      ...['ip', 'ip6'].map((family) => {
        const chain = `add chain ${family} nodes-own post { type nat hook postrouting priority 100; }`;
        const rule = `add rule ${family} nodes-own post oifname elsewhere masquerade`;
        return `ip netns exec ${at('node')} nft 'add table ${family} nodes-own; ${chain}; ${rule}'`;
      }),
      `${node} link add ${BRIDGE} type bridge nf_call_iptables 1 nf_call_ip6tables 1`,
      `${node} link set ${BRIDGE} up`,
      `${node} address add 10.0.0.254/24 dev ${BRIDGE}`,
      `${node} address add fd00:0:0:a::fe/64 dev ${BRIDGE} nodad`,
    );
    for (const place of ['pod1', 'pod2', 'other'] as const) {
      const here = `ip -n ${at(place)}`;
      lines.push(
        `ip link add eth0 netns ${at(place)} type veth peer name to-${place} netns ${at('node')}`,
        place === 'other'
          ? `${node} address add 10.0.1.254/24 dev to-${place}; ${node} address add ` +
              `fd00:0:0:b::fe/64 dev to-${place} nodad`
          : `${node} link set to-${place} master ${BRIDGE}; ${node} link set to-${place} type bridge_slave hairpin on`,
        `${node} link set to-${place} up`,
        `${here} link set eth0 up`,
      );
      for (const [index, host] of ADDRESSES[place].entries()) {
        // The first address of a family is the source of connections.
        const flags = index < 2 ? 'nodad' : 'nodad preferred_lft 0';
        lines.push(
          host.includes(':')
            ? `${here} address add ${host}/64 dev eth0 ${flags}`
            : `${here} address add ${host}/24 dev eth0`,
        );
      }
      const [v4, v6] =
        place === 'other' ? ['10.0.1.254', 'fd00:0:0:b::fe'] : ['10.0.0.254', 'fd00:0:0:a::fe'];
      lines.push(`${here} route add default via ${v4}`, `${here} -6 route add default via ${v6}`);
    }
    run(['sh', '-e', '-c', lines.join('\n')]);
  }
}

function run([program = '', ...args]: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { env: ENV, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}
