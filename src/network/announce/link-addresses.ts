// Manages addresses of load balancers on this machine, through iproute2.
//
// Every address is on a dedicated interface (`cxs…`, see machinery/net/service-interface.ts), which
// is also the record of announced addresses: it is read after a crash, and a clean-up removes the
// interface. The kernel answers ARP for an IPv4 address on any interface. It answers NDP only for
// addresses of the link's own interface, so an IPv6 address is added there, too, as deprecated, so
// that nothing is sent from it.
//
// After a take-over, other machines still have the previous hardware address. They learn the new
// one:
// - IPv4: by gratuitous ARP, through the program arping (of busybox or iputils).
// - IPv6: with ndisc_notify, the kernel sends an unsolicited neighbour advertisement after
//   duplicate address detection.

import type { Clock } from '#machinery/clock.ts';
import { execute, type Executed } from '#machinery/execute.ts';
import type { Logger } from '#machinery/log.ts';
import { NftError, removalOf, systemNft } from '#machinery/net/nft/index.ts';
import { Arping } from './arping.ts';
import type { Announcement } from './decide.ts';
import { guardCommands } from './guard.ts';
import { type InterfaceEntry, linksOf, type RouteEntry } from './links.ts';
import type { AnnouncedAddresses } from './system.ts';

export interface LinkAddressesConfig {
  /** The interface with the addresses; see announcingInterface. */
  readonly interfaceName: string;
  /** The nftables table that blocks access to the rest of the machine at the addresses. */
  readonly table: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * A program and arguments that run other programs, such as `ip netns exec NAME`. Default: none.
   */
  readonly prefix?: readonly string[];
}

/** Duplicate address detection takes a second, and begins up to a second late. */
const DUPLICATE_SEARCH_MS = 4000;
const POLL_MS = 100;

export class LinkAddresses implements AnnouncedAddresses {
  readonly #config: LinkAddressesConfig;
  readonly #arping: Arping;

  constructor(config: LinkAddressesConfig) {
    this.#config = config;
    this.#arping = new Arping({ prefix: config.prefix ?? [], logger: config.logger });
  }

  async held(): Promise<ReadonlySet<string>> {
    const { interfaceName } = this.#config;
    const interfaces = await this.#interfaces();
    const own = addressesOf(interfaces.filter(({ ifname }) => ifname === interfaceName));
    const copies = new Set(
      addressesOf(interfaces.filter(({ ifname }) => ifname !== interfaceName)),
    );
    const held = new Set<string>();
    for (const address of own) {
      if (!address.includes(':') || copies.has(address)) held.add(address);
      // An earlier process ended between the two steps, or the link lost its addresses.
      else await this.#delete(address, interfaceName);
    }
    return held;
  }

