// Runs the announcer of a machine, together with the service proxy.

import { createHash } from 'node:crypto';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { removalOf, systemNft } from '#machinery/net/nft/index.ts';
import { serviceInterface } from '#machinery/net/service-interface.ts';
import type { Random } from '#machinery/random.ts';
import { Announcer } from './announcer.ts';
import { LinkAddresses } from './link-addresses.ts';

/** The settings of a node's announcer. */
export interface AnnouncerSettings {
  /** The pool, in the form that IpPool.parse accepts. */
  readonly pool: string;
  /** Distinguishes clusters on one machine, such as the name of the proxy's table. */
  readonly id: string;
}

export interface RunAnnouncerConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly settings: AnnouncerSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const nameOf = (id: string): string =>
  serviceInterface(createHash('sha256').update(`announced ${id}`).digest('hex').slice(0, 10));
const tableOf = (id: string): string => `${id}-announced`;

/**
 * Runs until the signal aborts. Without root or on another system than Linux, it only logs that
 * nothing is announced.
 */
export async function runAnnouncer(config: RunAnnouncerConfig, signal: AbortSignal): Promise<void> {
  const { client, nodeName, settings, clock, random } = config;
  const logger = config.logger.with({ component: 'announcer', node: nodeName });
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    logger.warn(
      'announcer: addresses of load balancers are not announced: this needs Linux and root',
      {
        pool: settings.pool,
      },
    );
    await new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    return;
  }
  const system = systemOf(settings.id, clock, logger);
  await new Announcer({
    client,
    nodeName,
    pool: IpPool.parse(settings.pool),
    system,
    clock,
    random,
    logger,
  }).run(signal);
}

const systemOf = (id: string, clock: Clock, logger: Logger): LinkAddresses =>
  new LinkAddresses({ interfaceName: nameOf(id), table: tableOf(id), clock, logger });

/**
 * Removes everything that an announcer with this id has left on the machine. Needs root.
 * Idempotent. Returns the removed addresses.
 */
export async function removeAnnouncements(
  id: string,
  clock: Clock,
  logger: Logger,
): Promise<readonly string[]> {
  const system = systemOf(id, clock, logger);
  const held = [...(await system.held())];
  for (const address of held) await system.remove(address);
  await systemNft().run(removalOf({ family: 'inet', name: tableOf(id) }));
  return held;
}
