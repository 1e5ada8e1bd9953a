// The network of pods that have their own: a bridge of this host, and a pair of interfaces for each
// pod. Pods reach each other and this host; beyond it they are masqueraded, if the host has nft.

import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { CriError } from '#cri/index.ts';
import { execute } from '#machinery/execute.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import type { Logger } from '#machinery/log.ts';

export interface PodNetworkConfig {
  /** The state directory, after which the bridge is named. */
  readonly owner: string;
  /** The addresses of pods; the first is the bridge's. */
  readonly cidr: string;
  /** Absolute paths. */
  readonly ip: string;
  readonly nsenter: string;
  readonly nft: string | undefined;
  readonly logger: Logger;
}

export class PodNetwork {
  readonly #config: PodNetworkConfig;
  readonly #bridge: string;
  readonly #gateway: string;
  readonly #prefix: string;
  readonly #mutex = new KeyedMutex();
  #ready = false;

  constructor(config: PodNetworkConfig) {
    this.#config = config;
    const [network = '', prefix = ''] = config.cidr.split('/');
    this.#bridge = bridgeOf(config.owner);
    this.#prefix = prefix;
    const octets = network.split('.').map(Number);
    octets[3] = (octets[3] ?? 0) + 1;
    this.#gateway = octets.join('.');
  }

  /**
   * Gives the network namespace of a process a loopback interface, and eth0 with the address.
   * Rejects with Internal.
   */
  async attach(pid: number, podId: string, address: string): Promise<void> {
    await this.#mutex.run('bridge', () => this.#ensureBridge());
    const { ip, nsenter } = this.#config;
    const veth = `coxv${hash(podId)}`;
    await this.#run(
      [ip, '-batch', '-'],
      `link add name ${veth} type veth peer name eth0 netns ${pid}\n` +
        `link set ${veth} master ${this.#bridge} up\n`,
    );
    await this.#run(
      [nsenter, `--net=/proc/${pid}/ns/net`, '--', ip, '-batch', '-'],
      `link set lo up\naddr add ${address}/${this.#prefix} dev eth0\nlink set eth0 up\n` +
        `route add default via ${this.#gateway}\n`,
    );
  }

  async #ensureBridge(): Promise<void> {
    if (this.#ready) return;
    const { ip, nft, cidr, logger } = this.#config;
    if (!existsSync(`/sys/class/net/${this.#bridge}`)) {
      await this.#run(
        [ip, '-batch', '-'],
        `link add name ${this.#bridge} type bridge\n` +
          `addr add ${this.#gateway}/${this.#prefix} dev ${this.#bridge}\n` +
          `link set ${this.#bridge} up\n`,
      );
    }
    try {
      if (nft === undefined) throw new Error('the host has no nft');
      writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
      await this.#run(
        [nft, '-f', '-'],
        `table ip ${this.#bridge}\ndelete table ip ${this.#bridge}\n` +
          `table ip ${this.#bridge} {\nchain nat {\n` +
          `type nat hook postrouting priority srcnat\n` +
          `ip saddr ${cidr} oifname != "${this.#bridge}" masquerade\n}\n}\n`,
      );
    } catch (error) {
      logger.warn('pods reach only this host and each other', { err: error });
    }
    this.#ready = true;
  }

  async #run(command: readonly string[], input: string): Promise<void> {
    const { code, stderr } = await execute(command, input);
    if (code !== 0)
      throw new CriError('Internal', `the pod's network cannot be set up: ${stderr.trim()}`);
  }
}

/** Returns the name of the bridge, and of its table of rules, of a state directory. */
export const bridgeOf = (stateDir: string): string => `coxp${hash(stateDir)}`;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
