// A cluster for tests of the roles that serve DNS, and a question to them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, decode, encode } from 'dns-packet';
import { nodeSockets } from '#dns/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { type EmbeddedCluster, startCluster } from '../../index.ts';
import type { RoleConfig } from '../role.ts';

export interface DnsRoleTests {
  readonly cluster: EmbeddedCluster;
  readonly config: RoleConfig;
  /** A directory of the tests. */
  readonly dir: string;
  /** A file in it. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

export async function startDnsRoleTests(): Promise<DnsRoleTests> {
  const dir = mkdtempSync(join(tmpdir(), 'dns-role-'));
  const cluster = await startCluster({ nodes: 0, port: 0 });
  const kubeconfig = join(dir, 'dns.conf');
  writeFileSync(kubeconfig, cluster.kubeconfig as string);
  return {
    cluster,
    config: { clock: systemClock, random: systemRandom, logger: silentLogger },
    dir,
    kubeconfig,
    async stop() {
      await cluster.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

/** Asks a server on this machine for the addresses of a name. */
export async function addressesAt(
  port: number,
  name: string,
  ask: typeof nodeSockets.askUdp = nodeSockets.askUdp,
): Promise<readonly Answer[]> {
  const query = encode({ id: 7, type: 'query', questions: [{ name, type: 'A' }] });
  const at = { address: '127.0.0.1', port };
  return decode(await ask(at, query, () => true, AbortSignal.timeout(5000))).answers ?? [];
}
