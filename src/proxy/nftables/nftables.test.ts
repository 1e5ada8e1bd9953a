// The suite of all back ends in network namespaces, and what only nftables has: other programs' rules, and repair.

import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { proxyConformance } from '../conformance.ts';
import { Lab, labIsMissing } from '../testing/lab.ts';
import { FlowCleaner, systemConntrack } from './flows.ts';
import { NftablesBackend } from './nftables-backend.ts';
import { systemNft } from './system.ts';
import type { TableSettings } from './table.ts';

const SETTINGS: TableSettings = {
  table: 'coxswain',
  nodePortIPs: undefined,
  clusterCidrs: ['10.0.0.0/16', 'fd00:0:0:a::/64', 'fd00:0:0:b::/64'],
  serviceCidrs: ['10.96.0.0/16', 'fd00:10:96::/112'],
  masqueradeAll: false,
  masqueradeBit: 14,
  blindBridge: undefined,
};
const logger = createLogger({ level: 'warn' });

proxyConformance({
  name: 'nftables',
  missing: labIsMissing(),
  async start() {
    const lab = await Lab.start();
    return {
      backend: () =>
        new NftablesBackend({
          nft: systemNft(lab.inside('node')),
          families: ['IPv4', 'IPv6'],
          settings: () => SETTINGS,
          flows: new FlowCleaner({ conntrack: systemConntrack(lab.inside('node')), clock: systemClock, logger }),
          clock: systemClock,
          logger,
        }),
      connect: (origin, request) => lab.agent(origin).connect(request),
      stop: () => lab.stop(),
    };
  },
});
