// The allocators of services' addresses and ports. A server has one set of them.

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
  /** The server's own client. */
  readonly client: Client;
  readonly storage: Storage;
  readonly random: Random;
  readonly logger: Logger;
  readonly findAll: FindAll;
  /** One range, or one of each family, separated by a comma, such as '10.96.0.0/12'. */
  readonly serviceCidr: string;
  /** The range of node ports, such as '30000-32767'. */
  readonly nodePorts: string;
}

export interface ServiceAllocators {
  /** The families of addresses that services can have, the default one first. */
  readonly families: readonly IpFamily[];
  readonly addresses: ClusterIPs;
  readonly ports: NodePorts;
}

/** Creates the allocators. Throws RangeError for invalid ranges. */
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
