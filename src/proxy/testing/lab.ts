// A small network out of network namespaces, for tests that need a real kernel: a node with two pods, a client outside, and pods of
// another node. Needs root, iproute2 and nft.
//
//   client 192.168.0.2 ── 192.168.0.1 node ── pod1 10.0.0.1, pod2 10.0.0.2
//                                         └── 10.0.1.254 other 10.0.1.1, 10.0.1.2
//
// The same in IPv6: fd00:0:0:1::2 and ::1, fd00:0:0:a::1 and ::2, fd00:0:0:b::1 and ::2.

import { spawnSync } from 'node:child_process';
import { Agent } from './agent.ts';

const PLACES = ['node', 'client', 'pod1', 'pod2', 'other'] as const;
export type Place = (typeof PLACES)[number];

export const LAB_PORT = 8080;

/** Returns why there can be no lab; undefined if there can. */
export function labIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['ip', 'nft']) {
    if (spawnSync(program, ['-V'], { env: ENV }).error !== undefined) return `needs the program ${program}`;
  }
  const name = `coxlab-${process.pid}-probe`;
  const isMade = spawnSync('ip', ['netns', 'add', name], { env: ENV }).status === 0;
  const hasTables = isMade && spawnSync('ip', ['netns', 'exec', name, 'nft', 'list', 'tables'], { env: ENV }).status === 0;
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
        await Promise.all(ADDRESSES[place].map(([name, host]) => agent.serve(name, host, LAB_PORT)));
      }),
    );
    return lab;
  }

  /** Program and arguments that run something in a namespace. */
  inside(place: Place): readonly string[] {
    return ['ip', 'netns', 'exec', `${this.#prefix}-${place}`];
  }

  agent(place: Place): Agent {
    return this.#agents.get(place) as Agent;
  }

  run(place: Place, command: string): void {
    run([...this.inside(place), 'sh', '-c', command]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    for (const place of PLACES) run(['ip', 'netns', 'delete', `${this.#prefix}-${place}`]);
  }

  #build(): void {
    const at = (place: Place): string => `${this.#prefix}-${place}`;
    for (const place of PLACES) {
      run(['ip', 'netns', 'add', at(place)]);
      this.run(
        place,
        'ip link set lo up; echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad',
      );
    }
    for (const [index, place] of (['client', 'pod1', 'pod2', 'other'] as const).entries()) {
      run(['ip', 'link', 'add', 'eth0', 'netns', at(place), 'type', 'veth', 'peer', 'name', `to-${place}`, 'netns', at('node')]);
      this.run('node', `ip link set to-${place} up`);
      this.run(place, 'ip link set eth0 up');
      const gateway = place === 'client' ? ['192.168.0.1', 'fd00:0:0:1::1'] : [`10.255.0.${index}`, `fd00:0:0:f::${index}`];
      for (const address of gateway)
        this.run(
          'node',
          `ip address add ${address}/${address.includes(':') ? 128 : 32} dev to-${place} nodad || ip address add ${address}/32 dev to-${place}`,
        );
      for (const [, host] of ADDRESSES[place]) {
        const isIpv6 = host.includes(':');
        this.run(place, `ip address add ${host}/${isIpv6 ? '128 dev eth0 nodad' : '32 dev eth0'}`);
        this.run('node', `ip ${isIpv6 ? '-6 ' : ''}route add ${host} dev to-${place}`);
      }
      const [v4, v6] = gateway;
      this.run(
        place,
        `ip route add ${v4} dev eth0; ip route add default via ${v4}; ip -6 route add ${v6} dev eth0; ip -6 route add default via ${v6}`,
      );
    }
    this.run(
      'node',
      'ip route add default via 192.168.0.2 onlink dev to-client; ip -6 route add default via fd00:0:0:1::2 dev to-client onlink',
    );
    // ICMP errors are what tests look at, and redirects would use up their rate.
    this.run(
      'node',
      'echo 0 > /proc/sys/net/ipv4/icmp_ratelimit; for f in /proc/sys/net/ipv4/conf/*/send_redirects; do echo 0 > $f; done',
    );
    this.run('node', 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding');
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
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')} failed: ${error?.message ?? stderr}`);
}
