// Machines for tests, made of network namespaces: links, machines on them, and one pod on each.
// Needs root and iproute2.
// - link A: 10.91.1.0/24, fd91:0:0:1::/64, with machines 1, 2, …
// - link B: 10.91.2.0/24, fd91:0:0:2::/64, with machines 1, 2, …
// - The router is .254 and ::fe on both links, and represents everything outside of the cluster.

import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatIp, parseCidr } from '#machinery/net/ip.ts';
import { CNI_CONFIG_FILE } from '../../cni.ts';
import type { PodNetworkNames } from '../model.ts';
import { podNetworkNames } from '../names.ts';
import { Prober } from './prober.ts';

export type LinkName = 'a' | 'b';
const LINK_NUMBERS: Readonly<Record<LinkName, number>> = { a: 1, b: 2 };
const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
let labs = 0;

/** Returns the reason why the lab cannot run; undefined if it can. */
export function labIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['ip', 'bridge', 'nft']) {
    if (spawnSync(program, ['-V'], { env: ENV }).error !== undefined)
      return `needs the program ${program}`;
  }
  const name = `coxnet-${process.pid}-probe`;
  const isMade = spawnSync('ip', ['netns', 'add', name], { env: ENV }).status === 0;
  const hasVxlan =
    isMade &&
    spawnSync('ip', ['-n', name, 'link', 'add', 'v', 'type', 'vxlan', 'id', '1', 'dstport', '0'], {
      env: ENV,
    });
  spawnSync('ip', ['netns', 'delete', name], { env: ENV });
  return hasVxlan !== false && hasVxlan.status === 0
    ? undefined
    : 'needs network namespaces with VXLAN';
}

export class MachineLab {
  readonly #prefix = `coxnet-${process.pid}-${labs++}`;
  readonly #probers: Prober[] = [];
  readonly #dirs: string[] = [];
  readonly #namespaces: string[] = [];
  readonly mtu: number;

  /** @param mtu the MTU of both links */
  constructor(mtu = 1500) {
    this.mtu = mtu;
    const router = this.#namespace('router');
    const lines: string[] = [];
    for (const [link, number] of Object.entries(LINK_NUMBERS)) {
      lines.push(
        `ip -n ${router} link add link-${link} type bridge`,
        `ip -n ${router} link set link-${link} mtu ${mtu} up`,
        `ip -n ${router} address add 10.91.${number}.254/24 dev link-${link}`,
        `ip -n ${router} address add fd91:0:0:${number}::fe/64 dev link-${link} nodad`,
      );
    }
    lines.push(
      `ip netns exec ${router} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'`,
      `ip netns exec ${router} sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'`,
    );
    run(lines);
  }

  /**
   * Starts a program outside of the cluster, which machines and pods reach by their default routes.
   */
  async outside(): Promise<Prober> {
    const prober = this.#prober(this.#namespaces[0]!);
    await prober.serve('10.91.1.254');
    return prober;
  }

