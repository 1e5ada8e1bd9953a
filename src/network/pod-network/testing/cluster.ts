// The API server of a lab, and the pod networks of its machines.

import { nodes } from '#api/groups/core/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { runPodNetwork } from '../agent.ts';
import { DEFAULT_VXLAN_ID, DEFAULT_VXLAN_PORT, type PodNetworkSettings } from '../model.ts';
import { grantPodNetworkPermissions } from '../permissions.ts';
import { systemPodNetwork } from '../system.ts';
import type { LabMachine } from './lab.ts';

export interface RunningAgent {
  readonly logger: RecordingLogger;
  readonly stop: () => Promise<void>;
}

export class LabCluster {
  readonly #server: TestServer;
  readonly #agents = new Set<RunningAgent>();

  static async start(): Promise<LabCluster> {
    const server = await startTestServer({ clock: systemClock });
    await grantPodNetworkPermissions(server.client);
    return new LabCluster(server);
  }

  private constructor(server: TestServer) {
    this.#server = server;
  }

  /** Registers a node with an address, and without ranges. */
  async register(name: string, ...addresses: readonly string[]): Promise<void> {
    const list = addresses.map((address) => ({ type: 'InternalIP' as const, address }));
    await this.#server.client
      .resource(nodes)
      .create({ metadata: { name }, spec: {}, status: { addresses: list } });
  }

  async readdress(name: string, ...addresses: readonly string[]): Promise<void> {
    const list = addresses.map((address) => ({ type: 'InternalIP', address }));
    const patch = { status: { addresses: [...list, { $patch: 'replace' }] } };
    const options = { subresource: 'status' };
    await this.#server.client
      .resource(nodes)
      .patch(name, 'application/strategic-merge-patch+json', patch, options);
  }

  /** Allocates ranges, as the node IPAM controller does. */
  async allocate(name: string, ...podCIDRs: readonly string[]): Promise<void> {
    const patch = { spec: { podCIDR: podCIDRs[0], podCIDRs } };
    await this.#server.client
      .resource(nodes)
      .patch(name, 'application/strategic-merge-patch+json', patch);
  }

  async remove(name: string): Promise<void> {
    await this.#server.client.resource(nodes).delete(name);
  }

  /** Returns the condition NetworkUnavailable as 'STATUS REASON'. */
  async condition(name: string): Promise<string | undefined> {
    const { status } = await this.#server.client.resource(nodes).get(name);
    const found = status.conditions?.find(({ type }) => type === 'NetworkUnavailable');
    return found === undefined ? undefined : `${found.status} ${found.reason}`;
  }

  agent(
    name: string,
    machine: LabMachine,
    settings: Partial<PodNetworkSettings> = {},
  ): RunningAgent {
    const abort = new AbortController();
    const logger = recordingLogger();
    const running = runPodNetwork(
      {
        client: this.#server.clientOf({
          name: `system:node:${name}`,
          groups: ['system:nodes', 'system:authenticated'],
        }),
        nodeName: name,
        settings: {
          mode: 'auto',
          names: machine.names,
          vxlanId: DEFAULT_VXLAN_ID,
          vxlanPort: DEFAULT_VXLAN_PORT,
          clusterCidrs: ['10.202.0.0/16', 'fd02::/48'],
          serviceCidrs: ['10.212.0.0/16'],
          ...settings,
        },
        cni: { confDir: machine.dir, dataDir: machine.dir, hostPorts: false },
        clock: systemClock,
        random: new SeededRandom(name),
        logger,
        system: systemPodNetwork(machine.inside),
      },
      abort.signal,
    );
    const agent: RunningAgent = {
      logger,
      stop: async () => {
        this.#agents.delete(agent);
        abort.abort(new Error('over'));
        await running;
      },
    };
    this.#agents.add(agent);
    return agent;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents].map((agent) => agent.stop()));
    await this.#server.stop();
  }
}

/** Resolves when the condition holds. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  timeoutMs = 15_000,
): Promise<void> {
  await wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs }, async () => {
    try {
      return await condition();
    } catch {
      return false;
    }
  });
}
