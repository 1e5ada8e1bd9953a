// The containerd of a cluster's own: started again if it dies (its containers outlive it), stopped
// with the cluster. It reads the network configuration of its node, which may be written later. The
// pod network goes when no pod is left on its bridge.

import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { bridgeName, findCniPlugins } from '#network/index.ts';
import {
  launchContainerd,
  type LaunchContainerdConfig,
  type LaunchedContainerd,
} from '#runtime/containerd/index.ts';
import {
  type NodePodNetwork,
  preparePodNetwork,
  removePodNetwork,
  SYSTEM_CNI,
} from '../nodes/pod-network.ts';
import { UserError } from '../user-error.ts';

export interface PrivateContainerdConfig {
  /** Everything of it is below. */
  readonly dir: string;
  /** Undefined: another program makes the network of pods, and configures it where every runtime looks. */
  readonly podNetwork: NodePodNetwork | undefined;
  /** The node's ranges of pods, if they are known before the node is registered. */
  readonly podCidrs: readonly string[];
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

export async function startPrivateContainerd(
  config: PrivateContainerdConfig,
): Promise<PrivateContainerd> {
  const { dir, podNetwork, podCidrs, clock, logger, signal } = config;
  const cniBinDir = podNetwork === undefined ? SYSTEM_CNI.binDir : findCniPlugins();
  if (cniBinDir === undefined) {
    throw new UserError(
      'cannot run containerd: the CNI plugins bridge, host-local, loopback and portmap are not installed',
    );
  }
  if (podNetwork === undefined && !existsSync(join(cniBinDir, 'loopback')))
    throw new UserError(
      `--pod-network none: the CNI plugins, loopback at least, have to be in ${cniBinDir}`,
    );
  const cniConfDir = podNetwork?.cni.confDir ?? SYSTEM_CNI.confDir;
  await mkdir(cniConfDir, { recursive: true });
  if (podNetwork !== undefined && podCidrs.length > 0)
    await preparePodNetwork(podNetwork, podCidrs, logger);
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
      } catch (error) {
        logger.error('containerd exited, restarting', { err: error, log: current.logFile });
      }
      while (!stopping.signal.aborted) {
        try {
          await clock.sleep(backoff.next(), stopping.signal);
          current = await launchContainerd({ ...launchConfig, signal: stopping.signal });
          backoff.reset();
          break;
        } catch (error) {
          if (!stopping.signal.aborted)
            logger.error('containerd cannot be started', { err: error });
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
      if (podNetwork !== undefined && (await hasNoPorts(bridgeName(dir))))
        await removePodNetwork(dir);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Returns whether the bridge exists without an attached pod. */
async function hasNoPorts(bridge: string): Promise<boolean> {
  try {
    return (await readdir(`/sys/class/net/${bridge}/brif`)).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
