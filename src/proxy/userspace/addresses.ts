// Manages addresses of services on the loopback interface, so that a process can listen at them.

import type { Logger } from '#machinery/log.ts';
import { contains, parseCidr, parseIp } from '#machinery/net/ip.ts';
import { execute } from '#machinery/execute.ts';

export interface Addresses {
  /** Replaces the machine's addresses of services. Never rejects: failures are logged. */
  keep(wanted: ReadonlySet<string>): Promise<void>;
}

export interface LoopbackAddressesConfig {
  /**
   * Returns the ranges of cluster IPs: an unwanted address in them is removed, even if another
   * process added it.
   */
  readonly serviceCidrs: () => readonly string[];
  readonly logger: Logger;
  /** A program and arguments that run `ip`. Default: none. */
  readonly prefix?: readonly string[];
}

export class LoopbackAddresses implements Addresses {
  readonly #config: LoopbackAddressesConfig;
  /** Undefined: not listed yet. */
  #present: Set<string> | undefined;

  constructor(config: LoopbackAddressesConfig) {
    this.#config = config;
  }

  async keep(wanted: ReadonlySet<string>): Promise<void> {
    const present = (this.#present ??= await this.#list());
    for (const ip of present) {
      if (wanted.has(ip)) continue;
      await this.#ip(['address', 'delete', `${ip}/${lengthOf(ip)}`, 'dev', 'lo']);
      present.delete(ip);
    }
    for (const ip of wanted) {
      if (present.has(ip)) continue;
      if (await this.#ip(['address', 'replace', `${ip}/${lengthOf(ip)}`, 'dev', 'lo']))
        present.add(ip);
    }
  }

  async #list(): Promise<Set<string>> {
    const ranges = this.#config.serviceCidrs().flatMap((text) => parseCidr(text) ?? []);
    const { stdout } = await execute(
      [...(this.#config.prefix ?? []), 'ip', '-o', 'address', 'show', 'dev', 'lo'],
      '',
    );
    const addresses = [...stdout.matchAll(/ inet6? ([0-9a-f.:]+)\/(?:32|128) /g)].map(
      ([, ip = '']) => ip,
    );
    return new Set(
      addresses.filter((text) => {
        const address = parseIp(text);
        return address !== undefined && ranges.some((range) => contains(range, address));
      }),
    );
  }

  async #ip(args: readonly string[]): Promise<boolean> {
    const { code, stderr } = await execute([...(this.#config.prefix ?? []), 'ip', ...args], '');
    if (code !== 0)
      this.#config.logger.warn('proxy: ip address failed', {
        args: args.join(' '),
        stderr: stderr.trim(),
      });
    return code === 0;
  }
}

const lengthOf = (ip: string): number => (ip.includes(':') ? 128 : 32);
