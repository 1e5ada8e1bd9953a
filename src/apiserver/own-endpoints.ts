// Publishes the addresses of the API servers as the endpoints of the Service `kubernetes`. It
// selects no pods, so no controller maintains its endpoints.

import { isIP } from 'node:net';
import { machineInterfaces } from '#machinery/net/machine-interfaces.ts';
import { endpoints } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SERVICE_NAME_LABEL } from '#client/endpoints/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import type { Storage } from '#storage/interface.ts';
import { type ServerAddress, ServerLeases } from './server-leases.ts';

const NAME = 'kubernetes';
const RENEW_MS = 10_000;
/** The number of attempts of a write that conflicts with other servers' writes. */
const ATTEMPTS = 5;

export interface OwnEndpointsConfig extends ServerAddress {
  /** A client of the group system:masters. */
  readonly client: Client;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Other servers use the same store, and all live ones are published. Otherwise the endpoints of
   * earlier servers are replaced.
   */
  readonly shared: boolean;
}

/** Maintains the endpoints of the Service `kubernetes` as long as the server runs. */
export class OwnEndpoints {
  readonly #config: OwnEndpointsConfig;
  readonly #leases: ServerLeases;
  /** The published endpoints are right, as far as this server can tell. */
  #published = false;

  constructor(config: OwnEndpointsConfig) {
    this.#config = config;
    const { storage, address, port } = config;
    this.#leases = new ServerLeases(storage, { address, port });
  }

  /**
   * Publishes this server. Does not reject: a write that fails, for example because a webhook is
   * not reachable yet, is repeated.
   */
  async join(): Promise<void> {
    const { client, shared, address, port, logger } = this.#config;
    try {
      if (shared) await this.#leases.renew();
      await publishEndpoints(client, shared ? await this.#leases.list() : [{ address, port }]);
      this.#published = true;
    } catch (error) {
      logger.warn('API server: writing the endpoints of the Service kubernetes failed', {
        err: error,
      });
    }
  }

  /**
   * Maintains the endpoints until the signal aborts. A server that is alone stops after its
   * endpoints are published.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#config;
    while (!signal.aborted) {
      if (this.#published && !shared) return;
      await clock.sleep(RENEW_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.join();
    }
  }

  /** Reports whether another server of the same store is alive. Throws StorageError. */
  async hasOthers(): Promise<boolean> {
    const { address, port } = this.#config;
    const servers = await this.#leases.list();
    return servers.some((server) => server.address !== address || server.port !== port);
  }

  /**
   * Removes this server from the endpoints. The endpoints of a single server stay, since it will
   * start again.
   */
  async leave(): Promise<void> {
    const { client, logger, shared } = this.#config;
    if (!shared) return;
    try {
      await this.#leases.leave();
      await publishEndpoints(client, await this.#leases.list());
    } catch (error) {
      logger.warn('API server: writing the endpoints of the Service kubernetes failed', {
        err: error,
      });
    }
  }
}

/**
 * Returns the address by which other machines reach a server that listens at `bindAddress`: that
 * address, or the machine's first address if the server listens at all of them. Endpoints must not
 * be in the loopback range, so a server that listens only there publishes the machine's first
 * address, too. Returns undefined if the machine has none.
 */
export function advertisedAddress(bindAddress: string): string | undefined {
  const isOwn =
    isIP(bindAddress) !== 0 &&
    !['0.0.0.0', '::', '::1'].includes(bindAddress) &&
    !bindAddress.startsWith('127.');
  if (isOwn) return bindAddress;
  const all = Object.values(machineInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (all.find(({ family }) => family === 'IPv4') ?? all[0])?.address;
}

/** Writes the servers' addresses unless they are already published. */
export async function publishEndpoints(
  client: Client,
  servers: readonly ServerAddress[],
): Promise<void> {
  // Endpoints may have several families, but a slice has one: the family of the first server.
  const family = (servers[0]?.address ?? '').includes(':');
  const byPort = new Map<number, string[]>();
  for (const { address, port } of servers) {
    if (address.includes(':') === family) byPort.set(port, [...(byPort.get(port) ?? []), address]);
  }
  // In the order of addresses, as where all servers have the same port.
  const groups = [...byPort]
    .map(([port, list]) => ({ port, addresses: list.toSorted() }))
    .toSorted(byAddress);
  await patiently(() => publishAsEndpoints(client, groups));
  await patiently(() => publishAsSlices(client, groups, family ? 'IPv6' : 'IPv4'));
}

interface Group {
  readonly port: number;
  readonly addresses: readonly string[];
}

function byAddress(a: Group, b: Group): number {
  const [first = '', second = ''] = [a.addresses[0], b.addresses[0]];
  if (first === second) return a.port - b.port;
  return first < second ? -1 : 1;
}

const portOf = ({ port }: Group) => ({ name: 'https', port, protocol: 'TCP' as const });

async function publishAsEndpoints(client: Client, groups: readonly Group[]): Promise<void> {
  const subsets = groups.map((group) => ({
    addresses: group.addresses.map((ip) => ({ ip })),
    ports: [portOf(group)],
  }));
  const inDefault = client.resource(endpoints).namespace('default');
  const present = await apierrors.unlessMissing(inDefault.get(NAME));
  if (present === undefined) {
    // The slices are written here as well, so they need not be mirrored.
    const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
    await inDefault.create({ metadata: { name: NAME, namespace: 'default', labels }, subsets });
  } else if (!semanticEqual(present.subsets, subsets))
    await inDefault.update({ ...present, subsets });
}

/**
 * Writes one slice for each port, since all endpoints of a slice share its ports. Outside of tests
 * all servers have the same port.
 */
async function publishAsSlices(
  client: Client,
  groups: readonly Group[],
  addressType: 'IPv4' | 'IPv6',
): Promise<void> {
  const slices = client.resource(endpointSlices).namespace('default');
  const { items } = await slices.list({ labelSelector: `${SERVICE_NAME_LABEL}=${NAME}` });
  const present = new Map(items.map((slice) => [slice.metadata.name, slice]));
  for (const [index, group] of groups.entries()) {
    const name = index === 0 ? NAME : `${NAME}-${group.port}`;
    const content = {
      endpoints: group.addresses.map((address) => ({
        addresses: [address],
        conditions: { ready: true },
      })),
      ports: [portOf(group)],
    };
    let slice = present.get(name);
    present.delete(name);
    if (slice !== undefined && slice.addressType !== addressType) {
      // The address type of a slice is immutable.
      await slices.delete(name, { preconditions: { uid: slice.metadata.uid } });
      slice = undefined;
    }
    if (slice === undefined) {
      await slices.create({
        metadata: { name, namespace: 'default', labels: { [SERVICE_NAME_LABEL]: NAME } },
        addressType,
        ...content,
      });
    } else if (!semanticEqual([slice.endpoints, slice.ports], [content.endpoints, content.ports])) {
      await slices.update({ ...slice, ...content });
    }
  }
  // Slices of servers that have ended. The slice with the Service's own name stays without
  // endpoints, as upstream.
  for (const [name, slice] of present) {
    if (name !== NAME && !/^kubernetes-\d+$/.test(name)) continue;
    if (name === NAME) await slices.update({ ...slice, endpoints: [] });
    else await slices.delete(name, { preconditions: { uid: slice.metadata.uid } });
  }
}

/** Repeats a write that conflicts with other servers' writes, up to ATTEMPTS times. */
async function patiently(write: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      const isRace =
        apierrors.isConflict(error) ||
        apierrors.isAlreadyExists(error) ||
        apierrors.isNotFound(error);
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}
