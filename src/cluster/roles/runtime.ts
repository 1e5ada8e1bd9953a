// The role `cox runtime`: a runtime without a kubelet, at a CRI socket.

import { join, resolve } from 'node:path';
import type { Runtime } from '#cri/index.ts';
import { serveCri } from '#runtime/cri-server/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { createIsolatedRuntime, createProcessRuntime } from '#runtime/process/index.ts';
import { realistic } from '#runtime/simulated/config.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { UserError } from '../user-error.ts';
import type { RoleConfig, RunningRole } from './role.ts';

export interface RuntimeRoleConfig extends RoleConfig {
  readonly type: 'process' | 'simulated';
  /** unix:///path, or a path. */
  readonly listen: string;
  /** The directory of the runtime's state. */
  readonly dataDir: string;
  /** How processes are isolated. */
  readonly isolation: 'none' | 'namespaces';
  /** The addresses of pods in namespaces. */
  readonly podCidr: string;
  /** The base URL that serves the images of a registry, by the registry's host. */
  readonly registryMirror: ReadonlyMap<string, string>;
}

/**
 * Starts the runtime and serves it. Containers of the process runtime keep running when it stops.
 * Rejects with a UserError if the socket cannot be made.
 */
export async function startRuntimeRole(config: RuntimeRoleConfig): Promise<RunningRole> {
  const { listen, clock, random, logger } = config;
  if (!/^unix:\/\/\/|^\//.test(listen))
    throw new UserError(`--listen must be unix:///PATH, not ${JSON.stringify(listen)}`);
  const runtime = await makeRuntime(config);
  try {
    const server = await serveCri({ runtime, endpoint: listen, clock, random, logger });
    let stopped: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      await server.close();
      await runtime.close();
    };
    return {
      description: `the runtime ${runtime.name} serves CRI at ${listen}`,
      failed: new Promise(() => undefined),
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await runtime.close();
    throw new UserError(`the socket ${listen} cannot be made`, { cause: error });
  }
}

async function makeRuntime(config: RuntimeRoleConfig): Promise<Runtime> {
  const { type, isolation, dataDir, podCidr, registryMirror, clock, random, logger } = config;
  if (type === 'simulated') {
    if (isolation !== 'none') throw new UserError('--isolation is only for --type process');
    return createSimulatedRuntime({ clock, random, ...realistic });
  }
  const stateDir = join(resolve(dataDir), 'runtime', 'process');
  if (isolation === 'none') return createProcessRuntime({ stateDir, clock, random, logger });
  try {
    const registryMirrors = registryMirror;
    return await createIsolatedRuntime({
      stateDir,
      podCidr,
      registryMirrors,
      clock,
      random,
      logger,
    });
  } catch (error) {
    throw new UserError(`--isolation namespaces is not possible: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}
