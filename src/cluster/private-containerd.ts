// The containerd of a cluster's own: started with the network configuration of its node, started again if it dies (its
// containers outlive it), stopped with the cluster. The bridge of the pod network goes when no pod is left on it.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { bridgeName, bridgeNetwork, findCniPlugins, removeBridgeNetwork, writeCniConfig } from '#network/index.ts';
import { launchContainerd, type LaunchContainerdConfig, type LaunchedContainerd } from '#runtime/containerd/index.ts';
import { findProgram } from './install.ts';
import { UserError } from './user-error.ts';

export interface PrivateContainerdConfig {
  /** Everything of it is below. */
  readonly dir: string;
  /** The pod range of the node. */
  readonly podCidr: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

export interface PrivateContainerd {
  /** unix:///…, the same after it was started again. */
  readonly endpoint: string;
  /** Containers go on running, for the next start. Idempotent. */
  stop(): Promise<void>;
}

const RESTART_BACKOFF = { durationMs: 500, factor: 2, capMs: 30_000 } as const;

export async function startPrivateContainerd(config: PrivateContainerdConfig): Promise<PrivateContainerd> {
  const { dir, podCidr, clock, logger, signal } = config;
  const cniBinDir = findCniPlugins();
  if (cniBinDir === undefined) {
    throw new UserError('cannot run containerd: the CNI plugins bridge, host-local, loopback and portmap are not installed');
  }
  const cniConfDir = join(dir, 'cni');
  const bridge = bridgeName(dir);
  // Without iptables on the host, pods would not start with the plugin that maps host ports.
  const hostPorts = findProgram('iptables') !== undefined;
  await writeCniConfig(cniConfDir, bridgeNetwork({ podCidr, bridge, dataDir: dir, hostPorts }));
  const launchConfig: LaunchContainerdConfig = { dir, cniConfDir, cniBinDir, clock, logger };

  let current: LaunchedContainerd = await launchContainerd({ ...launchConfig, signal });
  const stopping = new AbortController();
  const supervising = supervise();

  async function supervise(): Promise<void> {
    const backoff = new wait.Backoff(RESTART_BACKOFF);
    while (!stopping.signal.aborted) {
      try {
        await Promise.race([current.failed, aborted(stopping.signal)]);
        return;
      } catch (err) {
        logger.error('containerd exited, restarting', { err, log: current.logFile });
      }
      while (!stopping.signal.aborted) {
        try {
          await clock.sleep(backoff.next(), stopping.signal);
          current = await launchContainerd({ ...launchConfig, signal: stopping.signal });
          backoff.reset();
          break;
        } catch (err) {
          if (!stopping.signal.aborted) logger.error('containerd cannot be started', { err });
        }
      }
    }
  }

  return {
    endpoint: current.endpoint,
    async stop() {
      stopping.abort(new Error('the cluster stops'));
      await supervising;
      await current.stop();
      if (await hasNoPorts(bridge)) await removeBridgeNetwork({ bridge, dataDir: dir });
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Whether the bridge is there and no pod hangs on it. */
async function hasNoPorts(bridge: string): Promise<boolean> {
  try {
    return (await readdir(`/sys/class/net/${bridge}/brif`)).length === 0;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw err;
  }
}
