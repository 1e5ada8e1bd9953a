// The pod network of this machine: applies the decided state. It remembers the actual state, and
// reads it again when another program may have changed it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { type IpFamily, parseCidr } from '#machinery/net/ip.ts';
import { NftError } from '#machinery/net/nft/index.ts';
import { runStepsInTurns } from '#machinery/turn.ts';
import { bridgeNetwork, CNI_CONFIG_FILE, type CniConfigList, writeCniConfig } from '../cni.ts';
import { decideInSteps, type Decision } from './decide.ts';
import { dropsForwarded } from './forward-policy.ts';
import { difference } from './difference.ts';
import { EMPTY_STATE, type Machine, type NodeRecord, type PodNetworkSettings } from './model.ts';
import { completeCommands, neededFamilies, type Rules, setCommands } from './rules.ts';
import type { PodNetworkSystem } from './system.ts';

export interface NodeNetworkConfig {
  /** The name of this machine's node. */
  readonly nodeName: string;
  readonly settings: PodNetworkSettings;
  readonly cni: CniTarget;
  readonly system: PodNetworkSystem;
  readonly logger: Logger;
  /** Called when the runtime's configuration has been written. */
  readonly onConfigured?: () => void;
  /** Called when the addresses of the machine have changed. */
  readonly onAddressesChanged?: () => void;
}

/** The directories of the container runtime's network configuration. */
export interface CniTarget {
  readonly confDir: string;
  /** The directory in which the plugins record used addresses. */
  readonly dataDir: string;
  /** See BridgeNetworkConfig. */
  readonly hostPorts: boolean;
}

export interface SyncResult {
  /** Why pods of this node have no network, or cannot reach pods of any other node. */
  readonly obstacle: string | undefined;
  /** A change failed, and has to be retried. */
  readonly failed: boolean;
  /** Other nodes have pod ranges. */
  readonly hasPeers: boolean;
}

export class NodeNetwork {
  readonly #config: NodeNetworkConfig;
  /** The machine as of the last read, with the changes since then. */
  #machine: Machine = NO_MACHINE;
  #isStale = true;
  /** The content of the table; undefined: it has to be written completely. */
  #rules: Rules | undefined;
  #canFilter = true;
  #isForwardChecked = false;
  #forwarding = new Set<IpFamily>();
  #written: string | undefined;
  #addresses: string | undefined;
  #logged: ReadonlySet<string> = new Set();

  constructor(config: NodeNetworkConfig) {
    this.#config = config;
  }

  /** Marks the state as stale: another program may have changed the system. */
  markStale(): void {
    this.#isStale = true;
  }

  /**
   * Prepares a node with known ranges before the cluster runs, so that its container runtime can
   * start with a network. Keeps the state of an earlier process, since other nodes are unknown yet.
   */
  async prepare(podCidrs: readonly string[]): Promise<void> {
    const { nodeName, system, settings } = this.#config;
    const present = await this.#present();
    const subnets = podCidrs.map((cidr) => parseCidr(cidr));
    const isSame = sameJson(
      subnetsOf(present).map((cidr) => parseCidr(cidr)),
      subnets,
    );
    const family = podCidrs[0]?.includes(':') === true ? 'ip6' : 'ip';
    const hasTable = await system.nft.list(family, settings.names.table).catch(() => undefined);
    if (isSame && hasTable !== undefined) return;
    const { failed } = await this.sync([{ name: nodeName, created: '', podCidrs, addresses: [] }]);
    if (failed) this.#config.logger.warn('pod network: not all is set up yet', { node: nodeName });
  }