  /** Starts a machine with a default route. `number`: the last part of its address, 1 to 99. */
  async machine(link: LinkName, number: number): Promise<LabMachine> {
    const [router, namespace] = [this.#namespaces[0]!, this.#namespace(`m${link}${number}`)];
    const at = LINK_NUMBERS[link];
    const port = `p${link}${number}`;
    run([
      `ip link add eth0 netns ${namespace} mtu ${this.mtu} type veth peer name ${port} netns ${router}`,
      `ip -n ${router} link set ${port} mtu ${this.mtu} master link-${link} up`,
      `ip -n ${namespace} link set lo up`,
      `ip -n ${namespace} link set eth0 up`,
      `ip netns exec ${namespace} sh -c 'echo 0 > /proc/sys/net/ipv4/ip_forward'`,
      `ip netns exec ${namespace} sh -c 'echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter'`,
      ...addressCommands(namespace, at, number),
    ]);
    const dir = await mkdtemp(join(tmpdir(), 'coxnet-'));
    this.#dirs.push(dir);
    return new LabMachine({
      lab: this,
      namespace,
      router,
      port,
      dir,
      number,
      link: at,
      prober: (name) => this.#prober(name),
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#probers.map((prober) => prober.stop()));
    run([this.#namespaces.map((name) => `ip netns delete ${name}`).join('; ')]);
    await Promise.all(this.#dirs.map((dir) => rm(dir, { recursive: true })));
  }

  #namespace(name: string): string {
    const full = `${this.#prefix}-${name}`;
    run([`ip netns add ${full}`]);
    this.#namespaces.push(full);
    return full;
  }

  podNamespace(machine: string): string {
    return this.#namespace(`pod-${machine.split('-').at(-1) ?? ''}`);
  }

  #prober(namespace: string): Prober {
    const prober = new Prober(['ip', 'netns', 'exec', namespace]);
    this.#probers.push(prober);
    return prober;
  }
}

function addressCommands(namespace: string, link: number, number: number): string[] {
  return [
    `ip -n ${namespace} address add 10.91.${link}.${number}/24 dev eth0`,
    `ip -n ${namespace} address add fd91:0:0:${link}::${number}/64 dev eth0 nodad`,
    `ip -n ${namespace} route replace default via 10.91.${link}.254`,
    `ip -n ${namespace} -6 route replace default via fd91:0:0:${link}::fe`,
  ];
}

interface LabMachineConfig {
  readonly lab: MachineLab;
  readonly namespace: string;
  readonly router: string;
  readonly port: string;
  readonly dir: string;
  readonly number: number;
  readonly link: number;
  readonly prober: (namespace: string) => Prober;
}

export class LabMachine {
  readonly #config: LabMachineConfig;
  readonly names: PodNetworkNames;
  #number: number;
  #pod: string | undefined;

  constructor(config: LabMachineConfig) {
    this.#config = config;
    this.#number = config.number;
    this.names = podNetworkNames(config.dir);
  }

  get dir(): string {
    return this.#config.dir;
  }

  /** A program and arguments that run other programs on the machine. */
  get inside(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#config.namespace];
  }

  get address(): string {
    return `10.91.${this.#config.link}.${this.#number}`;
  }

  get address6(): string {
    return `fd91:0:0:${this.#config.link}::${this.#number}`;
  }

  /** Runs a program on the machine. Returns its output. */
  run(...command: readonly string[]): string {
    const [program = '', ...args] = [...this.inside, ...command];
    const { status, stdout, stderr } = spawnSync(program, args, { env: ENV, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Disconnects or connects the cable. */
  cable(state: 'up' | 'down'): void {
    run([`ip -n ${this.#config.router} link set ${this.#config.port} ${state}`]);
  }

  /** Sets the machine's own end of the cable up or down, with all routes over it. */
  link(state: 'up' | 'down'): void {
    const { namespace, link } = this.#config;
    run([`ip -n ${namespace} link set eth0 ${state}`]);
    if (state === 'up') run([`ip -n ${namespace} route replace default via 10.91.${link}.254`]);
  }

  /** Replaces the addresses of the machine. */
  readdress(number: number): void {
    const { namespace, link } = this.#config;
    run([`ip -n ${namespace} address flush dev eth0`, ...addressCommands(namespace, link, number)]);
    this.#number = number;
  }

  prober(): Prober {
    return this.#config.prober(this.#config.namespace);
  }

  /** Returns the configuration for the container runtime. */
  async cni(): Promise<{
    readonly mtu: number | undefined;
    readonly ipMasq: boolean;
    readonly subnets: readonly string[];
  }> {
    const text = await readFile(join(this.#config.dir, CNI_CONFIG_FILE), 'utf8');
    const [bridge] = (JSON.parse(text) as { plugins: readonly unknown[] }).plugins;
    const { mtu, ipMasq, ipam } = bridge as {
      mtu?: number;
      ipMasq: boolean;
      ipam: { ranges: { subnet: string }[][] };
    };
    return {
      mtu,
      ipMasq,
      subnets: ipam.ranges.flatMap((range) => range.map(({ subnet }) => subnet)),
    };
  }

  /**
   * Starts a pod on the machine's bridge, as the CNI plugin would. It serves at its addresses.
   * `given`: the network configuration; default: the one for the runtime.
   */
  async pod(given?: {
    readonly mtu: number;
    readonly subnets: readonly string[];
  }): Promise<LabPod> {
    const { lab, namespace, prober } = this.#config;
    const { mtu = 1500, subnets } = given ?? (await this.cni());
    const pod = (this.#pod ??= lab.podNamespace(namespace));
    const { bridge } = this.names;
    const lines = [
      `ip -n ${namespace} link add ${bridge} type bridge`,
      `ip -n ${namespace} link set ${bridge} up`,
      `ip link add eth0 netns ${pod} mtu ${mtu} type veth peer name vethpod netns ${namespace}`,
      `ip -n ${namespace} link set vethpod mtu ${mtu} master ${bridge} up`,
      `ip -n ${pod} link set lo up`,
      `ip -n ${pod} link set eth0 up`,
    ];
    const addresses = subnets.map((subnet) => {
      const range = parseCidr(subnet);
      if (range === undefined) throw new Error(`${subnet} is no range`);
      const { family, first, prefix } = range;
      const [gateway, address] = [1n, 2n].map((offset) =>
        formatIp({ family, value: first + offset }),
      );
      const [flag, nodad] = family === 'IPv4' ? ['', ''] : ['-6', 'nodad'];
      lines.push(
        `ip -n ${namespace} address add ${gateway}/${prefix} dev ${bridge} ${nodad}`,
        `ip -n ${pod} address add ${address}/${prefix} dev eth0 ${nodad}`,
        `ip -n ${pod} ${flag} route add default via ${gateway}`,
      );
      return address as string;
    });
    run(lines);
    const program = prober(pod);
    for (const address of addresses) await program.serve(address);
    return { address: addresses[0]!, addresses, prober: program };
  }
}

export interface LabPod {
  readonly address: string;
  readonly addresses: readonly string[];
  readonly prober: Prober;
}

function run(lines: readonly string[]): void {
  const { status, stderr } = spawnSync('sh', ['-e', '-c', lines.join('\n')], {
    env: ENV,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${lines.join('\n')}\nfailed: ${stderr}`);
}