  async add(
    address: string,
    { force }: { readonly force: boolean },
  ): Promise<'added' | 'in use' | 'no link'> {
    const isV6 = address.includes(':');
    const routes = await this.#json<RouteEntry>([
      ...(isV6 ? ['-6'] : []),
      'route',
      'show',
      'default',
    ]);
    const links = linksOf(address, await this.#interfaces(), routes);
    if (links.length === 0) return 'no link';
    if (isV6) {
      // Added first to the interface that is read after a crash.
      await this.#addToOwn(address);
      for (const link of links) {
        if (await this.#addToLink(address, link)) continue;
        await this.remove(address);
        return 'in use';
      }
      return 'added';
    }
    if (!force)
      for (const link of links) if (await this.#arping.isAnswered(address, link)) return 'in use';
    await this.#addToOwn(address);
    for (const link of links) await this.#arping.announce(address, link);
    return 'added';
  }

  async remove(address: string): Promise<void> {
    const { interfaceName } = this.#config;
    const isV6 = address.includes(':');
    const interfaces = await this.#interfaces();
    for (const { ifname, addr_info: entries } of interfaces) {
      // A copy on a link has the full prefix length; only this program adds such copies of its own
      // interface's addresses.
      const isCopy = entries.some(({ local, prefixlen }) => local === address && prefixlen === 128);
      if (ifname === interfaceName || (isV6 && isCopy)) await this.#delete(address, ifname);
    }
    if ((await this.held()).size === 0)
      await this.#ip(['link', 'delete', interfaceName, 'type', 'bridge'], GONE);
  }

  async protect(announcements: readonly Announcement[]): Promise<void> {
    const { table, prefix, logger } = this.#config;
    const nft = systemNft(prefix);
    try {
      await nft.run(
        announcements.length === 0
          ? removalOf({ family: 'inet', name: table })
          : guardCommands(table, announcements),
      );
    } catch (error) {
      if (!(error instanceof NftError) || error.reason !== 'NotInstalled') throw error;
      logger.warn(
        'announcer: other ports of this machine are reached at the addresses of load balancers',
        {
          reason: error.detail,
        },
      );
    }
  }

  async #addToOwn(address: string): Promise<void> {
    const { interfaceName } = this.#config;
    const isV6 = address.includes(':');
    // A bridge without ports: kernels with bridges for pods may lack dummy interfaces.
    await this.#ip(['link', 'add', interfaceName, 'type', 'bridge'], /File exists/);
    const target = [`${address}/${isV6 ? 128 : 32}`, 'dev', interfaceName];
    await this.#ip(['address', 'replace', ...target, ...(isV6 ? ['nodad'] : [])]);
    await this.#ip(['link', 'set', interfaceName, 'up']);
  }

  /** Adds an address to a link. Returns false if another machine has the address. */
  async #addToLink(address: string, link: string): Promise<boolean> {
    const { clock } = this.#config;
    const setting = `/proc/sys/net/ipv6/conf/${link}/ndisc_notify`;
    const { stdout } = await this.#run(['cat', setting], '');
    await this.#run(['tee', setting], '1');
    try {
      const lifetime = ['valid_lft', 'forever', 'preferred_lft', '0'];
      await this.#ip([
        '-6',
        'address',
        'replace',
        `${address}/128`,
        'dev',
        link,
        'noprefixroute',
        ...lifetime,
      ]);
      const deadline = clock.monotonic() + DUPLICATE_SEARCH_MS;
      for (;;) {
        const entries = await this.#json<InterfaceEntry>([
          '-6',
          'address',
          'show',
          'dev',
          link,
          'to',
          address,
        ]);
        const entry = entries
          .flatMap(({ addr_info: list = [] }) => list)
          .find(({ local }) => local === address);
        if (entry?.dadfailed === true) return false;
        if (entry?.tentative !== true || clock.monotonic() > deadline) return true;
        await clock.sleep(POLL_MS);
      }
    } finally {
      await this.#run(['tee', setting], stdout.trim() || '0');
    }
  }

  async #delete(address: string, device: string): Promise<void> {
    await this.#ip(
      ['address', 'delete', `${address}/${address.includes(':') ? 128 : 32}`, 'dev', device],
      GONE,
    );
  }

  #interfaces(): Promise<readonly InterfaceEntry[]> {
    return this.#json<InterfaceEntry>(['address', 'show']);
  }

  async #json<T>(args: readonly string[]): Promise<readonly T[]> {
    return JSON.parse((await this.#ip(['-j', ...args])).stdout.trim() || '[]') as readonly T[];
  }

  /** Runs `ip`. `fine`: the error output of an acceptable failure. */
  async #ip(args: readonly string[], fine?: RegExp): Promise<Executed> {
    const result = await this.#run(['ip', ...args], '');
    if (result.code !== 0 && fine?.test(result.stderr) !== true) {
      throw new Error(`ip ${args.join(' ')} failed: ${result.stderr.trim()}`);
    }
    return result;
  }

  #run(command: readonly string[], input: string): Promise<Executed> {
    return execute([...(this.#config.prefix ?? []), ...command], input);
  }
}

const addressesOf = (interfaces: readonly InterfaceEntry[]): readonly string[] =>
  interfaces
    .flatMap(({ addr_info: entries }) => entries.map(({ local }) => local))
    .filter((local) => !local.startsWith('fe80:'));

const GONE = /Cannot find device|does not exist|Cannot assign requested address|not found/;
