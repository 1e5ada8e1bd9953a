// Repairs the set of allocated node ports: from time to time it is computed from all services. A
// port without a service is released only after several such checks, since a port is allocated
// before its service is written.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Recorder } from '#client/events/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { type Clock, pause } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { NodePorts } from '../kinds/core/service/node-ports.ts';
import { formatPortRange, PortBits } from '../kinds/core/service/port-bits.ts';

type Service = Immutable<core.Service>;

export interface NodePortRepairConfig {
  readonly ports: NodePorts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: Recorder;
  listServices(): Awaitable<readonly Service[]>;
}

const INTERVAL_MS = 3 * 60_000;
const TIMES_BEFORE_RELEASE = 3;
const ATTEMPTS = 10;

interface Finding {
  readonly service: Service;
  readonly reason: string;
  readonly message: string;
}

export class NodePortRepair {
  readonly #config: NodePortRepairConfig;
  /** Ports without a service, with the number of checks that are left before they are released. */
  #leaks = new Map<number, number>();

  constructor(config: NodePortRepairConfig) {
    this.#config = config;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    let began = clock.monotonic();
    while (!signal.aborted) {
      // A leak is counted down whether or not anything changes.
      const waiting =
        this.#leaks.size > 0
          ? clock.sleep(INTERVAL_MS, signal)
          : pause(clock, INTERVAL_MS, began, { signal });
      await waiting.catch(() => undefined);
      began = clock.monotonic();
      if (signal.aborted) return;
      await this.check().catch((error: unknown) =>
        logger.warn('service repair: checking node ports failed, retrying', { err: error }),
      );
    }
  }

  /**
   * Checks everything once. Throws a StatusError if the store fails, or if concurrent writes never
   * stop.
   */
  async check(): Promise<void> {
    const { ports, logger, recorder } = this.#config;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      // The order matters: a service in the list has allocated its port before.
      const before = await ports.read();
      const services = await this.#config.listServices();
      const { counted, findings, leaks } = count(services, before.ports, this.#leaks);
      const same =
        before.stored && counted.taken.size === before.ports.taken.size && findings.length === 0;
      if (!(same && [...counted.taken].every((port) => before.ports.taken.has(port)))) {
        if (!(await ports.replace(before.revision, counted))) continue;
      }
      this.#leaks = leaks;
      for (const { service, reason, message } of findings) {
        // At the first start no port is recorded.
        if (!before.stored && reason === 'PortNotAllocated') continue;
        const { namespace, name } = service.metadata;
        logger.warn('service repair: node port does not match its allocation', {
          service: `${namespace}/${name}`,
          message,
        });
        recorder.event(
          { apiVersion: 'v1', kind: 'Service', metadata: service.metadata },
          'Warning',
          reason,
          message,
        );
      }
      for (const port of before.ports.taken) {
        if (!counted.taken.has(port))
          logger.warn('service repair: releasing a node port without a service', { port });
      }
      return;
    }
    logger.warn('checking node ports failed: they changed during every attempt');
  }
}

function count(
  services: readonly Service[],
  stored: PortBits,
  before: ReadonlyMap<number, number>,
): {
  readonly counted: PortBits;
  readonly findings: readonly Finding[];
  readonly leaks: Map<number, number>;
} {
  const counted = new PortBits(stored.range);
  const findings: Finding[] = [];
  for (const service of services) {
    const report = (reason: string, message: string): number =>
      findings.push({ service, reason, message });
    for (const port of portsOf(service)) {
      if (!counted.inRange(port)) {
        const range = formatPortRange(stored.range);
        report(
          'PortOutOfRange',
          `Port ${port} is not within the port range ${range}; please recreate service`,
        );
      } else if (!counted.take(port)) {
        report(
          'PortAlreadyAllocated',
          `Port ${port} was assigned to multiple services; please recreate service`,
        );
      } else if (!stored.taken.has(port))
        report('PortNotAllocated', `Port ${port} is not allocated; repairing`);
    }
  }
  const leaks = new Map<number, number>();
  for (const port of stored.taken) {
    if (counted.taken.has(port)) continue;
    const passesLeft = before.get(port) ?? TIMES_BEFORE_RELEASE - 1;
    if (passesLeft <= 0) continue;
    leaks.set(port, passesLeft - 1);
  }
  for (const port of leaks.keys()) counted.take(port);
  return { counted, findings, leaks };
}

/**
 * Returns the node ports of a service. A port of several protocols counts once; a port that occurs
 * twice with the same protocol counts twice.
 */
function portsOf({ spec }: Service): number[] {
  const protocols = new Map<number, Set<string>>();
  const ports: number[] = [];
  for (const { nodePort = 0, protocol = '' } of spec.ports ?? []) {
    if (nodePort === 0) continue;
    const otherProtocols = protocols.get(nodePort);
    if (otherProtocols === undefined || otherProtocols.has(protocol)) ports.push(nodePort);
    protocols.set(nodePort, (otherProtocols ?? new Set()).add(protocol));
  }
  const { healthCheckNodePort = 0 } = spec;
  const seen = protocols.get(healthCheckNodePort);
  if (healthCheckNodePort !== 0 && (seen === undefined || seen.has('TCP')))
    ports.push(healthCheckNodePort);
  return ports;
}
