// Two machines and a client on one link, made of network namespaces, for tests with a real kernel.
// Needs root, iproute2 and nft.
// - client: 10.92.0.9, fd92::9
// - machine a: 10.92.0.1, fd92::1, with an endpoint at 10.93.1.2 and fd93:0:0:1::2
// - machine b: 10.92.0.2, fd92::2, with an endpoint at 10.93.2.2 and fd93:0:0:2::2

import { spawnSync } from 'node:child_process';

const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
const MACHINES = { a: 1, b: 2, client: 9 } as const;
export type Machine = keyof typeof MACHINES;
let labs = 0;

/** Returns the reason why the lab cannot run; undefined if it can. */
export function linkLabIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['ip', 'nft', 'busybox']) {
    if (spawnSync(program, ['-V'], { env: ENV }).error !== undefined)
      return `needs the program ${program}`;
  }
  const name = `coxlink-${process.pid}-probe`;
  const isMade = spawnSync('ip', ['netns', 'add', name], { env: ENV }).status === 0;
  const hasTables =
    isMade &&
    spawnSync('ip', ['netns', 'exec', name, 'nft', 'list', 'tables'], { env: ENV }).status === 0;
  spawnSync('ip', ['netns', 'delete', name], { env: ENV });
  return hasTables ? undefined : 'needs network namespaces with nftables';
}

export class LinkLab {
  readonly #prefix = `coxlink-${process.pid}-${labs++}`;

  constructor() {
    const hub = this.#name('switch');
    const lines = [
      `ip netns add ${hub}`,
      `ip -n ${hub} link add br0 type bridge`,
      `ip -n ${hub} link set br0 up`,
    ];
    for (const [machine, number] of Object.entries(MACHINES)) {
      const at = this.#name(machine as Machine);
      lines.push(
        `ip netns add ${at}`,
        `ip -n ${at} link set lo up`,
        `ip link add eth0 netns ${at} type veth peer name to-${machine} netns ${hub}`,
        `ip -n ${hub} link set to-${machine} master br0`,
        `ip -n ${hub} link set to-${machine} up`,
        `ip -n ${at} link set eth0 up`,
        `ip -n ${at} address add 10.92.0.${number}/24 dev eth0`,
        `ip -n ${at} address add fd92::${number}/64 dev eth0 nodad`,
      );
    }
    for (const [machine, number, other] of [
      ['a', 1, 2],
      ['b', 2, 1],
    ] as const) {
      const at = this.#name(machine);
      lines.push(
        `ip netns exec ${at} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'`,
        `ip netns exec ${at} sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'`,
        `ip -n ${at} address add 10.93.${number}.2/32 dev lo`,
        `ip -n ${at} address add fd93:0:0:${number}::2/128 dev lo nodad`,
        `ip -n ${at} route add 10.93.${other}.0/24 via 10.92.0.${other}`,
        `ip -n ${at} route add fd93:0:0:${other}::/64 via fd92::${other}`,
      );
    }
    run(['sh', '-e', '-c', lines.join('\n')]);
  }

  /** Returns a program and arguments that run other programs on a machine. */
  inside(machine: Machine): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name(machine)];
  }

  /** Runs a program on a machine; throws if it fails. */
  run(machine: Machine, ...command: string[]): string {
    return run([...this.inside(machine), ...command]);
  }

  /** Disconnects the machine from the link. */
  unplug(machine: Machine): void {
    run(['ip', '-n', this.#name('switch'), 'link', 'set', `to-${machine}`, 'down']);
  }

  stop(): void {
    const places = [...Object.keys(MACHINES), 'switch'] as const;
    spawnSync(
      'sh',
      ['-c', places.map((place) => `ip netns delete ${this.#prefix}-${place}`).join('; ')],
      { env: ENV },
    );
  }

  #name(place: Machine | 'switch'): string {
    return `${this.#prefix}-${place}`;
  }
}

function run([program = '', ...args]: readonly string[]): string {
  const { status, stderr, stdout, error } = spawnSync(program, args, {
    env: ENV,
    encoding: 'utf8',
  });
  if (status !== 0)
    throw new Error(`${[program, ...args].join(' ')} failed: ${error?.message ?? stderr}`);
  return stdout;
}
