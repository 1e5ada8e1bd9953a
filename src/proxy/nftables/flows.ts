// Deletes connection tracking entries of UDP flows to endpoints that no longer serve. UDP
// connections have no end: a client that keeps sending from the same port would keep its flow to a
// dead address.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { PortRules, RulesUpdate } from '../model.ts';
import { execute } from '#machinery/execute.ts';

/** The kernel's connection tracking table. */
export interface Conntrack {
  /** Returns the UDP flows with a rewritten destination. Rejects if the table cannot be read. */
  list(family: 'ipv4' | 'ipv6'): Promise<readonly Flow[]>;
  remove(family: 'ipv4' | 'ipv6', flow: Flow): Promise<void>;
}

export interface Flow {
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
  /** The source of replies: the endpoint. */
  readonly endpoint: string;
  readonly endpointPort: number;
}

export interface FlowCleanerConfig {
  readonly conntrack: Conntrack;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each clean-up, for metrics. */
  readonly onCleaned?: (family: 'ipv4' | 'ipv6', removed: number, seconds: number) => void;
}

export class FlowCleaner {
  readonly #config: FlowCleanerConfig;
  /** UDP ports by service. */
  readonly #ports = new Map<string, readonly PortRules[]>();
  #unavailable = false;

  constructor(config: FlowCleanerConfig) {
    this.#config = config;
  }

  /**
   * Deletes stale flows if endpoints of UDP services are gone. Never rejects: a failure is logged
   * once.
   */
  async update({ complete, changes }: RulesUpdate): Promise<void> {
    if (complete) this.#ports.clear();
    const affected = new Set<'ipv4' | 'ipv6'>();
    for (const [key, rules] of changes) {
      const previous = this.#ports.get(key) ?? [];
      const next = (rules?.ports ?? []).filter(({ protocol }) => protocol === 'udp');
      if (next.length === 0) this.#ports.delete(key);
      else this.#ports.set(key, next);
      for (const port of next) {
        const before = previous.find(({ id }) => id === port.id);
        if (isStale(before, port)) affected.add(familyOf(port));
      }
    }
    if (this.#unavailable) return;
    for (const family of affected) {
      try {
        await this.#clean(family);
      } catch (error) {
        this.#unavailable = (error as NodeJS.ErrnoException).code === 'ENOENT';
        const hint = this.#unavailable ? 'the program conntrack is missing' : errorMessage(error);
        this.#config.logger.warn(
          'proxy: flows of UDP to endpoints that are gone stay until they time out',
          {
            reason: hint,
          },
        );
      }
    }
  }

  async #clean(family: 'ipv4' | 'ipv6'): Promise<void> {
    const { conntrack, clock, onCleaned } = this.#config;
    const start = clock.monotonic();
    const byAddress = new Map<string, ReadonlySet<string>>();
    const byNodePort = new Map<number, ReadonlySet<string>>();
    for (const port of [...this.#ports.values()].flat()) {
      // Without endpoints there is no better destination.
      if (familyOf(port) !== family || port.serving.length === 0) continue;
      const serving = new Set(port.serving);
      for (const ip of [port.clusterIP, ...port.externalIPs, ...port.loadBalancerIPs])
        byAddress.set(`${ip} ${port.port}`, serving);
      if (port.nodePort !== 0) byNodePort.set(port.nodePort, serving);
    }
    const stale = (await conntrack.list(family)).filter(
      ({ destination, destinationPort, endpoint, endpointPort }) => {
        const serving =
          byAddress.get(`${destination} ${destinationPort}`) ?? byNodePort.get(destinationPort);
        return serving !== undefined && !serving.has(`${endpoint} ${endpointPort}`);
      },
    );
    for (const flow of stale) await conntrack.remove(family, flow);
    onCleaned?.(family, stale.length, (clock.monotonic() - start) / 1000);
  }
}

const familyOf = ({ family }: PortRules): 'ipv4' | 'ipv6' => (family === 'IPv4' ? 'ipv4' : 'ipv6');

/**
 * Reports whether flows may be stale: an endpoint is gone, or there was none, so that flows
 * bypassed the service.
 */
function isStale(before: PortRules | undefined, { serving }: PortRules): boolean {
  if (serving.length === 0) return false;
  if (before === undefined || before.serving.length === 0) return true;
  const now = new Set(serving);
  return before.serving.some((endpoint) => !now.has(endpoint));
}

/**
 * Returns the table of the system.
 *
 * @param prefix a program and arguments that run conntrack, such as `ip netns exec NAME`. Default:
 * none.
 */
export function systemConntrack(prefix: readonly string[] = []): Conntrack {
  const command = [...prefix, 'conntrack'];
  return {
    async list(family) {
      const { code, stdout, stderr } = await execute(
        [...command, '-L', '-f', family, '-p', 'udp'],
        '',
      );
      if (code !== 0) throw new Error(`conntrack -L failed: ${stderr.trim()}`);
      return parseFlows(stdout);
    },
    async remove(family, { source, sourcePort, destination, destinationPort }) {
      const original = [
        '-s',
        source,
        '-d',
        destination,
        '--sport',
        String(sourcePort),
        '--dport',
        String(destinationPort),
      ];
      const { code, stderr } = await execute(
        [...command, '-D', '-f', family, '-p', 'udp', ...original],
        '',
      );
      // The flow has ended meanwhile, which has the same effect.
      if (code !== 0 && !/0 flow entries/.test(stderr))
        throw new Error(`conntrack -D failed: ${stderr.trim()}`);
    },
  };
}

const FLOW =
  /src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+).*? src=(\S+) dst=\S+ sport=(\d+) dport=\d+/;

/** Parses the output of `conntrack -L`. */
export function parseFlows(text: string): Flow[] {
  return text.split('\n').flatMap((line) => {
    const [, source = '', destination = '', sport, dport, endpoint = '', eport] =
      FLOW.exec(line) ?? [];
    if (source === '') return [];
    return [
      {
        source,
        destination,
        endpoint,
        sourcePort: Number(sport),
        destinationPort: Number(dport),
        endpointPort: Number(eport),
      },
    ];
  });
}
