// The conformance suite in network namespaces, and tests of nftables only: rules of other programs,
// and repair.

import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Clock, systemClock, VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { NftSession, systemNft } from '#machinery/net/nft/index.ts';
import { proxyConformance } from '../conformance.ts';
import { decideService } from '../decide.ts';
import type { RulesUpdate } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { Lab, labIsMissing } from '../testing/lab.ts';
import { FlowCleaner, systemConntrack } from './flows.ts';
import { NftablesBackend, removeTable } from './nftables-backend.ts';
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

const missing = labIsMissing();

/** Returns a back end for the tables of the lab's node. */
const backendIn = (lab: Lab, clock: Clock = systemClock): NftablesBackend =>
  new NftablesBackend({
    nft: new NftSession({ clock: systemClock, prefix: lab.inside('node') }),
    families: ['IPv4', 'IPv6'],
    settings: () => SETTINGS,
    flows: new FlowCleaner({ conntrack: systemConntrack(lab.inside('node')), clock, logger }),
    clock,
    logger,
  });

proxyConformance({
  name: 'nftables',
  missing,
  async start() {
    const lab = await Lab.start();
    return {
      backend: () => backendIn(lab),
      connect: (origin, request) => lab.agent(origin).connect(request),
      stop: () => lab.stop(),
    };
  },
});

describe.skipIf(missing !== undefined)(
  `rules of others${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let lab: Lab;
    beforeAll(async () => {
      lab = await Lab.start();
    });
    afterAll(() => lab?.stop());

    const nft = (...args: string[]): string => {
      const [command = '', ...rest] = [...lab.inside('node'), 'nft', ...args];
      return execFileSync(command, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    };
    const web = (endpoints: readonly string[]): RulesUpdate => ({
      complete: true,
      changes: new Map([['default/web', decideService(service(), [slice(endpoints)], NODE)]]),
    });
    const serverAt = async (port: number, timeoutMs = 20_000): Promise<string> => {
      const attempt = await lab.agent('pod2').connect({ host: '10.96.0.10', port, timeoutMs });
      return typeof attempt === 'string' ? attempt : attempt.server;
    };

    test('other tables stay; ours is removed completely', async () => {
      const other = 'table ip other {\n\tchain x {\n\t\ttcp dport 80 accept\n\t}\n}\n';
      nft('add table ip other; add chain ip other x; add rule ip other x tcp dport 80 accept');
      const backend = backendIn(lab);
      await backend.sync(web(['10.0.0.1 here']));
      expect(await serverAt(80)).toBe('pod1');
      await removeTable(systemNft(lab.inside('node')), SETTINGS.table);
      await removeTable(systemNft(lab.inside('node')), SETTINGS.table);
      expect(nft('list', 'ruleset')).toBe(other);
      nft('delete table ip other');
    });

    test('additions by other programs are removed, their removals are repaired', async () => {
      const first = backendIn(lab);
      await first.sync(web(['10.0.0.1 here']));
      const before = nft('list', 'ruleset');
      nft(
        'add chain ip coxswain evil; add rule ip coxswain evil drop; add element ip coxswain ' +
          'service-ips { 10.96.0.10 . tcp . 81 : goto evil }',
      );
      nft(
        'flush chain ip coxswain services; flush map ip coxswain endpoints-cluster-tcp; add ' +
          'rule ip coxswain services drop',
      );
      expect(await serverAt(80, 500)).not.toBe('pod1');
      const clock = new VirtualClock();
      const second = backendIn(lab, clock);
      await second.sync(web(['10.0.0.1 here']));
      expect(await serverAt(80)).toBe('pod1');
      await clock.advance('1s');
      // The next update deletes unused chains.
      await second.sync({ complete: false, changes: new Map() });
      expect(sorted(nft('list', 'ruleset'))).toBe(sorted(before));
    });

    test('a change that fails because of another program is applied by the next complete update', async () => {
      const backend = backendIn(lab);
      await backend.sync(web(['10.0.0.1 here']));
      nft('flush map ip coxswain endpoints-cluster-tcp');
      const update = web(['10.0.0.2 here']);
      await expect(backend.sync({ ...update, complete: false })).rejects.toThrow('nft failed: ');
      await expect(backend.sync({ ...update, complete: false })).rejects.toThrow('complete');
      await backend.sync(update);
      expect(await serverAt(80)).toBe('pod2');
    });

    test('an incompatible table of the same name is replaced', async () => {
      nft(
        'delete table ip coxswain; add table ip coxswain; add map ip coxswain service-ips { ' +
          'type ipv4_addr : verdict; }',
      );
      nft(
        'add chain ip coxswain nat-prerouting { type filter hook input priority 5; policy drop; }',
      );
      await backendIn(lab).sync(web(['10.0.0.1 here']));
      expect(await serverAt(80)).toBe('pod1');
      expect(nft('list', 'ruleset')).not.toContain('policy drop');
    });
  },
);

/** Sorts lines: a listing has objects in the order of their creation. */
const sorted = (text: string): string => text.split('\n').sort().join('\n');