  /** Applies the state that is decided from the nodes. Rejects only for bugs of this file. */
  async sync(nodes: Iterable<NodeRecord>): Promise<SyncResult> {
    const { nodeName, settings, logger } = this.#config;
    const failures: string[] = [];
    const attempt = async (what: string, action: () => Promise<void>): Promise<boolean> => {
      try {
        await action();
        return true;
      } catch (error) {
        failures.push(`${what}: ${errorMessage(error)}`);
        return false;
      }
    };
    const wasRead = await attempt('the state of the machine cannot be read', () => this.#read());
    const machine = this.#machine;
    const decision = await runStepsInTurns(decideInSteps(nodeName, nodes, machine, settings));
    const { podCidrs, state } = decision;
    const hasPeers = state.routes.size > 0 || decision.nodeAddresses.length > 0;
    let obstacle = decision.obstacle;
    if (podCidrs.length > 0) {
      await attempt('forwarding', () => this.#enableForwarding(podCidrs));
      if (!wasRead) {
        if (hasPeers) obstacle = failures[0];
      } else if (obstacle === undefined) {
        const isDone = await attempt('routes', () => this.#apply(machine, decision));
        if (!isDone && (await this.#isUnusable(decision))) obstacle = failures.at(-1);
      }
      await attempt('rules', () => this.#applyRules(decision));
      await this.#checkForward();
      const isConfigured = await attempt('network configuration', () =>
        this.#configure(decision, machine),
      );
      if (!isConfigured) obstacle ??= failures.at(-1);
    }
    this.#log([...decision.problems, ...failures]);
    if (failures.length > 0) {
      this.#isStale = true;
      this.#rules = undefined;
      logger.debug('pod network: sync failed', { node: nodeName, failures });
    }
    return { obstacle, failed: failures.length > 0, hasPeers };
  }

  async #read(): Promise<void> {
    if (!this.#isStale) return;
    const { system, settings, onAddressesChanged } = this.#config;
    const { names } = settings;
    this.#isStale = false;
    try {
      this.#machine = await system.read(names);
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
    const own = new Set([names.bridge, names.vxlan]);
    const addresses = this.#machine.links
      .filter(({ name }) => !own.has(name))
      .flatMap((link) =>
        link.addresses.map(({ family, value }) => `${link.name} ${family} ${value}`),
      )
      .join();
    if (this.#addresses !== undefined && this.#addresses !== addresses) onAddressesChanged?.();
    this.#addresses = addresses;
    if (this.#rules === undefined) return;
    // Firewall managers may delete all tables.
    for (const family of neededFamilies(this.#rules)) {
      if ((await system.nft.list(family, names.table)) === undefined) this.#rules = undefined;
    }
  }

  async #enableForwarding(podCidrs: readonly string[]): Promise<void> {
    const families = podCidrs.map((cidr) => (cidr.includes(':') ? 'IPv6' : 'IPv4'));
    const missing = families.filter((family) => !this.#forwarding.has(family));
    if (missing.length === 0) return;
    await this.#config.system.enableForwarding(missing);
    for (const family of missing) this.#forwarding.add(family);
  }

  async #apply(machine: Machine, { state }: Decision): Promise<void> {
    const { system, settings, logger, nodeName } = this.#config;
    const changes = difference(machine.own, state, settings.names);
    if (changes.length === 0) return;
    await system.apply(changes);
    this.#machine = { ...machine, own: state };
    logger.info('pod network: routes changed', {
      node: nodeName,
      changes: changes.length,
      routes: state.routes.size,
    });
  }

  /**
   * Reports, after a failure, whether this node is cut off. A single route that failed affects its
   * node only.
   */
  async #isUnusable({ state }: Decision): Promise<boolean> {
    const { system, settings } = this.#config;
    try {
      const { own } = await system.read(settings.names);
      const isLink = difference(own, state, settings.names).some(
        ({ args }) => args[0] === 'link' || args[0] === 'address',
      );
      const missing = [...state.routes.keys()].filter(
        (destination) => !own.routes.has(destination),
      );
      return isLink || missing.length === state.routes.size;
    } catch {
      // The failure before is logged already; without a readable machine no route is known.
      return true;
    }
  }

  async #applyRules(decision: Decision): Promise<void> {
    if (!this.#canFilter) return;
    const { system, settings, logger } = this.#config;
    const { vxlan } = decision.state;
    const rules: Rules = {
      own: decision.podCidrs,
      pods: decision.podRanges,
      // Without a tunnel no rule uses them, so that another node does not change the table.
      nodes: vxlan === undefined ? [] : decision.nodeAddresses,
      vxlan:
        vxlan === undefined
          ? undefined
          : { device: settings.names.vxlan, id: vxlan.id, port: vxlan.port, local: vxlan.local },
    };
    const { table } = settings.names;
    const commands =
      (this.#rules === undefined ? undefined : setCommands(table, this.#rules, rules)) ??
      completeCommands(table, rules);
    try {
      if (commands !== '') await system.nft.run(commands);
      this.#rules = rules;
    } catch (error) {
      if (!(error instanceof NftError) || !LACKING.has(error.reason) || this.#rules !== undefined)
        throw error;
      this.#canFilter = false;
      logger.warn(
        'pod network: without nftables pods of other nodes see the address of the node instead of the pod, ' +
          'and VXLAN is accepted from everywhere',
        { reason: error.detail },
      );
    }
  }

  /** Logs a firewall that drops forwarded packets, once, since it is not ours to change. */
  async #checkForward(): Promise<void> {
    const { system, logger, nodeName } = this.#config;
    if (!this.#canFilter || this.#isForwardChecked) return;
    this.#isForwardChecked = true;
    try {
      if (!dropsForwarded(await system.nft.list('ip', 'filter'))) return;
      logger.warn(
        'packets of pods are dropped by the policy of the chain FORWARD, unless a rule lets them through',
        {
          node: nodeName,
          hint: 'iptables -P FORWARD ACCEPT',
        },
      );
    } catch (error) {
      logger.debug('the policy for forwarded packets cannot be read', { err: error });
    }
  }

  /** Writes the runtime's configuration if it has changed. */
  async #configure(decision: Decision, machine: Machine): Promise<void> {
    const { cni, settings, onConfigured, logger, nodeName } = this.#config;
    const { bridge } = settings.names;
    const present = await this.#present();
    const hasPods = machine.links.some(({ master }) => master === bridge);
    const list = bridgeNetwork({
      podCidr: decision.podCidrs.join(','),
      bridge,
      dataDir: cni.dataDir,
      mtu: mtuFor(decision.mtu ?? 0, hasPods ? mtuOf(present) : undefined),
      masquerade: !this.#canFilter,
      hostPorts: cni.hostPorts,
    });
    const text = JSON.stringify(list);
    if (text === this.#written) return;
    if (JSON.stringify(present) !== text) {
      await writeCniConfig(cni.confDir, list);
      logger.info('pod network: configured', {
        node: nodeName,
        podCidrs: decision.podCidrs,
        mtu: decision.mtu,
      });
    }
    this.#written = text;
    onConfigured?.();
  }

  /** Returns the present configuration; undefined if it is missing or invalid. */
  async #present(): Promise<CniConfigList | undefined> {
    try {
      return JSON.parse(
        await readFile(join(this.#config.cni.confDir, CNI_CONFIG_FILE), 'utf8'),
      ) as CniConfigList;
    } catch {
      // There is none, or a damaged one, which is rewritten.
      return undefined;
    }
  }

  /** Logs each problem once, until it is gone. */
  #log(problems: readonly string[]): void {
    const { logger, nodeName } = this.#config;
    const current = new Set(problems);
    for (const problem of current) {
      if (!this.#logged.has(problem)) logger.warn('pod network', { node: nodeName, problem });
    }
    this.#logged = current;
  }
}

const NO_MACHINE: Machine = { links: [], foreignRoutes: [], own: EMPTY_STATE };

/** Error codes of a missing program, which persist until a package is installed. */
const LACKING: ReadonlySet<string> = new Set([
  'NotInstalled',
  'NotPermitted',
  'NotFound',
  'Syntax',
]);

/**
 * A bridge whose pods have different MTUs would drop large frames: with pods on it, the
 * size only falls.
 */
const mtuFor = (mtu: number, present: number | undefined): number =>
  present === undefined || mtu === 0 ? mtu : Math.min(mtu, present);

function mtuOf(list: CniConfigList | undefined): number | undefined {
  const mtu = list?.plugins?.[0]?.['mtu'];
  return typeof mtu === 'number' ? mtu : undefined;
}

function subnetsOf(list: CniConfigList | undefined): readonly string[] {
  const ipam = list?.plugins?.[0]?.['ipam'] as
    | { readonly ranges?: readonly (readonly { readonly subnet: string }[])[] }
    | undefined;
  return (ipam?.ranges ?? []).flatMap((range) => range.map(({ subnet }) => subnet));
}

function sameJson(a: readonly unknown[], b: readonly unknown[]): boolean {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}` : each));
  return text(a) === text(b);
}
