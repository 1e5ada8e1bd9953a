// A small network of network namespaces, for tests with a real kernel: a node with two pods, a
// client outside, and pods of another node. Needs root, iproute2 and nft.
// - The client is 192.168.0.2; the node is 192.168.0.1.
// - The node's pods are pod1 10.0.0.1 and pod2 10.0.0.2.
// - Behind 10.0.1.254 is `other` with 10.0.1.1 and 10.0.1.2: pods of another node.
//
// The IPv6 addresses are fd00:0:0:1::2 and ::1, fd00:0:0:a::1 and ::2, fd00:0:0:b::1 and ::2.

import { spawnSync } from 'node:child_process';
import { Agent } from '#machinery/net/testing/agent.ts';

const PLACES = ['node', 'client', 'pod1', 'pod2', 'other'] as const;
export type Place = (typeof PLACES)[number];

export const LAB_PORT = 8080;

/** Returns the reason why the lab cannot run; undefined if it can. */
export function labIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['ip', 'nft']) {
    if (spawnSync(program, ['-V'], { env: ENV }).error !== undefined)
      return `needs the program ${program}`;
  }
  const name = `coxlab-${process.pid}-probe`;
  const isMade = spawnSync('ip', ['netns', 'add', name], { env: ENV }).status === 0;
  const hasTables =
    isMade &&
    spawnSync('ip', ['netns', 'exec', name, 'nft', 'list', 'tables'], { env: ENV }).status === 0;
  spawnSync('ip', ['netns', 'delete', name], { env: ENV });
  return hasTables ? undefined : 'needs network namespaces with nftables';
}

const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
let labs = 0;

export class Lab {
  readonly #prefix = `coxlab-${process.pid}-${labs++}`;
  readonly #agents = new Map<Place, Agent>();

  static async start(): Promise<Lab> {
    const lab = new Lab();
    lab.#build();
    await Promise.all(
      PLACES.map(async (place) => {
        const agent = new Agent(lab.inside(place));
        lab.#agents.set(place, agent);
        await Promise.all(
          ADDRESSES[place].map(([name, host]) => agent.serve(name, host, LAB_PORT)),
        );
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

  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    run(['sh', '-c', PLACES.map((place) => `ip netns delete ${this.#prefix}-${place}`).join('; ')]);
  }

  /** Builds the lab with one shell: a process for each step would take longer than the tests. */
  #build(): void {
    const at = (place: Place): string => `${this.#prefix}-${place}`;
    const inside = (place: Place, commands: string): string =>
      `ip netns exec ${at(place)} sh -e -c '${commands}'`;
    const lines: string[] = [];
    for (const place of PLACES)
      lines.push(`ip netns add ${at(place)}`, `ip -n ${at(place)} link set lo up`);
    // Tests need ICMP errors, and redirects would exhaust their rate limit.
    const settings = [
      'ipv4/ip_forward=1',
      'ipv6/conf/all/forwarding=1',
      'ipv4/icmp_ratelimit=0',
      'ipv4/conf/default/send_redirects=0',
      'ipv4/conf/all/send_redirects=0',
    ];
    lines.push(
      inside(
        'node',
        settings
          .map((setting) => `echo ${setting.replace(/(.*)=(.*)/, '$2 > /proc/sys/net/$1')}`)
          .join('; '),
      ),
    );
    for (const [index, place] of (['client', 'pod1', 'pod2', 'other'] as const).entries()) {
      const [v4, v6] =
        place === 'client'
          ? ['192.168.0.1', 'fd00:0:0:1::1']
          : [`10.255.0.${index}`, `fd00:0:0:f::${index}`];
      const [here, node] = [`ip -n ${at(place)}`, `ip -n ${at('node')}`];
      lines.push(
        `ip link add eth0 netns ${at(place)} type veth peer name to-${place} netns ${at('node')}`,
        `${node} link set to-${place} up`,
        `${here} link set eth0 up`,
        `${node} address add ${v4}/32 dev to-${place}`,
        `${node} address add ${v6}/128 dev to-${place} nodad`,
      );
      for (const [, host] of ADDRESSES[place]) {
        lines.push(
          host.includes(':')
            ? `${here} address add ${host}/128 dev eth0 nodad`
            : `${here} address add ${host}/32 dev eth0`,
          `${node} route add ${host} dev to-${place}`,
        );
      }
      for (const gateway of [v4, v6]) {
        lines.push(
          `${here} route add ${gateway} dev eth0`,
          `${here}${gateway.includes(':') ? ' -6' : ''} route add default via ${gateway} dev eth0`,
        );
      }
    }
    lines.push(
      `ip -n ${at('node')} route add default via 192.168.0.2 dev to-client onlink`,
      `ip -n ${at('node')} -6 route add default via fd00:0:0:1::2 dev to-client onlink`,
    );
    run(['sh', '-e', '-c', lines.join('\n')]);
  }
}

const ADDRESSES: Readonly<Record<Place, readonly (readonly [name: string, host: string])[]>> = {
  node: [],
  client: [
    ['client', '192.168.0.2'],
    ['client', 'fd00:0:0:1::2'],
  ],
  pod1: [
    ['pod1', '10.0.0.1'],
    ['pod1', 'fd00:0:0:a::1'],
  ],
  pod2: [
    ['pod2', '10.0.0.2'],
    ['pod2', 'fd00:0:0:a::2'],
  ],
  other: [
    ['other1', '10.0.1.1'],
    ['other2', '10.0.1.2'],
    ['other1', 'fd00:0:0:b::1'],
    ['other2', 'fd00:0:0:b::2'],
  ],
};

function run([program = '', ...args]: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { env: ENV, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`${[program, ...args].join(' ')} failed: ${error?.message ?? stderr}`);
}
