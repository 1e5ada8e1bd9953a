// What gives services their addresses and ports: one of each for a server.

import type { IPAddress, ServiceCIDR } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import type { FindAll } from '#apiserver/catalog/internal-client.ts';
import { serviceAddressRanges } from './address-range.ts';
import { ClusterIPs } from './cluster-ips.ts';
import { NodePorts } from './node-ports.ts';
import { parsePortRange } from './port-bits.ts';

export interface ServiceAllocatorsConfig {
  /** As the server itself. */
  readonly client: Client;
  readonly storage: Storage;
  readonly random: Random;
  readonly logger: Logger;
  readonly findAll: FindAll;
  /** One range, or one of each family with a comma between them: '10.96.0.0/12'. */
  readonly serviceCidr: string;
  /** '30000-32767'. */
  readonly nodePorts: string;
}

export interface ServiceAllocators {
  /** Those that services may have addresses of; the one of services that do not say first. */
  readonly families: readonly IpFamily[];
  readonly addresses: ClusterIPs;
  readonly ports: NodePorts;
}

/** Throws RangeError for ranges that cannot be. */
export function makeServiceAllocators(config: ServiceAllocatorsConfig): ServiceAllocators {
  const { client, storage, random, logger, findAll } = config;
  return {
    families: serviceAddressRanges(config.serviceCidr).map(({ family }) => family),
    addresses: new ClusterIPs({
      client,
      random: random.derive('cluster-ips'),
      logger,
      listRanges: async () =>
        findAll<Immutable<ServiceCIDR>>('networking.k8s.io', 'servicecidrs', ''),
      listAddresses: async () =>
        findAll<Immutable<IPAddress>>('networking.k8s.io', 'ipaddresses', ''),
    }),
    ports: new NodePorts({ storage, logger, range: parsePortRange(config.nodePorts) }),
  };
}
